/* SPDX-License-Identifier: MIT */
/*
 * Shortage of room, in the journal and on the disk, and how those who write and those who make room
 * wait for each other. For a full disk there is a reserve: a file that only takes up space.
 * Operations that free space (removing, truncating, a checkpoint) may use that room when there is
 * no other. From then on nothing else is written until the reserve could be set aside again.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/util.h"

struct ofs_store;

struct ofs_reserve {
	pthread_mutex_t lock; /* taken with any of the store's held */
	bool there; /* lock */
	/* Changed under `lock`. */
	_Atomic int64_t tried; /* when it was last tried to set it aside */
	atomic_bool tight; /* it is used: only what frees space may be written */
};

/* All guarded by the store's `lock`. */
struct ofs_room {
	pthread_cond_t made; /* a cycle or a checkpoint has ended */
	uint64_t cycles; /* how many have ended */
	int error; /* of the last one */
	/* For a full disk. */
	bool wanted; /* a writer waits for room to be made */
	uint64_t rounds; /* how often room was made */
	uint64_t changes; /* how many there were when it was made last */
};

/* The error says that the disk is full. */
bool ofs_store_is_full(int r);

/* Sets room aside; where there is none, the store is tight from now on. */
void ofs_reserve_fill(struct ofs_store *s);

/* Gives that room up. True when there was any, so that trying again makes sense. */
bool ofs_reserve_release(struct ofs_store *s);

/* Only what frees space may be written; looks from time to time whether that is over. */
bool ofs_reserve_is_tight(struct ofs_store *s);

void ofs_reserve_remove(struct ofs_store *s);

/* The journal is so long that drafts do not wait to become quiet. */
bool ofs_store_is_pressed(struct ofs_store *s);

/* The daemon is about to end: unsealed content stays a draft. */
bool ofs_store_is_stopping(struct ofs_store *s);

/*
 * For writers, before they take any lock: waits while the journal is too long. -ENOSPC or another
 * error when the sealer cannot make it shorter.
 */
int ofs_store_wait_for_room(struct ofs_store *s);

/*
 * For writers of what is large in memory (inode.h), with `lock` held: waits for a checkpoint when
 * there is too much of it.
 */
void ofs_store_wait_for_memory(struct ofs_store *s);

/*
 * For writers whose change failed with `r`, before they take any lock: when the disk is full, gives
 * back what can be given back. True when that is worth another try.
 */
bool ofs_store_make_room(struct ofs_store *s, int r);
