/* SPDX-License-Identifier: MIT */
/* The steps of a history in their order, read from JSON or from the files of a task. */
#ifndef OFS_CONTEXT_STEPS_STEP_LIST_H
#define OFS_CONTEXT_STEPS_STEP_LIST_H

#include <offloadfs/error.h>
#include <offloadfs/tree.h>

#include "context/steps/step.h"

#define OFS_STEP_LIST_NAMED 5

struct ofs_step_list {
	struct ofs_step *steps;
	size_t n, cap;
	size_t n_skipped; /* files that are no steps */
	char *skipped; /* the first OFS_STEP_LIST_NAMED of them, with reasons; NULL: there are none */
};

#define OFS_STEP_LIST_INIT          \
	{                           \
		NULL, 0, 0, 0, NULL \
	}

/* Fit for OFS_CLEANUP. */
void ofs_step_list_finish(struct ofs_step_list *l);

/*
 * Adds the steps in a text: one object after the other (JSON lines), arrays of them, or objects that
 * have them as "steps". -EINVAL, with the reason in `err` (may be NULL), and nothing is added: it is
 * empty, not JSON, or has what is no step.
 */
int ofs_step_list_parse(struct ofs_step_list *l, const char *text, size_t len,
			struct ofs_error *err);

/*
 * Adds the step that a file of a task's history is. One that is none, or could not be read, is noted
 * in `skipped` instead.
 */
void ofs_step_list_add_file(struct ofs_step_list *l, const struct ofs_task_step *file);

#endif
