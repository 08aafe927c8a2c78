/* SPDX-License-Identifier: MIT */
/*
 * Text as steps show it: one line of valid UTF-8, short, without control characters, escape
 * sequences and secrets. Every text of a tool passes through here before it is shown.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/*
 * Appends at most `max` characters (at least 4) of a text of any bytes; white space becomes single
 * blanks, and a cut is marked by "..." within `max`. Only the start of a long text is read.
 */
void ofs_line_append(struct ofs_buf *out, const char *text, size_t len, size_t max);
void ofs_line_append_str(struct ofs_buf *out, const char *text, size_t max);

/* Appends the end of a text in the same form. */
void ofs_line_append_end(struct ofs_buf *out, const char *text, size_t len, size_t max);

/* The number of characters in UTF-8. */
size_t ofs_line_characters(const void *text, size_t len);

struct ofs_counted {
	char text[48];
};

/* "1 match", "2 matches", for printf(3). */
struct ofs_counted ofs_counted(uint64_t n, const char *noun);

/* The start of a text in that form, as a string of jansson's. */
json_t *ofs_line_json(const char *text, size_t len, size_t max);

/* A whole short text as a string of JSON: valid UTF-8 without secrets, lines and blanks kept. */
json_t *ofs_line_json_whole(const char *text, size_t len);

/* Appends the value of a name. False if there is none. */
typedef bool (*ofs_template_fn)(const void *arg, const char *name, struct ofs_buf *out);

/*
 * Appends a template such as "Read {path} ({size})" with every "{name}" (letters, digits, '_', '-'
 * and '.') replaced. Names without a value become nothing; returns their number.
 */
int ofs_template_expand(const char *tpl, ofs_template_fn fn, const void *arg, struct ofs_buf *out);

/* Appends "812 bytes", "4.2 KB". */
void ofs_template_size(struct ofs_buf *out, uint64_t bytes);

/* Appends a string (at most `max` characters, on one line), number or boolean; false for others. */
bool ofs_template_scalar(struct ofs_buf *out, const json_t *value, size_t max);
