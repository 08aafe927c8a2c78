/* SPDX-License-Identifier: MIT */
/*
 * Until when tasks are live: the last use of a task is that of its files and directories. Answers
 * are remembered, as each file of a task asks.
 */
#pragma once

#include "tree/core/tree_state.h"

struct ofs_task_activity;

struct ofs_task_activity *ofs_task_activity_create(void);
void ofs_task_activity_destroy(struct ofs_task_activity *a);

/*
 * Until when a task that was not ended is live, by the age clock, or longer: if that has passed it
 * is idle, as of up to OFS_TASK_IDLE_KNOWN ago. `dir` is its directory. 0 or -errno.
 */
int ofs_task_activity_end(struct ofs_tree *t, uint64_t dir, int64_t *ret);

/* Real time for which it may be unknown that an idle task was used. */
#define OFS_TASK_IDLE_KNOWN (5 * OFS_NS_PER_S)

/* The same where a test controls the clocks. */
int64_t ofs_task_activity_known(void);

/* The task was used just now. */
void ofs_task_activity_note(struct ofs_tree *t, uint64_t dir);
