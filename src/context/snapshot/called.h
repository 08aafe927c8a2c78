/* SPDX-License-Identifier: MIT */
/* Calls of tools and commands, and their short answers, as lines show them. */
#ifndef OFS_CONTEXT_SNAPSHOT_CALLED_H
#define OFS_CONTEXT_SNAPSHOT_CALLED_H

#include <stddef.h>

#include "base/buf.h"
#include "context/chat/chat.h"
#include "context/json/span.h"

/* The arguments as an object, decoded into `buf` where they are a string, or nothing. They live as long as both. */
struct ofs_span ofs_called_args(const struct ofs_chat_call *c, struct ofs_buf *buf);

/* Characters of a command where something else is to be told, and where it is all there is. */
#define OFS_CALLED_LABEL_CHARS 70
#define OFS_CALLED_COMMAND_CHARS 100

/* Appends at most `max` characters of the first line of a command: "`make test`". 0 or -ENOMEM, as for all below. */
void ofs_called_command(const void *command, size_t len, size_t max, struct ofs_buf *out);

/* Appends what was called, in short: "`make test`", "edit src/x.c". */
void ofs_called_label(const struct ofs_chat_call *c, struct ofs_buf *out);

/* Appends what was called, and with what: "`make test`", "cancel_order order_id=W7, reason=late". */
void ofs_called_whole(const struct ofs_chat_call *c, struct ofs_buf *out);

/* The same for the title of a pointer, as `offload run` makes it: a command has no quotes around it. */
void ofs_called_title(const struct ofs_chat_call *c, struct ofs_buf *out);

/* Appends " -> ANSWER" for an output of one short line that says something. */
void ofs_called_answer(const char *text, size_t len, struct ofs_buf *out);

#endif
