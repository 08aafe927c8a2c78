/* SPDX-License-Identifier: MIT */
/* Bringing the search index in line with one inode. */
#pragma once

#include "index/fts.h"
#include "tree/core/tree_state.h"

/* How an inode may have changed. */
enum ofs_look_how {
	OFS_LOOK_WHOLE, /* anything may have changed */
	OFS_LOOK_CONTENT, /* its content alone: a file in the working tier was there before */
	OFS_LOOK_AGAIN /* it was not sealed the last time */
};

enum ofs_look_result {
	OFS_LOOKED, /* the index is in line */
	OFS_LOOKED_DIR, /* a directory: its entries are to be updated, too */
	OFS_LOOKED_EARLY, /* it is not sealed: its content comes later */
	OFS_LOOKED_AWAY /* its content lies elsewhere, and cannot be had now */
};

/* The state of updates. */
struct ofs_look {
	struct ofs_tree *tree;
	struct ofs_fts *index; /* NULL: what needs it is -EAGAIN */
	bool (*cancelled)(void *arg); /* true: end with -ECANCELED */
	void *arg;
	bool failed; /* the error of the last look was the index's */
	bool batch; /* one of the index was begun: the caller ends it */
	uint64_t working; /* the directory of the last file, if in the working tier; else 0 */
};

/*
 * Updates the index for one inode. An enum ofs_look_result, or -errno: of the index, or -ESTALE:
 * the file is changing. Files that are unreadable for good count as having no content.
 */
int ofs_look_at(struct ofs_look *l, uint64_t ino, enum ofs_look_how how);
