/* SPDX-License-Identifier: MIT */
/*
 * The rules of garbage collection, without I/O: is a file kept? All times are of the store's age
 * clock, in nanoseconds.
 *
 * A file of the working tier that was not used for its whole time is evictable. It stays while
 * there is room, and goes when it has been evictable for the grace time. For want of room it goes
 * before; where the size limit is exceeded even if it is not evictable. When its task is ended it
 * goes at once, but what never expires is promoted, as is what a rule wants. Nothing goes that is important, of a live task, referred to by a step of a live
 * task, or in use.
 *
 * Uses that the kernel serves from its caches are not seen. So a file is taken out of them once a
 * part of its time has passed (ofs_verdict_is_hidden()), and again when it goes on probation; a use
 * after that is seen. The probation ends so late that a file stays for its whole time after its
 * last use, even if that use was not seen. A use of a file is one of its task as well.
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

/* The limit that is exceeded unless the file goes. */
enum ofs_shortage {
	OFS_SHORTAGE_NONE,
	OFS_SHORTAGE_KEEP, /* of the working tier, for what is evictable */
	OFS_SHORTAGE_DISK, /* of the disk, for what is evictable */
	OFS_SHORTAGE_MAX, /* of the working tier, for all that is in it */
	OFS_SHORTAGES,
};

struct ofs_facts {
	bool working; /* it is in the working tier */
	bool important;
	bool open; /* somebody holds it */
	bool agent_ended; /* and that is the agent's end */
	bool ended; /* its task was ended, and it was not used since */
	bool drop; /* and with it goes even what never expires */
	bool wanted; /* a rule promotes it now (promote.h) */
	enum ofs_shortage shortage;
	int64_t live; /* its task is live until then, at least; 0: it is not live, or has none */
	int64_t task_idle; /* how long its task stays live unused; 0: it has none, or has ended */
	uint64_t step; /* of a live task that refers to it, 0: none */
	bool unread; /* that step is beyond the limits, and only may refer to it */
	int64_t ttl; /* how long it may stay unused, or OFS_TTL_NEVER */
	int64_t grace; /* and then stays while there is room */
	int64_t used; /* the last use that was seen */
	int64_t probation; /* since when it is on probation, 0: it is not */
	bool agent; /* it is in the tree of an agent, which is of no account but in words */
	int64_t now;
};

enum ofs_verdict {
	OFS_KEEP_TIER, /* it is not in the working tier */
	OFS_KEEP_IMPORTANT,
	OFS_KEEP_FOREVER, /* its time is never over */
	OFS_KEEP_USED, /* its time is not over */
	OFS_KEEP_LIVE, /* its task is live */
	OFS_KEEP_REFERENCED,
	OFS_KEEP_EVICTABLE, /* its time is over, and there is room */
	OFS_KEEP_PROBATION,
	OFS_KEEP_OPEN,
	OFS_PROMOTE, /* it goes to persistent/ */
	OFS_REMOVE_EXPIRED, /* its grace is over */
	OFS_REMOVE_ENDED,
	OFS_REMOVE_SURPLUS, /* the size limit has no room for it */
	OFS_REMOVE_PRESSED, /* it is evictable, and room is short */
};

/*
 * `ret_at` (may be NULL), if it is not used before: for OFS_KEEP_USED when its time is over, for
 * OFS_KEEP_LIVE when its task is idle, for OFS_KEEP_EVICTABLE when its probation is to begin, for
 * OFS_KEEP_PROBATION when that ends; else 0.
 */
enum ofs_verdict ofs_verdict_reach(const struct ofs_facts *f, int64_t *ret_at);

static inline bool ofs_verdict_is_removal(enum ofs_verdict v)
{
	return v >= OFS_REMOVE_EXPIRED;
}

/* It is not dropped but promoted. */
bool ofs_verdict_promotes(const struct ofs_facts *f);

/* When its time is over, and it is evictable; OFS_TTL_NEVER: never. */
int64_t ofs_verdict_due(int64_t used, int64_t ttl);

/* From when on it goes where room is short, and when it goes where there is room. */
int64_t ofs_verdict_pressable(const struct ofs_facts *f);
int64_t ofs_verdict_over(const struct ofs_facts *f);

/*
 * The kernel's caches of the file must be dropped by now, so that its uses are seen; `ret_at` (may
 * be NULL) is when they must, OFS_TTL_NEVER: never.
 */
bool ofs_verdict_is_hidden(const struct ofs_facts *f, int64_t *ret_at);

/* When a task that was last seen to be used at `used` is idle. */
int64_t ofs_verdict_task_end(int64_t used, int64_t task_idle);
