/* SPDX-License-Identifier: MIT */
/*
 * What calls and results of tools are read with: members under the names that harnesses give them,
 * and the lines of texts that are no C strings.
 */
#pragma once

#include "context/json/span.h"

/* Longer names, without their separators, are of nothing known. */
#define OFS_NAME_FOLDED_MAX 64

/* The name in lower case, without separators; 0: it is too long, or has nothing else. */
size_t ofs_name_fold(const char *name, size_t len, char ret[OFS_NAME_FOLDED_MAX]);

/*
 * The position of a folded name among the names, which are separated by blanks, from 1; 0 if it is
 * none of them. NULL is no names.
 */
size_t ofs_name_index(const char *folded, size_t len, const char *names);

/*
 * The value of the member with one of the names, or nothing; null is no value. The names are in
 * lower case without separators, separated by blanks, and earlier ones take precedence; members
 * match whatever their case and separators.
 */
struct ofs_span ofs_args_find(struct ofs_span args, const char *names);

/* The position of a member's name among the names, from 1; 0 if it is none of them. */
size_t ofs_args_index(struct ofs_span name, const char *names);

/* Appends the decoded string, or another value as it is written. */
void ofs_args_text(struct ofs_span value, struct ofs_buf *out);

/* The number of elements or members. */
size_t ofs_args_count(struct ofs_span container);

/* ---- text */

/* `text` starts with the word, in whatever case. */
bool ofs_scan_begins(const char *text, size_t len, const char *word);

/* The length without white space at the end. */
size_t ofs_scan_trim(const char *text, size_t len);

/* The next line from *p, without its end; *p moves past it. False if there is none. */
bool ofs_scan_line(const char **p, const char *end, const char **ret, size_t *ret_len);

/* The last line that is not blank; empty when all are. */
void ofs_scan_last_line(const char *text, size_t len, const char **ret, size_t *ret_len);

/* The number of lines, as sed counts them. */
size_t ofs_scan_lines(const char *text, size_t len);
