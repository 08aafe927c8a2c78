/* SPDX-License-Identifier: MIT */
/*
 * Shortage of room, in the journal and on the disk, and how writers and those who make room wait
 * for each other. For a full disk there is a reserve, a file that only takes up space. Operations
 * that free space (removing, truncating, a checkpoint) may use its room if there is no other; then
 * nothing else is written until the reserve could be set aside again.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/util.h"

struct ofs_store;

struct ofs_reserve {
	pthread_mutex_t lock; /* may be taken with any of the store's locks held */
	/* Guarded by `lock`. */
	bool there;
	int64_t told; /* time of the last shortage, monotonic; 0: none */
	/* Changed under `lock`. */
	_Atomic int64_t tried; /* time of the last attempt to set it aside, monotonic */
	atomic_bool tight; /* the reserve is used: only what frees space may be written */
};

/* All guarded by the store's `lock`. */
struct ofs_room {
	pthread_cond_t made; /* a cycle or a checkpoint has ended */
	uint64_t cycles; /* number of cycles that have ended */
	int error; /* of the last one; 0: none */
	/* For a full disk. */
	bool wanted; /* a writer waits for room to be made */
	uint64_t rounds; /* how often room was made for that */
	uint64_t changes; /* the store's `changes` when it was made last */
	uint64_t index; /* bytes of the index, as of the last checkpoint */
};

/* The error means that the disk is full. */
bool ofs_store_is_full(int r);

/* Sets the reserve aside; if the disk is too full for it, the store is tight from now on. */
void ofs_reserve_fill(struct ofs_store *s);

/* Gives the reserve up; the store is tight. True: there was one, so another try makes sense. */
bool ofs_reserve_release(struct ofs_store *s);

/* Only what frees space may be written; checks from time to time whether that is over. */
bool ofs_reserve_is_tight(struct ofs_store *s);
/* Removes the file of the reserve. */
void ofs_reserve_remove(struct ofs_store *s);

/* The journal is so long that drafts need not become quiet. */
bool ofs_store_is_pressed(struct ofs_store *s);

/* The daemon is about to end: unsealed content stays a draft. Takes `lock`. */
bool ofs_store_is_stopping(struct ofs_store *s);

/* Where the following three would wait, a thread that may not (store.h) gets -EAGAIN instead. */

/*
 * For writers, before they take any lock: waits while the journal is too long. -ENOSPC or another
 * error: the sealer cannot shorten it.
 */
int ofs_store_wait_for_room(struct ofs_store *s);

/*
 * So many dirty inodes, or more, call for a checkpoint: fewer where the disk has little room for
 * what that writes. `lock` held.
 */
size_t ofs_store_dirty_max(struct ofs_store *s);

/*
 * For changes that are large in memory (inode.h) or free space, with `lock` held: waits for a
 * checkpoint if memory holds too much, or more changes than the disk has room for. `lock` is
 * released meanwhile. 0 or -EAGAIN.
 */
int ofs_store_wait_for_checkpoint(struct ofs_store *s);

/*
 * For writers whose change failed with `*r`, before they take any lock: if the disk is full, waits
 * until what can be given back has been. True: another try makes sense.
 */
bool ofs_store_make_room(struct ofs_store *s, int *r);
