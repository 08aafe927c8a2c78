/* SPDX-License-Identifier: MIT */
/* Bringing the search index in line with one inode. */
#ifndef OFS_TREE_SEARCH_INDEXER_LOOK_H
#define OFS_TREE_SEARCH_INDEXER_LOOK_H

#include "index/fts.h"
#include "tree/core/tree_state.h"

/* How an inode is looked at. */
enum ofs_look_how {
	OFS_LOOK_WHOLE, /* anything may have changed, or it is not known what */
	OFS_LOOK_CONTENT, /* its content: what is in the working tier was there before */
	OFS_LOOK_AGAIN /* it was not sealed when it was looked at last */
};

enum ofs_look_result {
	OFS_LOOKED, /* the index is in line */
	OFS_LOOKED_DIR, /* a directory: what is in it is to be looked at */
	OFS_LOOKED_EARLY /* it is not sealed: its content is for later */
};

/* One who looks. */
struct ofs_look {
	struct ofs_tree *tree;
	struct ofs_fts *index; /* NULL: what needs it is -EAGAIN */
	bool (*cancelled)(void *arg); /* whether to end now, which is -ECANCELED; NULL: never */
	void *arg;
	bool failed; /* the error of the last look was the index's */
	bool batch; /* one of the index was begun: the caller ends it */
	uint64_t working; /* the directory of what was looked at last, when in the working tier; else 0 */
};

/*
 * An enum ofs_look_result, or -errno: of the index, or -ESTALE: it changes right now. What cannot be
 * read has no content.
 */
int ofs_look_at(struct ofs_look *l, uint64_t ino, enum ofs_look_how how);

#endif
