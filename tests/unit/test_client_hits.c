/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "client/hits.h"

static char xs[600];

static void begin(void)
{
	memset(xs, 'x', sizeof(xs) - 1);
}

TestSuite(client_hits, .init = begin);

/* Of `start`, `n` x and `end`, search/ must be asked for `asked`, `kept` x and `rest`. */
static void expect_cut(bool why, const char *start, size_t n, const char *end, const char *asked,
		       size_t kept, const char *rest)
{
	OFS_FREE char *query = ofs_format("%s%.*s%s", start, (int)n, xs, end), *path = NULL;
	OFS_FREE char *expected = ofs_format("search/%s%.*s%s", asked, (int)kept, xs, rest);

	cr_expect(ofs_hits_path(query, why, &path));
	cr_expect_str_eq(path, expected);
}

Test(client_hits, a_long_word_is_cut_between_characters)
{
	expect_cut(false, "", 500, "", "", 255, "");
	expect_cut(false, "", 252, "/x", "", 252, "%2F");
	expect_cut(false, "", 253, "/x", "", 253, "");
	expect_cut(false, "", 254, "/x", "", 254, "");
	expect_cut(false, "", 251, "//x", "", 251, "%2F");
	expect_cut(false, "", 252, "\u7528x", "", 252, "\u7528");
	expect_cut(false, "", 254, "\u7528x", "", 254, "");
}

Test(client_hits, a_long_query_is_cut_at_a_blank_but_keeps_its_first_word)
{
	expect_cut(false, "needle ", 500, "", "needle", 0, "");
	expect_cut(true, "needle ", 500, "", "why:yes needle", 0, "");
	expect_cut(false, "", 255, " needle", "", 255, "");
	expect_cut(true, "", 500, "", "why:yes ", 247, "");
	expect_cut(true, " \n ", 500, "", "why:yes ", 247, "");
}
