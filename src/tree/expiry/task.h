/* SPDX-License-Identifier: MIT */
/*
 * Tasks: the directories in tasks/. One is live while it is used (task_activity.h), then idle, and
 * done when it was ended. An agent has these states, too, and ends like a task: what is in the
 * working tier of its tree goes.
 */
#pragma once

#include "tree/core/root.h"

bool ofs_task_is_dir(struct ofs_tree *t, const struct ofs_attr *attr);

/* When a task was ended; both 0: it was not. */
struct ofs_task_end {
	int64_t age; /* by the age clock, to the next second as last uses are kept */
	int64_t wall;
	bool drop_all; /* and nothing of it is promoted */
};

int ofs_task_ended(struct ofs_tree *t, uint64_t dir, struct ofs_task_end *ret);

/* "live", "idle" or "done". */
int ofs_task_get_state(struct ofs_tree *t, const struct ofs_attr *dir, struct ofs_buf *out);

/*
 * "done" ends the task, so that its files go unless they are used again, and those that never
 * expire are promoted; "done drop-all" lets these go as well; "live" takes that back, and is a use
 * of the task. -EINVAL: another value; -EOPNOTSUPP: `dir` is neither of a task nor of an agent.
 */
int ofs_task_set_state(struct ofs_tree *t, const struct ofs_attr *dir, const void *value,
		       size_t size);
