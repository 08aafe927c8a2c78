/* SPDX-License-Identifier: MIT */
/*
 * Files by their refs (<offloadfs/tree.h> has the form of refs). The kernel that looked a ref up
 * knows the file by that name, and keeps it when the file loses its last name elsewhere; so the
 * tree remembers which files were found that way.
 */
#pragma once

#include "tree/core/tree_state.h"

/* The ref of an inode in a store of that seed, and back; 0: it is none. */
void ofs_ref_write(int64_t seed, ofs_node ino, char ret[OFS_REF_SIZE]);
ofs_node ofs_ref_read(int64_t seed, const char *ref);

struct ofs_refs *ofs_refs_create(void);
void ofs_refs_destroy(struct ofs_refs *r);

/*
 * A regular file by its ref, with a reference. -EKEYEXPIRED: it was collected; -ENOENT also where
 * the caller (NULL: may do all) may not know of it.
 */
int ofs_ref_lookup(struct ofs_tree *t, const char *name, const struct ofs_cred *cred,
		   struct ofs_attr *ret);

/* The same for refs/, where the kernel remembers the name. */
int ofs_ref_lookup_name(struct ofs_tree *t, const char *name, const struct ofs_cred *cred,
			struct ofs_attr *ret);

/* Gives `n` references to an inode back; with the last one its ref is forgotten. */
void ofs_ref_forget(struct ofs_tree *t, uint64_t ino, uint64_t n);

/* The file (0: none) lost its last name and is held: the kernel is asked to forget its ref. */
void ofs_ref_unlinked(struct ofs_tree *t, uint64_t ino);
