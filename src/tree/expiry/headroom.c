/* SPDX-License-Identifier: MIT */
#include "tree/expiry/headroom.h"

#define KEEP_MAX (UINT64_C(1) << 30) /* default of working_keep on a large disk */
#define DISK_PART 20 /* part of the disk: the same on a small one, and what must be available */
#define FREED_WITHIN (300 * OFS_NS_PER_S) /* for removed space to return to the disk */
#define WORTH_PART 16 /* part of a limit worth another run when it is exceeded */

static uint64_t above(uint64_t n, uint64_t limit)
{
	return n - OFS_MIN(n, limit);
}

uint64_t ofs_headroom_keep(const struct ofs_headroom *m)
{
	struct statvfs disk;

	if (m->keep || ofs_store_statfs(*m->store, &disk) < 0)
		return m->keep ? m->keep : KEEP_MAX;
	return OFS_MIN(KEEP_MAX, (uint64_t)disk.f_blocks / DISK_PART * disk.f_frsize);
}

uint64_t ofs_headroom_disk_lacks(const struct ofs_headroom *m, uint64_t *ret)
{
	struct statvfs disk = { 0 };
	uint64_t least, available;

	/* After an error nothing is known to be lacking. */
	ofs_store_statfs(*m->store, &disk);
	least = (uint64_t)disk.f_blocks / DISK_PART * disk.f_frsize;
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (ret)
		*ret = available;
	return above(least, available);
}

static uint64_t still_freeing(const struct ofs_headroom *m, uint64_t available)
{
	return ofs_clock_monotonic() - m->freed_at < FREED_WITHIN
		       ? above(m->freeing, above(available, m->available))
		       : 0;
}

void ofs_headroom_wants(const struct ofs_headroom *m, uint64_t stored, uint64_t ret[OFS_SHORTAGES])
{
	uint64_t available, lacks = ofs_headroom_disk_lacks(m, &available);

	ret[OFS_SHORTAGE_NONE] = 0;
	ret[OFS_SHORTAGE_KEEP] = above(stored, ofs_headroom_keep(m));
	/* Do not remove more for what the store is about to free. */
	ret[OFS_SHORTAGE_DISK] = above(lacks, still_freeing(m, available));
	ret[OFS_SHORTAGE_MAX] = m->max ? above(stored, m->max) : 0;
}

void ofs_headroom_note(struct ofs_headroom *m, uint64_t removed)
{
	uint64_t available;

	ofs_headroom_disk_lacks(m, &available);
	m->freeing = removed + still_freeing(m, available);
	m->available = available;
	m->freed_at = ofs_clock_monotonic();
}

static uint64_t left_of(uint64_t stored, uint64_t limit)
{
	return limit ? OFS_MAX(above(limit, stored), limit / WORTH_PART) : UINT64_MAX;
}

uint64_t ofs_headroom_left(const struct ofs_headroom *m, uint64_t stored)
{
	return OFS_MIN(left_of(stored, ofs_headroom_keep(m)), left_of(stored, m->max));
}
