/* SPDX-License-Identifier: MIT */
/*
 * Files by their refs (<offloadfs/tree.h> has the form of refs). The kernel that looked a ref up
 * knows the file by that name, and keeps it when the file loses its last name elsewhere; so the
 * tree remembers which files were found that way.
 */
#pragma once

#include "tree/core/root.h"

/* The ref of an inode in a store of that seed, and back; 0: it is none. */
void ofs_ref_write(int64_t seed, ofs_node ino, char ret[OFS_REF_SIZE]);
ofs_node ofs_ref_read(int64_t seed, const char *ref);

struct ofs_refs *ofs_refs_create(void);
void ofs_refs_destroy(struct ofs_refs *r);

/*
 * A regular file in the tree `root` by its ref, with a reference. -EKEYEXPIRED: it was collected;
 * -ENOENT also where the caller (NULL: may do all) may not know of it.
 */
int ofs_ref_lookup(struct ofs_tree *t, const struct ofs_root *root, const char *name,
		   const struct ofs_cred *cred, struct ofs_attr *ret);

/* The same for refs/, where the kernel remembers the name. */
int ofs_ref_lookup_name(struct ofs_tree *t, const struct ofs_root *root, const char *name,
			const struct ofs_cred *cred, struct ofs_attr *ret);

/* Where a tombstone (expiry/tombstone_report.c) has the number of its tree, from version 2 on. */
#define OFS_TOMBSTONE_ROOT 76

/* ofs_store_get_tombstone() for a file that was in `root`; -ENOENT: it was not, or never was. */
int ofs_ref_get_tombstone(struct ofs_tree *t, const struct ofs_root *root, ofs_node ino,
			  struct ofs_buf *ret, int64_t *ret_removed);

/* Gives `n` references to an inode back; with the last one its ref is forgotten. */
void ofs_ref_forget(struct ofs_tree *t, uint64_t ino, uint64_t n);

/* Asks the kernel to let go of an inode, by all its names, so that its next use is seen. */
void ofs_tree_release(struct ofs_tree *t, const struct ofs_attr *attr);

/*
 * The file (0: none) lost its last name, in the directory `dir`, and is held: the kernel is asked to
 * forget its ref.
 */
void ofs_ref_left(struct ofs_tree *t, uint64_t dir, uint64_t ino);
