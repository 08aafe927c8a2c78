/* SPDX-License-Identifier: MIT */
/*
 * The age clock, which measures how long something was not used. It starts as the wall clock and
 * runs with the boot clock, so a step of the wall clock ages nothing. While the store is closed
 * only the wall clock runs: the time by which it is ahead of the highest one in the index is added,
 * never a negative one, and no more than OFS_AGE_CLOSED_MAX: nobody could use what is in it, and
 * the wall clock may be that of another machine. So the index must learn of a step soon
 * (ofs_store_keep_age()).
 */
#pragma once

#include "base/clock.h"
#include "index/index.h"

/* What is closed no longer than that becomes older as if it were open: tools open it for a call. */
#define OFS_AGE_CLOSED_MAX (3600 * OFS_NS_PER_S)

struct ofs_store;
struct ofs_inode;

struct ofs_age {
	/* Constant once the store is open. */
	int64_t start; /* the age clock when the boot clock was at boot_start */
	int64_t boot_start;
	/* The age clock and the wall clock as the index knows them; the store's `lock`. */
	int64_t kept_age;
	int64_t kept_wall;
};

/* Starts it where the index, and the time since, say. */
void ofs_age_open(struct ofs_store *s, const struct ofs_index_meta *meta);

/*
 * Sets what a checkpoint is to keep of it, and, once that is committed, remembers it; `lock` held.
 */
void ofs_age_take(struct ofs_store *s, struct ofs_index_meta *meta);
void ofs_age_kept(struct ofs_store *s, const struct ofs_index_meta *meta);

/* A record made at `time` changes the inode: that is its last use. `lock` held. */
void ofs_store_changed(struct ofs_store *s, struct ofs_inode *n, int64_t time);

/* To a whole second, as the index keeps it, and never to an earlier time. */
int64_t ofs_age_round_up(int64_t age);

/* The index lacks something that the next start has to know of it. */
bool ofs_age_is_stale(struct ofs_store *s);
