/* SPDX-License-Identifier: MIT */
/*
 * Regions: directories that are told apart from the rest of the store, such as the roots of trees
 * within the tree. Every inode belongs to the nearest one above it. What is in each is counted, once
 * somebody has asked for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct ofs_inode;

struct ofs_region {
	uint64_t dir;
	struct ofs_region_counts counts; /* with those of the regions in it */
	bool counted; /* they are known, and are kept up */
	bool disturbed; /* something changed while it was counted */
};

/* All with the store's `lock` held. */

/* The directory is one, or the root. */
bool ofs_region_is(struct ofs_store *s, uint64_t dir);

/* The region that an inode, or the entries of a directory, belong to. */
uint64_t ofs_region_of(struct ofs_store *s, struct ofs_inode *n);

/* Inodes that have a name there, or had it so far, are `sign` more, of so many bytes. */
void ofs_region_count(struct ofs_store *s, uint64_t dir, const struct ofs_inode *n, int sign);
void ofs_region_grow(struct ofs_store *s, const struct ofs_inode *n, uint64_t from, uint64_t to);

/* An inode is moved from one directory to another, and still has its old parent. */
void ofs_region_move(struct ofs_store *s, const struct ofs_inode *n, uint64_t from, uint64_t to);

/*
 * An inode of other names has lost that by which it is known to be in `dir`: the directory of the
 * region takes its place until the name is asked for, as `dir` may be moved to another region.
 */
void ofs_region_keep(struct ofs_store *s, struct ofs_inode *dir, struct ofs_inode *n);

void ofs_regions_finish(struct ofs_store *s);
