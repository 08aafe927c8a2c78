/* SPDX-License-Identifier: MIT */
/* Finding a term of a query in folded text. */
#pragma once

#include "tree/search/query.h"

/* How a term was found; the higher the better. */
enum ofs_match {
	OFS_MATCH_NONE,
	OFS_MATCH_WORD, /* as words, perhaps a part of a name such as get_user_id */
	OFS_MATCH_NAME /* and of no longer name */
};

/*
 * Finds the next place of the term in `text` (folded), from `from` on: the bytes [*ret_at,
 * *ret_end).
 */
enum ofs_match ofs_match_next(const struct ofs_term *term, const char *text, size_t len,
			      size_t from, size_t *ret_at, size_t *ret_end);

/* The best way in which it is found in `text` (not folded, NULL: empty). */
enum ofs_match ofs_match_best(const struct ofs_term *term, const char *text);
