/* SPDX-License-Identifier: MIT */
/* The one line that stands for a step in a compacted history. */
#ifndef OFS_CONTEXT_STEPS_SUMMARY_H
#define OFS_CONTEXT_STEPS_SUMMARY_H

#include "base/buf.h"
#include "context/settings.h"
#include "context/steps/step.h"

/*
 * Appends the line, without its end: "Read a.c (5.2 KB) [ref k3f9x2]", by the template of the step's rule
 * (metadata.rule, else what its tool's name means) or that of a section [tool NAME]. A step that failed says so
 * and why: "Read a.c: failed: no such file". The ref is there whenever the step has one. The same step gives the
 * same line. 0 or -errno.
 */
int ofs_summary_line(const struct ofs_step *step, const struct ofs_settings *s,
		     struct ofs_buf *out);

#endif
