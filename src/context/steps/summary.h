/* SPDX-License-Identifier: MIT */
/* A step as a language model reads it. */
#pragma once

#include "context/settings.h"
#include "context/steps/step.h"
#include "context/tool.h"

/* The step's own rule (metadata.rule), else that of its tool's name. */
enum ofs_tool_rule ofs_summary_rule(const struct ofs_step *step, const struct ofs_settings *s);

/*
 * Appends the step as one line without its newline and its ref: "Read a.c (5.2 KB)", by the
 * template of the step's rule or of a section [tool NAME]. A failed step gives its reason: "Read
 * a.c: failed: no such file". The same step gives the same line.
 */
void ofs_summary_text(const struct ofs_step *step, const struct ofs_settings *s,
		      struct ofs_buf *out);

/* The same with " [ref X]" if the step has one. */
void ofs_summary_line(const struct ofs_step *step, const struct ofs_settings *s,
		      struct ofs_buf *out);

/*
 * Appends the step in full, in lines of which only the first is not indented: its name, tool and
 * arguments, the observation with its ref; the reason of a failure; the output that is nowhere
 * else. What the observation says is not said again. Each part is cut to a length of its own.
 */
void ofs_summary_full(const struct ofs_step *step, struct ofs_buf *out);

/* Appends a ref unchanged but for control characters, so that it stays on one line. */
void ofs_summary_ref(const char *ref, struct ofs_buf *out);
