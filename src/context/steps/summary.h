/* SPDX-License-Identifier: MIT */
/* A step in the form that a language model reads. */
#pragma once

#include "context/settings.h"
#include "context/steps/step.h"
#include "context/tool.h"

/* Returns the rule that the step notes (metadata.rule), or else that of its tool's name. */
enum ofs_tool_rule ofs_summary_rule(const struct ofs_step *step, const struct ofs_settings *s);

/*
 * Appends the step as one line, without a newline and its ref: "Read a.c (5.2 KB)". The template is
 * that of a section [tool NAME] or of the step's rule. A failed step ends with its reason: "Read
 * a.c: failed: no such file". The same step yields the same line.
 */
void ofs_summary_text(const struct ofs_step *step, const struct ofs_settings *s,
		      struct ofs_buf *out);

/* As ofs_summary_text(), followed by " [ref X]" if the step has a ref. */
void ofs_summary_line(const struct ofs_step *step, const struct ofs_settings *s,
		      struct ofs_buf *out);

/*
 * Appends the step in full; all lines but the first are indented. It has the id, tool, arguments,
 * observation and ref, the reason of a failure, and output that was not stored. Parts that the
 * observation contains are left out. Each part is cut to its own length.
 */
void ofs_summary_full(const struct ofs_step *step, struct ofs_buf *out);

/* Appends a ref with control characters escaped, so that it stays on one line. */
void ofs_summary_ref(const char *ref, struct ofs_buf *out);
