/* SPDX-License-Identifier: MIT */
/*
 * What the steps of live tasks refer to. A step is a file tasks/<task>/history/step_*.json; what its
 * "outcome_ref" names, by ref or by path, is not to be removed while the task lives, nor is the step.
 */
#ifndef OFS_TREE_EXPIRY_STEP_REFS_H
#define OFS_TREE_EXPIRY_STEP_REFS_H

#include "tree/core/tree_state.h"

struct ofs_step_refs;

struct ofs_step_refs *ofs_step_refs_create(void);
void ofs_step_refs_destroy(struct ofs_step_refs *s);

/*
 * Brings what is known up to date: reads the steps that are new or were changed, and forgets those
 * that are gone or whose task has ended. Belongs to one thread at a time, as does the next call. 0 or -errno.
 */
int ofs_step_refs_refresh(struct ofs_tree *t, struct ofs_step_refs *s);

/* The step that refers to the file, or that it is itself; 0: none. */
uint64_t ofs_step_refs_find(const struct ofs_step_refs *s, uint64_t ino);

/*
 * What an outcome_ref names: the inode, or 0. A path may begin at the root of the tree, with a
 * mountpoint, or with ".offload/" as seen from a workspace; a slice names its file.
 */
uint64_t ofs_step_refs_resolve(struct ofs_tree *t, const char *name);

#endif
