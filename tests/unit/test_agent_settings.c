/* SPDX-License-Identifier: MIT */
/* Our entries in the settings of an agent. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/settings_file.h"
#include "base/alloc.h"
#include "base/util.h"

static const struct ofs_agent_entry post = { "PostToolUse", "^(Bash|mcp__.*)$" };
static const struct ofs_agent_entry failure = { "PostToolUseFailure", "Bash" };
static const struct ofs_agent agent = { .name = "claude-code", .entries = &post, .n_entries = 1 };
static const char command[] = "offload hook claude-code";
static struct ofs_settings_file file;
static struct ofs_error err;

static void finish(void)
{
	ofs_settings_file_finish(&file);
}

TestSuite(agent_settings, .fini = finish);

static int parse(const char *text)
{
	ofs_settings_file_finish(&file);
	ofs_buf_append_str(&file.text, text);
	return ofs_settings_file_parse(text, strlen(text), &err, &file);
}

static int add(const char *text, const struct ofs_agent_entry *entry)
{
	int r = parse(text);

	return r < 0 ? r : ofs_settings_file_add(&file, &agent, entry, command, &err);
}

static bool removes(const char *text)
{
	cr_assert_eq(parse(text), 0, "%s", err.text);
	return ofs_settings_file_remove(&file, &agent);
}

static void expect_text(const char *expected)
{
	OFS_FREE char *text = ofs_settings_file_format(&file);

	cr_expect_str_eq(text, expected);
}

Test(agent_settings, a_file_that_cannot_be_read)
{
	cr_expect_eq(ofs_settings_file_read("/dev/null/x", &err, &file), -ENOTDIR);
	cr_expect_str_eq(err.text, "cannot read '/dev/null/x': Not a directory");
	ofs_settings_file_finish(&file);
	cr_expect_eq(ofs_settings_file_read("/dev/null", &err, &file), -ENOTSUP);
}

Test(agent_settings, new_settings)
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
	expect_text(expected);
	cr_expect_eq(add(" \n", &post), 1);
	expect_text(expected);
	cr_expect_eq(add(expected, &post), 0);
	expect_text(expected);
}

/* Adding entries twice and removing them restores the text. */
Test(agent_settings, what_others_wrote_stays)
{
	static const char *const texts[] = {
		"{}\n",
		"{\n  \"a\": 1.5\n}\n",
		"{\n    \"z\": \"\xc3\xa9/\",\n    \"n\": 1000\n}",
		"{\n\t\"a\": {\n\t\t\"b\": \"  c\\n  d\"\n\t}\n}\n",
		"{\"a\": 1}",
		"{\n  \"hooks\": {\n    \"Stop\": []\n  },\n  \"z\": null\n}\n",
		"{\"hooks\": {\"PreToolUse\": [{\"hooks\": []}, 5, {}]}, \"b\": 2}",
		"{\"hooks\": {\"PostToolUse\": [{\"hooks\": [{\"command\": \"x\"}]}]}}",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		OFS_FREE char *text = NULL;

		cr_assert_eq(add(texts[i], &post), 1, "%s", texts[i]);
		cr_expect_eq(ofs_settings_file_add(&file, &agent, &failure, command, &err), 1);
		cr_expect_eq(ofs_settings_file_add(&file, &agent, &failure, command, &err), 0);
		text = ofs_settings_file_format(&file);
		cr_expect(removes(text));
		expect_text(texts[i]);
	}
}

Test(agent_settings, an_entry_of_ours_is_updated_where_it_is)
{
	static const char text[] =
		"{\"hooks\": {\"PostToolUse\": [{\"matcher\": \"mine\", \"hooks\": ["
		"{\"type\": \"command\", \"command\": \"a\"}, "
		"{\"timeout\": 5, \"command\": \"/old/offload hook claude-code -x\"}, "
		"{\"type\": \"command\", \"command\": \"b\"}]}]}}";

	cr_expect_eq(add(text, &post), 1);
	expect_text("{\"hooks\": {\"PostToolUse\": [{\"matcher\": \"mine\", \"hooks\": ["
		    "{\"type\": \"command\", \"command\": \"a\"}, "
		    "{\"timeout\": 5, \"command\": \"offload hook claude-code\"}, "
		    "{\"type\": \"command\", \"command\": \"b\"}]}]}}");
	cr_expect(removes(text));
	expect_text("{\"hooks\": {\"PostToolUse\": [{\"matcher\": \"mine\", \"hooks\": ["
		    "{\"type\": \"command\", \"command\": \"a\"}, "
		    "{\"type\": \"command\", \"command\": \"b\"}]}]}}");
}

Test(agent_settings, those_of_all_events_are_removed)
{
	cr_expect(removes("{\"hooks\": {\"A\": [{\"hooks\": [{\"command\": \"offload hook "
			  "claude-code\"}]}, {\"hooks\": [{\"command\": \"x\"}]}], \"B\": [{"
			  "\"hooks\": [{\"command\": \"'/a b/offload' hook claude-code\"}]}]}}"));
	expect_text("{\"hooks\": {\"A\": [{\"hooks\": [{\"command\": \"x\"}]}]}}");
	cr_expect_not(removes("{}"));
	cr_expect_not(removes(""));
	cr_expect_not(removes("{\"hooks\": 5}"));
}

Test(agent_settings, those_of_events_that_are_no_longer_wanted_are_pruned)
{
	static const char text[] = "{\"hooks\": {\"PostToolUse\": [{\"hooks\": [{\"command\": "
				   "\"offload hook claude-code\"}]}]}}";

	cr_assert_eq(parse(text), 0);
	cr_expect_not(ofs_settings_file_prune(&file, &agent));
	cr_assert_eq(
		parse("{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"command\": \"offload hook "
		      "claude-code\"}]}], \"PostToolUse\": [{\"hooks\": [{\"command\": "
		      "\"offload hook claude-code\"}]}]}}"),
		0);
	cr_expect(ofs_settings_file_prune(&file, &agent));
	expect_text(text);
}

Test(agent_settings, settings_that_are_none)
{
	static const char *const texts[] = {
		"[]",
		"{",
		"// a comment\n{}",
		"{\"a\": 1,}",
		"{\"a\": 1, \"a\": 2}",
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

Test(agent_settings, whose_a_command_is)
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
		cr_expect(ofs_settings_file_is_ours(ours[i], &agent), "%s", ours[i]);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(others); i++)
		cr_expect_not(ofs_settings_file_is_ours(others[i], &agent), "%s", others[i]);
}
