/* SPDX-License-Identifier: MIT */
/* Slices of what was offloaded that the last message of the user asks for. */
#ifndef OFS_CONTEXT_MANAGE_PREFETCH_H
#define OFS_CONTEXT_MANAGE_PREFETCH_H

#include <stddef.h>

#include <offloadfs/error.h>

#include "base/buf.h"
#include "context/chat/chat.h"
#include "context/manage/shelf.h"

#define OFS_PREFETCH_SLICES 3
#define OFS_PREFETCH_LINES 120

/* A text that pointers in the chat stand for. */
struct ofs_prefetch_source {
	const char *ref;
	const char *path; /* by its ref, as it may be written in the current directory */
};

/*
 * Ranks passages of the sources by BM25 against `query`, and appends up to OFS_PREFETCH_SLICES of them, each of at
 * most OFS_PREFETCH_LINES lines, as "<slice path=\"PATH:FROM-TO\">\n...\n</slice>\n". Returns how many there
 * are; 0: the query has nothing to do with any of them. A source that cannot be read is left out. -errno.
 */
int ofs_prefetch_write(struct ofs_shelf *shelf, const struct ofs_prefetch_source sources[],
		       size_t n, const char *query, size_t query_len, struct ofs_error *err,
		       struct ofs_buf *out);

#endif
