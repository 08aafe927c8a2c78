/* SPDX-License-Identifier: MIT */
/* The state of an open log, shared by journal.c, sync.c and advance.c. */
#pragma once

#include "base/thread.h"
#include "journal/journal.h"
#include "journal/segment.h"

/* Lock order: append_lock, segments_lock. sync_lock is never held with either. */
struct ofs_journal {
	int dirfd; /* borrowed */
	uint8_t uuid[16];
	uint64_t key;
	_Atomic uint64_t segment_size;

	/* Held for a whole append: it orders the records and guards the newest segment's `end`. */
	pthread_mutex_t append_lock;

	/* Guards the lists. A segment that is used after unlocking is referenced first. */
	pthread_rwlock_t segments_lock;
	struct ofs_segment_list segments; /* never empty */
	struct ofs_segment_list trimmed; /* no longer part of the log; their files still exist */

	/*
	 * The last segment, which is never removed. Changes under both locks, so either suffices to
	 * use it.
	 */
	struct ofs_segment *newest;

	/*
	 * True if a segment was created, or removed since it could not be, since the directory was
	 * last synced. Set under segments_lock.
	 */
	atomic_bool dir_dirty;

	/*
	 * Guards `syncing` and, while the log is open for writing, changes of `durable` and
	 * `poisoned`. One caller at a time syncs, without holding this lock.
	 */
	pthread_mutex_t sync_lock;
	pthread_cond_t sync_done;
	bool syncing;
	_Atomic ofs_lsn durable; /* the log is synced up to here */
	atomic_int poisoned; /* the error of the sync that failed, or 0 */
	bool read_only;
};
