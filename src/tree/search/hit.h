/* SPDX-License-Identifier: MIT */
/* The hits of a search, ranked and written as PATH:FROM-TO: snippet. */
#pragma once

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

struct ofs_hits;

/* `q` is borrowed for as long as the hits are. */
struct ofs_hits *ofs_hits_create(struct ofs_tree *t, const struct ofs_query *q);
void ofs_hits_destroy(struct ofs_hits *h);

/* How many there are, and whether a content was found in as many files as are told of. */
size_t ofs_hits_count(const struct ofs_hits *h);
bool ofs_hits_has_all(const struct ofs_hits *h, const uint8_t sha[32]);

/*
 * Adds the passages of a file, or that the file is there. What is found of one content later counts
 * less, so the newest comes first. 0 or -errno.
 */
int ofs_hits_add(struct ofs_hits *h, const struct ofs_answer *a);

/* Appends the best, a line each. Every path can be opened as it stands. 0 or -errno. */
void ofs_hits_write(struct ofs_hits *h, struct ofs_buf *out);
