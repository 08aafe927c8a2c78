/* SPDX-License-Identifier: MIT */
/*
 * The audit log: a line for each event of a file, a task or an agent, written to disk
 * (core/audit_disk.h) by a thread a moment later, or when the tree is closed. Each tree has a log
 * of its own, with the events in it and in the trees inside it; paths are as seen from it. Secrets
 * are redacted. A failure to write the log makes nothing else fail: lost lines are counted.
 */
#pragma once

#include "tree/core/place.h"

struct ofs_audit;

/*
 * Creates the log of a tree whose store is at `path`. Keeps up to `max` bytes. With `max` 0 or
 * `read_only`, nothing is written. Never NULL.
 */
struct ofs_audit *ofs_audit_create(struct ofs_tree *t, const char *path, uint64_t max,
				   bool read_only);
/* Starts the thread. Returns 0 or -errno. */
int ofs_audit_start(struct ofs_audit *a);
/* Writes waiting lines; later ones are not written. NULL is allowed. */
void ofs_audit_stop(struct ofs_audit *a);
/* Frees the log, to which nobody may report any more. NULL is allowed. */
void ofs_audit_destroy(struct ofs_audit *a);

/* One line of the log, before it is written. Initialise it with zeros. */
struct ofs_audit_line {
	const char *event; /* NULL: nothing to report */
	const char *cause; /* in words, borrowed; NULL: none */
	struct ofs_attr attr;
	struct ofs_place at; /* its root is the store's own tree if it has no place */
	struct ofs_place from; /* the former place; without a root: none */
	char *title; /* NULL: none */
};

void ofs_audit_line_finish(struct ofs_audit_line *line);

/*
 * Describes an inode; 0 describes the store. For an event that ends an inode, describe it before
 * and add the line when the event has succeeded.
 */
void ofs_audit_describe(struct ofs_tree *t, const char *event, uint64_t ino,
			struct ofs_audit_line *ret);

/* Queues the line for each tree that must have it. No lock of the store may be held. */
void ofs_audit_add(struct ofs_tree *t, const struct ofs_audit_line *line);

/* ofs_audit_describe() followed by ofs_audit_add(). */
void ofs_audit_tell(struct ofs_tree *t, const char *event, uint64_t ino, const char *cause);

/* Reports that `name` in `dir` was moved to `newname` in `newdir`, if to another tier or tree. */
void ofs_audit_moved(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname);

/* Removes the log of an agent whose tree was removed. */
void ofs_audit_remove(struct ofs_tree *t, const struct ofs_root *root);

/* Sets the positions, in bytes, where the log of a tree begins and ends. Returns 0 or -errno. */
int ofs_audit_bounds(struct ofs_tree *t, const struct ofs_root *root, uint64_t *ret_start,
		     uint64_t *ret_end);

/* Appends the lines that begin in [from, to), of at most OFS_AUDIT_PAGE_MAX. 0 or -errno. */
int ofs_audit_read(struct ofs_tree *t, const struct ofs_root *root, uint64_t from, uint64_t to,
		   struct ofs_buf *out);
