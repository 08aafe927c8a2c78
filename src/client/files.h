/* SPDX-License-Identifier: MIT */
/* Lists the files of a tree in or below a directory, and its tasks, the directories in tasks/. */
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
 * Adds the regular files in and below the directory `path`, each directory sorted by name, or the
 * file `path` itself. Does not follow links; skips files that vanish meanwhile. 0 or -errno.
 */
int ofs_files_gather(struct ofs_backend *b, const char *path, struct ofs_files *f);

/* Adds the entries of the directory itself, of any kind, sorted by name. 0 or -errno. */
int ofs_files_list(struct ofs_backend *b, const char *path, struct ofs_files *f);

/* Returns an object with path, ref, size and lifecycle; ref and lifecycle may be null. */
json_t *ofs_file_describe(struct ofs_backend *b, const struct ofs_file *file);

/*
 * Sets *ret to an array of objects, one for each task: name, state ("live" or "done"), files and
 * bytes. 0, or -errno with `err` set.
 */
int ofs_tasks_load(struct ofs_backend *b, struct ofs_error *err, json_t **ret);

/* Returns the directory of a task, allocated. */
char *ofs_task_path(const char *name);

/* Returns 0 if the task exists. -ENOENT: it does not, and `err` names those that do; or -errno. */
int ofs_task_check(struct ofs_backend *b, const char *name, struct ofs_error *err);

/* Sets the state of a task: "live" or "done". 0, or -errno with `err` set. */
int ofs_tasks_set_state(struct ofs_backend *b, const char *name, const char *state,
			struct ofs_error *err);
