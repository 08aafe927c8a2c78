/* SPDX-License-Identifier: MIT */
/* The arguments of a call, in place: they may hold a whole file. */
#ifndef OFS_CONTEXT_STEPS_ARGS_H
#define OFS_CONTEXT_STEPS_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "context/json/span.h"

/*
 * The member that has one of the names (in lower case, without separators, parted by blanks), those before going before
 * those behind; as loosely as the names of tools. Null is no value. Nothing: there is none.
 */
struct ofs_span ofs_args_find(struct ofs_span args, const char *names);

/* Which of the names a member's name is, from 1 on; 0: none. */
size_t ofs_args_index(struct ofs_span name, const char *names);

/* Appends the begin of what a string says, enough for what is shown, or a number or boolean as it is. 0 or -errno. */
void ofs_args_head(struct ofs_span value, struct ofs_buf *out);

/* The bytes that a string says, and its lines. Zero for what is no string. */
void ofs_args_measure(struct ofs_span value, uint64_t *ret_bytes, uint64_t *ret_lines);

/* How many elements or members it has. */
size_t ofs_args_count(struct ofs_span container);

#endif
