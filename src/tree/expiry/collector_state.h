/* SPDX-License-Identifier: MIT */
/* The state of a collector between its runs, for collector.c and collect.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "base/u64_list.h"
#include "tree/expiry/collector.h"
#include "tree/expiry/lifetime.h"
#include "tree/expiry/headroom.h"
#include "tree/expiry/step_refs.h"

#define OFS_COLLECT_ITEMS_MAX 10000 /* files that a report lists */

/* A file on probation. */
struct ofs_trial {
	uint64_t ino;
	int64_t used; /* last use when the probation started; a later one ends it */
	int64_t since;
	enum ofs_shortage shortage; /* why it would be removed before its grace is over */
	uint64_t run; /* last run in which it was due */
};

struct ofs_collect_item {
	char *path;
	uint64_t ino;
	uint64_t size;
	const char *action;
	char *why;
	char *to; /* the path it is promoted to; NULL: none */
	int64_t at; /* wall clock; 0: none */
};

struct ofs_collect_counts {
	uint64_t total; /* number of files in the last run */
	uint64_t looked;
	uint64_t removed, removed_bytes, freed_bytes;
	uint64_t evictable, evictable_bytes;
	uint64_t promoted;
	uint64_t probation, open, kept;
};

struct ofs_collect_totals {
	uint64_t expired, ended, surplus, pressed; /* files removed since the store was opened */
	uint64_t freed;
	uint64_t files, bytes, stored; /* of the working tier, in the last run */
	uint64_t evictable, evictable_stored; /* part of that */
	int64_t due; /* when the next file can be removed, by the age clock; OFS_TTL_NEVER: none */
};

struct ofs_collector {
	struct ofs_tree *tree;
	struct ofs_headroom headroom;
	atomic_bool stop, stop_for_good;
	atomic_bool pressed;
	_Atomic uint64_t room_left;
	uint64_t runs; /* number of runs; only for the thread that runs */
	const struct ofs_root *asking; /* tree of the current request; for the same thread */

	pthread_mutex_t steps_lock; /* guards `steps`; held while the store is called */
	struct ofs_step_refs *steps;
	_Atomic uint64_t unread_step; /* the step that exceeds the limits; 0: none */

	pthread_mutex_t lock; /* guards the rest; the store is not called under it */
	struct ofs_map trials; /* inode -> struct ofs_trial */
	struct ofs_collect_counts counts; /* of the last run with a request */
	struct ofs_collect_totals totals;
	struct ofs_collect_item *items;
	size_t nitems, cap_items;
};

/* Brings the references of steps up to date (ofs_step_refs_refresh()). Returns 0 or -errno. */
int ofs_collector_refresh_steps(struct ofs_collector *c, const struct ofs_root *root);

/* Returns when the first task whose steps keep files becomes idle (age clock), or OFS_TTL_NEVER. */
int64_t ofs_collector_steps_end(struct ofs_collector *c);

/* Sets all facts but open and shortage. Returns 0 or -errno. */
int ofs_collector_facts(struct ofs_collector *c, const struct ofs_attr *file,
			const struct ofs_lifetime_place *place, struct ofs_facts *ret);

/*
 * Adds a file to the report; `at` is when that happens (age clock), 0: no time. Returns false if it
 * was not added.
 */
bool ofs_collector_tell(struct ofs_collector *c, const struct ofs_attr *file, const char *action,
			const struct ofs_facts *facts, int64_t at);

/* Adds a file that was promoted, or would be, from `path` to `to`. */
void ofs_collector_tell_promoted(struct ofs_collector *c, const struct ofs_attr *file,
				 const struct ofs_facts *facts, const char *path, const char *to);

/* Removes a file from the report again, at the latest place where it is. */
void ofs_collector_untell(struct ofs_collector *c, uint64_t ino);
