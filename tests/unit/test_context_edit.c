/* SPDX-License-Identifier: MIT */
/* A text written with edits, whole and in parts. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "context/json/edit.h"

static const char source[] = "0123456789";
static struct ofs_edits edits;

static void finish(void)
{
	ofs_edits_finish(&edits);
}

TestSuite(context_edit, .fini = finish);

static void replace(size_t at, size_t len, const char *with)
{
	struct ofs_buf text = OFS_BUF_INIT;

	ofs_buf_append_str(&text, with);
	ofs_edits_replace(&edits, (struct ofs_span){ source + at, len }, &text);
	cr_assert_null(text.data, "the text was not taken");
}

static void expect_part(size_t from, size_t to, const char *expected)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	struct ofs_sink sink = ofs_sink_to_buf(&out);

	cr_assert_eq(ofs_edits_write(&edits, source + from, source + to, &sink), 0);
	cr_expect_eq(out.len, strlen(expected), "%.*s", (int)out.len, out.data);
	cr_expect(!out.len || memcmp(out.data, expected, out.len) == 0, "%.*s", (int)out.len,
		  out.data);
}

Test(context_edit, without_changes)
{
	ofs_edits_sort(&edits);
	expect_part(0, 10, "0123456789");
	expect_part(3, 3, "");
	ofs_edits_finish(&edits);
	ofs_edits_finish(&edits);
}

Test(context_edit, in_any_order)
{
	replace(7, 2, "[seven eight]");
	replace(0, 1, "");
	replace(4, 0, "<");
	replace(9, 1, "!");
	replace(2, 2, "23");
	ofs_edits_sort(&edits);
	expect_part(0, 10, "123<456[seven eight]!");
	ofs_edits_sort(&edits);
	expect_part(0, 10, "123<456[seven eight]!");
}

Test(context_edit, parts_together_are_the_whole)
{
	replace(3, 2, "abc");
	replace(5, 1, "d");
	replace(8, 0, "+");
	ofs_edits_sort(&edits);
	expect_part(0, 3, "012");
	expect_part(3, 5, "abc");
	expect_part(5, 8, "d67");
	expect_part(8, 10, "+89");
	/* An edit belongs to the part in which it begins. */
	expect_part(0, 8, "012abcd67");
	expect_part(8, 8, "");
	expect_part(6, 8, "67");
}

Test(context_edit, many)
{
	char *text = malloc(5000);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	struct ofs_sink sink = ofs_sink_to_buf(&out);

	memset(text, '.', 5000);
	for (size_t i = 0; i < 5000; i += 2) {
		size_t at = i * 1237 % 5000; /* each even offset once */
		struct ofs_buf with = OFS_BUF_INIT;

		ofs_buf_append_str(&with, "xy");
		ofs_edits_replace(&edits, (struct ofs_span){ text + at, 1 }, &with);
	}
	ofs_edits_sort(&edits);
	cr_assert_eq(ofs_edits_write(&edits, text, text + 5000, &sink), 0);
	cr_assert_eq(out.len, 7500);
	for (size_t i = 0; i < out.len; i++)
		cr_assert_eq(out.data[i], "xy."[i % 3]);
	free(text);
}

static int refuse(void *arg, const void *data, size_t len)
{
	return --*(int *)arg < 0 ? -EPIPE : 0;
}

Test(context_edit, what_cannot_be_written_ends_it)
{
	replace(2, 1, "x");
	replace(5, 1, "y");
	ofs_edits_sort(&edits);
	for (int i = 0; i < 5; i++) {
		int left = i;
		struct ofs_sink sink = { .write = refuse, .arg = &left };

		cr_expect_eq(ofs_edits_write(&edits, source, source + 10, &sink), -EPIPE, "%d", i);
		cr_expect_eq(left, -1, "went on after %d", i);
	}
}
