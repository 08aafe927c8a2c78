/* SPDX-License-Identifier: MIT */
/* The entry of our MCP server in agents' settings. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "agent/mcp_entry.h"

static const char *const command[] = { "offload", "mcp", NULL };
static const char *const other[] = { "/opt/x \"y\"/offload", "mcp", "--dir", "d", NULL };
static struct ofs_error err;

static int edit(const char *agent, const char *text, const char *const argv[], struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf in = OFS_BUF_INIT;
	const struct ofs_mcp_client *client = ofs_mcp_client_find(agent);

	cr_assert_not_null(client);
	ofs_buf_append_str(&in, text);
	ofs_buf_str(&in);
	return argv ? ofs_mcp_entry_add(client, &in, argv, &err, out)
		    : ofs_mcp_entry_remove(client, &in, &err, out);
}

static void expect(const char *agent, const char *text, const char *const argv[], const char *want)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	int r = edit(agent, text, argv, &out);

	cr_assert_eq(r, 1, "%s: %d, %s", text, r, err.text);
	cr_expect_str_eq(ofs_buf_str(&out), want);
}

static void expect_code(const char *agent, const char *text, const char *const argv[], int code)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	int r;

	err.text[0] = '\0';
	r = edit(agent, text, argv, &out);
	cr_expect_eq(r, code, "%s: %d, %s", text, r, err.text);
	cr_expect(code >= 0 || err.text[0]);
}

/* Adds, changes and removes the entry. Everything else must stay byte for byte. */
static void expect_round(const char *agent, const char *text)
{
	OFS_CLEANUP(ofs_buf_finish)
	struct ofs_buf one = OFS_BUF_INIT, two = OFS_BUF_INIT, three = OFS_BUF_INIT;

	cr_assert_eq(edit(agent, text, command, &one), 1, "%s", err.text);
	expect_code(agent, ofs_buf_str(&one), command, 0);
	cr_assert_eq(edit(agent, ofs_buf_str(&one), other, &two), 1, "%s", err.text);
	expect_code(agent, ofs_buf_str(&two), other, 0);
	cr_assert_eq(edit(agent, ofs_buf_str(&two), NULL, &three), 1, "%s", err.text);
	cr_expect_str_eq(ofs_buf_str(&three), text);
	expect_code(agent, ofs_buf_str(&three), NULL, 0);
}

Test(agent_mcp_entry, forms)
{
	expect("cursor", "", command,
	       "{\n  \"mcpServers\": {\n    \"offload\": {\n      \"command\": \"offload\",\n"
	       "      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n");
	expect("claude-code", "{}", command,
	       "{\"mcpServers\": {\"offload\": {\"type\": \"stdio\", \"command\": \"offload\", "
	       "\"args\": [\"mcp\"]}}}");
	expect("vscode", "{}", command,
	       "{\"servers\": {\"offload\": {\"type\": \"stdio\", \"command\": \"offload\", "
	       "\"args\": [\"mcp\"]}}}");
	expect("opencode", "{}", command,
	       "{\"mcp\": {\"offload\": {\"type\": \"local\", \"command\": [\"offload\", "
	       "\"mcp\"]}}}");
	expect("gemini", "{}", command,
	       "{\"mcpServers\": {\"offload\": {\"command\": \"offload\", \"args\": "
	       "[\"mcp\"]}}}");
	expect("codex", "", command,
	       "[mcp_servers.offload]\ncommand = \"offload\"\nargs = [\"mcp\"]\n");
	expect("codex", "", other,
	       "[mcp_servers.offload]\ncommand = \"/opt/x \\\"y\\\"/offload\"\n"
	       "args = [\"mcp\", \"--dir\", \"d\"]\n");
}

Test(agent_mcp_entry, what_else_is_there_stays)
{
	static const char *const json[] = {
		"{\n\t\"a\": 1,\n\t\"mcpServers\": {\n\t\t\"x\": {\n\t\t\t\"command\": \"y\"\n\t\t}\n"
		"\t},\n\t\"z\": [\n\t\t1.5,\n\t\tnull\n\t]\n}\n",
		"{\"k\": \"\xc3\xa4\"}",
	};
	static const char *const toml[] = {
		"model = \"x\" # why\n",
		"# only a comment\n\n[a]\nb = [ # list\n  \"[mcp_servers.offload]\",\n  '''\n[c]\n''',\n]\n"
		"\n[[d]]\ne = { f = 1, g = \"}\" }\n[mcp_servers.other]\ncommand = \"z\"\n",
		"a.b = 1979-05-27T07:32:00Z\r\nc = \"\"\"\nx \\\"\"\" y\"\"\"\"\r\n",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(json); i++)
		expect_round("cursor", json[i]);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(toml); i++)
		expect_round("codex", toml[i]);
}

Test(agent_mcp_entry, keys_of_ones_own_stay)
{
	expect("codex",
	       "[mcp_servers.offload]\n# mine\nstartup_timeout_sec = 9\ncommand = \"/a/offload\" # b\n"
	       "args = [\n  \"mcp\",\n]\n[mcp_servers.offload.env]\nA = \"b\"\n[next]\n",
	       command,
	       "[mcp_servers.offload]\n# mine\nstartup_timeout_sec = 9\ncommand = \"offload\" # b\n"
	       "args = [\"mcp\"]\n[mcp_servers.offload.env]\nA = \"b\"\n[next]\n");
	expect("cursor",
	       "{\"mcpServers\": {\"offload\": {\"command\": \"/a/offload\", \"args\": [\"mcp\"], "
	       "\"env\": {\"A\": \"b\"}}}}",
	       command,
	       "{\"mcpServers\": {\"offload\": {\"command\": \"offload\", \"args\": [\"mcp\"], "
	       "\"env\": {\"A\": \"b\"}}}}");
}

Test(agent_mcp_entry, removed)
{
	expect("codex",
	       "a = 1\n\n[mcp_servers.offload]\ncommand = \"offload\"\nargs = [\"mcp\"]\n"
	       "[mcp_servers.offload.env]\nA = \"b\"\n\n# of the next\n[next]\nx = 1\n",
	       NULL, "a = 1\n\n# of the next\n[next]\nx = 1\n");
	expect("codex", "[mcp_servers.offload]\ncommand = \"offload\"\nargs = [\"mcp\"]\n", NULL,
	       "");
	expect("cursor",
	       "{\"mcpServers\": {\"offload\": {\"command\": \"offload\", \"args\": "
	       "[\"mcp\"]}}}",
	       NULL, "");
	expect_code("codex", "[mcp_servers]\n", NULL, 0);
	expect_code("cursor", "{\"mcpServers\": {}}", NULL, 0);
}

Test(agent_mcp_entry, refused)
{
	static const char *const toml[] = {
		"a = \"x\n",
		"a = [1\n",
		"a = ]\n",
		"a\n",
		"= 1\n",
		"[a\n",
		"a = 1 b = 2\n[c] d\n",
		"mcp_servers = {}\n",
		"mcp_servers.offload = { command = \"offload\", args = [\"mcp\"] }\n",
		"[mcp_servers]\noffload.command = \"offload\"\n",
		"[[mcp_servers.offload]]\ncommand = \"offload\"\n",
		"[[mcp_servers]]\n",
	};
	static const char *const json[] = {
		"// why\n{}", "{\"mcpServers\": {}, // why\n}", "{\"mcpServers\": []}", "[]", "{",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(toml); i++)
		expect_code("codex", toml[i], command, -EINVAL);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(json); i++)
		expect_code("cursor", json[i], command, -EINVAL);
	expect_code("codex", "[mcp_servers.offload]\ncommand = \"x\"\nargs = [\"mcp\"]\n", command,
		    -EEXIST);
	expect_code("codex", "[mcp_servers.offload]\nurl = \"x\"\n", command, -EEXIST);
	expect_code("cursor", "{\"mcpServers\": {\"offload\": {\"url\": \"x\"}}}", command,
		    -EEXIST);
	expect_code("cursor", "{\"mcpServers\": {\"offload\": {\"url\": \"x\"}}}", NULL, -EEXIST);
}
