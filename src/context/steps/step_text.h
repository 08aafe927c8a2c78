/* SPDX-License-Identifier: MIT */
/* A step as a language model reads it. */
#ifndef OFS_CONTEXT_STEPS_STEP_TEXT_H
#define OFS_CONTEXT_STEPS_STEP_TEXT_H

#include "base/buf.h"
#include "context/steps/step.h"

/*
 * Appends the step in full, in lines of which the first alone is not indented: its name, tool and arguments, the
 * observation with its ref; why it failed; the output that is nowhere else. What is longer than a step should be
 * is cut. 0 or -errno.
 */
int ofs_step_write_full(const struct ofs_step *step, struct ofs_buf *out);

/* Appends a ref as it is, whatever it looks like, but on one line. 0 or -errno. */
void ofs_step_write_ref(const char *ref, struct ofs_buf *out);

#endif
