/* SPDX-License-Identifier: MIT */
/*
 * Counts by 64-bit number. Neighbouring numbers share a slot of a map, so counts below 255 take a
 * few bytes each; larger counts take a slot of their own. Not thread-safe: guarded by the owner's
 * lock.
 */
#pragma once

#include "base/map.h"
#include "base/u64_list.h"

struct ofs_tally {
	struct ofs_map small; /* number / OFS_TALLY_GROUP -> the counts of its group, one a byte */
	struct ofs_map large; /* number -> count, if the byte is OFS_TALLY_LARGE */
};

#define OFS_TALLY_GROUP sizeof(void *)
#define OFS_TALLY_LARGE 0xffu

#define OFS_TALLY_INIT                                       \
	{                                                    \
		.small = OFS_MAP_INIT, .large = OFS_MAP_INIT \
	}

void ofs_tally_finish(struct ofs_tally *t);

uint64_t ofs_tally_get(const struct ofs_tally *t, uint64_t number);
/* Appends all numbers with a count to the list, in no particular order. */
void ofs_tally_list(const struct ofs_tally *t, struct ofs_u64_list *ret);

void ofs_tally_set(struct ofs_tally *t, uint64_t number, uint64_t count);
