/* SPDX-License-Identifier: MIT */
/* Helpers for agents whose results are texts. */
#pragma once

#include "agent/tools.h"

/*
 * Reads an event as `read_event` of struct ofs_agent does. Events with a name other than `event`
 * need no answer.
 */
int ofs_agent_read_text_event(const char *text, size_t len, const char *event,
			      const struct ofs_agent_alias aliases[], size_t n,
			      struct ofs_error *err, struct ofs_hook_event *ret);

/* Takes the text of a string, or of a list of text blocks. Returns 1, or 0 for other values. */
int ofs_agent_take_text(struct ofs_span value, struct ofs_hook_text *ret);

/* Appends {"decision": DECISION, "reason": POINTER}. */
void ofs_agent_write_refusal(const char *decision, const char *pointer, struct ofs_buf *out);
