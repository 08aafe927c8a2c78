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

/* A search under way. */
struct ofs_search {
	struct ofs_tree *tree;
	const struct ofs_query *query;
	struct ofs_hits *hits;
	struct ofs_map seen; /* inodes of files that are among the hits */
};

/*
 * Adds a file to the hits when it answers the query: its names and what was found in its content
 * (`p`, which may be NULL) have all terms and none that is unwanted, and the filters hold. Returns
 * 1 when it does (or did before), 0 when not, or it is gone or damaged, or -errno.
 */
int ofs_search_add(struct ofs_search *s, uint64_t ino, const struct ofs_passages *p,
		   double relevance);

/* The filters let the file through; cheaper than adding it. */
bool ofs_search_admits(struct ofs_search *s, const struct ofs_attr *file);

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
