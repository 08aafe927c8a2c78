/* SPDX-License-Identifier: MIT */
/*
 * The audit log: a line for each thing that became of a file, a task or an agent, written to disk
 * (core/audit_disk.h) by a thread a moment later, or when the tree is closed. Each tree has a log
 * of its own: of what happens in it and in those in it, with paths as they are seen there. Secrets
 * are redacted. No failure to write it makes anything else fail: lines that are lost are counted.
 */
#pragma once

#include "tree/core/place.h"

struct ofs_audit;

/*
 * For the tree, whose store is at `path`; up to `max` bytes are kept, 0: nothing is written.
 * `read_only`: neither.
 */
struct ofs_audit *ofs_audit_create(struct ofs_tree *t, const char *path, uint64_t max,
				   bool read_only);
int ofs_audit_start(struct ofs_audit *a);
/* Writes what is waiting; then nothing is written any more. NULL is allowed. */
void ofs_audit_stop(struct ofs_audit *a);
/* Once nobody can tell anything any more. NULL is allowed. */
void ofs_audit_destroy(struct ofs_audit *a);

/* One line of the log, before it is written. Initialise it with zeros. */
struct ofs_audit_line {
	const char *event; /* NULL: there is nothing to tell */
	const char *cause; /* in words; NULL: none; borrowed */
	struct ofs_attr attr;
	struct ofs_place at; /* its root is that of the store where it has no place */
	struct ofs_place from; /* where it was; no root: there, too */
	char *title; /* NULL: none */
};

void ofs_audit_line_finish(struct ofs_audit_line *line);

/*
 * Describes an inode, or with 0 the store. What ends it is described before, and told after, when
 * it has succeeded.
 */
void ofs_audit_describe(struct ofs_tree *t, const char *event, uint64_t ino,
			struct ofs_audit_line *ret);

/* Queues the line for each tree that is to have it. No lock of the store is held. */
void ofs_audit_add(struct ofs_tree *t, const struct ofs_audit_line *line);

/* Both at once. */
void ofs_audit_tell(struct ofs_tree *t, const char *event, uint64_t ino, const char *cause);

/*
 * `name` in `dir` was moved to `newname` in `newdir`: to another tier or tree, or there is nothing
 * to tell.
 */
void ofs_audit_moved(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname);

/* The tree of an agent was removed, and so is its log. */
void ofs_audit_remove(struct ofs_tree *t, const struct ofs_root *root);

/* Where the log of a tree begins and ends, in bytes. */
int ofs_audit_bounds(struct ofs_tree *t, const struct ofs_root *root, uint64_t *ret_start,
		     uint64_t *ret_end);

/* Appends its lines that begin in [from, to), of at most OFS_AUDIT_PAGE_MAX. */
int ofs_audit_read(struct ofs_tree *t, const struct ofs_root *root, uint64_t from, uint64_t to,
		   struct ofs_buf *out);
