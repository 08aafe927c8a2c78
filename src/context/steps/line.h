/* SPDX-License-Identifier: MIT */
/*
 * Text as steps show it: one short line of valid UTF-8 without control characters, escape sequences
 * and secrets. Every text of a tool passes through here before it is shown.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/* Few enough that decimal numbers as people write them are printed unchanged. */
#define OFS_LINE_REAL_DIGITS 15

/*
 * Appends at most `max` (at least 4) characters from the start of a text of any bytes. White space
 * becomes single blanks; "..." marks a cut, and counts. Only the start of a long text is read.
 */
void ofs_line_append(struct ofs_buf *out, const char *text, size_t len, size_t max);
void ofs_line_append_str(struct ofs_buf *out, const char *text, size_t max);

/* As ofs_line_append(), but appends the end of the text. */
void ofs_line_append_end(struct ofs_buf *out, const char *text, size_t len, size_t max);

/* Counts the characters of a text in UTF-8. */
size_t ofs_line_characters(const void *text, size_t len);

struct ofs_counted {
	char text[48];
};

/* Formats "1 match" or "2 matches", for printf(3). */
struct ofs_counted ofs_counted(uint64_t n, const char *noun);

/* Returns the start of a text, as by ofs_line_append(), as a new JSON string. */
json_t *ofs_line_json(const char *text, size_t len, size_t max);

/* Returns a whole short text as a new JSON string, in valid UTF-8 and without secrets. */
json_t *ofs_line_json_whole(const char *text, size_t len);

/* Appends the value of a name. Returns false if it has none. */
typedef bool (*ofs_template_fn)(const void *arg, const char *name, struct ofs_buf *out);

/*
 * Appends a template such as "Read {path} ({size})" with each "{name}" (letters, digits, '_', '-'
 * and '.') replaced by its value, or by nothing if it has none. Returns the number of names without
 * a value.
 */
int ofs_template_expand(const char *tpl, ofs_template_fn fn, const void *arg, struct ofs_buf *out);

/* Appends a size as "812 bytes" or "4.2 KB". */
void ofs_template_size(struct ofs_buf *out, uint64_t bytes);

/* Appends a string (as a line of `max` characters), number or boolean. False for other values. */
bool ofs_template_scalar(struct ofs_buf *out, const json_t *value, size_t max);
