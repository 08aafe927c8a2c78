/* SPDX-License-Identifier: MIT */
/*
 * How many of each of many 64-bit numbers: two bytes a number, or less, where numbers are
 * neighbours and counts small, and never more than a struct ofs_map would take that held the counts.
 * Not thread-safe: the owner's lock guards it.
 */
#pragma once

#include "base/map.h"
#include "base/u64_list.h"

struct ofs_tally {
	struct ofs_map small; /* number / OFS_TALLY_GROUP -> a byte for each number of the group */
	struct ofs_map large; /* number -> its count, where the byte is OFS_TALLY_LARGE */
};

#define OFS_TALLY_GROUP sizeof(void *)
#define OFS_TALLY_LARGE 0xffu

#define OFS_TALLY_INIT                                       \
	{                                                    \
		.small = OFS_MAP_INIT, .large = OFS_MAP_INIT \
	}

void ofs_tally_finish(struct ofs_tally *t);

uint64_t ofs_tally_get(const struct ofs_tally *t, uint64_t number);
/* Adds the numbers that have a count to the list, in no order. */
void ofs_tally_list(const struct ofs_tally *t, struct ofs_u64_list *ret);

void ofs_tally_set(struct ofs_tally *t, uint64_t number, uint64_t count);
