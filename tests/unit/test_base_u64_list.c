/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/u64_list.h"

static struct ofs_u64_list list;

static void finish(void)
{
	ofs_u64_list_finish(&list);
}

TestSuite(base_u64_list, .fini = finish);

static void check_order(size_t n)
{
	cr_assert_eq(list.n, n);
	for (size_t i = 1; i < n; i++)
		cr_assert_lt(list.at[i - 1], list.at[i]);
}

Test(base_u64_list, sorting_drops_repetitions)
{
	static const uint64_t numbers[] = { 3, UINT64_MAX, 0, 3, (uint64_t)1 << 63, 2, 0 };

	ofs_u64_list_sort_unique(&list);
	check_order(0);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(numbers); i++)
		ofs_u64_list_add(&list, numbers[i]);
	ofs_u64_list_sort_unique(&list);
	check_order(5);
	cr_assert_eq(list.at[0], 0);
	cr_assert_eq(list.at[4], UINT64_MAX);
}

Test(base_u64_list, all_that_was_added_is_found)
{
	/* Multiples of an odd number are distinct modulo 2^64. */
	for (uint64_t i = 0; i < 10000; i++)
		ofs_u64_list_add(&list, i * UINT64_C(0x9e3779b97f4a7c15));
	ofs_u64_list_sort_unique(&list);
	check_order(10000);
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t number = i * UINT64_C(0x9e3779b97f4a7c15);

		cr_assert_eq(list.at[ofs_u64_list_seek(&list, number - 1) % list.n], number);
	}
	cr_assert_eq(ofs_u64_list_seek(&list, UINT64_MAX), list.n);
}
