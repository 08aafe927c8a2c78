/* SPDX-License-Identifier: MIT */
/* Steps: records of calls of tools that stay in a prompt, their form in JSON, and lists of them. */
#pragma once

#include <offloadfs/tree.h>

#include "context/json/span.h"

/* All owned. The texts are UTF-8. */
struct ofs_step {
	char *id;
	char *tool_name; /* as the harness has it */
	json_t *minimal_args; /* object: what is needed to tell what was done */
	char *observation; /* one line */
	char *outcome_ref; /* the ref of what was offloaded; NULL: nothing was */
	bool success;
	char *error; /* one line; NULL: none */
	bool has_timestamp;
	int64_t timestamp_ms;
	json_t *metadata; /* object */
};

/* Frees what it holds; fit for OFS_CLEANUP, also of zeroes. */
void ofs_step_finish(struct ofs_step *step);

/*
 * Reads a step. Members that are missing or of another type become "", an empty object, NULL, no
 * timestamp, and success unless there is an error; unknown members are left out. -EINVAL: it is no
 * object, has neither tool nor observation, or holds a value that jansson cannot represent.
 */
int ofs_step_parse(struct ofs_span object, struct ofs_error *err, struct ofs_step *ret);

/* Appends the step as JSON on one line without its newline; the same step gives the same bytes. */
void ofs_step_print(const struct ofs_step *step, struct ofs_buf *out);

/* ---- lists */

#define OFS_STEP_LIST_NAMED 5

struct ofs_step_list {
	struct ofs_step *steps;
	size_t n, cap;
	size_t n_skipped; /* files that are no steps */
	/* "step_004.json (the input is empty), ...": the first OFS_STEP_LIST_NAMED of them */
	struct ofs_buf skipped;
};

/* Fit for OFS_CLEANUP. */
void ofs_step_list_finish(struct ofs_step_list *l);

/*
 * Adds the steps in a text: JSON lines, arrays of steps, or objects that have them as "steps".
 * -EINVAL with the reason in `err` (may be NULL), and nothing is added, if the text is empty, not
 * JSON, or holds something other than steps.
 */
int ofs_step_list_parse(struct ofs_step_list *l, const char *text, size_t len,
			struct ofs_error *err);

/* Adds a file of a task's history; one that is no step, or is unreadable, goes to `skipped`. */
void ofs_step_list_add_file(struct ofs_step_list *l, const struct ofs_task_step *file);
