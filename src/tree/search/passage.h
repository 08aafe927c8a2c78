/* SPDX-License-Identifier: MIT */
/*
 * The passages of texts that answer a query best: a few lines each, those that matter with those
 * around them that give them sense.
 */
#pragma once

#include "base/buf.h"
#include "tree/search/query.h"

#define OFS_SNIPPET_CHARS 160

/* A part of a text, which must start with a line, or where one of more than 1 KiB was cut. */
struct ofs_text_region {
	const char *text; /* borrowed until the passages are finished */
	size_t len;
	size_t before, after; /* bytes that can be read around it, for the sake of secrets */
	uint64_t off; /* of its first byte in the text */
	uint64_t line; /* in which that is, from 1 */
	double bonus; /* of all its passages */
	void *owner; /* the caller's */
};

struct ofs_passage {
	size_t region; /* its number */
	uint64_t first, last; /* lines, from 1, */
	uint64_t off, end; /* and the bytes */
	bool whole; /* lines, rather than a part of one */
	uint64_t match, match_end; /* where the words are that a snippet shows */
	double score; /* the more the better */
	uint32_t words; /* of the query that it has, as bits; never none */
	bool exact; /* it has a term of the query as it is written */
	uint32_t by_words, by_meaning; /* its place among those found so, from 1; 0: it was not */
	double cosine; /* by meaning */
};

/* The passages of some regions. Zeroed, it is empty. */
struct ofs_passages {
	struct ofs_passage *list;
	size_t n, cap;
	struct ofs_text_region *regions;
	size_t nregions, cap_regions;
};

void ofs_passages_finish(struct ofs_passages *p);

/* Adds a region, whose passages ofs_passages_rank() will find. */
void ofs_passages_add(struct ofs_passages *p, const struct ofs_text_region *region);

/* What the words weigh, by how rare they are: `found` of `all` parts of texts have each. */
void ofs_passages_weigh(const struct ofs_query *q, const uint64_t found[OFS_QUERY_WORDS],
			uint64_t all, double weights[OFS_QUERY_WORDS]);

/* Fills the list, best first. No passage overlaps another. */
void ofs_passages_rank(struct ofs_passages *p, const struct ofs_query *q,
		       const double weights[OFS_QUERY_WORDS]);

/*
 * Adds the passage around byte `at` of a region, whatever words are there. Returns its number;
 * SIZE_MAX: another has that place, or there is nothing.
 */
size_t ofs_passages_add_at(struct ofs_passages *p, size_t region, size_t at);

/* By their scores, best first. */
void ofs_passages_sort(struct ofs_passages *p);

/* Appends the line that tells most of a passage: about OFS_SNIPPET_CHARS, without secrets. */
void ofs_passage_snippet(const struct ofs_passages *p, const struct ofs_passage *passage,
			 struct ofs_buf *out);

/*
 * Appends about OFS_SNIPPET_CHARS characters of [text, text + len) around the byte `at`, as one
 * line of valid UTF-8 without control characters and terminal escape sequences.
 */
void ofs_snippet_append(struct ofs_buf *out, const char *text, size_t len, size_t at);
