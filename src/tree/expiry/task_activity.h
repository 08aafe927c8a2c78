/* SPDX-License-Identifier: MIT */
/*
 * How long tasks are live: the last use of a task is that of any file or directory in it. Answers
 * are cached, since each file of a task asks.
 */
#pragma once

#include "tree/core/tree_state.h"

struct ofs_task_activity;

struct ofs_task_activity *ofs_task_activity_create(void);
void ofs_task_activity_destroy(struct ofs_task_activity *a);

/*
 * Sets *ret to when a task that was not ended ceases to be live, by the age clock, or to a later
 * time. If that has passed, the task is idle, as of at most OFS_TASK_IDLE_KNOWN ago. `dir` is its
 * directory. Returns 0 or -errno.
 */
int ofs_task_activity_end(struct ofs_tree *t, uint64_t dir, int64_t *ret);

/* Real time for which a use of an idle task may go unnoticed. */
#define OFS_TASK_IDLE_KNOWN (5 * OFS_NS_PER_S)

/* Returns the same, or less if a test controls the clocks. */
int64_t ofs_task_activity_known(void);

/* Notes that the task was used just now. */
void ofs_task_activity_note(struct ofs_tree *t, uint64_t dir);
