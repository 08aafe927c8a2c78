/* SPDX-License-Identifier: MIT */
/* The hits of a search, ranked and written as PATH:FROM-TO: snippet. */
#pragma once

#include "base/map.h"
#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/search/passage.h"

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

struct ofs_hit;

/* A search under way, and what it has found so far. */
struct ofs_search {
	struct ofs_tree *tree;
	const struct ofs_query *query;
	struct ofs_hit *hits;
	size_t n, cap;
	struct ofs_map seen; /* inodes of files that are among the hits */
	struct ofs_map copies; /* the start of a content's hash -> how many files have it */
};

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
