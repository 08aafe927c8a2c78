/* SPDX-License-Identifier: MIT */
/* Steps: records of tool calls that stay in a prompt, their form in JSON, and lists of them. */
#pragma once

#include <offloadfs/tree.h>

#include "context/json/span.h"

/* All members are owned. Texts are UTF-8. */
struct ofs_step {
	char *id;
	char *tool_name; /* as the harness writes it */
	json_t *minimal_args; /* object: the arguments that tell what was done */
	char *observation; /* one line */
	char *outcome_ref; /* ref of the offloaded output; NULL: none */
	bool success;
	char *error; /* one line; NULL: none */
	bool has_timestamp;
	int64_t timestamp_ms;
	json_t *metadata; /* object */
};

/* Frees the members. Fit for OFS_CLEANUP; zeroes are allowed. */
void ofs_step_finish(struct ofs_step *step);

/*
 * Reads a step. Members that are missing or of another type become "", an empty object, NULL or no
 * timestamp; `success` becomes true unless there is an error. Unknown members are dropped. Returns
 * -EINVAL with the reason in `err` if `object` is not an object, has neither tool nor observation,
 * or holds a value that jansson cannot represent.
 */
int ofs_step_parse(struct ofs_span object, struct ofs_error *err, struct ofs_step *ret);

/* Appends the step as JSON on one line, without a newline. Equal steps yield equal bytes. */
void ofs_step_print(const struct ofs_step *step, struct ofs_buf *out);

/* ---- lists */

#define OFS_STEP_LIST_NAMED 5

struct ofs_step_list {
	struct ofs_step *steps;
	size_t n, cap;
	size_t n_skipped; /* files that are not steps */
	/* "step_004.json (the input is empty), ...": the first OFS_STEP_LIST_NAMED of them */
	struct ofs_buf skipped;
};

/* Fit for OFS_CLEANUP. */
void ofs_step_list_finish(struct ofs_step_list *l);

/*
 * Adds the steps in a text: JSON lines, arrays of steps, or objects that have them as "steps".
 * Returns -EINVAL with the reason in `err` (may be NULL), and adds nothing, if the text has no
 * steps, is not JSON, or holds anything else.
 */
int ofs_step_list_parse(struct ofs_step_list *l, const char *text, size_t len,
			struct ofs_error *err);

/* Adds a file of a task's history, or notes in `skipped` that it is unreadable or not a step. */
void ofs_step_list_add_file(struct ofs_step_list *l, const struct ofs_task_step *file);
