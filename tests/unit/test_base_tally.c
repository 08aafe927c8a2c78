/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/tally.h"

static struct ofs_tally tally = OFS_TALLY_INIT;

static void finish(void)
{
	ofs_tally_finish(&tally);
}

TestSuite(base_tally, .fini = finish);

Test(base_tally, counts_of_neighbours_are_their_own)
{
	static const uint64_t counts[] = { 0, 1, 2, 254, 255, 256, 70000, (uint64_t)1 << 40 };
	uint64_t seed = 1, model[40] = { 0 }, i, number;

	for (unsigned int round = 0; round < 20000; round++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		i = (seed >> 33) % 40;
		model[i] = counts[(seed >> 50) % (sizeof(counts) / sizeof(*counts))];
		ofs_tally_set(&tally, i < 20 ? i : UINT64_MAX - i, model[i]);
		for (i = 0; i < 40; i++) {
			number = i < 20 ? i : UINT64_MAX - i;
			cr_assert_eq(ofs_tally_get(&tally, number), model[i]);
		}
	}
	for (i = 0; i < 40; i++)
		ofs_tally_set(&tally, i < 20 ? i : UINT64_MAX - i, 0);
	cr_assert_eq(tally.small.count, 0);
	cr_assert_eq(tally.large.count, 0);
}

Test(base_tally, what_has_a_count_is_listed)
{
	static const uint64_t numbers[] = { 0, 7, 8, 1000, UINT64_MAX };
	struct ofs_u64_list l = { 0 };

	for (size_t i = 0; i < 5; i++)
		ofs_tally_set(&tally, numbers[i], i * 100 + 1);
	ofs_tally_set(&tally, 9, 1);
	ofs_tally_set(&tally, 9, 0);
	ofs_tally_list(&tally, &l);
	ofs_u64_list_sort_unique(&l);
	cr_assert_eq(l.n, 5);
	cr_assert_eq(memcmp(l.at, numbers, sizeof(numbers)), 0);
	ofs_u64_list_finish(&l);
}

Test(base_tally, a_million_files_take_little)
{
	for (uint64_t i = 0; i < 1000000; i++)
		ofs_tally_set(&tally, i, 2);
	cr_assert_leq((tally.small.mask + 1) * sizeof(*tally.small.slots), (size_t)5 << 20);
	cr_assert_eq(tally.large.count, 0);
}
