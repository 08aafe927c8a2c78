/* SPDX-License-Identifier: MIT */
/* Finding the files below directories of the store. */
#pragma once

#include "tree/core/entry_list.h"
#include "tree/core/place.h"

/* An entry: of `attr` only inode and type are known. With the store locked; an error ends it. */
typedef int (*ofs_walk_entry_fn)(void *arg, const char *name, const struct ofs_attr *attr);

/* Calls `fn` for the entries of a directory. */
int ofs_walk_entries(struct ofs_tree *t, uint64_t dir, ofs_walk_entry_fn fn, void *arg);

/* A file was found; called with the store locked. An error ends the walk. */
typedef int (*ofs_walk_fn)(void *arg, uint64_t ino, const char *name);

/*
 * Finds the regular files in `dir` and, with `deep`, below it; below a tree's directory not in its
 * own ones.
 */
int ofs_walk_files(struct ofs_tree *t, uint64_t dir, bool deep, ofs_walk_fn fn, void *arg);

/* Finds the regular files of a tier of a tree, not of those in it. */
int ofs_walk_tier(struct ofs_tree *t, const struct ofs_root *root, enum ofs_tier tier,
		  ofs_walk_fn fn, void *arg);

/* Adds the directories in a directory, by inode, not settled. */
int ofs_walk_subdirs(struct ofs_tree *t, uint64_t dir, struct ofs_entry_list *ret);

/*
 * Calls `fn` for each directory of a tree whose directories are categories, until it gives
 * something.
 */
int ofs_walk_bases(struct ofs_tree *t, const struct ofs_root *root,
		   int (*fn)(void *arg, uint64_t dir), void *arg);
