/* SPDX-License-Identifier: MIT */
/* Prefetching: slices of stored results that the user's last message asks for, as a message. */
#pragma once

#include "context/chat/chat.h"
#include "context/json/literal.h"
#include "context/manage/shelf.h"

#define OFS_PREFETCH_SLICES 3
#define OFS_PREFETCH_LINES 40

/*
 * Ranks passages of the stored results as a search does, and appends up to OFS_PREFETCH_SLICES of
 * them, each of at most OFS_PREFETCH_LINES lines, in the form
 * "<slice path=\"PATH:FROM-TO\">\n...\n</slice>\n". Returns their number; 0 if nothing matches the
 * query. Sources that cannot be read are skipped.
 */
int ofs_prefetch_write(struct ofs_shelf *shelf, const struct ofs_mark sources[], size_t n,
		       const char *query, size_t query_len, struct ofs_buf *out);

/* Appends a user's message with the slices, and the separator after it. */
void ofs_prefetch_message(const void *slices, size_t len, const struct ofs_literal_style *style,
			  struct ofs_buf *out);

/* Returns whether a message is one of those, unchanged. */
bool ofs_prefetch_is(const struct ofs_message *message);
