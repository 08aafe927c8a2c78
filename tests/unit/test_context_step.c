/* SPDX-License-Identifier: MIT */
/* Steps read and written, and their one-line summaries. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "context/steps/line.h"
#include "context/steps/summary.h"

static struct ofs_error err;

static int parse(const char *text, struct ofs_step *ret)
{
	struct ofs_span span;

	cr_assert_eq(ofs_span_parse(text, strlen(text), &err, &span), 0, "%s", err.text);
	return ofs_step_parse(span, &err, ret);
}

static char *printed(const struct ofs_step *step)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	ofs_step_print(step, &out);
	return strndup((char *)out.data, out.len);
}

/* ---- JSON */

static const char whole[] =
	"{\"id\": \"step_001\", \"tool_name\": \"fs:read_file\", \"minimal_args\": {\"path\": \"a.c\", "
	"\"share\": 0.1}, \"observation\": \"Read a.c (9 bytes, C)\", \"outcome_ref\": \"k3f9x2\", "
	"\"success\": true, \"error\": null, \"timestamp_ms\": 1795291548000, \"metadata\": {\"rule\": "
	"\"fs:read_file\", \"bytes\": 9}}";

Test(context_step, what_was_written_is_read)
{
	OFS_CLEANUP(ofs_step_finish) struct ofs_step step = { 0 };
	OFS_FREE char *again = NULL;

	cr_assert_eq(parse(whole, &step), 0, "%s", err.text);
	cr_expect_str_eq(step.id, "step_001");
	cr_expect_str_eq(step.tool_name, "fs:read_file");
	cr_expect_str_eq(step.outcome_ref, "k3f9x2");
	cr_expect(step.success && !step.error && step.has_timestamp);
	cr_expect_eq(step.timestamp_ms, 1795291548000);
	cr_expect_eq(json_integer_value(json_object_get(step.metadata, "bytes")), 9);
	again = printed(&step);
	cr_expect_str_eq(again, whole);
}

Test(context_step, what_is_missing_is_empty)
{
	OFS_CLEANUP(ofs_step_finish) struct ofs_step step = { 0 };
	OFS_FREE char *again = NULL;

	cr_assert_eq(parse("{\"tool_name\": \"x\", \"more\": 1}", &step), 0);
	again = printed(&step);
	cr_expect_str_eq(
		again,
		"{\"id\": \"\", \"tool_name\": \"x\", \"minimal_args\": {}, \"observation\": \"\", "
		"\"outcome_ref\": null, \"success\": true, \"error\": null, \"timestamp_ms\": null, "
		"\"metadata\": {}}");
}

Test(context_step, other_types_are_nothing)
{
	OFS_CLEANUP(ofs_step_finish) struct ofs_step step = { 0 };

	cr_assert_eq(
		parse("{\"id\": 7, \"observation\": \"o\", \"minimal_args\": [1], \"metadata\": 3, "
		      "\"success\": \"yes\", \"error\": \"bad\", \"timestamp_ms\": \"now\", "
		      "\"outcome_ref\": {\"ref\": \"abc\"}}",
		      &step),
		0);
	cr_expect_str_eq(step.id, "");
	cr_expect_eq(json_object_size(step.minimal_args), 0);
	cr_expect_not(step.success);
	cr_expect_not(step.has_timestamp);
	cr_expect_str_eq(step.outcome_ref, "abc");
}

Test(context_step, no_step)
{
	struct ofs_step step;

	cr_expect_eq(parse("[]", &step), -EINVAL);
	cr_expect_eq(parse("{}", &step), -EINVAL);
	cr_expect(strstr(err.text, "tool_name"));
	cr_expect_eq(parse("{\"tool_name\": \"\\ud800\"}", &step), -EINVAL);
	cr_expect_eq(parse("{\"tool_name\": \"x\", \"n\": 99999999999999999999}", &step), -EINVAL);
}

/* ---- summaries */

static void expect_line_with(const struct ofs_settings *s, const char *json, const char *expected)
{
	OFS_CLEANUP(ofs_step_finish) struct ofs_step step = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	cr_assert_eq(parse(json, &step), 0, "%s", err.text);
	ofs_summary_line(&step, s, &out);
	ofs_buf_append(&out, "", 1);
	cr_expect_str_eq((char *)out.data, expected);
}

static void expect_line(const char *json, const char *expected)
{
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings s;

	ofs_settings_init(&s);
	expect_line_with(&s, json, expected);
}

Test(context_step, summaries)
{
	expect_line(
		"{\"tool_name\": \"Read\", \"minimal_args\": {\"path\": \"a.c\"}, \"outcome_ref\": "
		"\"k3f9x2\", \"metadata\": {\"rule\": \"fs:read_file\", \"bytes\": 5234}}",
		"Read a.c (5.2 KB) [ref k3f9x2]");
	expect_line(
		"{\"tool_name\": \"Write\", \"minimal_args\": {\"path\": \"r.md\"}, \"metadata\": "
		"{\"bytes\": 9, \"written\": 812}}",
		"Wrote r.md (812 bytes)");
	expect_line(
		"{\"tool_name\": \"Edit\", \"minimal_args\": {\"path\": \"r.md\"}, \"metadata\": "
		"{\"bytes\": 9}}",
		"Edited r.md");
	expect_line("{\"tool_name\": \"s\", \"minimal_args\": {\"query\": \"a b\"}, \"metadata\": "
		    "{\"rule\": \"web:search\", \"results\": 10}}",
		    "Searched 'a b' -> 10 results");
	expect_line(
		"{\"tool_name\": \"Bash\", \"minimal_args\": {\"command\": \"make\"}, \"metadata\": "
		"{\"exit_code\": 0}}",
		"Ran `make` (exit 0)");
	expect_line("{\"tool_name\": \"Bash\", \"minimal_args\": {\"command\": \"make\"}}",
		    "Ran `make`");
	expect_line("{\"tool_name\": \"LS\", \"minimal_args\": {\"path\": \"src\"}, \"metadata\": "
		    "{\"items\": 3}}",
		    "Listed src -> 3 items");
	expect_line(
		"{\"tool_name\": \"Glob\", \"minimal_args\": {\"path\": \"src\", \"pattern\": \"*.c\"}, "
		"\"metadata\": {\"items\": 3}}",
		"Listed *.c in src -> 3 items");
	expect_line("{\"tool_name\": \"WebFetch\", \"minimal_args\": {\"url\": \"http://x\"}, "
		    "\"metadata\": {\"bytes\": 50000, \"text_bytes\": 1}}",
		    "Visited http://x (1 byte)");
	expect_line(
		"{\"tool_name\": \"Grep\", \"minimal_args\": {\"pattern\": \"x\"}, \"metadata\": "
		"{\"matches\": 2}}",
		"Searched files for 'x' -> 2 matches");
	expect_line(
		"{\"tool_name\": \"book\", \"minimal_args\": {\"id\": 7, \"ok\": true, \"l\": \"[array: 2 "
		"items]\"}, \"observation\": \"done\"}",
		"book(id=7, ok=true, l=[array: 2 items]) -> done");
	expect_line(
		"{\"tool_name\": \"pay\", \"minimal_args\": {\"sum\": 1234567.89, \"rate\": 0.1}}",
		"pay(sum=1234567.89, rate=0.1)");
	expect_line("{\"tool_name\": \"think\"}", "think()");
}

Test(context_step, summaries_of_what_failed)
{
	expect_line(
		"{\"tool_name\": \"Read\", \"minimal_args\": {\"path\": \"a.c\"}, \"success\": false, "
		"\"error\": \"no such\\nfile\", \"outcome_ref\": \"abc\", \"metadata\": {\"bytes\": 1}}",
		"Read a.c: failed: no such file [ref abc]");
	expect_line(
		"{\"tool_name\": \"Bash\", \"minimal_args\": {\"command\": \"make\"}, \"success\": "
		"false, \"error\": \"boom\", \"metadata\": {\"exit_code\": 2}}",
		"Ran `make` (exit 2): failed: boom");
	expect_line("{\"tool_name\": \"x\", \"success\": false}", "x(): failed");
	expect_line("{\"tool_name\": \"x\", \"outcome_ref\": \"a\\nb\"}", "x() [ref a^Jb]");
}

/* The observation stands in if the template lacks a value. */
Test(context_step, summaries_of_little)
{
	expect_line("{\"tool_name\": \"Read\", \"observation\": \"Read something\"}",
		    "Read something");
	expect_line("{\"tool_name\": \"Read\"}", "Read");
	expect_line(
		"{\"tool_name\": \"Read\", \"minimal_args\": {\"path\": \"a\\nb\\u0000\\u001b[1mc\"}}",
		"Read a b^@c");
}

Test(context_step, summaries_by_settings)
{
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings s;

	ofs_settings_init(&s);
	s.tools = ofs_alloc(sizeof(*s.tools));
	s.n_tools = 1;
	s.tools[0].name = ofs_strdup("query_db");
	s.tools[0].summary = ofs_strdup("Asked {args.table} {for} {{x} {rows} ({size}){");
	expect_line_with(
		&s,
		"{\"tool_name\": \"queryDB\", \"minimal_args\": {\"table\": \"t\"}, \"outcome_ref\": "
		"\"abc\", \"metadata\": {\"rows\": 3, \"bytes\": 1500}}",
		"Asked t { 3 (1.5 KB){ [ref abc]");
}

/* ---- lines */

static void expect_shown(const char *text, size_t len, size_t max, const char *expected)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	ofs_line_append(&out, text, len, max);
	ofs_buf_append(&out, "", 1);
	cr_expect_str_eq((char *)out.data, expected);
}

static void expect_end(const char *text, size_t len, size_t max, const char *expected)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	ofs_line_append_end(&out, text, len, max);
	ofs_buf_append(&out, "", 1);
	cr_expect_str_eq((char *)out.data, expected);
}

Test(context_step, text_on_one_line)
{
	expect_shown("", 0, 10, "");
	expect_shown(" a\r\n\t b \v", 8, 10, "a b");
	expect_shown("a\xe2\x80\xa8z", 5, 10, "a z");
	expect_shown("a \x1b[31m b\x1b[0m", 13, 10, "a b");
	expect_shown("\0\xff", 2, 10, "^@\\xff");
	expect_shown("1234567890", 10, 10, "1234567890");
	expect_shown("12345678901", 11, 10, "1234567...");
	expect_shown("\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x82\xac\xc3\xa4\xc3\xb6", 13, 5,
		     "\xc3\xa4\xc3\xb6...");
}

Test(context_step, the_end_of_a_text_on_one_line)
{
	expect_end("", 0, 10, "");
	expect_end("a\n\n", 3, 10, "a");
	expect_end("first\nsecond\nthird line\n  \n", 27, 14, "...third line");
	expect_end("\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x82\xac\xc3\xa4\xc3\xb6", 13, 5,
		   "...\xc3\xa4\xc3\xb6");
}

Test(context_step, much_text_on_one_line)
{
	size_t len = 1 << 20;
	OFS_FREE char *text = malloc(len);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	/* Every character has two bytes, and the window that is read ends within one. */
	for (size_t i = 0; i < len; i++)
		text[i] = i % 2 ? '\xa4' : '\xc3';
	for (size_t cut = 0; cut < 4; cut++) {
		out.len = 0;
		ofs_line_append(&out, text, len - cut, 200);
		cr_expect_eq(out.len, 197 * 2 + 3);
		cr_expect_null(memchr(out.data, '\\', out.len));
	}
	out.len = 0;
	ofs_line_append_end(&out, text, len, 200);
	cr_expect_eq(out.len, 197 * 2 + 3);
	cr_expect_null(memchr(out.data, '\\', out.len));
	/* Only white space as far as the text is read. */
	memset(text, ' ', len);
	out.len = 0;
	ofs_line_append(&out, text, len, 200);
	cr_expect_leq(out.len, 3);
	ofs_line_append_end(&out, text, len, 200);
	cr_expect_leq(out.len, 3);
}

Test(context_step, whole_text_for_json)
{
	json_t *json = ofs_line_json_whole("a\n\0\xff z", 6);

	cr_expect_eq(json_string_length(json), 9);
	cr_expect_eq(memcmp(json_string_value(json), "a\n\0\\xff z", 9), 0);
	json_decref(json);
}
