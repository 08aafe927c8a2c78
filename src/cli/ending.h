/* SPDX-License-Identifier: MIT */
/* The end of a task or an agent: what becomes of each of its files, and how many there are. */
#pragma once

#include "client/files.h"
#include "cli/job.h"

struct ofs_ending {
	const char *dir; /* path in the tree of the task or the agent; borrowed */
	bool dry_run;
	struct ofs_job job; /* the collection */
	json_t *items; /* with --json: items about its files */
	json_t *told; /* object with their paths as keys */
	json_int_t promoted, removed, removed_bytes, kept; /* in a dry run, what would be */
};

/*
 * `access` must be open; it and `dir` are borrowed. `own`: the directory is a tree, with a
 * collection of its own. With --json the items are kept; otherwise they are printed as they come.
 */
void ofs_ending_init(struct ofs_ending *e, const struct ofs_access *access, const char *dir,
		     bool own, bool dry_run);
void ofs_ending_finish(struct ofs_ending *e);

/* Counts a borrowed item, and keeps or prints it, once for each path. Returns an exit code. */
int ofs_ending_take(struct ofs_ending *e, json_t *item);

/* Does the same for files that have no item, which stay. */
int ofs_ending_take_rest(struct ofs_ending *e, const struct ofs_files *files);

/* Returns an object: dry_run, promoted, removed, removed_bytes, kept and items. */
json_t *ofs_ending_sum(const struct ofs_ending *e);
