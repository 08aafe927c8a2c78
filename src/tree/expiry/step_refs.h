/* SPDX-License-Identifier: MIT */
/*
 * References of the steps of live tasks (task_activity.h). A step is a file
 * tasks/<task>/history/step_*.json. As long as the task lives, neither the step nor the files in
 * its tree that its "outcome_ref" names, by ref or by path, are removed.
 */
#pragma once

#include "tree/core/root.h"

struct ofs_step_refs;

struct ofs_step_refs *ofs_step_refs_create(void);
void ofs_step_refs_destroy(struct ofs_step_refs *s);

/*
 * Reads new and changed steps in all trees, and forgets those that are gone or whose task is idle
 * or has ended. No other function on `s` may run at the same time. Returns 0 or -errno.
 */
int ofs_step_refs_refresh(struct ofs_tree *t, struct ofs_step_refs *s);

/*
 * Returns the step that refers to the file, which is in `root`, or the file itself if it is a step;
 * 0: none. A step that exceeds the limits below may refer to any file of its tree; it is returned
 * for all files without another, and *ret_unread is true.
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

/* ---- the files tasks/<task>/history/step_*.json, by their names */

/* The directory of steps in a task's directory. */
#define OFS_STEP_DIR "history"

/* Limits in bytes: for a file that is read as a step, and for all that are read for one task. */
#define OFS_STEP_FILE_MAX ((uint64_t)1 << 20)
#define OFS_STEP_FILES_MAX ((uint64_t)16 << 20)

/* Values in the JSON of a step. They take up to a hundred times the memory of their text. */
#define OFS_STEP_VALUES_MAX 65536u

/* Bytes of one reference in a step. */
#define OFS_STEP_NAME_MAX 1024u

/* Bytes of memory for everything that steps of live tasks refer to. */
#define OFS_STEP_REFS_MAX ((size_t)64 << 20)

/* Returns an upper bound for the number of values in JSON text. */
size_t ofs_step_file_values(const char *text, size_t len);

/* Returns whether this is the name of a step's file. */
bool ofs_step_file_is(const char *name);

/* Compares names of steps like strcmp(): by number, then by name those without one. */
int ofs_step_file_compare(const char *a, const char *b);
