/* SPDX-License-Identifier: MIT */
#include "cli/tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "cli/files.h"
#include "cli/report.h"
#include "io/path.h"

#define TASKS_DIR "tasks"
#define TASKS_NAMED 10 /* in a message */

void ofs_tasks_finish(struct ofs_tasks *t)
{
	for (size_t i = 0; i < t->count; i++) {
		free(t->list[i].name);
		free(t->list[i].state);
	}
	free(t->list);
	*t = (struct ofs_tasks)OFS_TASKS_INIT;
}

char *ofs_task_path(const char *name)
{
	return ofs_path_join(TASKS_DIR, name);
}

static const char *task_name(const char *path)
{
	return path + strlen(TASKS_DIR "/");
}

/* 0 or -errno; -ENOENT: it has gone since. */
static int task_load(struct ofs_backend *b, const char *path, struct ofs_task *ret)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = OFS_FILES_INIT;
	struct ofs_task task = { 0 };
	OFS_FREE char *state = NULL;
	int r = ofs_backend_attribute(b, path, "state", &state);

	if (r == 0)
		r = ofs_files_gather(b, path, &files);
	if (r < 0)
		return r;
	for (size_t i = 0; i < files.count; i++)
		task.bytes += (uint64_t)files.list[i].attr.st_size;
	task.files = files.count;
	task.name = ofs_strdup(task_name(path));
	task.state = ofs_steal(state);
	*ret = task;
	return 0;
}

int ofs_tasks_load(struct ofs_backend *b, struct ofs_error *err, struct ofs_tasks *ret)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files dirs = OFS_FILES_INIT;
	OFS_CLEANUP(ofs_tasks_finish) struct ofs_tasks tasks = OFS_TASKS_INIT;
	int r = ofs_files_list(b, TASKS_DIR, &dirs);

	for (size_t i = 0; i < dirs.count && r == 0; i++) {
		struct ofs_task task;

		if (!S_ISDIR(dirs.list[i].attr.st_mode))
			continue;
		r = task_load(b, dirs.list[i].path, &task);
		if (r == 0) {
			tasks.list = ofs_grow(tasks.list, &tasks.cap, tasks.count + 1,
					      sizeof(*tasks.list));
			tasks.list[tasks.count++] = task;
		} else if (r == -ENOENT) {
			r = 0;
		}
	}
	if (r == -ENODATA || r == -EOPNOTSUPP)
		return ofs_error_set(err, -r,
				     "the daemon is older than this tool and knows no states of "
				     "tasks: mount the tree again");
	if (r < 0)
		return ofs_error_set(err, -r, "cannot look at the tasks: %s", ofs_report_errno(-r));
	*ret = tasks;
	tasks = (struct ofs_tasks)OFS_TASKS_INIT;
	return 0;
}

/* "there is no task 'x'; there are: a, b, and 3 more". */
static int task_unknown(struct ofs_backend *b, const char *name, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files dirs = OFS_FILES_INIT;
	char names[320] = "", more[40] = "";
	size_t used = 0, count = 0, named = 0;

	ofs_files_list(b, TASKS_DIR, &dirs);
	for (size_t i = 0; i < dirs.count; i++) {
		const char *each = task_name(dirs.list[i].path);
		size_t len = strlen(each);

		if (!S_ISDIR(dirs.list[i].attr.st_mode))
			continue;
		if (count++ != named || named == TASKS_NAMED || used + len + 3 > sizeof(names))
			continue;
		used += (size_t)sprintf(names + used, "%s%s", named ? ", " : "", each);
		named++;
	}
	if (!count)
		return ofs_error_set(err, ENOENT, "there is no task '%s', nor any other", name);
	if (named < count)
		snprintf(more, sizeof(more), "%s%zu more", named ? ", and " : "", count - named);
	return ofs_error_set(err, ENOENT, "there is no task '%s'; there are: %s%s", name, names,
			     more);
}

int ofs_task_check(struct ofs_backend *b, const char *name, struct ofs_error *err)
{
	OFS_FREE char *path = ofs_task_path(name);
	struct stat attr;
	int r;

	if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return task_unknown(b, name, err);
	r = b->ops->lstat(b, path, &attr);
	if (r == 0 && S_ISDIR(attr.st_mode))
		return 0;
	if (r == 0 || r == -ENOENT || r == -ENAMETOOLONG)
		return task_unknown(b, name, err);
	return ofs_error_set(err, -r, "cannot look at the task '%s': %s", name,
			     ofs_report_errno(-r));
}

int ofs_tasks_set_state(struct ofs_backend *b, const char *name, const char *state,
			struct ofs_error *err)
{
	OFS_FREE char *path = ofs_task_path(name);
	int r = ofs_backend_set_attribute(b, path, "state", state);

	if (r == -EOPNOTSUPP || r == -EINVAL)
		return ofs_error_set(err, -r,
				     "the daemon is older than this tool and knows no states of "
				     "tasks: mount the tree again");
	if (r < 0)
		return ofs_error_set(err, -r, "cannot set the state of the task '%s': %s", name,
				     ofs_report_errno(-r));
	return 0;
}
