/* SPDX-License-Identifier: MIT */
/* Making strings ready for the shelf on one processor while those before are put there on another. */
#ifndef OFS_CONTEXT_MANAGE_FEED_H
#define OFS_CONTEXT_MANAGE_FEED_H

#include <stddef.h>

#include "context/manage/shelf.h"

struct ofs_feed;

/*
 * Begins with the first of `n` strings; they, the list and `style` are borrowed up to the end. They are made ready in
 * their order, so that what becomes of the style is always the same.
 */
struct ofs_feed *ofs_feed_create(const struct ofs_span strings[], size_t n,
				 struct ofs_literal_style *style);

/*
 * Waits for the next string, which is the caller's to finish until it asks for another: `ret` points to it. To
 * be called `n` times at most. 0 or -errno.
 */
int ofs_feed_next(struct ofs_feed *a, struct ofs_shelf_item **ret);

/* Ends it early, too; NULL is allowed. */
void ofs_feed_destroy(struct ofs_feed *a);
void ofs_feed_destroy_p(struct ofs_feed **a);

#endif
