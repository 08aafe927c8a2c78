/* SPDX-License-Identifier: MIT */
/* The arguments of a call, in place: they may hold a whole file. */
#ifndef OFS_CONTEXT_STEPS_ARGS_H
#define OFS_CONTEXT_STEPS_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "context/json/span.h"

/*
 * The value of the member with one of the names, or nothing; null is no value. The names are in
 * lower case without separators, separated by blanks, and earlier ones take precedence; members
 * match whatever their case and separators.
 */
struct ofs_span ofs_args_find(struct ofs_span args, const char *names);

/* The position of a member's name among the names, from 1; 0 if it is none of them. */
size_t ofs_args_index(struct ofs_span name, const char *names);

/*
 * Appends the start of the decoded string, as much as is shown, or a number or boolean unchanged.
 */
void ofs_args_head(struct ofs_span value, struct ofs_buf *out);

/* Bytes and lines of the decoded string; 0 for other values. */
void ofs_args_measure(struct ofs_span value, uint64_t *ret_bytes, uint64_t *ret_lines);

/* The number of elements or members. */
size_t ofs_args_count(struct ofs_span container);

#endif
