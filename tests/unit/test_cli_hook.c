/* SPDX-License-Identifier: MIT */
/* Entries in the settings of Claude Code. */
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/util.h"
#include "cli/hook_entry.h"

static const struct ofs_hook_entry post = { "PostToolUse", "^(Bash|mcp__.*)$",
					    "offload hook claude-code" };
static const struct ofs_hook_entry pre = { "PreToolUse", "Bash", "offload hook claude-code" };
static struct ofs_buf out;
static struct ofs_error err;

static void finish(void)
{
	ofs_buf_finish(&out);
}

TestSuite(cli_hook, .fini = finish);

static void expect_out(const char *expected)
{
	cr_expect(out.len == strlen(expected) && memcmp(out.data, expected, out.len) == 0,
		  "got:\n%.*s\nexpected:\n%s", (int)out.len, out.data, expected);
}

static int add(const char *text, const struct ofs_hook_entry *entry)
{
	int r = ofs_hook_entry_add(text, strlen(text), entry, &err, &out);

	if (r >= 0) {
		json_t *json = json_loadb((const char *)out.data, out.len, 0, NULL);

		cr_expect(json, "%.*s", (int)out.len, out.data);
		json_decref(json);
	}
	return r;
}

/* Added, added again and taken out again, it is the text that it was. */
static void expect_round_trip(const char *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf once = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf twice = OFS_BUF_INIT;

	cr_assert_eq(add(text, &post), 1, "%s", text);
	cr_assert_eq(ofs_hook_entry_add((const char *)out.data, out.len, &pre, &err, &once), 1);
	cr_expect_eq(ofs_hook_entry_add((const char *)once.data, once.len, &pre, &err, &twice), 0);
	cr_expect(twice.len == once.len && memcmp(twice.data, once.data, once.len) == 0);
	cr_expect_eq(ofs_hook_entry_remove((const char *)once.data, once.len, &err, &out), 1);
	expect_out(text);
}

Test(cli_hook, new_settings)
{
	static const char expected[] = "{\n"
				       "  \"hooks\": {\n"
				       "    \"PostToolUse\": [\n"
				       "      {\n"
				       "        \"matcher\": \"^(Bash|mcp__.*)$\",\n"
				       "        \"hooks\": [\n"
				       "          {\n"
				       "            \"type\": \"command\",\n"
				       "            \"command\": \"offload hook claude-code\"\n"
				       "          }\n"
				       "        ]\n"
				       "      }\n"
				       "    ]\n"
				       "  }\n"
				       "}\n";

	cr_expect_eq(add("", &post), 1);
	expect_out(expected);
	cr_expect_eq(add(" \n", &post), 1);
	expect_out(expected);
	cr_expect_eq(add(expected, &post), 0);
	expect_out(expected);
}

Test(cli_hook, what_others_wrote_stays_byte_for_byte)
{
	static const char *const texts[] = {
		"{}\n",
		"{\n  \"a\": 1.0\n}\n",
		"{\n    \"a\": \"\\u00e9\\/\",\n    \"n\": 1e3\n}",
		"{\r\n\t\"a\": 1\r\n}\r\n",
		"{\"a\":1}",
		"{\n  \"hooks\": {\n    \"Stop\": []\n  },\n  \"z\": null\n}\n",
		"{\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\"hooks\": [{\"type\": \"command\", "
		"\"command\": \"x\"}], \"matcher\": \"\"}\n    ]\n  }\n}\n",
		"{\"hooks\":{\"PreToolUse\":[{\"hooks\":[]}, 5, {}]}, \"b\":2}",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++)
		expect_round_trip(texts[i]);
}

Test(cli_hook, an_entry_of_ours_is_updated_where_it_is)
{
	static const char text[] =
		"{\"hooks\":{\"PostToolUse\":[{\"matcher\":\"mine\",\"hooks\":["
		"{\"type\":\"command\",\"command\":\"a\"},"
		"{\"timeout\":5,\"command\":\"/old/offload hook claude-code -x\"},"
		"{\"type\":\"command\",\"command\":\"b\"}]}]}}";

	cr_expect_eq(add(text, &post), 1);
	expect_out("{\"hooks\":{\"PostToolUse\":[{\"matcher\":\"mine\",\"hooks\":["
		   "{\"type\":\"command\",\"command\":\"a\"},"
		   "{\"timeout\":5,\"command\":\"offload hook claude-code\"},"
		   "{\"type\":\"command\",\"command\":\"b\"}]}]}}");
	cr_expect_eq(ofs_hook_entry_remove(text, strlen(text), &err, &out), 1);
	expect_out("{\"hooks\":{\"PostToolUse\":[{\"matcher\":\"mine\",\"hooks\":["
		   "{\"type\":\"command\",\"command\":\"a\"},"
		   "{\"type\":\"command\",\"command\":\"b\"}]}]}}");
}

Test(cli_hook, those_of_all_events_are_taken_out)
{
	static const char text[] =
		"{\"hooks\":{\"A\":[{\"hooks\":[{\"command\":\"offload hook "
		"claude-code\"}]},{\"hooks\":[{\"command\":\"x\"}]}],\"B\":[{"
		"\"hooks\":[{\"command\":\"'/a b/offload' hook claude-code\"}]}]}}";

	cr_expect_eq(ofs_hook_entry_remove(text, strlen(text), &err, &out), 1);
	expect_out("{\"hooks\":{\"A\":[{\"hooks\":[{\"command\":\"x\"}]}]}}");
	cr_expect_eq(ofs_hook_entry_remove("{\"hooks\":[]", 12, &err, &out), -EINVAL);
	cr_expect_eq(ofs_hook_entry_remove("{}", 2, &err, &out), 0);
	cr_expect_eq(ofs_hook_entry_remove("", 0, &err, &out), 0);
}

Test(cli_hook, settings_that_are_none)
{
	static const char *const texts[] = {
		"[]",
		"{",
		"// a comment\n{}",
		"{\"a\": 1,}",
		"{\"hooks\": []}",
		"{\"hooks\": {\"PostToolUse\": {}}}",
		"\xef\xbb\xbf{}",
		"{\"hooks\": null}",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		err.text[0] = '\0';
		cr_expect_eq(add(texts[i], &post), -EINVAL, "%s", texts[i]);
		cr_expect(err.text[0]);
	}
}

Test(cli_hook, whose_a_command_is)
{
	static const char *const ours[] = {
		"offload hook claude-code",
		"/usr/bin/offload hook claude-code --task session",
		"'/a b/offload' hook claude-code",
		"\"$HOME/bin/offload\" hook claude-code",
		"env A=b offload hook claude-code",
	};
	static const char *const others[] = {
		"",
		"offload",
		"hook claude-code",
		"myoffload hook claude-code",
		"offload hook other",
		"echo hook claude-code",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(ours); i++)
		cr_expect(ofs_hook_entry_is_ours(ours[i]), "%s", ours[i]);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(others); i++)
		cr_expect_not(ofs_hook_entry_is_ours(others[i]), "%s", others[i]);
}
