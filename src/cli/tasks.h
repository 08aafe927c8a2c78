/* SPDX-License-Identifier: MIT */
/* The tasks of a tree: the directories in tasks/. */
#ifndef OFS_CLI_TASKS_H
#define OFS_CLI_TASKS_H

#include <stdint.h>

#include <offloadfs/error.h>

#include "client/backend.h"

struct ofs_task {
	char *name;
	char *state; /* "live" or "done" */
	uint64_t files;
	uint64_t bytes; /* their sizes */
};

struct ofs_tasks {
	struct ofs_task *list; /* in the order of their names */
	size_t count;
	size_t cap;
};

#define OFS_TASKS_INIT     \
	{                  \
		NULL, 0, 0 \
	}

void ofs_tasks_finish(struct ofs_tasks *t);

/* Looks at all of them; 0 or -errno with the reason in `err`. */
int ofs_tasks_load(struct ofs_backend *b, struct ofs_error *err, struct ofs_tasks *ret);

/* Allocated: the directory of a task. */
char *ofs_task_path(const char *name);

/* 0; -ENOENT: there is no such task, and `err` names those there are; or -errno. */
int ofs_task_check(struct ofs_backend *b, const char *name, struct ofs_error *err);

/* Sets "live" or "done"; 0 or -errno with the reason in `err`. */
int ofs_tasks_set_state(struct ofs_backend *b, const char *name, const char *state,
			struct ofs_error *err);

#endif
