/* SPDX-License-Identifier: MIT */
/*
 * A search query: terms, all of which must be found, and filters.
 *
 *   word          anywhere, as it stands: get_user_id, foo::bar and --flag=x are one term each
 *   "a phrase"    words in this order
 *   prefix*       words that start with it
 *   -term         leaves out what has it
 *   tier: category: task: tag: after: before:    filters; of several of one kind one must hold
 *
 * Case and diacritics do not matter in terms; in filters they do.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

#define OFS_TERMS_MAX 32

enum ofs_term_kind {
	OFS_TERM_TEXT,
	OFS_TERM_PHRASE,
	OFS_TERM_PREFIX
};

struct ofs_term {
	enum ofs_term_kind kind;
	char *text; /* folded */
	size_t len;
	size_t chars;
};

/* Values of which one must hold; none: nothing is asked. */
struct ofs_wanted {
	char **list;
	size_t n, cap;
};

struct ofs_query {
	struct ofs_term terms[OFS_TERMS_MAX]; /* the wanted ones, then the unwanted ones */
	size_t wanted, unwanted; /* how many of each */
	uint32_t tiers; /* bits 1 << enum ofs_tier; 0: any */
	struct ofs_wanted categories, tasks, tags;
	bool by_time;
	int64_t after, before; /* written in [after, before) */
};

/*
 * Reads a query. `now` is what ages count from. -EINVAL: it is malformed, or asks for nothing that
 * can be looked for; `err` (may be NULL) says why.
 */
int ofs_query_parse(const char *text, int64_t now, struct ofs_error *err, struct ofs_query **ret);
void ofs_query_destroy(struct ofs_query *q); /* NULL is allowed */

/* `value` is in the list, or the list is empty. */
bool ofs_wanted_has(const struct ofs_wanted *w, const char *value);
