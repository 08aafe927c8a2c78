/* SPDX-License-Identifier: MIT */
/*
 * The place of a node: its path, the tier, category and task that follow from it and from what it
 * was made as, and access.
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

/* The category of what lies in no directory of a category. */
#define OFS_CATEGORY_NONE "general"

struct ofs_place {
	struct ofs_root *root; /* the tree that it is in, of which all else is said */
	uint64_t dir; /* the directory that it is in; of the root, itself */
	enum ofs_top top; /* a file at the root counts as in cache/ */
	char category[OFS_NAME_MAX + 1];
	char task[OFS_NAME_MAX + 1]; /* "" outside tasks/ */
	struct ofs_origin origin; /* of what is kept; "": none */
	struct ofs_buf path; /* from the root; NUL-terminated, no leading slash */
};

void ofs_place_finish(struct ofs_place *p);

/* -ENOENT when it has no name any more. */
int ofs_place_of(struct ofs_tree *t, uint64_t ino, struct ofs_place *ret);

/*
 * The same for a node that had this name (NULL: it is not known) not long ago: quicker if it still
 * has it, as its directory need not be loaded.
 */
int ofs_place_of_known(struct ofs_tree *t, const struct ofs_attr *node, const char *name,
		       struct ofs_place *ret);

enum ofs_tier ofs_place_tier(const struct ofs_place *p);

static inline bool ofs_place_is_kept(const struct ofs_place *p)
{
	return p->top == OFS_TOP_PERSISTENT || p->top == OFS_TOP_ARCHIVE;
}

/* The inode is in a tier of `root` (NULL: any tree) that keeps it; false: or it has no name. */
bool ofs_place_keeps(struct ofs_tree *t, const struct ofs_root *root, uint64_t ino);

/*
 * The mark that the entry `name` of `dir` gets when it goes to `newdir`, appended: none where it
 * stays what its place says. 0 or -errno.
 */
int ofs_place_mark(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
		   struct ofs_buf *out);

/* Replaces the category of its directory by the one that was set for the file, if there is one. */
int ofs_place_label(struct ofs_tree *t, uint64_t ino, struct ofs_place *p);

/* ofs_place_of() and that. */
int ofs_place_labelled(struct ofs_tree *t, uint64_t ino, struct ofs_place *ret);

/*
 * The caller (NULL: may do all) has the rights `want`, of S_IROTH, S_IWOTH and S_IXOTH, to a node
 * with these attributes.
 */
bool ofs_place_may(const struct ofs_attr *attr, const struct ofs_cred *cred, uint32_t want);

/*
 * 0 if the caller (NULL: may do all), who has come to the tree `root`, may know where in it the file
 * is: it is his, he owns the tree, or he may list and search every directory above it. -ENOENT: not,
 * or the file is not there.
 */
int ofs_place_check(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_attr *file,
		    const struct ofs_cred *cred);

/* The frame class of a place, for struct ofs_store_options; `arg` is the tree. */
uint32_t ofs_place_classify(void *arg, uint64_t top, uint64_t second);
