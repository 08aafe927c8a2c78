/* SPDX-License-Identifier: MIT */
/*
 * Joins the results by words and by meaning with reciprocal rank fusion, in which words weigh as
 * much as the share of the query that the best passage has. A document that matches only by meaning
 * is shown by its nearest line and the lines around it.
 */
#include "tree/search/search.h"

#define RANK 10.0 /* the larger, the less the first ranks stand out */
#define MEANING 0.5 /* weight of meaning; that of words is at most 1 */
#define LINES_MAX 64 /* lines of a document that are compared */

/* Returns the best passage by words that overlaps the document; SIZE_MAX: none. */
static size_t find_passage(const struct ofs_passages *p, size_t n, const struct ofs_nearby *near)
{
	for (size_t i = 0; i < n; i++)
		if (p->regions[p->list[i].region].owner == near->candidate &&
		    p->list[i].off < near->off + near->len && p->list[i].end > near->off)
			return i;
	return SIZE_MAX;
}

static size_t find_region(const struct ofs_passages *p, const struct ofs_nearby *near)
{
	for (size_t i = 0; i < p->nregions; i++)
		if (p->regions[i].owner == near->candidate && p->regions[i].off <= near->off &&
		    p->regions[i].off + p->regions[i].len > near->off)
			return i;
	return SIZE_MAX;
}

/* Returns the offset in the region of the line nearest to the query, or of the document's start. */
static size_t nearest_line(struct ofs_search *s, const struct ofs_text_region *r,
			   const struct ofs_nearby *near)
{
	struct ofs_embed_text lines[LINES_MAX];
	size_t at = (size_t)(near->off - r->off), end = OFS_MIN(at + near->len, r->len), n = 0;

	for (const char *next; at < end && n < LINES_MAX; at = (size_t)(next - r->text)) {
		next = memchr(r->text + at, '\n', end - at);
		next = next ? next + 1 : r->text + end;
		lines[n++] = (struct ofs_embed_text){ r->text + at, (size_t)(next - r->text) - at };
	}
	n = n ? ofs_meaning_nearest(s->tree->meaning, s->query->plain, lines, n) : SIZE_MAX;
	return n == SIZE_MAX ? (size_t)(near->off - r->off) : (size_t)(lines[n].text - r->text);
}

/* Returns the share of the query's weight that the best passage by words has, 0 to 1. */
static double worth_by_words(const struct ofs_search *s, const struct ofs_passages *p)
{
	double all = ofs_query_weigh(s->weights, ofs_query_words(s->query));

	return p->n && all > 0 ? ofs_query_weigh(s->weights, p->list[0].words) / all : 0;
}

void ofs_search_fuse(struct ofs_search *s, struct ofs_passages *p)
{
	double words = worth_by_words(s, p), best = p->n ? p->list[0].score : 1;
	size_t n = p->n, i;

	for (size_t k = 0; k < s->nnear; k++) {
		const struct ofs_nearby *near = &s->near[k];
		size_t region = find_region(p, near);

		if (region == SIZE_MAX)
			continue;
		i = find_passage(p, n, near);
		if (i == SIZE_MAX)
			i = ofs_passages_add_at(p, region,
						nearest_line(s, &p->regions[region], near));
		if (i == SIZE_MAX || p->list[i].by_meaning)
			continue;
		p->list[i].by_meaning = (uint32_t)k + 1;
		p->list[i].cosine = near->cosine;
	}
	for (i = 0; i < p->n; i++) {
		struct ofs_passage *passage = &p->list[i];

		passage->score = (passage->by_words ? words / (RANK + passage->by_words) : 0) +
				 (passage->by_meaning ? MEANING / (RANK + passage->by_meaning) : 0);
		/* Scaled like scores by words, with which files found by their names compete. */
		passage->score *= best * (RANK + 1);
	}
	ofs_passages_sort(p);
}
