/* SPDX-License-Identifier: MIT */
/* A step: the record of one call of a tool that stays in a prompt, and its form in JSON. */
#ifndef OFS_CONTEXT_STEPS_STEP_H
#define OFS_CONTEXT_STEPS_STEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <offloadfs/error.h>

#include "base/buf.h"
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
 * Reads a step. What is missing, or is of another type, is "" or an empty object, NULL, no timestamp,
 * and success unless there is an error; members that are not a step's are left out. -EINVAL: it is no
 * object, has neither tool nor observation, or jansson has no form for what is in it.
 */
int ofs_step_parse(struct ofs_span object, struct ofs_error *err, struct ofs_step *ret);

/* Appends it as JSON on one line, without the line's end, always the same way. 0 or -errno. */
int ofs_step_print(const struct ofs_step *step, struct ofs_buf *out);

/* What metadata has under the name as a number that is not negative. False: it has none. */
bool ofs_step_number(const struct ofs_step *step, const char *name, uint64_t *ret);

/* What minimal_args, or else metadata, has under the name as a text, borrowed; NULL: neither has one. */
const char *ofs_step_text(const struct ofs_step *step, const char *name);

#endif
