/* SPDX-License-Identifier: MIT */
/* The end of a task or of an agent: what becomes of each of its files, and how many there are. */
#pragma once

#include "client/files.h"
#include "cli/job.h"

struct ofs_ending {
	const char *dir; /* of the task or the agent, in the tree; borrowed */
	bool dry_run;
	struct ofs_job job; /* the collection */
	json_t *items; /* with --json: those that are about its files */
	json_t *told; /* their paths: an object */
	json_int_t promoted, removed, removed_bytes, kept; /* or what would be */
};

/*
 * `access` is open. `own`: the directory is a tree, which is collected in by itself. With --json the
 * items are kept, else they are printed as they come.
 */
void ofs_ending_init(struct ofs_ending *e, const struct ofs_access *access, const char *dir,
		     bool own, bool dry_run);
void ofs_ending_finish(struct ofs_ending *e);

/* Counts and tells an item as of ofs_collection_run(), once for each path. An exit code. */
int ofs_ending_take(struct ofs_ending *e, json_t *item);

/* The same for those that nothing was told of: they stay. */
int ofs_ending_take_rest(struct ofs_ending *e, const struct ofs_files *files);

/* An object: dry_run, promoted, removed, removed_bytes, kept and items. */
json_t *ofs_ending_sum(const struct ofs_ending *e);
