/* SPDX-License-Identifier: MIT */
/*
 * References of the steps of live tasks (task_activity.h). A step is a file
 * tasks/<task>/history/step_*.json; neither it nor the files in its tree that its "outcome_ref"
 * names, by ref or by path, are removed while the task lives.
 */
#pragma once

#include "tree/core/root.h"

struct ofs_step_refs;

struct ofs_step_refs *ofs_step_refs_create(void);
void ofs_step_refs_destroy(struct ofs_step_refs *s);

/*
 * Reads the steps that are new or changed, of all trees, and forgets those that are gone or whose
 * task is idle or has ended. This and the next calls must not run at the same time. 0 or -errno.
 */
int ofs_step_refs_refresh(struct ofs_tree *t, struct ofs_step_refs *s);

/*
 * The step that refers to the file, which is in `root`, or the file itself if it is a step; 0: none.
 * A step that is beyond the limits below may refer to any file of its tree, so that one is the
 * answer for all others, and *ret_unread is true.
 */
uint64_t ofs_step_refs_find(const struct ofs_step_refs *s, const struct ofs_root *root,
			    uint64_t ino, bool *ret_unread);

/* When the first task with steps that is live now is idle, by the age clock; OFS_TTL_NEVER: none. */
int64_t ofs_step_refs_end(const struct ofs_step_refs *s);

/* The first step of a tree that is beyond the limits; 0: none. */
uint64_t ofs_step_refs_unread(const struct ofs_step_refs *s, const struct ofs_root *root);

/*
 * The inode that an outcome_ref in the tree `root` names, or 0. A path may start at the tree's
 * directory, with a mountpoint, or with ".offload/" as seen from a workspace; a slice names its
 * file.
 */
uint64_t ofs_step_refs_resolve(struct ofs_tree *t, const struct ofs_root *root, const char *name);

/* ---- the files tasks/<task>/history/step_*.json, by their names */

/* The directory in a task's. */
#define OFS_STEP_DIR "history"

/* Limits in bytes: of a file that is read as a step, and of all that are read of one task. */
#define OFS_STEP_FILE_MAX ((uint64_t)1 << 20)
#define OFS_STEP_FILES_MAX ((uint64_t)16 << 20)

/* Values in the JSON of a step: memory for them is up to a hundred times their text. */
#define OFS_STEP_VALUES_MAX 65536u

/* Bytes of one reference in a step. */
#define OFS_STEP_NAME_MAX 1024u

/* Bytes of memory for what all steps of live tasks refer to. */
#define OFS_STEP_REFS_MAX ((size_t)64 << 20)

/* No less than the values that the JSON has. */
size_t ofs_step_file_values(const char *text, size_t len);

bool ofs_step_file_is(const char *name);

/* The order of steps, as of strcmp(): by number, then by name those without one. */
int ofs_step_file_compare(const char *a, const char *b);
