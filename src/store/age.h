/* SPDX-License-Identifier: MIT */
/*
 * The age clock, which measures how long something has not been used. It starts as the wall clock
 * and runs with the boot clock, so a step of the wall clock ages nothing. While the store is closed
 * only the wall clock runs: the age clock advances by how far that is ahead of the highest time in
 * the index. It never goes back, and advances by no more than OFS_AGE_CLOSED_MAX, since nobody
 * could use the content and the wall clock may be another machine's. So the index must learn of a
 * step soon (ofs_store_keep_age()).
 */
#pragma once

#include "base/clock.h"
#include "index/index.h"

/* Shorter closures count in full: tools open the store for one call at a time. */
#define OFS_AGE_CLOSED_MAX (3600 * OFS_NS_PER_S)

struct ofs_store;
struct ofs_inode;

struct ofs_age {
	/* Constant once the store is open. */
	int64_t start; /* the age clock when the boot clock was at boot_start */
	int64_t boot_start;
	/* The age clock and the wall clock as the index has them. Guarded by the store's `lock`. */
	int64_t kept_age;
	int64_t kept_wall;
};

/* Starts the clock from what the index has and the time since then. */
void ofs_age_open(struct ofs_store *s, const struct ofs_index_meta *meta);

/* Sets what a checkpoint keeps of the clock; `lock` held. */
void ofs_age_take(struct ofs_store *s, struct ofs_index_meta *meta);
/* Remembers what was kept, once that is committed or at the start; `lock` held. */
void ofs_age_kept(struct ofs_store *s, const struct ofs_index_meta *meta);

/* Notes a record made at `time` (wall clock) as the inode's last use. `lock` held. */
void ofs_store_changed(struct ofs_store *s, struct ofs_inode *n, int64_t time);

/* Rounds up to a whole second, as the index keeps it. */
int64_t ofs_age_round_up(int64_t age);

/* The index lacks something that the next start has to know of the clock. Takes `lock`. */
bool ofs_age_is_stale(struct ofs_store *s);
