/* SPDX-License-Identifier: MIT */
/* The steps of a task, from the files of a tree. */
#pragma once

#include <offloadfs/tree.h>

#include "client/backend.h"

/* Names and texts are owned. */
struct ofs_step_files {
	struct ofs_task_step *list; /* in order */
	size_t n, cap;
};

/* Fit for OFS_CLEANUP. */
void ofs_step_files_finish(struct ofs_step_files *f);

/*
 * Reads the steps of the task; one that cannot be read, or is too large, has its `error`. -ENOENT:
 * the task has no history; or the error of listing it.
 */
int ofs_step_files_load(struct ofs_backend *b, const char *task, struct ofs_step_files *ret);
