/* SPDX-License-Identifier: MIT */
/*
 * Helpers for reading calls and results of tools: members under any of the names that harnesses
 * give them, and lines of texts that are not NUL-terminated.
 */
#pragma once

#include "context/json/span.h"

/* No known name is longer than this without its separators. */
#define OFS_NAME_FOLDED_MAX 64

/*
 * Writes the letters and digits of a name in lower case. Returns their number, 0 if there are none
 * or too many.
 */
size_t ofs_name_fold(const char *name, size_t len, char ret[OFS_NAME_FOLDED_MAX]);

/*
 * Returns the position, from 1, of a folded name in a list of names separated by blanks, or 0 if it
 * is not there. NULL is an empty list.
 */
size_t ofs_name_index(const char *folded, size_t len, const char *names);

/*
 * Returns the value of the member with one of the names, or no value; a null does not count.
 * `names` are folded, separated by blanks, and the earliest takes precedence. Case and separators
 * of the member's name are ignored.
 */
struct ofs_span ofs_args_find(struct ofs_span args, const char *names);

/* Returns the position, from 1, of a member's name in `names`, or 0 if it is not there. */
size_t ofs_args_index(struct ofs_span name, const char *names);

/* Appends the decoded string, or any other value as it stands in the text. */
void ofs_args_text(struct ofs_span value, struct ofs_buf *out);

/* Returns the number of elements or members. */
size_t ofs_args_count(struct ofs_span container);

/* ---- text */

/* Returns whether `text` starts with `word`, ignoring case. */
bool ofs_scan_begins(const char *text, size_t len, const char *word);

/* Returns the length without trailing white space. */
size_t ofs_scan_trim(const char *text, size_t len);

/* Reads the line at *p without its line end, and moves *p past it. False at the end of the text. */
bool ofs_scan_line(const char **p, const char *end, const char **ret, size_t *ret_len);

/* Finds the last line that is not blank; empty if there is none. */
void ofs_scan_last_line(const char *text, size_t len, const char **ret, size_t *ret_len);

/* Counts lines; a last line without a newline counts. */
size_t ofs_scan_lines(const char *text, size_t len);
