/* SPDX-License-Identifier: MIT */
/*
 * References of the steps of live tasks (task_activity.h). A step is a file
 * tasks/<task>/history/step_*.json. As long as the task lives, neither the step nor the files in
 * its tree that its "outcome_ref" names, by ref or by path, are removed.
 */
#pragma once

#include "tree/core/root.h"

/* Bytes of one reference in a step. */
#define OFS_STEP_NAME_MAX 1024u

/* Bytes of memory for everything that steps of live tasks refer to. */
#define OFS_STEP_REFS_MAX ((size_t)64 << 20)

struct ofs_step_refs;

struct ofs_step_refs *ofs_step_refs_create(void);
void ofs_step_refs_destroy(struct ofs_step_refs *s);

/*
 * Reads new and changed steps, and forgets those that are gone or whose task is idle or has ended:
 * those that may refer to files of `root`, or of any tree if it is NULL. A tree's steps are left
 * alone if nothing has changed that matters for them and their tasks cannot be idle yet. No other
 * function on `s` may run at the same time. Returns 0 or -errno.
 */
int ofs_step_refs_refresh(struct ofs_tree *t, struct ofs_step_refs *s, const struct ofs_root *root);

/*
 * Returns the step that refers to the file, which is in `root`, or the file itself if it is a step;
 * 0: none. A step that exceeds a limit (step_file.h) may refer to any file of its tree; it is
 * returned for all files without another, and *ret_unread is true.
 */
uint64_t ofs_step_refs_find(const struct ofs_step_refs *s, const struct ofs_root *root,
			    uint64_t ino, bool *ret_unread);

/* Returns when the first live task with steps becomes idle (age clock); OFS_TTL_NEVER: none. */
int64_t ofs_step_refs_end(const struct ofs_step_refs *s);

/* Returns the first step of a tree that exceeds the limits; 0: none. */
uint64_t ofs_step_refs_unread(const struct ofs_step_refs *s, const struct ofs_root *root);

/*
 * Returns the inode that an outcome_ref in the tree `root` names; 0: none. A path may be relative
 * to the tree's directory, start with a mount point, or start with ".offload/" as seen from a
 * workspace. A slice names its file.
 */
uint64_t ofs_step_refs_resolve(struct ofs_tree *t, const struct ofs_root *root, const char *name);
