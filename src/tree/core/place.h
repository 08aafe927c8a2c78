/* SPDX-License-Identifier: MIT */
/*
 * The place of a node: its path; the tier, category and task that follow from the path and from its
 * origin; and access to it.
 */
#pragma once

#include "tree/core/origin.h"
#include "tree/core/root.h"

enum ofs_tier {
	OFS_TIER_WORKING,
	OFS_TIER_LONG_TERM,
	OFS_TIER_ARCHIVE,
	OFS_TIERS
};

extern const char *const ofs_tier_names[OFS_TIERS];

/* The category of files that are in no directory of a category. */
#define OFS_CATEGORY_NONE "general"

struct ofs_place {
	struct ofs_root *root; /* the tree that contains it; all other fields are relative to it */
	uint64_t dir; /* the directory that contains it; for a tree's own directory, itself */
	enum ofs_top top; /* OFS_TOP_CACHE for a file at the root */
	char category[OFS_NAME_MAX + 1];
	char task[OFS_NAME_MAX + 1]; /* "" outside tasks/ */
	struct ofs_origin origin; /* of a promoted file; empty: none */
	struct ofs_buf path; /* from the root; NUL-terminated, no leading slash */
};

void ofs_place_finish(struct ofs_place *p);

/*
 * Finds the place of an inode. Returns 0, -ENOENT if it has no name any more, or another -errno.
 * The caller finishes `ret`.
 */
int ofs_place_of(struct ofs_tree *t, uint64_t ino, struct ofs_place *ret);

/*
 * The same for a node that recently had the name `name` (NULL: unknown). Faster if it still has it,
 * since its directory need not be loaded.
 */
int ofs_place_of_known(struct ofs_tree *t, const struct ofs_attr *node, const char *name,
		       struct ofs_place *ret);

enum ofs_tier ofs_place_tier(const struct ofs_place *p);

static inline bool ofs_place_is_kept(const struct ofs_place *p)
{
	return p->top == OFS_TOP_PERSISTENT || p->top == OFS_TOP_ARCHIVE;
}

/*
 * Returns true if the inode is in persistent/ or archive/ of `root` (NULL: of any tree); false also
 * if it has no name.
 */
bool ofs_place_keeps(struct ofs_tree *t, const struct ofs_root *root, uint64_t ino);

/*
 * Appends the mark that the entry `name` of `dir` must get when it moves to `newdir`; nothing if
 * its place says the same. Returns 0 or -errno.
 */
int ofs_place_mark(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
		   struct ofs_buf *out);

/* Replaces the category of the directory by the one set for the file, if any. 0 or -errno. */
int ofs_place_label(struct ofs_tree *t, uint64_t ino, struct ofs_place *p);

/* ofs_place_of() followed by ofs_place_label(). */
int ofs_place_labelled(struct ofs_tree *t, uint64_t ino, struct ofs_place *ret);

/*
 * Returns whether the caller (NULL: may do all) has the rights `want`, of S_IROTH, S_IWOTH and
 * S_IXOTH, to a node with these attributes.
 */
bool ofs_place_may(const struct ofs_attr *attr, const struct ofs_cred *cred, uint32_t want);

/*
 * Returns 0 if the caller (NULL: may do all), coming from the tree `root`, may know where the file
 * is in it: if they own the file or the tree, or may list and search every directory above it.
 * Returns -ENOENT if not, or if the file is not there.
 */
int ofs_place_check(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_attr *file,
		    const struct ofs_cred *cred);

/* Returns the frame class of a place, for struct ofs_store_options; `arg` is the tree. */
uint32_t ofs_place_classify(void *arg, uint64_t top, uint64_t second);
