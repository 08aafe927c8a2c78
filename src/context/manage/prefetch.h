/* SPDX-License-Identifier: MIT */
/* Slices of stored results that the user's last message asks for, as a message. */
#pragma once

#include "context/chat/chat.h"
#include "context/json/literal.h"
#include "context/manage/shelf.h"

#define OFS_PREFETCH_SLICES 3
#define OFS_PREFETCH_LINES 40

/*
 * Ranks passages of what the pointers stand for as a search does, and appends up to
 * OFS_PREFETCH_SLICES of them, each of at most OFS_PREFETCH_LINES lines, as
 * "<slice path=\"PATH:FROM-TO\">\n...\n</slice>\n". Returns how many there are; 0: the query has
 * nothing to do with any of them. A source that cannot be read is left out.
 */
int ofs_prefetch_write(struct ofs_shelf *shelf, const struct ofs_mark sources[], size_t n,
		       const char *query, size_t query_len, struct ofs_buf *out);

/* Appends a message of the user with the slices, and what parts it from the next. */
void ofs_prefetch_message(const void *slices, size_t len, const struct ofs_literal_style *style,
			  struct ofs_buf *out);

/* Whether a message is one of those, unchanged. */
bool ofs_prefetch_is(const struct ofs_message *message);
