/* SPDX-License-Identifier: MIT */
/* Finding the files below directories of the store. */
#pragma once

#include "tree/core/entry_list.h"
#include "tree/core/place.h"

/*
 * Receives an entry; of `attr` only inode and type are set. Called with the store's lock held. A
 * nonzero return ends the walk.
 */
typedef int (*ofs_walk_entry_fn)(void *arg, const char *name, const struct ofs_attr *attr);

/* Calls `fn` for each entry of a directory. Returns 0, the value that ended the walk, or -errno. */
int ofs_walk_entries(struct ofs_tree *t, uint64_t dir, ofs_walk_entry_fn fn, void *arg);

/* Receives a file. Called with the store's lock held. A nonzero return ends the walk. */
typedef int (*ofs_walk_fn)(void *arg, uint64_t ino, const char *name);

/*
 * Calls `fn` for each regular file in `dir` and, with `deep`, below it. Below a tree's own
 * directory, its top directories are not entered.
 */
int ofs_walk_files(struct ofs_tree *t, uint64_t dir, bool deep, ofs_walk_fn fn, void *arg);

/* Calls `fn` for each regular file in a tier of a tree, not counting the agents' trees in it. */
int ofs_walk_tier(struct ofs_tree *t, const struct ofs_root *root, enum ofs_tier tier,
		  ofs_walk_fn fn, void *arg);

/* Adds the subdirectories of a directory under their inodes; the list is not settled. */
int ofs_walk_subdirs(struct ofs_tree *t, uint64_t dir, struct ofs_entry_list *ret);

/* Calls `fn` for each directory of a tree that contains categories, until it returns nonzero. */
int ofs_walk_bases(struct ofs_tree *t, const struct ofs_root *root,
		   int (*fn)(void *arg, uint64_t dir), void *arg);
