/* SPDX-License-Identifier: MIT */
/* Updating the search index for one inode. */
#pragma once

#include "index/fts.h"
#include "tree/core/tree_state.h"

/* What may have changed. */
enum ofs_look_how {
	OFS_LOOK_WHOLE, /* anything */
	OFS_LOOK_CONTENT, /* content only: a file now in the working tier was there before, too */
	OFS_LOOK_AGAIN /* nothing, but the last look found the file unsealed */
};

enum ofs_look_result {
	OFS_LOOKED, /* the index is up to date */
	OFS_LOOKED_DIR, /* a directory: its entries must be looked at, too */
	OFS_LOOKED_EARLY, /* the file is not sealed: look again later for its content */
	OFS_LOOKED_AWAY /* its content is away and cannot be fetched now */
};

/* The context of a series of looks. */
struct ofs_look {
	struct ofs_tree *tree;
	struct ofs_fts *index; /* NULL: looks that need it fail with -EAGAIN */
	bool (*cancelled)(void *arg); /* if true, a look ends with -ECANCELED */
	void *arg;
	bool failed; /* the error of the last look came from the index */
	bool batch; /* a batch of the index has begun; the caller must end it */
	uint64_t working; /* parent of the last file, if in the working tier; else 0 */
};

/*
 * Updates the index for one inode. Returns an enum ofs_look_result or -errno (-ESTALE: the file is
 * changing). A file that is unreadable for good is indexed without content.
 */
int ofs_look_at(struct ofs_look *l, uint64_t ino, enum ofs_look_how how);
