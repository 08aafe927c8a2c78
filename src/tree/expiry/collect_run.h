/* SPDX-License-Identifier: MIT */
/* A run of a collector: collect.c finds files, collect_remove.c removes them. */
#pragma once

#include "tree/expiry/collector_state.h"

#define OFS_COLLECT_BATCH 32 /* removals, or names released, between two pauses */
#define OFS_COLLECT_BREATH (4 * OFS_NS_PER_MS)

struct ofs_collect_candidate {
	uint64_t ino;
	enum ofs_shortage shortage;
	bool done;
};

/* A file that may be removed if room is short. */
struct ofs_collect_leaf {
	int64_t used;
	uint64_t ino;
	uint64_t stored : 57;
	uint64_t verdict : 4; /* as counted */
	uint64_t told : 1; /* the report has it */
	uint64_t evictable : 1;
	uint64_t taken : 1;
};

struct ofs_collect_run {
	struct ofs_collector *c;
	struct ofs_tree *tree;
	const struct ofs_collect_request *request; /* NULL: none */
	bool dry;
	int64_t next; /* when the next run is useful (age clock) */
	int64_t due; /* when the next file can be removed */
	int64_t pressable; /* when the next can be if room is short */
	struct ofs_collect_totals found;
	struct ofs_collect_counts counts;
	struct ofs_collect_candidate *candidates;
	size_t ncandidates, cap_candidates;
	struct ofs_collect_leaf *leaves; /* evictable files; with working_max, all that stay */
	size_t nleaves, cap_leaves;
	uint64_t going; /* bytes on disk of files to be removed, or on probation for lack of room */
	struct ofs_u64_list dirs; /* that may be removed, inner ones first */
	uint64_t moves; /* ofs_store_moves() before `dirs` were found */
	struct ofs_map tasks; /* directories of ended tasks */
	struct ofs_map planned; /* of promotions (promote.h) */
	struct ofs_map touched; /* directories that files were removed from */
	unsigned int releases;
};

void ofs_collect_pause(int64_t ns);

/* Returns -ECANCELED if the run was asked to stop, else 0. */
int ofs_collect_check_stop(const struct ofs_collect_run *run);

/* Asks the kernel to release an inode, so that its next use is seen. */
void ofs_collect_release(struct ofs_collect_run *run, const struct ofs_attr *attr);

/* Returns whether the place is in the task that the request treats as ended. */
bool ofs_collect_is_asked_for(const struct ofs_collect_run *run,
			      const struct ofs_lifetime_place *place);

/* Sets all facts of a file, as the run sees them, but open and shortage. Returns 0 or -errno. */
int ofs_collect_facts(struct ofs_collect_run *run, const struct ofs_attr *file,
		      const struct ofs_lifetime_place *place, struct ofs_facts *ret);
/* Sets the present attributes and those facts of a file. 0, -ENOENT (it is gone) or -errno. */
int ofs_collect_look(struct ofs_collect_run *run, uint64_t ino, struct ofs_attr *ret_file,
		     struct ofs_facts *ret);

/* Adds a file to the report, if one was asked for. Returns false if it was not added. */
bool ofs_collect_tell(struct ofs_collect_run *run, const struct ofs_attr *file, const char *action,
		      const struct ofs_facts *facts, int64_t at);

/* ---- collect_remove.c; functions return 0 or -errno */

/* Removes or promotes the candidates that nobody holds. */
int ofs_collect_remove_files(struct ofs_collect_run *run);
/* Removes empty directories: those in `dirs`, and those of ended tasks. */
int ofs_collect_remove_dirs(struct ofs_collect_run *run);
