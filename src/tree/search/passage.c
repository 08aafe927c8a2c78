/* SPDX-License-Identifier: MIT */
/*
 * A region is split into units: lines, or pieces of long lines. Each unit is rated by BM25, and
 * lends some of its rate to units around it that lack its words, as an answer often follows the
 * line with the words of the question. A passage grows from the best unit over its neighbours.
 */
#include "tree/search/passage.h"

#include <math.h>

#include "base/fold.h"
#include "base/text.h"
#include "tree/search/match.h"

/* BM25's parameters, and the number of words of a unit of average length. */
#define K1 1.2
#define B 0.75
#define USUAL_WORDS 20.0

#define RARITY 1.1 /* exponent of a word's weight: the larger, the more rare words count */
#define REACH 2 /* units lend to this many before and after */
#define ACROSS 0.5 /* factor for what is lent across the start of a paragraph */
#define COVERAGE 0.1 /* bonus for each different word beyond the first */
#define NEARNESS 0.7 /* bonus for adjacent words of the query, times the lesser weight, */
#define NEAR 9 /* if they are fewer than this many words apart */
#define AS_WRITTEN 1.0 /* bonus for a term as written, times the weight of its words */

#define UNIT_MAX 400 /* bytes of a unit */
#define LINES_MAX 12 /* of a passage */
#define BYTES_MIN 380 /* shorter passages are filled up with what is around them, */
#define FILL_MAX 2 /* with at most this many units */
#define BYTES_MAX 800 /* of a passage */
#define GOOD 0.8 /* a passage grows over units with this share of its best unit's rate */
#define PASSAGES_MAX 10 /* of a region */

/* The share that a unit is lent by one that is -REACH ... REACH units away. */
static const double lent[] = { 0.4, 0.7, 1, 0.3, 0.1 };

struct unit {
	size_t at, end; /* including its newline */
	uint64_t line;
	uint32_t nwords; /* words of the text */
	uint32_t words; /* the query's words in it, as bits */
	size_t place; /* index of its first place */
	float by_word[OFS_QUERY_WORDS]; /* its rate for each word */
	double own, rate; /* its own rate, and with what is lent and all bonuses */
	double written; /* weight of the best wish in it */
	bool starts_line, ends_line, starts_paragraph, is_blank, exact, taken;
};

/* An occurrence of a word of the query. */
struct place {
	size_t at, end;
	uint32_t word;
	uint32_t order; /* position among the words of the text */
};

struct scan {
	const struct ofs_query *query;
	const double *weights;
	const struct ofs_text_region *region;
	struct unit *units;
	size_t n, cap;
	struct place *places;
	size_t nplaces, cap_places;
	size_t unit; /* the one whose words are being found */
	uint32_t order;
};

static void scan_finish(struct scan *s)
{
	free(s->units);
	free(s->places);
}

void ofs_passages_finish(struct ofs_passages *p)
{
	free(p->list);
	free(p->regions);
}

void ofs_passages_add(struct ofs_passages *p, const struct ofs_text_region *region)
{
	*ofs_append(p->regions, p->nregions, p->cap_regions) = *region;
}

void ofs_passages_weigh(const struct ofs_query *q, const uint64_t found[OFS_QUERY_WORDS],
			uint64_t all, double weights[OFS_QUERY_WORDS])
{
	for (size_t i = 0; i < q->nwords; i++) {
		double n = (double)OFS_MIN(found[i], all);
		double idf = log(1 + ((double)all - n + 0.5) / (n + 0.5));

		weights[i] = pow(idf * q->words[i].weight, RARITY);
	}
}

/* ---- units */

/* Returns the end of a unit: that of the line, or a blank before UNIT_MAX. */
static size_t unit_end(const struct ofs_text_region *r, size_t at)
{
	const char *text = r->text + at, *end;
	size_t len = OFS_MIN(r->len - at, (size_t)UNIT_MAX + 1);

	end = memchr(text, '\n', len);
	if (end)
		return at + (size_t)(end - text) + 1;
	if (len <= UNIT_MAX)
		return r->len;
	len = UNIT_MAX;
	end = memrchr(text + len / 2, ' ', len - len / 2);
	if (end)
		return at + (size_t)(end - text) + 1;
	while (len > UNIT_MAX - 3 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return at + len;
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] > ' ')
			return false;
	return true;
}

static size_t indent_of(const struct scan *s, const struct unit *u)
{
	const char *text = s->region->text + u->at;
	size_t n = 0;

	while (n < u->end - u->at && (text[n] == ' ' || text[n] == '\t'))
		n++;
	return n;
}

/* Whether the unit follows a blank line, is a heading, or is the first after an indented part. */
static bool starts_paragraph(const struct scan *s, const struct unit *u)
{
	const struct unit *before = u - 1;
	const char *text = s->region->text + u->at;

	if (u == s->units || before->is_blank || *text == '#')
		return true;
	return !indent_of(s, u) && indent_of(s, before) && !strchr("})]", *text);
}

static void find_units(struct scan *s)
{
	const struct ofs_text_region *r = s->region;
	uint64_t line = r->line;
	bool starts = true;

	for (size_t at = 0; at < r->len; at = s->units[s->n - 1].end) {
		struct unit *u = ofs_append(s->units, s->n, s->cap);

		*u = (struct unit){ .at = at, .end = unit_end(r, at), .line = line };
		u->starts_line = starts;
		starts = r->text[u->end - 1] == '\n';
		u->ends_line = starts || (u->end == r->len && !r->after);
		u->is_blank = is_blank(r->text + at, u->end - at);
		u->starts_paragraph = u->starts_line && starts_paragraph(s, u);
		line += starts;
	}
}

/* ---- words */

static void take_word(void *arg, const struct ofs_word *word)
{
	struct scan *s = arg;
	uint32_t words = ofs_query_match(s->query, s->region->text, word);

	while (s->unit + 1 < s->n && word->at >= s->units[s->unit].end)
		s->units[++s->unit].place = s->nplaces;
	/* A name has the position of its first part. */
	if (word->kind != OFS_WORD_NAME) {
		s->order++;
		s->units[s->unit].nwords++;
	}
	s->units[s->unit].words |= words;
	for (; words; words &= words - 1)
		*ofs_append(s->places, s->nplaces, s->cap_places) =
			(struct place){ word->at, word->end, (uint32_t)__builtin_ctz(words),
					s->order + (word->kind == OFS_WORD_NAME) };
}

static size_t places_end(const struct scan *s, size_t unit)
{
	return unit + 1 < s->n ? s->units[unit + 1].place : s->nplaces;
}

static void find_words(struct scan *s, struct ofs_words *words)
{
	ofs_words_each(words, s->region->text, s->region->len, take_word, s);
	while (s->unit + 1 < s->n)
		s->units[++s->unit].place = s->nplaces;
}

/* ---- terms as written */

/* True if the term begins in the unit, wherever it ends. */
static bool has_term(const struct scan *s, const struct unit *u, const struct ofs_term *term)
{
	size_t len = u->end - u->at, more = OFS_MIN(s->region->len - u->end, (size_t)UNIT_MAX);
	OFS_FREE char *folded = ofs_alloc(len + more + 1);
	size_t own = ofs_fold(s->region->text + u->at, len, folded), at, end;
	size_t all = own + ofs_fold(s->region->text + u->end, more, folded + own);

	return ofs_match_next(term, folded, all, 0, &at, &end) != OFS_MATCH_NONE && at < own;
}

static void find_terms(struct scan *s)
{
	for (size_t i = 0; i < s->n && s->query->wanted; i++)
		for (size_t k = 0; k < s->query->wanted && s->units[i].words; k++)
			s->units[i].exact = s->units[i].exact ||
					    has_term(s, &s->units[i], &s->query->terms[k]);
}

/* Finds each unit's wish of the largest weight. */
static void find_wishes(struct scan *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct unit *u = &s->units[i];
		uint32_t words = u->words | (u->words && i + 1 < s->n ? u[1].words : 0);

		for (size_t k = 0; k < s->query->nwishes; k++) {
			const struct ofs_wish *wish = &s->query->wishes[k];
			double weight = ofs_query_weigh(s->weights, wish->words);

			if ((wish->words & words) == wish->words && weight > u->written &&
			    has_term(s, u, &wish->term))
				u->written = weight;
		}
	}
}

/* ---- rating */

static void rate_own(struct scan *s, size_t unit)
{
	struct unit *u = &s->units[unit];
	double length = K1 * (1 - B + B * u->nwords / USUAL_WORDS);
	uint32_t count[OFS_QUERY_WORDS] = { 0 };

	for (size_t i = u->place; i < places_end(s, unit); i++)
		count[s->places[i].word]++;
	for (uint32_t left = u->words; left; left &= left - 1) {
		int i = __builtin_ctz(left);

		u->by_word[i] = (float)(s->weights[i] * count[i] * (K1 + 1) / (count[i] + length));
		u->own += u->by_word[i];
	}
}

/* The bonus for words in units `first` to `last` that are adjacent in the query. */
static double nearness(const struct scan *s, size_t first, size_t last)
{
	const struct ofs_query *q = s->query;
	uint32_t seen[OFS_QUERY_WORDS] = { 0 }, best[OFS_QUERY_WORDS + 1] = { 0 }, w, d;
	double sum = 0;

	for (size_t i = s->units[first].place; i < places_end(s, last); i++) {
		const struct place *p = &s->places[i];

		w = p->word;
		if (!q->words[w].in_order)
			continue;
		seen[w] = p->order;
		/* best[w]: distance from word w - 1 to w; in reverse order one larger. */
		d = w && seen[w - 1] ? p->order - seen[w - 1] : NEAR;
		if (w && d && d < NEAR && (!best[w] || d < best[w]))
			best[w] = d;
		d = w + 1 < q->nwords && seen[w + 1] ? p->order - seen[w + 1] + 1 : NEAR;
		if (d > 1 && d < NEAR && (!best[w + 1] || d < best[w + 1]))
			best[w + 1] = d;
	}
	for (w = 1; w < q->nwords; w++)
		if (best[w])
			sum += OFS_MIN(s->weights[w - 1], s->weights[w]) / best[w];
	return sum;
}

/* The most that units `first` to `last` lend to `unit` for a word that it lacks. */
static double borrow(const struct scan *s, size_t unit, size_t first, size_t last, int word)
{
	double most = 0, share;

	for (size_t i = first; i <= last; i++) {
		if (!(s->units[i].words >> word & 1))
			continue;
		share = lent[i + REACH - unit];
		for (size_t k = OFS_MIN(i, unit) + 1; k <= OFS_MAX(i, unit); k++)
			share *= s->units[k].starts_paragraph ? ACROSS : 1;
		most = OFS_MAX(most, share * s->units[i].by_word[word]);
	}
	return most;
}

static void rate(struct scan *s, size_t unit)
{
	size_t first = unit - OFS_MIN(unit, (size_t)REACH);
	size_t last = OFS_MIN(unit + REACH, s->n - 1);
	double sum = s->units[unit].own;
	uint32_t words = 0;

	for (size_t i = first; i <= last; i++)
		words |= s->units[i].words;
	if (!words)
		return;
	for (uint32_t left = words & ~s->units[unit].words; left; left &= left - 1)
		sum += borrow(s, unit, first, last, __builtin_ctz(left));
	sum *= 1 + COVERAGE * (__builtin_popcount(words) - 1);
	s->units[unit].rate = sum + NEARNESS * nearness(s, first, last);
}

static void rate_all(struct scan *s)
{
	double terms = ofs_query_weigh(s->weights, ofs_query_words(s->query));

	for (size_t i = 0; i < s->n; i++)
		rate_own(s, i);
	for (size_t i = 0; i < s->n; i++) {
		rate(s, i);
		s->units[i].rate += AS_WRITTEN * s->units[i].written;
		if (s->units[i].exact)
			s->units[i].rate += AS_WRITTEN * terms;
	}
}

/* ---- passages */

struct span {
	size_t first, last;
};

static size_t bytes_of(const struct scan *s, struct span p)
{
	return s->units[p.last].end - s->units[p.first].at;
}

static bool is_free(const struct scan *s, size_t unit)
{
	return unit < s->n && !s->units[unit].taken;
}

/*
 * Returns the unit by which the passage grows, or SIZE_MAX. *filled counts those taken only to
 * reach BYTES_MIN.
 */
static size_t next_unit(const struct scan *s, struct span p, double best, size_t *filled)
{
	size_t up = p.first - 1, down = p.last + 1;
	bool may_up = p.first && is_free(s, up), may_down = is_free(s, down);
	double above = may_up ? s->units[up].rate : 0, below = may_down ? s->units[down].rate : 0;

	if (OFS_MAX(above, below) >= GOOD * best)
		return above > below ? up : down;
	if (bytes_of(s, p) >= BYTES_MIN || *filled == FILL_MAX)
		return SIZE_MAX;
	++*filled;
	/* A less indented line above is what this belongs to: the head of a function or a list. */
	if (may_up && !s->units[up].is_blank &&
	    indent_of(s, &s->units[up]) < indent_of(s, &s->units[p.first]))
		return up;
	if (may_down && !s->units[down].starts_paragraph && !s->units[down].is_blank)
		return down;
	if (may_up && !s->units[p.first].starts_paragraph)
		return up;
	return may_down ? down : may_up ? up : SIZE_MAX;
}

static struct span grow(const struct scan *s, size_t unit)
{
	struct span p = { unit, unit }, more;
	size_t next, filled = 0;

	for (;;) {
		next = next_unit(s, p, s->units[unit].rate, &filled);
		if (next == SIZE_MAX)
			break;
		more = (struct span){ OFS_MIN(p.first, next), OFS_MAX(p.last, next) };
		if (bytes_of(s, more) > BYTES_MAX ||
		    s->units[more.last].line - s->units[more.first].line >= LINES_MAX)
			break;
		p = more;
	}
	while (s->units[p.last].is_blank && p.last > unit)
		p.last--;
	while (s->units[p.first].is_blank && p.first < unit)
		p.first++;
	return p;
}

/* Returns the occurrence from which on a snippet shows words of the largest weight. */
static const struct place *best_place(const struct scan *s, size_t unit)
{
	const struct place *best = NULL;
	double most = -1;

	for (size_t i = s->units[unit].place; i < places_end(s, unit); i++) {
		uint32_t words = 0;
		double sum;

		for (size_t k = i; k < places_end(s, unit) &&
				   s->places[k].end <= s->places[i].at + OFS_SNIPPET_CHARS * 2 / 3;
		     k++)
			words |= UINT32_C(1) << s->places[k].word;
		sum = ofs_query_weigh(s->weights, words);
		if (sum > most) {
			most = sum;
			best = &s->places[i];
		}
	}
	return best;
}

/* Returns the unit of a passage with the highest rate of its own. */
static size_t telling_unit(const struct scan *s, struct span p)
{
	size_t best = p.first;

	for (size_t i = p.first; i <= p.last; i++)
		if (s->units[i].own > s->units[best].own)
			best = i;
	return best;
}

static void add(struct ofs_passages *p, struct scan *s, struct span span, double score)
{
	const struct ofs_text_region *r = s->region;
	const struct unit *first = &s->units[span.first], *last = &s->units[span.last];
	struct ofs_passage *to = ofs_append(p->list, p->n, p->cap);
	size_t unit = telling_unit(s, span);
	const struct place *place = best_place(s, unit);

	*to = (struct ofs_passage){
		.region = (size_t)(r - p->regions),
		.first = first->line,
		.last = last->line,
		.off = r->off + first->at,
		.end = r->off + last->end,
		.whole = first->starts_line && last->ends_line,
		.match = r->off + (place ? place->at : s->units[unit].at),
		.match_end = r->off + (place ? OFS_MIN(place->end, last->end) : s->units[unit].end),
		.score = score + r->bonus,
	};
	for (size_t i = span.first; i <= span.last; i++) {
		to->words |= s->units[i].words;
		to->exact = to->exact || s->units[i].exact;
		s->units[i].taken = true;
	}
}

/* Whether a unit has a word of the query. If none has, the rate was lent by other passages. */
static bool has_words(const struct scan *s, struct span p)
{
	for (size_t i = p.first; i <= p.last; i++)
		if (s->units[i].words)
			return true;
	return false;
}

static size_t find_best(const struct scan *s)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < s->n; i++)
		if (!s->units[i].taken && !s->units[i].is_blank && s->units[i].rate > 0 &&
		    (best == SIZE_MAX || s->units[i].rate > s->units[best].rate))
			best = i;
	return best;
}

static void scan_region(struct ofs_passages *p, struct scan *s, struct ofs_words *words)
{
	struct span found;
	size_t unit;

	find_units(s);
	if (!s->n)
		return;
	find_words(s, words);
	if (!s->nplaces)
		return;
	find_terms(s);
	find_wishes(s);
	rate_all(s);
	for (int i = 0; i < PASSAGES_MAX; i++) {
		unit = find_best(s);
		if (unit == SIZE_MAX)
			break;
		found = grow(s, unit);
		if (has_words(s, found))
			add(p, s, found, s->units[unit].rate);
		else
			s->units[unit].taken = true;
	}
}

static int compare(const void *a, const void *b)
{
	const struct ofs_passage *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

void ofs_passages_sort(struct ofs_passages *p)
{
	if (p->n)
		qsort(p->list, p->n, sizeof(*p->list), compare);
}

size_t ofs_passages_add_at(struct ofs_passages *p, size_t region, size_t at)
{
	OFS_CLEANUP(scan_finish) struct scan s = { .region = &p->regions[region] };
	size_t unit = 0;

	find_units(&s);
	while (unit + 1 < s.n && s.units[unit].end <= at)
		unit++;
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < s.n && p->list[i].region == region; k++)
			s.units[k].taken = s.units[k].taken ||
					   (s.region->off + s.units[k].at < p->list[i].end &&
					    s.region->off + s.units[k].end > p->list[i].off);
	if (!is_free(&s, unit))
		return SIZE_MAX;
	s.units[unit].rate = 1;
	add(p, &s, grow(&s, unit), 0);
	return p->n - 1;
}

void ofs_passages_rank(struct ofs_passages *p, const struct ofs_query *q,
		       const double weights[OFS_QUERY_WORDS])
{
	struct ofs_words *words = ofs_words_create();

	for (size_t i = 0; i < p->nregions; i++) {
		OFS_CLEANUP(scan_finish)
		struct scan s = { .query = q, .weights = weights, .region = &p->regions[i] };

		scan_region(p, &s, words);
	}
	ofs_words_destroy(words);
	ofs_passages_sort(p);
	for (size_t i = 0; i < p->n; i++)
		p->list[i].by_words = (uint32_t)i + 1;
}
