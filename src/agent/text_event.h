/* SPDX-License-Identifier: MIT */
/* What agents have in common whose results are texts. */
#pragma once

#include "agent/tools.h"

/* Reads an event; one of another name than `event` needs no answer. As of read_event(). */
int ofs_agent_read_text_event(const char *text, size_t len, const char *event,
			      const struct ofs_agent_alias aliases[], size_t n,
			      struct ofs_error *err, struct ofs_hook_event *ret);

/* Takes a string, or a list of blocks that are texts. 1; 0: it is something else. */
int ofs_agent_take_text(struct ofs_span value, struct ofs_hook_text *ret);

/* Appends {"decision": DECISION, "reason": POINTER}. */
void ofs_agent_write_refusal(const char *decision, const char *pointer, struct ofs_buf *out);
