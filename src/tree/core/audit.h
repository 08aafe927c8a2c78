/* SPDX-License-Identifier: MIT */
/*
 * The audit log: a line for each thing that became of a file or a task, written to disk
 * (core/audit_disk.h) by a thread a moment later, or when the tree is closed. Secrets in it are
 * redacted. No failure to write it makes anything else fail: lines that are lost are counted.
 */
#pragma once

#include <jansson.h>

#include "tree/core/tree_state.h"

struct ofs_audit;

/*
 * For the store at `path`; up to `max` bytes are kept, 0: nothing is written. `read_only`: neither.
 */
struct ofs_audit *ofs_audit_create(const char *path, uint64_t max, bool read_only);
int ofs_audit_start(struct ofs_audit *a);
/* Writes what is waiting; then nothing is written any more. NULL is allowed. */
void ofs_audit_stop(struct ofs_audit *a);
/* Once nobody can tell anything any more. NULL is allowed. */
void ofs_audit_destroy(struct ofs_audit *a);

/* Writes what is waiting now. */
void ofs_audit_flush(struct ofs_tree *t);

/*
 * The line of an event, for ofs_audit_add(): allocated, NULL if nothing is written or there is
 * nothing to tell. All name files by their paths from the root. What happens to a file is described
 * before, as far as it ends it, and added after, when it has succeeded.
 */

/* Of an inode; `cause` (may be NULL) in words. */
json_t *ofs_audit_of(struct ofs_tree *t, const char *event, uint64_t ino, const char *cause);

/* Of the regular file `name` in `dir`, about to lose that name. */
json_t *ofs_audit_of_entry(struct ofs_tree *t, const char *event, uint64_t dir, const char *name,
			   const char *cause);

/* Of the file that is about to be replaced, when `name` in `dir` is moved to `newname` in `newdir`. */
json_t *ofs_audit_of_replaced(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
			      const char *newname);

/* Of the store. */
json_t *ofs_audit_of_store(struct ofs_tree *t, const char *event, const char *cause);

/* Queues a line, which is consumed. Costs next to nothing; no lock of the store is held. */
void ofs_audit_add(struct ofs_tree *t, json_t *line);

/* `name` in `dir` was moved to `newname` in `newdir`: to another tier, or there is nothing to tell. */
void ofs_audit_moved(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname, const char *cause);

/* Where the log begins and ends, in bytes. */
int ofs_audit_bounds(struct ofs_tree *t, uint64_t *ret_start, uint64_t *ret_end);

/*
 * Appends the lines that begin in [from, to), at most OFS_AUDIT_PAGE_MAX of it, as the tree below
 * the directory `prefix` is to see them (ofs_audit_filter()).
 */
int ofs_audit_read(struct ofs_tree *t, uint64_t from, uint64_t to, const char *prefix,
		   struct ofs_buf *out);
