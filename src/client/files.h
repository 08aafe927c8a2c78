/* SPDX-License-Identifier: MIT */
/* Files of a tree, those in a directory, however deep; and its tasks, the directories in tasks/. */
#pragma once

#include <jansson.h>

#include "client/backend.h"

struct ofs_file {
	char *path; /* in the tree */
	struct stat attr;
};

struct ofs_files {
	struct ofs_file *list;
	size_t count;
	size_t cap;
};

void ofs_files_finish(struct ofs_files *f);

/*
 * Adds the regular files in the directory `path` and below it, each directory's in the order of
 * their names, or the file `path` itself. Links are not followed; what goes meanwhile is left out.
 * 0 or -errno.
 */
int ofs_files_gather(struct ofs_backend *b, const char *path, struct ofs_files *f);

/* Adds what is in the directory itself, of any kind, in the order of its names. 0 or -errno. */
int ofs_files_list(struct ofs_backend *b, const char *path, struct ofs_files *f);

/* It as an object: path, ref, size and lifecycle, of which it may have none (null). */
json_t *ofs_file_describe(struct ofs_backend *b, const struct ofs_file *file);

/*
 * Looks at all tasks: an array of name, state ("live" or "done"), files and bytes. This and what
 * follows return 0 or -errno with `err` set.
 */
int ofs_tasks_load(struct ofs_backend *b, struct ofs_error *err, json_t **ret);

/* Allocated: the directory of a task. */
char *ofs_task_path(const char *name);

/* -ENOENT: there is no such task, and `err` names those there are. */
int ofs_task_check(struct ofs_backend *b, const char *name, struct ofs_error *err);

int ofs_tasks_set_state(struct ofs_backend *b, const char *name, const char *state,
			struct ofs_error *err);
