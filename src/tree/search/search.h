/* SPDX-License-Identifier: MIT */
/*
 * Running a query: through the search index (search_kept.c), and by walking and reading files
 * (search.c). None of it counts as a use of a file.
 */
#pragma once

#include "base/map.h"
#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/search/hit.h"

/*
 * Loads a file that may answer, all but what is about its content. 1; 0: the filters leave it out,
 * or it is among the hits already; -ENOENT: it is gone, or cannot be read. `ret` is to be finished
 * in any case.
 */
int ofs_answer_load(struct ofs_search *s, uint64_t ino, struct ofs_answer *ret);
void ofs_answer_finish(struct ofs_answer *a);

/*
 * Adds the file to the hits when it answers the query: its names and what was found in its content
 * (`p`, which may be NULL) have all terms and none that is unwanted. 0 or -errno.
 */
int ofs_search_add(struct ofs_search *s, struct ofs_answer *a, const struct ofs_passages *p,
		   double relevance);

/* There are filters beyond the tier. */
bool ofs_search_is_filtered(const struct ofs_query *q);

bool ofs_search_wants(const struct ofs_query *q, enum ofs_tier tier);

/* How much a content that the index does not rate is about the terms, 0 to 0.5. */
double ofs_search_relevance(const struct ofs_query *q, const struct ofs_passages *p);

/* The terms that must be found, as bits. */
static inline uint32_t ofs_search_terms(const struct ofs_query *q)
{
	return q->wanted < 32 ? (UINT32_C(1) << q->wanted) - 1 : UINT32_MAX;
}

/* persistent/ and archive/, as far as they are indexed. */
int ofs_search_index(struct ofs_search *s);

/* Appends the hits of a query. 0 or -errno. */
int ofs_search_run(struct ofs_tree *t, const struct ofs_query *q, struct ofs_buf *out);
