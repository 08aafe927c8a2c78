/* SPDX-License-Identifier: MIT */
/* A task's history in the tree: tasks/TASK/history/step_NNN.json and its line, step_NNN.compact. */
#ifndef OFS_CONTEXT_STEPS_HISTORY_H
#define OFS_CONTEXT_STEPS_HISTORY_H

#include <offloadfs/error.h>

#include "client/backend.h"
#include "context/settings.h"
#include "context/steps/step.h"

/*
 * Writes the step under the next number, which becomes its id; several processes may do so at once.
 * After a failure neither file exists. 0 or -errno with the reason in `err`.
 */
int ofs_history_add(struct ofs_backend *backend, const char *task, const struct ofs_settings *s,
		    struct ofs_step *step, struct ofs_error *err);

#endif
