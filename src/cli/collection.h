/* SPDX-License-Identifier: MIT */
/*
 * Garbage collection of a tree, as a job. Its items are objects with path, ref, size, action
 * ("remove", "probation", "open", "important", "referenced"), why and at.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "cli/job.h"

/*
 * Collects, or with `dry_run` only looks at what would go, also if the task `task` (NULL: none) had
 * ended. The job needs `access`, `item` and `arg`; it waits for one that runs already, and says so
 * if that takes long. Returns what ofs_job_run() does.
 */
int ofs_collection_run(struct ofs_job *job, bool dry_run, const char *task, struct ofs_error *err);

bool ofs_collected_is(const json_t *item, const char *action);

/* "would remove cache/shell/x (4.2 KB): unused for 41m, its time is 30m", and a newline. */
void ofs_collection_print_item(const json_t *item, bool dry_run, FILE *out);

/* The outcome, on one line: "offload: 12 files removed, 48.2 KB; 2 on probation". */
void ofs_collection_print_summary(const struct ofs_job *job, bool dry_run, FILE *out);
