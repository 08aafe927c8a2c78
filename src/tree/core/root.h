/* SPDX-License-Identifier: MIT */
/*
 * The trees in a store: the one at its root and, in the directory agents/ of each tree, those of
 * agents. An agent's tree is a directory agents/<agent>/ with the same entries as the root. From
 * inside it, only its own contents exist. So every call that finds something other than by walking,
 * such as by a ref, a view or a search, checks here which tree it belongs to.
 */
#pragma once

#include "base/buf.h"
#include "tree/core/tree_state.h"

struct ofs_root {
	uint64_t ino; /* its directory; constant, as is `above` */
	struct ofs_root *above; /* the tree that contains it; NULL: this is the store's own */
	_Atomic uint64_t tops[OFS_TOPS]; /* the directories cache/ to agents/; 0: missing */
	atomic_bool gone; /* its directory was removed; the struct stays until the end */
	struct ofs_changes *changes; /* see changes.h */
	struct ofs_audit_stream *_Atomic log; /* see audit.c; NULL: nothing was logged yet */
	/* These are of an agent's tree with those in it (ofs_root_agent()). */
	struct ofs_ledger_made ledger;
	_Atomic size_t kept; /* memory of its texts (virtual/made.c) */
};

/* Creates missing top directories and loads the trees of agents. Returns 0 or -errno. */
int ofs_roots_open(struct ofs_tree *t);
/* NULL is allowed. */
void ofs_roots_destroy(struct ofs_roots *r);

/* Returns true if there are trees of agents, or were. */
bool ofs_roots_are_many(struct ofs_tree *t);

/* Returns a number, never 0, that changes when anything moves from one tree to another. */
uint64_t ofs_roots_moves(struct ofs_tree *t);
/* Reports that an entry of `dir` was moved to `newdir`. */
void ofs_roots_note_move(struct ofs_tree *t, uint64_t dir, uint64_t newdir);

/* Returns the tree whose own directory is `dir`; NULL if none is. */
struct ofs_root *ofs_root_at(struct ofs_tree *t, uint64_t dir);

/* Reports a change in the tree that contains `ino`: the kernel drops the times of its views. */
void ofs_tree_touch(struct ofs_tree *t, uint64_t ino);

/* Returns a number, never 0, that changes with every ofs_tree_touch() in any tree. */
static inline int64_t ofs_tree_touches(struct ofs_tree *t)
{
	return atomic_load(&t->touches) + 1;
}

/* Returns the tree that contains an inode with these attributes; its own directory is in it. */
struct ofs_root *ofs_root_of_attr(struct ofs_tree *t, const struct ofs_attr *attr);

/*
 * The same by number. Also right for a file whose last known directory no longer has it. Returns 0,
 * -ENOENT if the file has no name, or another -errno.
 */
int ofs_root_of(struct ofs_tree *t, uint64_t ino, struct ofs_root **ret);

/*
 * Returns the outermost agent's tree that `root` is or lies in, or the tree at the root if that is
 * `root`. An agent can make trees in its own, but none beside it.
 */
static inline struct ofs_root *ofs_root_agent(struct ofs_root *root)
{
	while (root->above && root->above->above)
		root = root->above;
	return root;
}

/* Returns whether `root` is `in` or lies in it. */
bool ofs_root_is_in(const struct ofs_root *root, const struct ofs_root *in);

/* Returns which top directory of `root` this is; OFS_TOPS if none. */
enum ofs_top ofs_root_top(const struct ofs_root *root, uint64_t ino);

/* Returns the tree whose agents/ is `dir`, so that each directory in it is a tree; NULL if none. */
struct ofs_root *ofs_root_of_agents(struct ofs_tree *t, uint64_t dir);

/* Makes the new directory `dir`, in agents/ of `above`, a tree with the same owner. 0 or -errno. */
int ofs_root_add(struct ofs_tree *t, struct ofs_root *above, const struct ofs_attr *dir);

/* Returns 0, or -ENOTEMPTY if there is anything in the top directories of an agent's tree. */
int ofs_root_check_empty(struct ofs_tree *t, const struct ofs_root *root);
/* Removes the top directories that exist, before the agent's directory itself is removed. */
int ofs_root_clear(struct ofs_tree *t, uint64_t dir);
/* Restores all top directories when the tree stays after all, since something was made in it. */
void ofs_root_restore(struct ofs_tree *t, struct ofs_root *root, const struct ofs_attr *dir);
/* Forgets a tree whose directory was removed. */
void ofs_root_remove(struct ofs_tree *t, struct ofs_root *root);

/*
 * Appends the agents on the way from the tree `from` to `root` inside it: "a/b". Appends nothing if
 * both are the same.
 */
int ofs_root_name(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_root *from,
		  struct ofs_buf *out);
/* The same as a path: "agents/a/agents/b/". */
int ofs_root_path(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_root *from,
		  struct ofs_buf *out);

/*
 * ---- trees that another host makes and removes
 */

/*
 * Handles an entry of `dir`, for `ino`, that was added or removed: a tree may now be complete, or
 * have other top directories. Returns a tree whose directory is gone, else NULL.
 */
struct ofs_root *ofs_roots_follow(struct ofs_tree *t, uint64_t dir, uint64_t ino);

/* Returns whether the tree's directory still exists; if so, looks its top directories up anew. */
bool ofs_root_look(struct ofs_tree *t, struct ofs_root *root);

/* Reports that anything may have moved from one tree to another. */
void ofs_roots_note_skip(struct ofs_tree *t);

/* Finds new trees in agents/ of this one, and in those below. Returns 0 or -errno. */
int ofs_roots_find(struct ofs_tree *t, struct ofs_root *above);

/* Calls `fn` for a tree and all trees in it, outer ones first, until it returns nonzero. */
int ofs_root_each(struct ofs_tree *t, struct ofs_root *root,
		  int (*fn)(void *arg, struct ofs_root *root), void *arg);

/*
 * Returns whether the caller (NULL: may do all) may see everything in a tree: root, and the owners
 * of the store and of the tree's directory may.
 */
bool ofs_root_is_owner(struct ofs_tree *t, const struct ofs_root *root,
		       const struct ofs_cred *cred);

/* ---- fixed nodes (virtual/fixed.c), by kind: an OFS_NODE_ of tree_state.h */

static inline bool ofs_node_is_fixed(ofs_node node)
{
	return ofs_node_is_virtual(node) && node < OFS_NODE_LINK;
}

#define OFS_ROOT_SHIFT 8 /* low bits of a node that are its kind; the number of the tree is above */

static inline ofs_node ofs_root_node(const struct ofs_root *root, ofs_node kind)
{
	return root->above ? kind | root->ino << OFS_ROOT_SHIFT : kind;
}

/* Returns the kind of a fixed node; 0 for any other. */
static inline ofs_node ofs_node_kind(ofs_node node)
{
	return ofs_node_is_fixed(node)
		       ? OFS_VIRTUAL | (node & ((UINT64_C(1) << OFS_ROOT_SHIFT) - 1))
		       : 0;
}

/* Returns the tree of a fixed node; NULL if it is gone. */
struct ofs_root *ofs_root_of_node(struct ofs_tree *t, ofs_node node);
