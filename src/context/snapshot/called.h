/* SPDX-License-Identifier: MIT */
/* One-line descriptions of tool calls and their short answers. */
#pragma once

#include "context/chat/chat.h"
#include "context/json/span.h"

/* Returns the arguments as an object, or no value. Arguments in a string are decoded into `buf`. */
struct ofs_span ofs_called_args(const struct ofs_chat_call *c, struct ofs_buf *buf);

/*
 * Appends the command in backquotes, or the name and arguments: "`make test`", "cancel_order
 * order_id=W7, reason=late".
 */
void ofs_called_whole(const struct ofs_chat_call *c, struct ofs_buf *out);

/* As ofs_called_whole(), but in the form of pointer titles: a command has no backquotes. */
void ofs_called_title(const struct ofs_chat_call *c, struct ofs_buf *out);

/* Appends " -> ANSWER" if the output is one short line that says something. */
void ofs_called_answer(const char *text, size_t len, struct ofs_buf *out);
