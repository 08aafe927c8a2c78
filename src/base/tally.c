/* SPDX-License-Identifier: MIT */
#include "base/tally.h"

void ofs_tally_finish(struct ofs_tally *t)
{
	ofs_map_finish(&t->small);
	ofs_map_finish(&t->large);
}

/* The counts of its group, one a byte, which the map stores in place of a pointer. */
static uintptr_t group_of(const struct ofs_tally *t, uint64_t number)
{
	return (uintptr_t)ofs_map_get(&t->small, number / OFS_TALLY_GROUP);
}

static unsigned int shift_of(uint64_t number)
{
	return (unsigned int)(number % OFS_TALLY_GROUP) * 8;
}

uint64_t ofs_tally_get(const struct ofs_tally *t, uint64_t number)
{
	uint64_t count = group_of(t, number) >> shift_of(number) & 0xff;

	return count == OFS_TALLY_LARGE ? (uintptr_t)ofs_map_get(&t->large, number) : count;
}

void ofs_tally_list(const struct ofs_tally *t, struct ofs_u64_list *ret)
{
	for (size_t i = 0; t->small.slots && i <= t->small.mask; i++)
		for (uint64_t k = 0; t->small.slots[i].value && k < OFS_TALLY_GROUP; k++)
			if (ofs_tally_get(t, t->small.slots[i].key * OFS_TALLY_GROUP + k))
				ofs_u64_list_add(ret, t->small.slots[i].key * OFS_TALLY_GROUP + k);
}

void ofs_tally_set(struct ofs_tally *t, uint64_t number, uint64_t count)
{
	uintptr_t group = group_of(t, number), byte = OFS_MIN(count, (uint64_t)OFS_TALLY_LARGE);
	unsigned int shift = shift_of(number);

	if (byte == OFS_TALLY_LARGE)
		ofs_map_put(&t->large, number, (void *)(uintptr_t)count);
	else if ((group >> shift & 0xff) == OFS_TALLY_LARGE)
		ofs_map_remove(&t->large, number);
	group = (group & ~((uintptr_t)0xff << shift)) | byte << shift;
	if (group)
		ofs_map_put(&t->small, number / OFS_TALLY_GROUP, (void *)group);
	else
		ofs_map_remove(&t->small, number / OFS_TALLY_GROUP);
}
