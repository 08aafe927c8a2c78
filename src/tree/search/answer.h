/* SPDX-License-Identifier: MIT */
/* A search under way: the files that may answer (answer.c), and those that do, as hits (hit.c). */
#pragma once

#include "base/map.h"
#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/search/passage.h"
#include "tree/search/query.h"

#define OFS_HITS_MAX 50 /* that are written */
#define OFS_HIT_COPIES_MAX 3 /* files of the same content */

/* A file that may answer a query. */
struct ofs_answer {
	struct ofs_attr attr;
	struct ofs_place place;
	char *title, *tags; /* NULL: none */
	uint8_t sha[32]; /* of its content, */
	bool has_sha; /* if it is known */
	const struct ofs_passages *passages; /* borrowed; NULL or none: it answers by its names */
	enum ofs_match names[OFS_TERMS_MAX]; /* how each term is in name, title or tags */
	double relevance; /* of the content, 0 to 1 */
};

/* A search under way, and what it has found so far. */
struct ofs_search {
	struct ofs_tree *tree;
	const struct ofs_query *query;
	struct ofs_hit *hits; /* hit.c */
	size_t n, cap;
	struct ofs_map seen; /* inodes of files that are among the hits */
	struct ofs_map copies; /* the start of a content's hash -> how many files have it */
};

/*
 * Looks at a file that may answer. 1; 0: it is among the hits already; -ENOENT: it is gone. `ret` is
 * to be finished in any case.
 */
int ofs_answer_load(struct ofs_search *s, uint64_t ino, struct ofs_answer *ret);
/* Adds its place, title and tags. 1; 0: the filters leave it out; -ENOENT: it is gone. */
int ofs_answer_fill(struct ofs_search *s, struct ofs_answer *a);
void ofs_answer_finish(struct ofs_answer *a);

/*
 * Adds the file to the hits when it answers the query: its names and what was found in its content
 * (`p`, which may be NULL) have all terms and none that is unwanted, and the filters hold. 0 or
 * -errno.
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

/* ---- search_kept.c: files that the search index has */

/* Adds hits of persistent/ and archive/, as far as they are indexed. 0 or -errno. */
int ofs_search_index(struct ofs_search *s);

/* ---- hit.c: the hits, ranked and written as PATH:FROM-TO: snippet */

void ofs_search_finish(struct ofs_search *s);

/* A content was found in as many files as are told of. */
bool ofs_hits_has_all(const struct ofs_search *s, const uint8_t sha[32]);

/*
 * Adds the passages of a file, or that the file is there. What is found of one content later counts
 * less, so the newest comes first. 0 or -errno.
 */
int ofs_hits_add(struct ofs_search *s, const struct ofs_answer *a);

/* Appends the best, a line each. Every path can be opened as it stands. */
void ofs_hits_write(struct ofs_search *s, struct ofs_buf *out);

/* ---- search.c: through the search index, and by walking and reading files; no use of a file */

/* Appends the hits of a query. 0 or -errno. */
int ofs_search_run(struct ofs_tree *t, const struct ofs_query *q, struct ofs_buf *out);
