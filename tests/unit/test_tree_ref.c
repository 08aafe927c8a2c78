/* SPDX-License-Identifier: MIT */
/* Refs: conversion in both directions, and the promise that they never change. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include <offloadfs/tree.h>

#include "base/util.h"
#include "tree/core/ref.h"

#define SHORT_RANGE UINT64_C(2176782336) /* 36^6 */
#define LONG_RANGE UINT64_C(2821109907456) /* 36^8 */

static void expect_back(uint64_t ino)
{
	char ref[OFS_REF_SIZE];

	memset(ref, 'X', sizeof(ref));
	ofs_ref_write(0, ino, ref);
	cr_assert_eq(strlen(ref), ino < SHORT_RANGE ? 6 : 8, "%" PRIu64, ino);
	cr_assert_eq(strspn(ref, "0123456789abcdefghijklmnopqrstuvwxyz"), strlen(ref),
		     "%" PRIu64 " is '%s'", ino, ref);
	cr_assert_eq(ofs_ref_read(0, ref), ino, "%" PRIu64 " is '%s'", ino, ref);
}

Test(tree_ref, numbers_come_back)
{
	static const uint64_t borders[] = { 1,	  35,	      36,	   1295,
					    1296, UINT32_MAX, SHORT_RANGE, LONG_RANGE };
	uint64_t x = 88172645463325252;

	for (uint64_t ino = 1; ino < 50000; ino++)
		expect_back(ino);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(borders); i++)
		for (uint64_t ino = borders[i] - OFS_MIN(borders[i] - 1, UINT64_C(200));
		     ino < borders[i] + 200; ino++)
			if (ino < LONG_RANGE)
				expect_back(ino);
	for (int i = 0; i < 50000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		expect_back(x % (i % 2 ? SHORT_RANGE : LONG_RANGE) + (i % 2));
	}
}

Test(tree_ref, neighbours_do_not_look_alike)
{
	char a[OFS_REF_SIZE], b[OFS_REF_SIZE];

	for (uint64_t ino = 1; ino < 20000; ino++) {
		int differ = 0;

		ofs_ref_write(0, ino, a);
		ofs_ref_write(0, ino + 1, b);
		for (int i = 0; i < 6; i++)
			differ += a[i] != b[i];
		cr_assert_geq(differ, 3, "%s and %s", a, b);
	}
}

Test(tree_ref, invalid_ones_are_0)
{
	static const char *const refs[] = {
		"",	   "0",		"00000",   "000000",	"00000000",
		"0000000", "abcde",	"abcdefg", "abcdefghi", "abcdefghijklmnop",
		"ABCDEF",  "abcde ",	" abcde",  "abcd-f",	"abcd/f",
		"abcde\n", "abcd\xffg", "a:1-20",  "abcdefg:",	"......",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(refs); i++)
		cr_assert_eq(ofs_ref_read(0, refs[i]), 0, "'%s'", refs[i]);
}

/* Each number has one valid ref: a long ref that stands for a small number is invalid. */
Test(tree_ref, one_ref_a_number)
{
	uint64_t x = 2463534242;

	for (int i = 0; i < 100000; i++) {
		char ref[OFS_REF_SIZE], back[OFS_REF_SIZE];
		uint64_t ino;

		for (size_t at = 0; at < 8; at++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			ref[at] = "0123456789abcdefghijklmnopqrstuvwxyz"[x % 36];
		}
		ref[i % 2 ? 6 : 8] = 0;
		ino = ofs_ref_read(0, ref);
		if (!ino)
			continue;
		ofs_ref_write(0, ino, back);
		cr_assert_str_eq(ref, back);
	}
}

/* Prompts may hold refs for years, so these must never change. */
Test(tree_ref, fixed_vectors)
{
	static const struct {
		uint64_t ino;
		const char *ref;
	} vectors[] = {
		{ UINT64_C(1), "ph5wnp" },
		{ UINT64_C(2), "eybtbe" },
		{ UINT64_C(3), "4fhpz3" },
		{ UINT64_C(6), "8uzfy6" },
		{ UINT64_C(7), "yc5clv" },
		{ UINT64_C(100), "roeptg" },
		{ UINT64_C(4242), "0i27zu" },
		{ UINT64_C(1000000), "c83n0g" },
		{ UINT64_C(2176782335), "aiu3cb" },
		{ UINT64_C(2176782336), "np000000" },
		{ UINT64_C(2176782337), "npph5wnp" },
		{ UINT64_C(2821109907455), "zzaiu3cb" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(vectors); i++) {
		char ref[OFS_REF_SIZE];

		ofs_ref_write(0, vectors[i].ino, ref);
		cr_assert_str_eq(ref, vectors[i].ref, "%" PRIu64 " is '%s'", vectors[i].ino, ref);
	}
}

/* ---- with the seed of a store */

static const int64_t seeds[] = { 1, 3, INT64_MAX, 88172645463325253 };

Test(tree_ref, of_a_store_numbers_come_back)
{
	char ref[OFS_REF_SIZE];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(seeds); i++) {
		for (uint64_t n = 0; n < 40000; n++) {
			uint64_t ino = n < 20000 ? n : LONG_RANGE - n + 19999;

			ofs_ref_write(seeds[i], ino, ref);
			cr_assert_eq(strspn(ref, "0123456789abcdefghijklmnopqrstuvwxyz"), 8u);
			cr_assert_eq(ref[8], '\0');
			cr_assert_eq(ofs_ref_read(seeds[i], ref), ino, "%" PRIu64, ino);
		}
		cr_expect_eq(ofs_ref_read(seeds[i], "abcdef"), 0);
		cr_expect_eq(ofs_ref_read(seeds[i], "abcdefg"), 0);
		cr_expect_eq(ofs_ref_read(seeds[i], "ABCDEFGH"), 0);
	}
}

Test(tree_ref, of_another_store_they_name_nothing)
{
	char ref[OFS_REF_SIZE];
	size_t hits = 0;

	for (uint64_t ino = 1; ino < 100000; ino++) {
		ofs_ref_write(seeds[0], ino, ref);
		hits += ofs_ref_read(seeds[1], ref) < 100000;
	}
	cr_expect_leq(hits, 2u);
}

/* These must never change, either. */
Test(tree_ref, fixed_vectors_of_a_store)
{
	char ref[OFS_REF_SIZE];

	ofs_ref_write(1, 7, ref);
	cr_expect_str_eq(ref, "nc8xx6as");
	ofs_ref_write(INT64_MAX, LONG_RANGE - 1, ref);
	cr_expect_str_eq(ref, "st3xmbwt");
}

Test(tree_ref, what_is_shown_comes_back)
{
	static const int64_t all[] = { 0, 1, INT64_MAX };
	static const ofs_node kinds[] = { 0, OFS_NODE_LINK, OFS_NODE_LINK | OFS_NODE_FAR,
					  OFS_NODE_DERIVED };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(all); i++) {
		const struct ofs_tree t = { .ref_seed = all[i] };

		for (uint64_t n = 2; n < 3 * LONG_RANGE; n += n / 7 + 1) {
			for (size_t k = 0; k < OFS_ARRAY_SIZE(kinds); k++) {
				uint64_t shown = ofs_tree_show_node(&t, kinds[k] | n);

				cr_assert_eq(ofs_tree_shown_node(&t, shown), kinds[k] | n);
				cr_assert(shown > OFS_ROOT_INO && shown <= INT64_MAX);
				cr_assert(!all[i] || n >= LONG_RANGE || shown != (kinds[k] | n));
			}
		}
		for (uint64_t n = 0; n < UINT64_C(1) << 62; n += n / 7 + 1) {
			uint64_t shown = ofs_tree_show_cookie(&t, 5, n);

			cr_assert_eq(ofs_tree_shown_cookie(&t, 5, shown), n);
			cr_assert(shown <= INT64_MAX && (shown == n) == (n < 64 || !all[i]));
			cr_assert((shown == ofs_tree_show_cookie(&t, 6, n)) == (shown == n));
		}
		cr_expect_eq(ofs_tree_show_node(&t, 0), 0);
		cr_expect_eq(ofs_tree_show_node(&t, OFS_NODE_ROOT), OFS_NODE_ROOT);
		cr_expect_eq(ofs_tree_show_node(&t, OFS_NODE_REFS), OFS_NODE_REFS);
	}
}
