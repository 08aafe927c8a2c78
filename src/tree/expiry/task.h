/* SPDX-License-Identifier: MIT */
/*
 * Tasks: the directories in tasks/. A task is live while it is used (task_activity.h), idle after
 * that, and done when it was ended. An agent has the same states and ends like a task: the working
 * tier of its tree is removed.
 */
#pragma once

#include "tree/core/root.h"

/* Returns whether this is the directory of a task. */
bool ofs_task_is_dir(struct ofs_tree *t, const struct ofs_attr *attr);

/* When a task was ended; all zero: it was not. */
struct ofs_task_end {
	int64_t age; /* by the age clock, rounded up to a second as last uses are */
	int64_t wall;
	bool drop_all; /* and nothing in it is promoted */
};

/* Reads when the task or agent with the directory `dir` was ended. Returns 0 or -errno. */
int ofs_task_ended(struct ofs_tree *t, uint64_t dir, struct ofs_task_end *ret);

/* Appends "live", "idle" or "done". -ENODATA: `dir` is neither that of a task nor of an agent. */
int ofs_task_get_state(struct ofs_tree *t, const struct ofs_attr *dir, struct ofs_buf *out);

/*
 * Sets the state. "done" ends the task, so that its files are removed unless they are used again,
 * and those that never expire are promoted; "done drop-all" removes the latter as well; "live"
 * revokes both, and is a use of the task. -EINVAL: another value; -EOPNOTSUPP: `dir` is neither
 * that of a task nor of an agent.
 */
int ofs_task_set_state(struct ofs_tree *t, const struct ofs_attr *dir, const void *value,
		       size_t size);
