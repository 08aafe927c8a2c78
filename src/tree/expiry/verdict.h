/* SPDX-License-Identifier: MIT */
/*
 * The rules of garbage collection, without I/O: is a file kept? All times are of the store's age
 * clock, in nanoseconds.
 *
 * A file is removed when all of these hold: its time is over (or its task has ended, or the working
 * tier is too large and it is among those used longest ago), it is in the working tier, not
 * important, not referred to by a step of a live task, not in use.
 *
 * Uses that the kernel serves from its caches are not seen. So a file is taken out of them once a
 * part of its time has passed (ofs_verdict_is_hidden()), and again when it goes on probation; a use
 * after that is seen. The probation ends so late that a file stays for its whole time after its
 * last use, even if that use was not seen.
 */
#pragma once

#include "base/clock.h"
#include "tree/core/category.h"

/* An unseen use came within this part of a file's lifetime after the last seen one. */
#define OFS_VERDICT_HIDDEN_PART 4
#define OFS_PROBATION_MAX \
	(600 * OFS_NS_PER_S) /* at least that long, or the file's time if shorter */
/* Longer than uses are noted ahead of their time, so that any use during it shows. */
#define OFS_PROBATION_SURPLUS (62 * OFS_NS_PER_S)

struct ofs_facts {
	bool working; /* it is in the working tier */
	bool important;
	bool open; /* somebody holds it */
	bool ended; /* its task was ended, and it was not used since */
	bool surplus; /* the size limit has no room for it */
	uint64_t step; /* of a live task that refers to it, 0: none */
	bool unread; /* that step is beyond the limits, and only may refer to it */
	int64_t ttl; /* how long it may stay unused, or OFS_TTL_NEVER */
	int64_t used; /* the last use that was seen */
	int64_t probation; /* since when it is on probation, 0: it is not */
	int64_t now;
};

enum ofs_verdict {
	OFS_KEEP_TIER, /* it is not in the working tier */
	OFS_KEEP_IMPORTANT,
	OFS_KEEP_FOREVER, /* its time is never over */
	OFS_KEEP_USED, /* its time is not over */
	OFS_KEEP_REFERENCED,
	OFS_KEEP_PROBATION,
	OFS_KEEP_OPEN,
	OFS_REMOVE_EXPIRED,
	OFS_REMOVE_ENDED,
	OFS_REMOVE_SURPLUS,
};

/*
 * `ret_at` (may be NULL): for OFS_KEEP_USED when its time is over, for OFS_KEEP_PROBATION when that
 * ends, if it is not used before; else 0.
 */
enum ofs_verdict ofs_verdict_reach(const struct ofs_facts *f, int64_t *ret_at);

static inline bool ofs_verdict_is_removal(enum ofs_verdict v)
{
	return v >= OFS_REMOVE_EXPIRED;
}

/* When its time is over; OFS_TTL_NEVER: never. */
int64_t ofs_verdict_due(int64_t used, int64_t ttl);

/*
 * The kernel's caches of the file must be dropped by now, so that its uses are seen; `ret_at` (may
 * be NULL) is when they must.
 */
bool ofs_verdict_is_hidden(const struct ofs_facts *f, int64_t *ret_at);
