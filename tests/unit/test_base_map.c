/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/map.h"
#include "base/util.h"

#define KEYS 512u

static struct ofs_map map = OFS_MAP_INIT;
static char values[KEYS][2];

static void finish(void)
{
	ofs_map_finish(&map);
}

TestSuite(base_map, .fini = finish);

static uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

/* The slot that ofs_map prefers for a key, so that a test can choose keys that collide. */
static size_t home(uint64_t key, size_t mask)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & mask;
}

Test(base_map, empty)
{
	size_t pos = 0;

	cr_assert_null(ofs_map_get(&map, 1));
	cr_assert_null(ofs_map_remove(&map, 1));
	cr_assert_null(ofs_map_next(&map, &pos));
	cr_assert_eq(map.count, 0);
}

Test(base_map, put_replaces)
{
	ofs_map_put(&map, 0, values[0]);
	ofs_map_put(&map, 0, values[1]);
	cr_assert_eq(ofs_map_get(&map, 0), values[1]);
	cr_assert_eq(map.count, 1);
	ofs_map_put(&map, UINT64_MAX, values[2]);
	cr_assert_eq(ofs_map_get(&map, UINT64_MAX), values[2]);
	cr_assert_eq(ofs_map_remove(&map, 0), values[1]);
	cr_assert_null(ofs_map_get(&map, 0));
	cr_assert_eq(map.count, 1);
}

/* Compares the map with an array. `key_of` turns each number below `keys` into a key. */
static void check_against_model(uint64_t (*key_of)(uint32_t), uint32_t keys, unsigned int rounds,
				uint64_t seed)
{
	void *model[KEYS] = { NULL };
	size_t count = 0, pos, seen;
	unsigned int round;
	uint32_t i;
	void *value;

	for (round = 0; round < rounds; round++) {
		i = next_random(&seed) % keys;
		value = &values[i][next_random(&seed) % 2];
		if (next_random(&seed) % 2) {
			ofs_map_put(&map, key_of(i), value);
			count += !model[i];
			model[i] = value;
		} else {
			cr_assert_eq(ofs_map_remove(&map, key_of(i)), model[i]);
			count -= !!model[i];
			model[i] = NULL;
		}
		cr_assert_eq(map.count, count);
		for (i = 0; i < keys; i++)
			cr_assert_eq(ofs_map_get(&map, key_of(i)), model[i], "round %u key %u",
				     round, i);
	}
	for (pos = 0, seen = 0; (value = ofs_map_next(&map, &pos)); seen++)
		cr_assert_eq(value, model[((char *)value - values[0]) / 2]);
	cr_assert_eq(seen, count);
}

static uint64_t key_small(uint32_t i)
{
	return i;
}

static uint64_t key_spread(uint32_t i)
{
	return i * UINT64_C(0x123456789abcdef1);
}

/*
 * In a map of 16 slots, all of these keys prefer one of the last two, so that every chain wraps
 * around.
 */
static uint64_t key_crowded(uint32_t i)
{
	uint64_t key = 0;

	for (;; key++)
		if (home(key, 15) >= 14 && i-- == 0)
			return key;
}

Test(base_map, random_small_keys)
{
	check_against_model(key_small, KEYS, 5000, 1);
}

Test(base_map, random_spread_keys)
{
	check_against_model(key_spread, KEYS, 5000, 2);
}

Test(base_map, random_removal_with_wraparound)
{
	check_against_model(key_crowded, 11, 20000, 3);
	cr_assert_eq(map.mask, 15, "the map has grown, the chains no longer wrap");
}

Test(base_map, removal_keeps_chains_that_wrap)
{
	size_t mask = 15;
	uint32_t i;

	for (i = 0; i < 5; i++)
		ofs_map_put(&map, key_crowded(i), values[i]);
	cr_assert_eq(map.mask, mask);
	cr_assert_not_null(map.slots[0].value, "no chain wraps around");
	cr_assert_eq(ofs_map_remove(&map, key_crowded(0)), values[0]);
	for (i = 1; i < 5; i++)
		cr_assert_eq(ofs_map_get(&map, key_crowded(i)), values[i]);
}

Test(base_map, many)
{
	static char value;
	uint64_t i;

	for (i = 0; i < 200000; i++)
		ofs_map_put(&map, i * 4096, &value);
	cr_assert_eq(map.count, 200000);
	for (i = 0; i < 200000; i += 2)
		cr_assert_eq(ofs_map_remove(&map, i * 4096), &value);
	for (i = 0; i < 200000; i++)
		cr_assert_eq(ofs_map_get(&map, i * 4096), i % 2 ? &value : NULL);
}

Test(base_map, gives_back_what_it_no_longer_needs)
{
	const uint64_t many = 100000, few = 100;
	uint64_t i;

	for (i = 0; i < many; i++)
		ofs_map_put(&map, i, values[i % KEYS]);
	for (i = few; i < many; i++)
		cr_assert_eq(ofs_map_remove(&map, i), values[i % KEYS]);
	cr_assert_eq(map.count, few);
	cr_assert_lt(map.mask, many / 10);
	for (i = 0; i < many; i++)
		cr_assert_eq(ofs_map_get(&map, i), i < few ? values[i] : NULL);
}
