/* SPDX-License-Identifier: MIT */
#include "tree/expiry/task.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "tree/expiry/task_activity.h"
#include "tree/core/audit.h"

/*
 * Attribute of the directory, not shown: when the task was ended, by the age and the wall clock in
 * nanoseconds, followed by DROP_ALL if that was asked for.
 */
#define ENDED "user.offload.ended"
#define DROP_ALL " drop-all"

bool ofs_task_is_dir(struct ofs_tree *t, const struct ofs_attr *attr)
{
	return S_ISDIR(attr->mode) &&
	       attr->parent == ofs_root_of_attr(t, attr)->tops[OFS_TOP_TASKS];
}

/* Returns whether this is the directory of a task or of an agent, which ends like a task. */
static bool can_end(struct ofs_tree *t, const struct ofs_attr *dir)
{
	return ofs_task_is_dir(t, dir) ||
	       (S_ISDIR(dir->mode) && dir->ino == dir->region && dir->ino != OFS_ROOT_INO);
}

int ofs_task_ended(struct ofs_tree *t, uint64_t dir, struct ofs_task_end *ret)
{
	char value[64], *wall;
	ssize_t n = ofs_store_getxattr(t->store, dir, ENDED, value, sizeof(value) - 1);
	struct ofs_attr attr;
	int r;

	*ret = (struct ofs_task_end){ 0 };
	if (n < 0)
		return n == -ENODATA || n == -ERANGE ? 0 : (int)n;
	value[n] = 0;
	r = ofs_store_getattr(t->store, dir, &attr);
	if (r < 0)
		return r;
	/* A task that was moved since, perhaps to persistent/ and back, is another one. */
	if (attr.used > strtoll(value, &wall, 10))
		return 0;
	ret->age = strtoll(value, NULL, 10);
	ret->wall = strtoll(wall, &wall, 10);
	ret->drop_all = strcmp(wall, DROP_ALL) == 0;
	return 0;
}

int ofs_task_get_state(struct ofs_tree *t, const struct ofs_attr *dir, struct ofs_buf *out)
{
	struct ofs_task_end end;
	int64_t live = 0;
	int r;

	if (!can_end(t, dir))
		return -ENODATA;
	r = ofs_task_ended(t, dir->ino, &end);
	if (r == 0 && !end.age)
		r = ofs_task_activity_end(t, dir->ino, &live);
	if (r == 0)
		ofs_buf_append_str(out, end.age				 ? "done"
					: ofs_store_age(t->store) < live ? "live"
									 : "idle");
	return r;
}

static bool is_value(const void *value, size_t size, const char *word)
{
	return size == strlen(word) && memcmp(value, word, size) == 0;
}

static int set_ended(struct ofs_tree *t, uint64_t dir, bool drop_all)
{
	/* Setting the attribute counts as the last use of the directory, rounded up to a second. */
	int64_t age = (ofs_store_age(t->store) / OFS_NS_PER_S + 2) * OFS_NS_PER_S;
	char value[64];
	int n = snprintf(value, sizeof(value), "%" PRId64 " %" PRId64 "%s", age, ofs_clock_wall(),
			 drop_all ? DROP_ALL : "");
	int r = ofs_store_setxattr(t->store, dir, ENDED, value, (size_t)n, 0);

	if (r == 0)
		ofs_audit_tell(t, ofs_root_at(t, dir) ? "agent-end" : "task-end", dir, NULL);
	return r;
}

int ofs_task_set_state(struct ofs_tree *t, const struct ofs_attr *dir, const void *value,
		       size_t size)
{
	int r;

	if (!can_end(t, dir))
		return -EOPNOTSUPP;
	if (is_value(value, size, "done") || is_value(value, size, "done" DROP_ALL))
		return set_ended(t, dir->ino, size > strlen("done"));
	if (!is_value(value, size, "live"))
		return -EINVAL;
	r = ofs_store_removexattr(t->store, dir->ino, ENDED);
	if (r < 0 && r != -ENODATA)
		return r;
	if (r == 0)
		ofs_audit_tell(t, ofs_root_at(t, dir->ino) ? "agent-reopen" : "task-reopen",
			       dir->ino, NULL);
	ofs_task_activity_note(t, dir->ino);
	return 0;
}
