/* SPDX-License-Identifier: MIT */
/* The tasks of a tree: the directories in tasks/. Calls return 0, or -errno with `err` set. */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

#include "client/backend.h"

/* Looks at all of them: an array of name, state ("live" or "done"), files and bytes. */
int ofs_tasks_load(struct ofs_backend *b, struct ofs_error *err, json_t **ret);

/* Allocated: the directory of a task. */
char *ofs_task_path(const char *name);

/* -ENOENT: there is no such task, and `err` names those there are. */
int ofs_task_check(struct ofs_backend *b, const char *name, struct ofs_error *err);

int ofs_tasks_set_state(struct ofs_backend *b, const char *name, const char *state,
			struct ofs_error *err);
