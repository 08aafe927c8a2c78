/* SPDX-License-Identifier: MIT */
/* Calls of tools, and their short answers, as lines show them. */
#pragma once

#include "context/chat/chat.h"
#include "context/json/span.h"

/* The arguments as an object, or nothing; decoded into `buf` if they are a string. */
struct ofs_span ofs_called_args(const struct ofs_chat_call *c, struct ofs_buf *buf);

/* Appends the name and the arguments: "`make test`", "cancel_order order_id=W7, reason=late". */
void ofs_called_whole(const struct ofs_chat_call *c, struct ofs_buf *out);

/* The same as `offload run` titles a pointer: a command has no quotes around it. */
void ofs_called_title(const struct ofs_chat_call *c, struct ofs_buf *out);

/* Appends " -> ANSWER" for an output of one short line that says something. */
void ofs_called_answer(const char *text, size_t len, struct ofs_buf *out);
