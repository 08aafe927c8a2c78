/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/text_form.h"

static size_t last_used;

/* Returns what ofs_text_printable() prints, to be freed. */
static char *printable(const void *data, size_t len, bool more, size_t max)
{
	char *text = NULL;
	size_t size = 0, printed, measured, used;
	FILE *out = open_memstream(&text, &size);

	printed = ofs_text_printable(out, data, len, more, max, &last_used);
	fclose(out);
	cr_assert_eq(printed, size);
	measured = ofs_text_printable(NULL, data, len, more, max, &used);
	cr_assert_eq(measured, printed);
	cr_assert_eq(used, last_used);
	return text;
}

static void expect_printable(const char *data, const char *expected)
{
	char *text = printable(data, strlen(data), false, 1000);

	cr_expect_str_eq(text, expected);
	cr_expect_eq(last_used, strlen(data));
	free(text);
}

static void expect_count(uint64_t n, const char *noun, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ofs_text_count(out, n, noun);
	fclose(out);
	cr_expect_str_eq(text, expected);
	free(text);
}

Test(base_text, counts_have_commas_and_a_plural)
{
	expect_count(0, "line", "0 lines");
	expect_count(1, "line", "1 line");
	expect_count(999, "byte", "999 bytes");
	expect_count(1000, "byte", "1,000 bytes");
	expect_count(48213, "byte", "48,213 bytes");
	expect_count(1234567890, "byte", "1,234,567,890 bytes");
	expect_count(UINT64_MAX, "byte", "18,446,744,073,709,551,615 bytes");
}

static void expect_size(uint64_t bytes, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ofs_text_size(out, bytes);
	fclose(out);
	cr_expect_str_eq(text, expected);
	free(text);
}

Test(base_text, sizes_have_one_decimal)
{
	expect_size(0, "0 bytes");
	expect_size(1, "1 byte");
	expect_size(999, "999 bytes");
	expect_size(1000, "1.0 KB");
	expect_size(4200, "4.2 KB");
	expect_size(999949, "999.9 KB");
	expect_size(999950, "1.0 MB");
	expect_size(20000000000, "20.0 GB");
	expect_size(UINT64_MAX, "18.4 EB");
}

Test(base_text, commands_are_quoted_where_a_shell_needs_it)
{
	const char *argv[] = { "sh", "-c", "echo 'a b'; x", "", "--k=v", "*.c", NULL };
	char *text = ofs_text_command(argv);

	cr_expect_str_eq(text, "sh -c 'echo '\\''a b'\\''; x' '' --k=v '*.c'");
	free(text);
}

Test(base_text, plain_text_is_left_alone)
{
	expect_printable("", "");
	expect_printable("a\tb", "a\tb");
	/* Characters that reorder, hide or break a line are shown as code points. */
	expect_printable("a\xe2\x80\xae"
			 "b",
			 "a<U+202E>b");
	expect_printable("a\xe2\x81\xa6"
			 "b\xe2\x80\xa8",
			 "a<U+2066>b<U+2028>");
	expect_printable("\xd8\x9c\xe2\x80\x8f", "<U+061C><U+200F>");
	expect_printable("\xf3\xa0\x80\x81\xf3\xa0\x81\xbf", "<U+E0001><U+E007F>");
	expect_printable("\xe2\x80\x93\xe2\x81\xaa\xf3\xa0\x82\x80",
			 "\xe2\x80\x93\xe2\x81\xaa\xf3\xa0\x82\x80");
	expect_printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x8b",
			 "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x8b");
}

Test(base_text, controls_and_invalid_bytes_are_shown)
{
	char *text = printable("a\0b", 3, false, 100);

	cr_expect_str_eq(text, "a^@b");
	free(text);
	expect_printable("\r\a\x7f", "^M^G^?");
	expect_printable("\xff\xc0\xaf", "\\xff\\xc0\\xaf");
	expect_printable("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
	expect_printable("\xc2\x9b"
			 "31m",
			 "\\xc2\\x9b31m"); /* a C1 control, CSI to some terminals */
	expect_printable("cut \xe2\x82", "cut \\xe2\\x82");
}

Test(base_text, terminal_sequences_are_dropped)
{
	expect_printable("\x1b[1;31mred\x1b[0m plain", "red plain");
	expect_printable("\x1b]0;title\atext", "text");
	expect_printable("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link");
	expect_printable("\x1b(B\x1bM\x1bPq\x1b\\x", "x");
	expect_printable("end \x1b[3", "end ^[[3");
}

Test(base_text, nothing_is_cut_in_the_middle)
{
	char *text = printable("ab\xe2\x82\xac", 5, false, 4);

	cr_expect_str_eq(text, "ab");
	cr_expect_eq(last_used, 2);
	free(text);
	text = printable("a\xff", 2, false, 4);
	cr_expect_str_eq(text, "a");
	free(text);
	/* More bytes may follow, so an incomplete sequence is not yet invalid. */
	text = printable("ab\xe2\x82", 4, true, 100);
	cr_expect_str_eq(text, "ab");
	cr_expect_eq(last_used, 2);
	free(text);
	text = printable("ab\x1b[3", 5, true, 100);
	cr_expect_str_eq(text, "ab");
	free(text);
}

/* Expects ofs_json_append() to write `want` or, if it is NULL, the same as jansson. */
static void expect_json(const char *text, const char *want)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	json_t *json = json_loads(text, JSON_ALLOW_NUL, NULL), *again;
	char *library;

	cr_assert_not_null(json, "%s", text);
	library = json_dumps(json, JSON_COMPACT);
	ofs_buf_append_str(&out, "<");
	cr_assert_eq(ofs_json_append(json_incref(json), JSON_COMPACT, &out), 0);
	cr_expect_str_eq(ofs_buf_str(&out) + 1, want ? want : library);
	again = json_loads(ofs_buf_str(&out) + 1, JSON_ALLOW_NUL, NULL);
	cr_expect(json_equal(json, again), "%s", ofs_buf_str(&out));
	free(library);
	json_decref(json);
	json_decref(again);
}

Test(base_text, json_is_compact)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	json_t *json;

	expect_json("{}", NULL);
	expect_json("[]", NULL);
	expect_json("[[], {}, null, true, false, -7, 9223372036854775807, 1.5]", NULL);
	expect_json("{\"a\": {\"b\": [1, {\"c\": \"\"}]}, \"\": \"x\"}", NULL);
	expect_json(
		"[\"\\b\\f\\n\\r\\t\\\"\\\\/\\u0001\\u0000 \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"]",
		NULL);
	expect_json("{\"a\\n\xe2\x80\xae\": \"\x7f\xc2\x85\xf3\xa0\x80\x81\"}",
		    "{\"a\\n\\u202e\":\"\\u007f\\u0085\\udb40\\udc01\"}");
	expect_json("[0.1, 1286.95, 0.30000000000000004, 1.0, 1e300]",
		    "[0.1,1286.95,0.30000000000000004,1.0,1e300]");
	ofs_buf_append_str(&out, "<");
	cr_expect_eq(ofs_json_append(json_pack("[o]", json_string_nocheck("a\xff")), JSON_COMPACT,
				     &out),
		     -EINVAL);
	cr_expect_eq(ofs_json_append(NULL, JSON_COMPACT, &out), -EINVAL);
	cr_expect_str_eq(ofs_buf_str(&out), "<");
	ofs_json_append_string("a\"\\\n\x01\x7f", &out);
	cr_expect_str_eq(ofs_buf_str(&out), "<\"a\\\"\\\\\\n\\u0001\\u007f\"");
	json = json_pack("{s:s, s:f}", "\xe2\x80\xae", "\n\x7f", "n", 0.1);
	out.len = 0;
	cr_expect_eq(ofs_json_append_plain(json, &out), 0);
	cr_expect_str_eq(ofs_buf_str(&out), "{\"\xe2\x80\xae\":\"\\n\x7f\",\"n\":0.1}");
	json_decref(json);
}

Test(base_text, json_with_half_a_character)
{
	static const char *const cases[][2] = {
		{ "[\"a\\ud83d\"]", "[\"a\xef\xbf\xbd\"]" },
		{ "[\"\\uDe00b\"]", "[\"\xef\xbf\xbd"
				    "b\"]" },
		{ "[\"\\ud83d\\ud83d\\ude00\"]", "[\"\xef\xbf\xbd\xf0\x9f\x98\x80\"]" },
		{ "[\"\\\\ud83d\\ud83d\\n\"]", "[\"\\\\ud83d\xef\xbf\xbd\\n\"]" },
		{ "[\"\\ud83d", NULL },
		{ "[\"\\ud8", NULL },
		{ "[\"\\ud83d\", x]", NULL },
		{ "\\", NULL },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
		size_t len = strlen(cases[i][0]);
		char *exact = malloc(len);
		json_error_t why;
		json_t *json;

		memcpy(exact, cases[i][0], len);
		json = ofs_json_load(exact, len, 0, &why);
		cr_expect_eq(!json, !cases[i][1], "%s", cases[i][0]);
		if (json) {
			ofs_json_append(json, JSON_COMPACT, &out);
			cr_expect_str_eq(ofs_buf_str(&out), cases[i][1]);
		}
		free(exact);
	}
}

Test(base_text, json_is_deep)
{
	char deep[2 * OFS_JSON_DEPTH + 3];

	memset(deep, '[', sizeof(deep));
	cr_assert(ofs_json_is_deep(deep, OFS_JSON_DEPTH + 1));
	cr_assert_not(ofs_json_is_deep(deep, OFS_JSON_DEPTH));
	deep[0] = '"';
	cr_assert_not(ofs_json_is_deep(deep, sizeof(deep)), "a string has no depth");
	for (size_t i = 0; i < sizeof(deep); i++)
		deep[i] = i % 2 ? ']' : '{';
	cr_assert_not(ofs_json_is_deep(deep, sizeof(deep)), "one after the other");
	cr_assert_not(ofs_json_is_deep(NULL, 0));
	cr_assert_not(ofs_json_is_deep("\"\\", 2), "it ends after a backslash");
}
