/* SPDX-License-Identifier: MIT */
/*
 * Finds a query's words in text that is not indexed, at memory speed: it searches for strings
 * contained in the words and parses words only around a match.
 */
#pragma once

#include "tree/search/query.h"

#define OFS_FINDER_BLOCK 2048 /* bytes */

struct ofs_finder;

/* The query is borrowed and must not change. A finder is for one thread at a time. */
struct ofs_finder *ofs_finder_create(const struct ofs_query *q);
void ofs_finder_destroy(struct ofs_finder *f); /* NULL is a no-op */

/*
 * Returns the words, as bits, that are not searched for: common words, if the query has others.
 * They count as present everywhere.
 */
uint32_t ofs_finder_unsought(const struct ofs_finder *f);

/*
 * Returns the words, as bits, that start in [text + at, text + end), which has at most
 * OFS_FINDER_BLOCK bytes. The rest of [text, text + len) shows where words start and end.
 */
uint32_t ofs_finder_words(struct ofs_finder *f, const char *text, size_t len, size_t at,
			  size_t end);
