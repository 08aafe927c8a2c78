/* SPDX-License-Identifier: MIT */
/*
 * Regions: directories that are told apart from the rest of the store, such as the roots of trees
 * within the tree. An inode belongs to the nearest region above it. What each region contains is
 * counted once somebody asks for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct ofs_inode;

struct ofs_region {
	uint64_t dir;
	struct ofs_region_counts counts; /* with those of the regions within */
	bool counted; /* `counts` is known, and kept up to date */
	bool disturbed; /* something has changed since counting began */
};

/* Called with the store's `lock` held. */

/* The directory is a region, or the root. */
bool ofs_region_is(struct ofs_store *s, uint64_t dir);

/* The region of an inode, or of the entries of a directory; OFS_ROOT_INO: none. */
uint64_t ofs_region_of(struct ofs_store *s, struct ofs_inode *n);

/* Adds an inode named in `dir` to the counts there (`sign` 1), or takes it out (-1). */
void ofs_region_count(struct ofs_store *s, uint64_t dir, const struct ofs_inode *n, int sign);
/* Notes that a file with a name changes its size from `from` to `to`. */
void ofs_region_grow(struct ofs_store *s, const struct ofs_inode *n, uint64_t from, uint64_t to);

/* Moves an inode, which still has its old parent, from one directory to another. */
void ofs_region_move(struct ofs_store *s, const struct ofs_inode *n, uint64_t from, uint64_t to);

/*
 * An inode with other names has lost the one in its parent, `dir`. Its parent becomes the region
 * itself until somebody asks for its name, since `dir` may be moved to another region.
 */
void ofs_region_keep(struct ofs_store *s, struct ofs_inode *dir, struct ofs_inode *n);

void ofs_regions_finish(struct ofs_store *s);
