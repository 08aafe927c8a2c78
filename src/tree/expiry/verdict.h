/* SPDX-License-Identifier: MIT */
/*
 * The rules of garbage collection, without I/O: is a file kept? All times are nanoseconds of the
 * store's age clock.
 *
 * A file of the working tier that was unused for its whole lifetime is evictable. It stays while
 * there is room, and is removed when the grace time has passed as well. If room is short it is
 * removed earlier, and if the size limit is exceeded even before it is evictable. When its task is
 * ended, a file is removed at once, unless it never expires: then it is promoted, as is any file
 * that a rule names. Nothing is removed that is important, belongs to a live task, is referred to
 * by a step of a live task, or is in use.
 *
 * Uses that the kernel serves from its caches are not seen. So a file is dropped from them after a
 * part of its lifetime (ofs_verdict_is_hidden()), and again when it goes on probation; any later
 * use is seen. The probation ends late enough for a file to stay for its whole lifetime after its
 * last use, even an unseen one. A use of a file is also a use of its task.
 */
#pragma once

#include "base/clock.h"
#include "tree/core/category.h"

/* An unseen use came at most this part of a file's lifetime after the last seen one. */
#define OFS_VERDICT_HIDDEN_PART 4
#define OFS_PROBATION_MAX \
	(600 * OFS_NS_PER_S) /* minimum length, or the file's lifetime if shorter */
/* Longer than uses are noted ahead of time, so that any use during the probation shows. */
#define OFS_PROBATION_SURPLUS (62 * OFS_NS_PER_S)

/* The limit that is exceeded unless the file is removed. */
enum ofs_shortage {
	OFS_SHORTAGE_NONE,
	OFS_SHORTAGE_KEEP, /* of the working tier, for evictable files */
	OFS_SHORTAGE_DISK, /* of the disk, for evictable files */
	OFS_SHORTAGE_MAX, /* of the working tier, for all files */
	OFS_SHORTAGES,
};

struct ofs_facts {
	bool working; /* in the working tier */
	bool important;
	bool open; /* somebody holds it */
	bool agent_ended; /* `ended` means the end of its agent */
	bool ended; /* its task was ended, and it was not used since */
	bool drop; /* and even what never expires is removed */
	bool wanted; /* a rule promotes it now (promote.h) */
	enum ofs_shortage shortage;
	int64_t live; /* its task is live until then at least; 0: not live, or no task */
	int64_t task_idle; /* how long its task stays live unused; 0: no task, or it was ended */
	uint64_t step; /* of a live task, refers to it; 0: none */
	bool unread; /* that step exceeds the limits, and only may refer to it */
	int64_t ttl; /* how long it may stay unused, or OFS_TTL_NEVER */
	int64_t grace; /* how long it then stays while there is room */
	int64_t used; /* last use that was seen */
	int64_t probation; /* start of its probation; 0: not on probation */
	bool agent; /* in the tree of an agent; only changes the words */
	int64_t now;
};

enum ofs_verdict {
	OFS_KEEP_TIER, /* not in the working tier */
	OFS_KEEP_IMPORTANT,
	OFS_KEEP_FOREVER, /* never expires */
	OFS_KEEP_USED, /* its lifetime is not over */
	OFS_KEEP_LIVE, /* its task is live */
	OFS_KEEP_REFERENCED,
	OFS_KEEP_EVICTABLE, /* its lifetime is over, and there is room */
	OFS_KEEP_PROBATION,
	OFS_KEEP_OPEN,
	OFS_PROMOTE, /* moves to persistent/ */
	OFS_REMOVE_EXPIRED, /* its grace is over */
	OFS_REMOVE_ENDED,
	OFS_REMOVE_SURPLUS, /* the size limit has no room for it */
	OFS_REMOVE_PRESSED, /* evictable, and room is short */
};

/*
 * Decides on a file. Sets *ret_at (may be NULL) to a time that holds unless the file is used
 * before: for OFS_KEEP_USED the end of its lifetime, for OFS_KEEP_LIVE when its task becomes idle,
 * for OFS_KEEP_EVICTABLE the start and for OFS_KEEP_PROBATION the end of its probation; else 0.
 */
enum ofs_verdict ofs_verdict_reach(const struct ofs_facts *f, int64_t *ret_at);

static inline bool ofs_verdict_is_removal(enum ofs_verdict v)
{
	return v >= OFS_REMOVE_EXPIRED;
}

/* Returns whether the file is promoted instead of removed. */
bool ofs_verdict_promotes(const struct ofs_facts *f);

/* Returns when the lifetime is over and the file becomes evictable; OFS_TTL_NEVER: never. */
int64_t ofs_verdict_due(int64_t used, int64_t ttl);

/* These return from when on the file is removed if room is short, and when it is removed anyway. */
int64_t ofs_verdict_pressable(const struct ofs_facts *f);
int64_t ofs_verdict_over(const struct ofs_facts *f);

/*
 * Returns whether the kernel's caches of the file must be dropped by now, so that uses are seen.
 * Sets *ret_at (may be NULL) to when they must; OFS_TTL_NEVER: never.
 */
bool ofs_verdict_is_hidden(const struct ofs_facts *f, int64_t *ret_at);

/* Returns when a task becomes idle whose last seen use was at `used`. */
int64_t ofs_verdict_task_end(int64_t used, int64_t task_idle);
