/* SPDX-License-Identifier: MIT */
/*
 * The trees in a store: the one at its root, and in the directory agents/ of each those of agents.
 * An agent's tree is a directory agents/<agent>/ with the same entries as the root. In it only what
 * lies in it exists: every call that finds something otherwise than by walking there, such as by a
 * ref, a view or a search, asks here whose it is.
 */
#pragma once

#include "base/buf.h"
#include "tree/core/tree_state.h"

struct ofs_root {
	uint64_t ino; /* its directory; constant, as is the next */
	struct ofs_root *above; /* the tree that it lies in; NULL: it is the store's */
	_Atomic uint64_t tops[OFS_TOPS]; /* the directories cache/ ... agents/ */
	atomic_bool gone; /* the directory was removed; the struct stays until the end */
	struct ofs_changes *changes; /* changes.h */
	struct ofs_audit_stream *_Atomic log; /* audit.c; NULL: it has told nothing yet */
};

/* Makes what is missing of the directories, and finds the trees of agents. 0 or -errno. */
int ofs_roots_open(struct ofs_tree *t);
/* NULL is allowed. */
void ofs_roots_destroy(struct ofs_roots *r);

/* There are trees of agents, or were. */
bool ofs_roots_are_many(struct ofs_tree *t);

/* Another number, never 0, once anything was moved from one tree to another. */
uint64_t ofs_roots_moves(struct ofs_tree *t);
/* An entry of a directory was moved to another one. */
void ofs_roots_note_move(struct ofs_tree *t, uint64_t dir, uint64_t newdir);

/* The tree whose directory that is; NULL: none. */
struct ofs_root *ofs_root_at(struct ofs_tree *t, uint64_t dir);

/*
 * Something in the tree that `ino` lies in, and that a view may show, has changed: the kernel
 * forgets the times of its views.
 */
void ofs_tree_touch(struct ofs_tree *t, uint64_t ino);

/* Another number, never 0, once anything was touched in any tree. */
static inline int64_t ofs_tree_touches(struct ofs_tree *t)
{
	return atomic_load(&t->touches) + 1;
}

/* The tree that an inode with these attributes lies in; a tree's directory is in it itself. */
struct ofs_root *ofs_root_of_attr(struct ofs_tree *t, const struct ofs_attr *attr);

/*
 * The same by number, and sure even of a file whose last known directory has lost it. -ENOENT: it
 * has no name.
 */
int ofs_root_of(struct ofs_tree *t, uint64_t ino, struct ofs_root **ret);

/* `root` is `in`, or lies in it. */
bool ofs_root_is_in(const struct ofs_root *root, const struct ofs_root *in);

/* Which of its directories that is; OFS_TOPS: none. */
enum ofs_top ofs_root_top(const struct ofs_root *root, uint64_t ino);

/*
 * The tree whose agents/ the directory is, so that each directory in it is a tree; NULL: it is
 * none.
 */
struct ofs_root *ofs_root_of_agents(struct ofs_tree *t, uint64_t dir);

/* Makes the new directory `dir`, in agents/ of `above`, a tree with the same owner. */
int ofs_root_add(struct ofs_tree *t, struct ofs_root *above, const struct ofs_attr *dir);

/* -ENOTEMPTY: there is something in the directories of an agent's tree. */
int ofs_root_check_empty(struct ofs_tree *t, const struct ofs_root *root);
/* Removes those that are there of them, before that of the agent is removed itself. */
int ofs_root_clear(struct ofs_tree *t, uint64_t dir);
/* Something was made in the tree meanwhile, so that it stays, with all its directories. */
void ofs_root_restore(struct ofs_tree *t, struct ofs_root *root, const struct ofs_attr *dir);
/* The agent's directory was removed. */
void ofs_root_remove(struct ofs_tree *t, struct ofs_root *root);

/* Appends the agents on the way from the tree `from` to one in it: "a/b"; to itself: nothing. */
int ofs_root_name(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_root *from,
		  struct ofs_buf *out);
/* The same as a path: "agents/a/agents/b/". */
int ofs_root_path(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_root *from,
		  struct ofs_buf *out);

/*
 * ---- where another host makes and removes them
 */

/*
 * An entry of `dir`, for `ino`, came or went: a tree may be complete now, or have other directories.
 * Returns one whose directory is gone, else NULL.
 */
struct ofs_root *ofs_roots_follow(struct ofs_tree *t, uint64_t dir, uint64_t ino);

/* The directory of the tree is still there; if so, its directories are looked up anew. */
bool ofs_root_look(struct ofs_tree *t, struct ofs_root *root);

/* Anything may have been moved from one tree to another. */
void ofs_roots_note_skip(struct ofs_tree *t);

/* Finds the trees that came to be in agents/ of this one. */
int ofs_roots_find(struct ofs_tree *t, struct ofs_root *above);

/* Calls `fn` for a tree and those in it, each before those in it, until it returns nonzero. */
int ofs_root_each(struct ofs_tree *t, struct ofs_root *root,
		  int (*fn)(void *arg, struct ofs_root *root), void *arg);

/*
 * The caller (NULL: may do all) may know all of a tree: he is the superuser, or owns the store or
 * the tree's directory.
 */
bool ofs_root_is_owner(struct ofs_tree *t, const struct ofs_root *root,
		       const struct ofs_cred *cred);

/* ---- nodes that are always there (virtual/fixed.c), by kind: an OFS_NODE_ of tree_state.h */

static inline bool ofs_node_is_fixed(ofs_node node)
{
	return ofs_node_is_virtual(node) && node < OFS_NODE_LINK;
}

#define OFS_ROOT_SHIFT 8 /* bits of a node that are its kind; the number of the tree is above */

static inline ofs_node ofs_root_node(const struct ofs_root *root, ofs_node kind)
{
	return root->above ? kind | root->ino << OFS_ROOT_SHIFT : kind;
}

/* 0: it is no node that is always there. */
static inline ofs_node ofs_node_kind(ofs_node node)
{
	return ofs_node_is_fixed(node)
		       ? OFS_VIRTUAL | (node & ((UINT64_C(1) << OFS_ROOT_SHIFT) - 1))
		       : 0;
}

/* The tree of such a node; NULL: it is gone. */
struct ofs_root *ofs_root_of_node(struct ofs_tree *t, ofs_node node);
