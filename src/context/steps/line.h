/* SPDX-License-Identifier: MIT */
/*
 * Text as steps show it: valid UTF-8 on one line, without control characters, escape sequences and secrets, and
 * short. Every text that comes from a tool passes through here before it is shown.
 */
#ifndef OFS_CONTEXT_STEPS_LINE_H
#define OFS_CONTEXT_STEPS_LINE_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Appends at most `max` characters (at least 4) of a text of any bytes; white space becomes single blanks, and
 * what was cut is marked by "..." within `max`. Of a long text only the begin is read. 0 or -errno.
 */
int ofs_line_append(struct ofs_buf *out, const char *text, size_t len, size_t max);

/* The same for the end of a text. */
int ofs_line_append_end(struct ofs_buf *out, const char *text, size_t len, size_t max);

/* The begin of a text as ofs_line_append() has it, as a string of jansson's; NULL: no memory. */
json_t *ofs_line_json(const char *text, size_t len, size_t max);

/*
 * A short text whole, for a string in JSON: without secrets, in valid UTF-8, but with its lines and white space.
 * NULL: no memory.
 */
json_t *ofs_line_json_whole(const char *text, size_t len);

#endif
