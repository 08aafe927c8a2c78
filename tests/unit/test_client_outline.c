/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/redact.h"
#include "client/outline.h"

static struct ofs_spool spool;
static struct ofs_content content;
static char *text;

static void begin(void)
{
	spool = (struct ofs_spool)OFS_SPOOL_INIT;
	text = NULL;
}

static void finish(void)
{
	ofs_spool_finish(&spool);
	free(text);
}

TestSuite(client_outline, .init = begin, .fini = finish);

static void add(const char *data)
{
	cr_assert_eq(ofs_spool_append(&spool, data, strlen(data)), 0);
}

static void add_lines(int count, const char *format)
{
	char line[128];

	for (int i = 1; i <= count; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(line, sizeof(line), format, i);
#pragma GCC diagnostic pop
		add(line);
	}
}

static void print(size_t max)
{
	size_t size = 0;
	FILE *out;

	free(text);
	cr_assert_eq(ofs_content_scan(&spool, &content), 0);
	out = open_memstream(&text, &size);
	cr_assert_eq(ofs_outline_print(&content, max, out), 0);
	fclose(out);
	cr_expect_leq(size, max + 300, "%zu of %zu:\n%s", size, max, text);
}

static void expect_part(const char *part)
{
	cr_expect(strstr(text, part), "no '%s' in:\n%s", part, text);
}

static void expect_no_part(const char *part)
{
	cr_expect_not(strstr(text, part), "'%s' in:\n%s", part, text);
}

Test(client_outline, errors_last_lines_and_names)
{
	add("gcc -c src/parser.c\n");
	add("src/parser.c:12:4: error: 'parse_frame' undeclared\n");
	add("  note: see parse_frame\n");
	add_lines(50, "nothing here\n");
	add("TypeError: x is no function\n");
	add_lines(50, "nothing there\n");
	add("FAILED (errors=1)\n}\n\n");
	print(2000);
	cr_expect_str_eq(text, "--- 5 of 107 lines ---\n"
			       "2: src/parser.c:12:4: error: 'parse_frame' undeclared\n"
			       "54: TypeError: x is no function\n"
			       "103: nothing there\n"
			       "104: nothing there\n105: FAILED (errors=1)\n"
			       "--- 3 of 3 names ---\n"
			       "src/parser.c:1 parse_frame:2 TypeError:54\n");
}

Test(client_outline, a_file_with_numbered_lines_has_no_last_ones)
{
	add_lines(60, "%6d\xe2\x86\x92\tend\n");
	print(2000);
	expect_no_part("end");
	finish();
	begin();
	add_lines(60, "%6d\tend\n");
	print(2000);
	expect_no_part("end");
	finish();
	begin();
	add_lines(60, "%6d end\n");
	print(2000);
	expect_part("60: 60 end");
	finish();
	begin();
	/* Nor are line numbers taken for parts of names. */
	add_lines(60, "%d:parse_frame = 12:30:59\n");
	print(2000);
	expect_part("parse_frame:1 12:30:59:1");
}

Test(client_outline, what_is_no_error_is_not_told_as_one)
{
	add("the error is small\nhandle_error(error)\nno failures\nterror: x\nforerror: y\n");
	add_lines(20, "nothing here\n");
	print(2000);
	expect_part("--- 3 of 25 lines ---\n23: nothing here\n");
}

Test(client_outline, rare_names_go_first)
{
	add_lines(100, "every_where and once_here_%d\n");
	add("twice_here\ntwice_here\n");
	print(200);
	expect_part("twice_here:101");
	expect_part("\nonce_here_1:1 once_here_2:2 ");
	expect_no_part("every_where:1");
	expect_part(" of 102 names");
}

Test(client_outline, json_has_its_shape)
{
	add("{\"data\": [{\"id\": 1, \"name\": \"a\", \"tags\": [\"x\", \"y\"]}, {\"id\": 2}],"
	    " \"next\": null, \"empty\": [], \"none\": {}, \"deep\": {\"a\": {\"b\": {\"c\": "
	    "{\"d\": 1}}}}}\n");
	print(2000);
	expect_part(
		"JSON: {data: [2 x {id: number, name: string, tags: [2 x string]}], next: null, "
		"empty: [0], none: {}, deep: {a: {b: {c: {...}}}}}\n");
}

Test(client_outline, json_in_one_line_says_nothing_twice)
{
	add("[");
	add_lines(100, "{\"flight_number\": \"HAT%04d-outbound\", \"a\": 1},");
	add("{}]\n");
	print(400);
	expect_part("JSON: [101 x {flight_number: string, a: number}]\n---");
	expect_part("names ---\nHAT0001-outbound HAT0002");
	expect_no_part("\n1: ");
}

Test(client_outline, large_json_has_its_shape)
{
	add("[\n");
	add_lines(5000, "{\"id\": %d},\n");
	add("{\"id\": 0}\n]\n");
	print(1000);
	expect_part("JSON: [5001 x {id: number}]\n");
}

Test(client_outline, a_secret_before_an_error_is_not_shown)
{
	add_lines(2000, "line_number_%d\n");
	add("error: key = ghp_"
	    "A1b2C3d4E5f6G7h8I9j0"
	    "K1l2M3n4O5p6Q7r8\n");
	add_lines(2000, "line_number_%d\n");
	print(1000);
	expect_part("\n2001: error: key = [redacted");
	expect_no_part("A1b2C3");
}

Test(client_outline, lines_are_cut_and_indented_no_more)
{
	char line[302];

	memset(line, 'y', 300);
	strcpy(line + 300, "\n");
	add("\t  indented\n");
	add(line);
	print(2000);
	expect_part("1: indented\n");
	expect_part("yyy...\n");
	expect_no_part("yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
		       "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
		       "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
}

Test(client_outline, harmless_to_a_terminal)
{
	add("\x1b[31mred_name_one\x1b[0m\r\nbell\a\n");
	add("late NUL ");
	cr_assert_eq(ofs_spool_append(&spool, "\xff\n", 2), 0);
	print(2000);
	expect_part("1: red_name_one\n2: bell^G\n3: late NUL \\xff\n");
	expect_part("\nred_name_one:1\n");
	cr_expect_not(strchr(text, '\x1b'));
}

Test(client_outline, names_of_long_lines_have_no_number)
{
	for (int i = 0; i < 400; i++) {
		char word[32];

		snprintf(word, sizeof(word), "name_%d, ", i + 100);
		add(word);
	}
	print(500);
	expect_part(" of 400 names ---\nname_100 name_101 ");
}

Test(client_outline, of_a_large_content_the_two_ends)
{
	add_lines(2000, "line_number_%d\n");
	add("error: in the middle\n");
	add_lines(27999, "line_number_%d\n");
	add("error: at the end\nthe last\n");
	print(1000);
	expect_part("\n2001: error: in the middle\n");
	expect_part("30001: error: at the end\n30002: the last\n");
	expect_part("names in its first 16 KiB ---");
	expect_part("line_number_1:1 ");
	expect_no_part("line_number_1999:");
}

Test(client_outline, any_few_bytes)
{
	static const char *const texts[] = { "", "\n", "x", "\n\n\n", "\r\n", "}", "{", "{}", "[[" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		ofs_spool_finish(&spool);
		spool = (struct ofs_spool)OFS_SPOOL_INIT;
		add(texts[i]);
		for (size_t max = 0; max < 40; max += 13)
			print(max);
	}
}

Test(client_outline, secrets_are_not_shown)
{
	add("key = ghp_"
	    "A1b2C3d4E5f6G7h8I9j0"
	    "K1l2M3n4O5p6Q7r8\n");
	add_lines(3, "line_number_%d\n");
	add("-----BEGIN RSA PRIVATE"
	    " KEY-----\n");
	for (int i = 0; i < 30; i++)
		add("MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0buA7JmQo1lBMGd9sZVnm4uJZ8Hk2L\n");
	add("-----END RSA PRIVATE"
	    " KEY-----\n");
	print(2000);
	expect_no_part("A1b2C3");
	expect_no_part("MIIEpAIBAAK");
	expect_part("line_number_2:3");
	ofs_redact_set_enabled(false);
	print(2000);
	ofs_redact_set_enabled(true);
	expect_part("A1b2C3");
}
