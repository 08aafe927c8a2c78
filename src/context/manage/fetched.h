/* SPDX-License-Identifier: MIT */
/* A message with slices that were fetched in advance, made so that it is known again. */
#ifndef OFS_CONTEXT_MANAGE_FETCHED_H
#define OFS_CONTEXT_MANAGE_FETCHED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "context/chat/chat.h"
#include "context/json/literal.h"

/* Appends a message of the user with the slices, and what parts it from the next. 0 or -ENOMEM. */
void ofs_fetched_write(const void *slices, size_t len, const struct ofs_literal_style *style,
		       struct ofs_buf *out);

/* Whether it is one, unchanged. */
bool ofs_fetched_is(const struct ofs_message *message);

#endif
