/* SPDX-License-Identifier: MIT */
/*
 * Finding the words of a query in texts that are not indexed, at the speed of memory: strings that
 * the words contain are searched for, and words are read only where one is found.
 */
#pragma once

#include "tree/search/query.h"

#define OFS_FINDER_BLOCK 2048 /* bytes */

struct ofs_finder;

/* The query is borrowed, and must not change. Of one thread at a time. */
struct ofs_finder *ofs_finder_create(const struct ofs_query *q);
void ofs_finder_destroy(struct ofs_finder *f); /* NULL is allowed */

/*
 * The words, as bits, that are not looked for: common ones, beside others. They count as being
 * everywhere.
 */
uint32_t ofs_finder_unsought(const struct ofs_finder *f);

/*
 * The words, as bits, that begin in [text + at, text + end), which is no more than a block. What is
 * around it, up to `len`, tells where they begin and end.
 */
uint32_t ofs_finder_words(struct ofs_finder *f, const char *text, size_t len, size_t at,
			  size_t end);
