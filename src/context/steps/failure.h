/* SPDX-License-Identifier: MIT */
/* Whether a call of a tool has failed, by what its harness, its result and its text say. */
#ifndef OFS_CONTEXT_STEPS_FAILURE_H
#define OFS_CONTEXT_STEPS_FAILURE_H

#include <stdbool.h>

#include "context/steps/observe.h"

/* Marks `o` as failed if it is. `by_text`: also by what its text begins with. */
void ofs_failure_find(struct ofs_observing *o, bool by_text);

#endif
