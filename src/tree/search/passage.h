/* SPDX-License-Identifier: MIT */
/*
 * Finds the passages of texts that answer a query best: a few lines each, with enough context to
 * make sense.
 */
#pragma once

#include "base/buf.h"
#include "tree/search/query.h"

#define OFS_SNIPPET_CHARS 160

/* A part of a text. It starts with a line, or within one if that was cut for its length. */
struct ofs_text_region {
	const char *text; /* borrowed until ofs_passages_finish() */
	size_t len;
	size_t before, after; /* readable bytes around it, needed to recognise secrets */
	uint64_t off; /* of its first byte in the whole text */
	uint64_t line; /* number of its first line, from 1 */
	double bonus; /* added to the score of each of its passages */
	void *owner; /* for the caller */
};

struct ofs_passage {
	size_t region; /* index in `regions` */
	uint64_t first, last; /* line numbers, from 1 */
	uint64_t off, end; /* bytes, in the whole text */
	bool whole; /* it consists of whole lines */
	uint64_t match, match_end; /* bytes of the matched word that the snippet is to show */
	double score; /* higher is better */
	uint32_t words; /* the query's words in it, as bits; 0: it matches by meaning alone */
	bool exact; /* it contains a wanted term as written */
	uint32_t by_words, by_meaning; /* its rank in each list, from 1; 0: not in that list */
	double cosine; /* to the query, if `by_meaning` is not 0 */
};

/* The regions of a search and their passages. Empty if zeroed. */
struct ofs_passages {
	struct ofs_passage *list;
	size_t n, cap;
	struct ofs_text_region *regions;
	size_t nregions, cap_regions;
};

void ofs_passages_finish(struct ofs_passages *p);

/* Adds a region. Its passages are found by ofs_passages_rank(). */
void ofs_passages_add(struct ofs_passages *p, const struct ofs_text_region *region);

/* Sets the words' weights by their rarity: `found` of `all` blocks have each word. */
void ofs_passages_weigh(const struct ofs_query *q, const uint64_t found[OFS_QUERY_WORDS],
			uint64_t all, double weights[OFS_QUERY_WORDS]);

/* Finds the passages, sorted best first. No two passages overlap. */
void ofs_passages_rank(struct ofs_passages *p, const struct ofs_query *q,
		       const double weights[OFS_QUERY_WORDS]);

/*
 * Adds the passage around offset `at` of a region, whatever words it has. Returns its index in
 * `list`; SIZE_MAX if another passage covers that place or the region is empty.
 */
size_t ofs_passages_add_at(struct ofs_passages *p, size_t region, size_t at);

/* Sorts by score, best first. */
void ofs_passages_sort(struct ofs_passages *p);

/* Appends the most telling line of a passage, about OFS_SNIPPET_CHARS, without secrets. */
void ofs_passage_snippet(const struct ofs_passages *p, const struct ofs_passage *passage,
			 struct ofs_buf *out);

/*
 * Appends about OFS_SNIPPET_CHARS characters of [text, text + len) around offset `at`, as one line
 * of valid UTF-8 without control characters and terminal escape sequences.
 */
void ofs_snippet_append(struct ofs_buf *out, const char *text, size_t len, size_t at);
