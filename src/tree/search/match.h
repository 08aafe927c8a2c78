/* SPDX-License-Identifier: MIT */
/* Finds a term of a query in folded text. */
#pragma once

#include "tree/search/query.h"

/* How a term matches, from worst to best. */
enum ofs_match {
	OFS_MATCH_NONE,
	OFS_MATCH_WORD, /* whole words, perhaps a part of a name such as get_user_id */
	OFS_MATCH_NAME /* whole words, not a part of a longer name */
};

/*
 * Finds the next match in `text` (folded) from offset `from` on and sets [*ret_at, *ret_end) to its
 * bytes.
 */
enum ofs_match ofs_match_next(const struct ofs_term *term, const char *text, size_t len,
			      size_t from, size_t *ret_at, size_t *ret_end);

/* Returns the best match anywhere in `text`, which need not be folded; NULL counts as empty. */
enum ofs_match ofs_match_best(const struct ofs_term *term, const char *text);
