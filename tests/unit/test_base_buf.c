/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/buf.h"
#include "base/util.h"

Test(base_buf, starts_empty_and_finishes_empty)
{
	struct ofs_buf b = OFS_BUF_INIT;

	ofs_buf_finish(&b);
	ofs_buf_append(&b, "x", 1);
	ofs_buf_finish(&b);
	cr_assert_null(b.data);
	cr_assert_eq(b.len, 0);
	cr_assert_eq(b.cap, 0);
	ofs_buf_finish(&b);
}

Test(base_buf, appending_nothing_allocates_nothing)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;

	ofs_buf_append(&b, NULL, 0);
	cr_assert_null(b.data);
}

Test(base_buf, keeps_what_was_appended)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;
	uint32_t i;

	for (i = 0; i < 10000; i++) {
		ofs_buf_append(&b, &i, sizeof(i));
		cr_assert_leq(b.len, b.cap);
	}
	cr_assert_eq(b.len, 40000);
	for (i = 0; i < 10000; i++)
		cr_assert_arr_eq(b.data + (size_t)4 * i, (uint8_t *)&i, 4);
}

Test(base_buf, reserve_makes_room_and_keeps_the_length)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;
	uint8_t *data;

	ofs_buf_append_str(&b, "ab");
	ofs_buf_reserve(&b, 1000);
	cr_assert_eq(b.len, 2);
	cr_assert_geq(b.cap, 1002);
	data = b.data;
	ofs_buf_reserve(&b, 1000);
	cr_assert_eq(b.data, data);
	cr_assert_arr_eq(b.data, "ab", 2);
}

Test(base_buf, reserve_refuses_what_overflows)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;

	ofs_buf_append_str(&b, "ab");
	cr_assert_eq(ofs_buf_try_reserve(&b, SIZE_MAX), -ENOMEM);
	cr_assert_eq(b.len, 2);
	cr_assert_arr_eq(b.data, "ab", 2);
}

Test(base_buf, printf_appends_text_of_any_length)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;

	ofs_buf_append_str(&b, "n=");
	ofs_buf_printf(&b, "%d", 42);
	cr_assert_eq(b.len, 4);
	cr_assert_arr_eq(b.data, "n=42", 4);
	ofs_buf_printf(&b, "%5000s", "end");
	cr_assert_eq(b.len, 5004);
	cr_assert_arr_eq(b.data + 5001, "end", 3);
	ofs_buf_printf(&b, "%s", "");
	cr_assert_eq(b.len, 5004);
}
