/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "client/content.h"
#include "client/spool.h"

Test(client_spool, borrowed_bytes_are_read_like_any)
{
	static const char text[] = "one\ntwo\nthree";
	struct ofs_spool spool;
	struct ofs_content content;
	char back[32] = "";

	ofs_spool_wrap(&spool, text, strlen(text));
	cr_expect_eq(spool.size, strlen(text));
	cr_expect_eq(ofs_spool_lines(&spool), 3);
	cr_expect_eq(ofs_spool_read(&spool, back, sizeof(back), 4), (ssize_t)strlen(text) - 4);
	cr_expect_str_eq(back, "two\nthree");
	cr_expect_eq(ofs_spool_append(&spool, "x", 1), -EINVAL);
	cr_assert_eq(ofs_content_scan(&spool, &content), 0);
	cr_expect_eq(content.lines, 3);
	ofs_spool_finish(&spool);
	cr_expect_str_eq(text, "one\ntwo\nthree");
}

Test(client_spool, nothing_can_be_borrowed)
{
	struct ofs_spool spool;
	char back;

	ofs_spool_wrap(&spool, NULL, 0);
	cr_expect_eq(ofs_spool_lines(&spool), 0);
	cr_expect_eq(ofs_spool_read(&spool, &back, 1, 0), 0);
	ofs_spool_finish(&spool);
}
