/* SPDX-License-Identifier: MIT */
/* The state of a collector and of one run, shared by the collector*.c files. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/u64_list.h"
#include "tree/core/tree_state.h"
#include "tree/expiry/collector.h"
#include "tree/expiry/lifetime.h"
#include "tree/expiry/step_refs.h"

#define OFS_COLLECT_ITEMS_MAX 10000 /* files that a report lists */
#define OFS_COLLECT_BATCH 32 /* removals, or names released, between two pauses */
#define OFS_COLLECT_BREATH (4 * OFS_NS_PER_MS)

/* A file that is on probation. */
struct ofs_trial {
	uint64_t ino;
	int64_t used; /* last use when the probation started: a later one ends it */
	int64_t since;
	uint64_t run; /* the last run that met it */
};

struct ofs_collect_item {
	char *path;
	uint64_t ino;
	uint64_t size;
	const char *action;
	char *why;
	int64_t at; /* wall clock; 0: none */
};

struct ofs_collect_counts {
	uint64_t total; /* files there were at the last look */
	uint64_t looked;
	uint64_t removed, removed_bytes, freed_bytes;
	uint64_t probation, open, kept;
};

struct ofs_collect_totals {
	uint64_t expired, ended, surplus; /* removed since the store was opened */
	uint64_t freed;
	uint64_t files, bytes, stored; /* of the working tier, at the last look */
	int64_t due; /* when the next file can go, age clock, as of then; OFS_TTL_NEVER: none */
};

struct ofs_collector {
	struct ofs_tree *tree;
	uint64_t working_max;
	atomic_bool stop, stop_for_good;
	atomic_bool pressed;
	uint64_t runs; /* of the thread that runs */

	/* The references of steps, and the tree's last change when they were read. */
	pthread_mutex_t steps_lock; /* held while the store is asked */
	struct ofs_step_refs *steps;
	int64_t steps_as_of;

	pthread_mutex_t lock; /* guards the rest; never held while the store is called */
	struct ofs_map trials; /* inode -> struct ofs_trial */
	struct ofs_collect_counts counts; /* of the last run with a request */
	struct ofs_collect_totals totals;
	struct ofs_collect_item *items;
	size_t nitems, cap_items;
};

struct ofs_candidate {
	uint64_t ino;
	bool surplus;
	bool done;
};

/* Of a file that the size limit may reach. */
struct ofs_leaf {
	int64_t used;
	uint64_t ino;
	uint64_t stored;
};

struct ofs_collect_run {
	struct ofs_collector *c;
	struct ofs_tree *tree;
	const struct ofs_collect_request *request; /* NULL: none */
	bool dry;
	int64_t next; /* when the next run is useful, age clock */
	int64_t due; /* when the next file can go */
	struct ofs_collect_totals found;
	struct ofs_collect_counts counts;
	struct ofs_candidate *candidates;
	size_t ncandidates, cap_candidates;
	struct ofs_leaf *leaves; /* where there is a limit */
	size_t nleaves, cap_leaves;
	struct ofs_u64_list dirs; /* that may go, those within others first */
	struct ofs_map tasks; /* that have ended */
	struct ofs_map touched; /* directories that files were removed from */
	unsigned int releases;
};

/* ---- the facts about a file */

/* Reads the references of steps again if anything has changed. */
int ofs_collector_refresh_steps(struct ofs_collector *c);

/* All facts but open and surplus; `ret_step` is the step that refers to the file, or 0. */
int ofs_collector_facts(struct ofs_collector *c, const struct ofs_attr *file,
			const struct ofs_lifetime_place *place, struct ofs_facts *ret,
			uint64_t *ret_step);

/* ---- what a run and its removals share */

/* -ECANCELED if the run was asked to stop, else 0. */
int ofs_collect_check_stop(const struct ofs_collect_run *run);

void ofs_collect_pause(int64_t ns);

/* The file as it is now, and the facts as the run sees them. -ENOENT: it is gone. */
int ofs_collect_look(struct ofs_collect_run *run, uint64_t ino, struct ofs_attr *ret_file,
		     struct ofs_facts *ret, uint64_t *ret_step);

/* Asks the kernel to let go of an inode, so that its next use is seen. */
void ofs_collect_release(struct ofs_collect_run *run, const struct ofs_attr *attr);

/* All facts of the file as of that place, but those that ofs_collect_look() adds to them. */
int ofs_collect_facts(struct ofs_collect_run *run, const struct ofs_attr *file,
		      const struct ofs_lifetime_place *place, struct ofs_facts *ret);

/* All facts of a file as the run sees them; `ret_step` refers to it. */
int ofs_collect_find_facts(struct ofs_collect_run *run, const struct ofs_attr *file,
			   const struct ofs_lifetime_place *place, struct ofs_facts *ret,
			   uint64_t *ret_step);

/* Adds a file to the report of a run with a request; false if it was not added. */
bool ofs_collect_tell(struct ofs_collect_run *run, const struct ofs_attr *file, const char *action,
		      const struct ofs_facts *facts, int64_t at, uint64_t step);

/* Removes the last file from the report. */
void ofs_collect_untell(struct ofs_collect_run *run);

/* ---- removal (collector_remove.c) */

/* Removes the candidates, but those that somebody holds. */
int ofs_collect_remove_files(struct ofs_collect_run *run);

/* Removes the directories that may go, and those of tasks that have ended, if they are empty. */
int ofs_collect_remove_dirs(struct ofs_collect_run *run);
