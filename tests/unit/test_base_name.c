/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "base/name.h"
#include "base/text.h"
#include "base/util.h"

/* Expects these names in the text, joined by "|". */
static void expect_names(const char *text, const char *names)
{
	const char *p = text, *end = text + strlen(text), *name;
	struct ofs_text_stream s;
	OFS_FREE char *found = NULL;
	size_t len;

	ofs_text_open(&s);
	while ((name = ofs_name_next(&p, end, &len)))
		fprintf(s.out, "%s%.*s", ftell(s.out) ? "|" : "", (int)len, name);
	found = ofs_text_close(&s);
	cr_expect_str_eq(found, names, "%s: %s", text, found);
}

Test(base_name, what_no_word_is)
{
	expect_names("the function parse_frame in src/parser.c fails", "parse_frame|src/parser.c");
	expect_names("TranscriptRenderer and Transcript", "TranscriptRenderer");
	expect_names("12345678 1234567 2024-05-16", "12345678|2024-05-16");
	expect_names("well-known rate-of-change one-time-pads", "rate-of-change|one-time-pads");
	expect_names("(user_id_1), \"a@example.com\".", "user_id_1|a@example.com");
	expect_names("", "");
	expect_names("a_b", "");
}

Test(base_name, lines_of_files_are_no_part_of_them)
{
	expect_names("src/parser.c:120: error, src/parser.c:120:4", "src/parser.c|src/parser.c");
	expect_names("at 2024-05-16T08:00:00 or 09:30:00", "2024-05-16T08:00:00|09:30:00");
	expect_names("a/b.c:1234", "");
}

Test(base_name, too_long_for_one)
{
	char text[200];

	memset(text, '7', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	expect_names(text, "");
}

static void expect_numbered(const char *name, unsigned int number, const char *want)
{
	char got[OFS_NAME_NUMBERED_MAX + 1];

	ofs_name_number(name, number, got);
	cr_expect_str_eq(got, want, "%s %u", name, number);
}

Test(base_name, names_with_numbers)
{
	char name[256], want[256];

	expect_numbered("log.txt", 1, "log.txt");
	expect_numbered("log.txt", 2, "log-2.txt");
	expect_numbered("log", 10, "log-10");
	expect_numbered(".profile", 2, ".profile-2");
	expect_numbered("a.tar.gz", 2, "a.tar-2.gz");
	expect_numbered("1.a long end that is none", 2, "1.a long end that is none-2");
	/* Names are cut to fit, but not within a character. */
	memset(name, 'x', 249);
	strcpy(name + 249, "\xc3\xa9.txt");
	strcpy(want, name);
	expect_numbered(name, 1, want);
	strcpy(want + 249, "-2.txt");
	expect_numbered(name, 2, want);
}
