/* SPDX-License-Identifier: MIT */
/*
 * Texts are cut into blocks of some lines. Each is read once to count the terms of the query in its blocks; of that
 * only blocks that have any are kept. A passage is one or two blocks that follow each other; BM25 ranks them, and what
 * was chosen is read again.
 */
#include "context/manage/prefetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "base/util.h"
#include "codec/hash.h"
#include "context/manage/terms.h"

#define K1 1.2
#define B 0.75
#define BLOCK_LINES 20
#define BLOCK_BYTES 2500
#define SLICE_BYTES 6000
/* Lines that a slice has where its text has them. */
#define SLICE_LINES 40
/* Of the best passage's score, what others must have. */
#define SHARE 0.5
/* A literal term that is in more than one of so many blocks says little by itself. */
#define COMMON 4
#define FEW_BLOCKS 8
/* Of the weight of all terms, what a passage must have without a literal one. */
#define COVERAGE 0.45
#define LOOKED_AT 64 /* passages, the best first */
/* What has a NUL in its first bytes is no text. */
#define BINARY_PROBE 8192

struct hit {
	uint32_t term;
	uint32_t count;
};

struct block {
	uint32_t source;
	uint32_t number; /* of all blocks: the next one's is one more, of the next source two */
	uint64_t line; /* of its first byte, from 1 */
	uint64_t off;
	uint32_t len;
	uint32_t lines; /* that begin in it, or go on */
	uint32_t words;
	uint32_t hits; /* where they begin */
	uint32_t n_hits;
	double score; /* of the passage that begins here */
	bool pair; /* the next block belongs to it */
};

struct ranking {
	struct ofs_shelf *shelf;
	const struct ofs_prefetch_source *sources;
	struct ofs_terms terms;
	struct block *blocks;
	size_t n, cap;
	struct hit *hits;
	size_t n_hits, cap_hits;
	uint32_t found[OFS_TERMS_WANTED]; /* blocks that have a term */
	uint32_t next; /* number of a block */
	uint64_t total; /* blocks */
	uint64_t words;
	uint64_t *sums; /* by source: of its text */
	struct ofs_map seen; /* refs and texts */
};

static void ranking_finish(struct ranking *r)
{
	ofs_terms_finish(&r->terms);
	free(r->blocks);
	free(r->hits);
	free(r->sums);
	ofs_map_finish(&r->seen);
}

/* ---- reading */

static void note_block(struct ranking *r, const struct block *b, const char *text)
{
	uint32_t counts[OFS_TERMS_WANTED] = { 0 };
	struct block made = *b;

	made.words = ofs_terms_count(&r->terms, text + b->off, b->len, counts);
	made.number = r->next++;
	made.hits = (uint32_t)r->n_hits;
	r->total++;
	r->words += made.words;
	for (uint32_t t = 0; t < r->terms.n; t++) {
		if (!counts[t] || !r->terms.list[t].weight)
			continue;
		r->found[t]++;
		r->hits = ofs_grow(r->hits, &r->cap_hits, r->n_hits + 1, sizeof(*r->hits));
		r->hits[r->n_hits++] = (struct hit){ t, counts[t] };
		made.n_hits++;
	}
	if (!made.n_hits)
		return;
	r->blocks = ofs_grow(r->blocks, &r->cap, r->n + 1, sizeof(*r->blocks));
	r->blocks[r->n++] = made;
}

/* The length of a piece of a long line that ends with a whole character. */
static size_t piece_length(const char *p, size_t len)
{
	size_t n = OFS_MIN(len, (size_t)BLOCK_BYTES);

	for (size_t back = 0; n < len && back < 4; back++) {
		if (((unsigned char)p[n - back] & 0xc0) != 0x80)
			return n - back;
	}
	return n;
}

/* Cuts a text into blocks: whole lines, or pieces of one that is too long. */
static void cut_text(struct ranking *r, uint32_t source, const char *text, size_t len)
{
	struct block b = { .source = source, .line = 1 };
	uint64_t line = 1;

	for (size_t at = 0; at < len; line++) {
		const char *eol = memchr(text + at, '\n', len - at);
		size_t end = eol ? (size_t)(eol - text) + 1 : len;

		if (b.lines && (b.lines == BLOCK_LINES || b.len + (end - at) > BLOCK_BYTES)) {
			note_block(r, &b, text);
			b.lines = b.len = 0;
		}
		for (; end - at > BLOCK_BYTES; at += b.len, b.len = 0) {
			b.off = at;
			b.line = line;
			b.len = (uint32_t)piece_length(text + at, end - at);
			b.lines = 1;
			note_block(r, &b, text);
			b.lines = 0;
		}
		if (!b.lines) {
			b.off = at;
			b.line = line;
		}
		b.lines++;
		b.len += (uint32_t)(end - at);
		at = end;
	}
	if (b.len)
		note_block(r, &b, text);
	r->next++;
}

/* Whether it was there before. */
static bool is_seen(struct ranking *r, uint64_t key)
{
	if (ofs_map_get(&r->seen, key))
		return true;
	ofs_map_put(&r->seen, key, r);
	return false;
}

static void read_sources(struct ranking *r, size_t n)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		const struct ofs_prefetch_source *s = &r->sources[i];

		if (is_seen(r, ofs_checksum(s->ref, strlen(s->ref), 1)))
			continue;
		text.len = 0;
		if (ofs_shelf_get_text(r->shelf, s->ref, NULL, &text) < 0 || !text.len)
			continue;
		if (memchr(text.data, 0, OFS_MIN(text.len, (size_t)BINARY_PROBE)))
			continue;
		r->sums[i] = ofs_checksum(text.data, text.len, 2);
		if (!is_seen(r, r->sums[i]))
			cut_text(r, (uint32_t)i, (const char *)text.data, text.len);
	}
}

/* ---- ranking */

/* The natural logarithm of x >= 1: the same bits on any machine, which libraries do not promise. */
static double logarithm(double x)
{
	const double ln2 = 0.69314718055994530942;
	double halvings = 0, y, square, sum = 0, power;

	for (; x >= 2; x /= 2)
		halvings++;
	y = (x - 1) / (x + 1);
	square = y * y;
	power = y;
	for (int i = 1; i < 30; i += 2, power *= square)
		sum += power / i;
	return halvings * ln2 + 2 * sum;
}

static double rarity(const struct ranking *r, uint32_t term)
{
	double found = r->found[term];

	return logarithm(1 + ((double)r->total - found + 0.5) / (found + 0.5));
}

/* Whether what a passage has is what was asked for, rather than a word of it. */
static bool answers(const struct ranking *r, uint64_t terms)
{
	double all = 0, has = 0;
	size_t distinct = 0, wanted = 0;

	for (size_t t = 0; t < r->terms.n; t++) {
		const struct ofs_wanted_term *term = &r->terms.list[t];

		if (!term->weight)
			continue;
		wanted++;
		all += term->weight;
		if (!(terms >> t & 1))
			continue;
		if (term->literal &&
		    (r->total < FEW_BLOCKS || (uint64_t)r->found[t] * COMMON <= r->total))
			return true;
		has += term->weight;
		distinct++;
	}
	return has >= COVERAGE * all && (distinct > 1 || wanted == 1);
}

/* The score of one block, or of two. */
static double rate(const struct ranking *r, const struct block *a, const struct block *b)
{
	uint32_t counts[OFS_TERMS_WANTED] = { 0 };
	double words = a->words + (b ? b->words : 0), score = 0;
	double average = OFS_MAX((double)r->words / (double)r->total, 1.0);
	uint64_t terms = 0;

	for (uint32_t i = 0; i < a->n_hits; i++)
		counts[r->hits[a->hits + i].term] += r->hits[a->hits + i].count;
	for (uint32_t i = 0; b && i < b->n_hits; i++)
		counts[r->hits[b->hits + i].term] += r->hits[b->hits + i].count;
	for (uint32_t t = 0; t < r->terms.n; t++) {
		double n = counts[t];

		if (!counts[t])
			continue;
		terms |= UINT64_C(1) << t;
		score += r->terms.list[t].weight * rarity(r, t) * n * (K1 + 1) /
			 (n + K1 * (1 - B + B * words / average));
	}
	return answers(r, terms) ? score : 0;
}

static void rate_all(struct ranking *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct block *a = &r->blocks[i];
		const struct block *b = i + 1 < r->n ? &r->blocks[i + 1] : NULL;
		double both;

		a->score = rate(r, a, NULL);
		if (!b || b->number != a->number + 1)
			continue;
		both = rate(r, a, b);
		a->pair = both > a->score;
		a->score = OFS_MAX(a->score, both);
	}
}

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = *(const struct block *const *)a;
	const struct block *y = *(const struct block *const *)b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* ---- choosing */

/* A part of a source. */
struct slice {
	uint32_t source;
	uint64_t off, end;
	uint64_t line, last;
};

struct slices {
	struct slice list[OFS_PREFETCH_SLICES];
	size_t n;
};

static struct slice slice_of(const struct block *b)
{
	struct slice s = { b->source, b->off, b->off + b->len, b->line, b->line + b->lines - 1 };

	if (b->pair) {
		s.end = b[1].off + b[1].len;
		s.last = b[1].line + b[1].lines - 1;
	}
	return s;
}

static bool is_near(const struct slice *a, const struct slice *b)
{
	return a->source == b->source && a->line <= b->last + BLOCK_LINES &&
	       b->line <= a->last + BLOCK_LINES;
}

/* Takes a passage, alone or with one that is near, where there is room for it. */
static void take(struct slices *s, const struct slice *found)
{
	for (size_t i = 0; i < s->n; i++) {
		struct slice *old = &s->list[i], all = *old;

		if (!is_near(old, found))
			continue;
		all.off = OFS_MIN(old->off, found->off);
		all.end = OFS_MAX(old->end, found->end);
		all.line = OFS_MIN(old->line, found->line);
		all.last = OFS_MAX(old->last, found->last);
		if (all.end - all.off <= SLICE_BYTES && all.last - all.line < OFS_PREFETCH_LINES) {
			*old = all;
			return;
		}
		if (found->off < old->end && old->off < found->end)
			return; /* some of it is there already */
	}
	if (s->n < OFS_PREFETCH_SLICES)
		s->list[s->n++] = *found;
}

static void choose(struct ranking *r, struct slices *ret)
{
	OFS_FREE struct block **ranked = ofs_alloc((r->n + 1) * sizeof(struct block *));
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->blocks[i].score > 0)
			ranked[n++] = &r->blocks[i];
	}
	qsort(ranked, n, sizeof(*ranked), compare_blocks);
	for (size_t i = 0; i < OFS_MIN(n, (size_t)LOOKED_AT); i++) {
		struct slice s = slice_of(ranked[i]);

		if (ranked[i]->score < SHARE * ranked[0]->score)
			break;
		take(ret, &s);
	}
}

/* ---- writing */

/* Where the slice may grow to: the other slices of its source are left alone. */
static void find_bounds(const struct slices *all, const struct slice *s, size_t len,
			size_t *ret_low, size_t *ret_high)
{
	*ret_low = 0;
	*ret_high = len;
	for (size_t i = 0; i < all->n; i++) {
		const struct slice *other = &all->list[i];

		if (other == s || other->source != s->source)
			continue;
		if (other->end <= s->off)
			*ret_low = OFS_MAX(*ret_low, (size_t)other->end);
		else
			*ret_high = OFS_MIN(*ret_high, (size_t)other->off);
	}
}

/* One line more, above or below. False: there is none, or it is too long. */
static bool grow_up(struct slice *s, const char *text, size_t low)
{
	const char *before;
	size_t start;

	if (s->off <= low)
		return false;
	before = memrchr(text + low, '\n', (size_t)s->off - 1 - low);
	start = before ? (size_t)(before - text) + 1 : low;
	if (s->end - start > SLICE_BYTES)
		return false;
	s->off = start;
	s->line--;
	return true;
}

static bool grow_down(struct slice *s, const char *text, size_t high)
{
	const char *eol;
	size_t end;

	if (s->end >= high)
		return false;
	eol = memchr(text + s->end, '\n', high - (size_t)s->end);
	end = eol ? (size_t)(eol - text) + 1 : high;
	if (end - s->off > SLICE_BYTES)
		return false;
	s->end = end;
	s->last++;
	return true;
}

static bool is_whole(const struct slice *s, const char *text, size_t len)
{
	return (s->off == 0 || text[s->off - 1] == '\n') &&
	       (s->end == len || text[s->end - 1] == '\n');
}

/* Lines around what was found tell what it is of. */
static void grow(struct slice *s, const struct slices *all, const char *text, size_t len)
{
	size_t low, high;
	bool more = true;

	find_bounds(all, s, len, &low, &high);
	while (more && s->last - s->line + 1 < SLICE_LINES) {
		more = grow_up(s, text, low);
		if (s->last - s->line + 1 < SLICE_LINES)
			more |= grow_down(s, text, high);
	}
}

/* Appends a text; what is not UTF-8 in it is shown as U+FFFD. */
static void append_valid(const char *text, size_t len, struct ofs_buf *out)
{
	size_t start = 0, i = 0;

	while (i < len) {
		int n = ofs_text_utf8((const unsigned char *)text + i, len - i);

		if (n > 0) {
			i += (size_t)n;
			continue;
		}
		ofs_buf_append(out, text + start, i - start);
		ofs_buf_append_str(out, "\xef\xbf\xbd");
		start = ++i;
	}
	ofs_buf_append(out, text + start, len - start);
}

static void write_slice(const char *path, const struct slice *s, const char *text, size_t len,
			struct ofs_buf *out)
{
	if (is_whole(s, text, len))
		ofs_buf_printf(out, "<slice path=\"%s:%llu-%llu\">\n", path,
			       (unsigned long long)s->line, (unsigned long long)s->last);
	else
		ofs_buf_printf(out, "<slice path=\"%s:b%llu-%llu\">\n", path,
			       (unsigned long long)s->off, (unsigned long long)s->end - 1);
	append_valid(text + s->off, (size_t)(s->end - s->off), out);
	if (text[s->end - 1] != '\n')
		ofs_buf_append_str(out, "\n");
	ofs_buf_append_str(out, "</slice>\n");
}

/* Returns how many were written. */
static int write_slices(struct ranking *r, struct slices *slices, struct ofs_error *err,
			struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int written = 0;

	for (size_t i = 0; i < slices->n; i++) {
		struct slice *s = &slices->list[i];
		const struct ofs_prefetch_source *source = &r->sources[s->source];

		text.len = 0;
		/* Only the text that was ranked will do. */
		if (ofs_shelf_get_text(r->shelf, source->ref, NULL, &text) < 0 ||
		    ofs_checksum(text.data, text.len, 2) != r->sums[s->source])
			continue;
		if (is_whole(s, (const char *)text.data, text.len))
			grow(s, slices, (const char *)text.data, text.len);
		write_slice(source->path, s, (const char *)text.data, text.len, out);
		written++;
	}
	return written;
}

int ofs_prefetch_write(struct ofs_shelf *shelf, const struct ofs_prefetch_source sources[],
		       size_t n, const char *query, size_t query_len, struct ofs_error *err,
		       struct ofs_buf *out)
{
	OFS_CLEANUP(ranking_finish) struct ranking r = { .shelf = shelf, .sources = sources };
	struct slices slices = { 0 };

	ofs_terms_init(&r.terms, query, query_len);
	if (!r.terms.n || !n)
		return 0;
	r.sums = ofs_alloc(n * sizeof(*r.sums));
	read_sources(&r, n);
	if (!r.n)
		return 0;
	rate_all(&r);
	choose(&r, &slices);
	return write_slices(&r, &slices, err, out);
}
