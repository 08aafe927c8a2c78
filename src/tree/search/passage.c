/* SPDX-License-Identifier: MIT */
/*
 * Terms are looked for in the folded text; each place belongs to the line in which it starts. Lines
 * that are near each other make a passage.
 */
#include "tree/search/passage.h"

#include "base/redact.h"
#include "tree/search/fold.h"

#define PLACES_MAX 1000 /* of one term in one part */
#define NEAR 5 /* lines from one to the next of a passage */
#define SPAN_MAX 12 /* lines of a passage */
#define BYTES_MAX 4096 /* of a passage of several lines */
#define SECRET_MAX 65536 /* bytes before a match that may belong to the same secret */
#define SNIPPET_LEAD 50 /* characters before what was found */
#define CLOSE 400.0 /* bytes between terms at which being near counts half */

/* A place of a term. */
struct place {
	size_t at, end; /* in the folded text */
	uint32_t term;
	enum ofs_match how;
	uint32_t line; /* in struct lines */
};

/* A line with places. */
struct line {
	uint64_t number, last; /* the line in which the last of its places ends */
	size_t off, end; /* of the lines number to last in the text */
	size_t folded; /* its offset in the folded text */
	size_t place; /* the first of its places */
	uint32_t terms[OFS_MATCH_NAME + 1]; /* that were found in this way, by enum ofs_match */
	bool taken; /* by a passage */
};

struct scan {
	const struct ofs_query *query;
	const char *text;
	size_t len;
	uint64_t off, number; /* of the text in the file */
	char *folded;
	size_t folded_len;
	struct place *places; /* in order */
	size_t nplaces, cap_places;
	struct line *lines;
	size_t nlines, cap_lines;
};

static void scan_finish(struct scan *s)
{
	free(s->folded);
	free(s->places);
	free(s->lines);
}

void ofs_passages_finish(struct ofs_passages *p)
{
	while (p->n)
		ofs_buf_finish(&p->list[--p->n].snippet);
}

/* ---- places and lines */

static void add_place(struct scan *s, size_t at, size_t end, size_t term, enum ofs_match how)
{
	*ofs_append(s->places, s->nplaces, s->cap_places) =
		(struct place){ .at = at, .end = end, .term = (uint32_t)term, .how = how };
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at ? 1 : (x->term > y->term) - (x->term < y->term);
}

/* Terms beyond the wanted ones are counted, and have no places. */
static void find_places(struct scan *s, struct ofs_passages *p)
{
	const struct ofs_query *q = s->query;
	size_t i, n, at, end, from;
	enum ofs_match how;

	for (i = 0; i < q->wanted + q->unwanted; i++) {
		from = 0;
		for (n = 0; n < PLACES_MAX; n++) {
			how = ofs_match_next(&q->terms[i], s->folded, s->folded_len, from, &at,
					     &end);
			if (how == OFS_MATCH_NONE)
				break;
			from = end;
			p->found[i] = OFS_MAX(p->found[i], how);
			p->count[i]++;
			if (i < q->wanted)
				add_place(s, at, end, i, how);
		}
	}
	if (s->nplaces)
		qsort(s->places, s->nplaces, sizeof(*s->places), compare_places);
}

/* Where the line at `off` ends, its newline included. */
static size_t line_end(const char *text, size_t len, size_t off)
{
	const char *p = memchr(text + off, '\n', len - off);

	return p ? (size_t)(p - text) + 1 : len;
}

/* Text and folded text have the same lines, so that they can be walked side by side. */
static void find_lines(struct scan *s)
{
	size_t off = 0, folded = 0, i = 0, end, folded_end;
	uint64_t number = s->number, last;
	struct line *l;

	while (i < s->nplaces) {
		end = line_end(s->text, s->len, off);
		folded_end = line_end(s->folded, s->folded_len, folded);
		if (s->places[i].at < folded_end) {
			l = ofs_append(s->lines, s->nlines, s->cap_lines);
			*l = (struct line){ .number = number,
					    .last = number,
					    .off = off,
					    .end = end,
					    .folded = folded,
					    .place = i };
			for (; i < s->nplaces && s->places[i].at < folded_end; i++) {
				s->places[i].line = (uint32_t)s->nlines - 1;
				l->terms[s->places[i].how] |= 1u << s->places[i].term;
				/* A phrase may go on in lines below. */
				last = number;
				for (size_t to = folded_end; to < s->places[i].end; last++)
					to = line_end(s->folded, s->folded_len, to);
				l->last = OFS_MAX(l->last, last);
			}
			if (s->nlines > 1)
				l->last = OFS_MAX(l->last, l[-1].last);
			for (last = number; last < l->last; last++)
				l->end = line_end(s->text, s->len, l->end);
		}
		off = end;
		folded = folded_end;
		number++;
	}
}

static size_t places_end(const struct scan *s, size_t line)
{
	return line + 1 < s->nlines ? s->lines[line + 1].place : s->nplaces;
}

/* ---- the best lines */

/* Weights of terms by how they were found. */
static const double weights[] = { 0, 0.4, 0.85, 1 };

/* The bytes between which all the terms of lines first to last stand, at their nearest. */
static size_t nearest(const struct scan *s, size_t first, size_t last, uint32_t terms)
{
	size_t from = s->lines[first].place, to = places_end(s, last), best = SIZE_MAX;
	size_t at[OFS_TERMS_MAX] = { 0 };
	uint32_t seen = 0;

	for (size_t i = from; i < to; i++) {
		size_t start = s->places[i].at;

		at[s->places[i].term] = s->places[i].at;
		seen |= 1u << s->places[i].term;
		if (seen != terms)
			continue;
		for (uint32_t t = 0; t < s->query->wanted; t++)
			if (terms >> t & 1)
				start = OFS_MIN(start, at[t]);
		best = OFS_MIN(best, s->places[i].end - start);
	}
	return best;
}

/* The score of the terms that are there, near or not; *ret_terms are those. */
static double rate_terms(const struct scan *s, const uint32_t terms[], uint32_t *ret_terms)
{
	uint32_t seen = 0;
	double score = 0;

	for (int how = OFS_MATCH_NAME; how > OFS_MATCH_NONE; how--) {
		score += weights[how] * __builtin_popcount(terms[how] & ~seen);
		seen |= terms[how];
	}
	*ret_terms = seen;
	return score / (double)s->query->wanted;
}

/*
 * The score of lines first to last, in which `terms` are: which terms, how they were found, how
 * near to each other and in how many lines. What cannot be better than `least` is not looked at
 * closely.
 */
static double rate(const struct scan *s, size_t first, size_t last, const uint32_t terms[],
		   double least)
{
	uint32_t seen;
	double score = rate_terms(s, terms, &seen), near;

	double lines = 1 - 0.01 * (double)(s->lines[last].last - s->lines[first].number);

	if (s->query->wanted > 1) {
		score *= 0.7;
		near = 0.3 * (double)__builtin_popcount(seen) / (double)s->query->wanted;
		if (seen & (seen - 1) && (score + near) * lines > least)
			score += near / (1 + (double)nearest(s, first, last, seen) / CLOSE);
	}
	return score * lines;
}

/* Line i is near the one before it. */
static bool is_near(const struct scan *s, size_t i)
{
	return s->lines[i].number <= s->lines[i - 1].last + NEAR;
}

/* Lines first to last, each near the next, may be one passage. */
static bool fits(const struct scan *s, size_t first, size_t last)
{
	const struct line *a = &s->lines[first], *z = &s->lines[last];

	return !a->taken && !z->taken &&
	       (first == last || (z->last - a->number < SPAN_MAX && z->end - a->off <= BYTES_MAX));
}

static bool find_best(const struct scan *s, size_t *ret_first, size_t *ret_last, double *ret)
{
	double best = -1, score;

	for (size_t i = 0; i < s->nlines; i++) {
		uint32_t terms[OFS_MATCH_NAME + 1] = { 0 };

		for (size_t j = i; j < s->nlines && (j == i || is_near(s, j)) && fits(s, i, j);
		     j++) {
			for (size_t how = 0; how < OFS_ARRAY_SIZE(terms); how++)
				terms[how] |= s->lines[j].terms[how];
			score = rate(s, i, j, terms, best);
			if (score > best) {
				best = score;
				*ret_first = i;
				*ret_last = j;
			}
			/* Nothing is missing that lines below could have. */
			if (__builtin_popcount(terms[OFS_MATCH_NAME]) == (int)s->query->wanted)
				break;
		}
	}
	*ret = best;
	return best >= 0;
}

/* Lines near the best ones, below and then above, belong to them. */
static void extend(const struct scan *s, size_t *first, size_t *last)
{
	while (*last + 1 < s->nlines && is_near(s, *last + 1) && fits(s, *first, *last + 1))
		++*last;
	while (*first && is_near(s, *first) && fits(s, *first - 1, *last))
		--*first;
}

/* ---- what is shown */

/* The text has something to show. */
static bool has_ink(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] > ' ')
			return true;
	return false;
}

/* The start of the snippet: a little before `at`, or more if little follows. */
static size_t snippet_start(const char *text, size_t len, size_t at)
{
	size_t from = at;

	for (size_t chars = 0; from && chars < SNIPPET_LEAD; chars++)
		do
			from--;
		while (from && ((unsigned char)text[from] & 0xc0) == 0x80);
	if (len - from < OFS_SNIPPET_CHARS)
		from = len - OFS_MIN(len, (size_t)OFS_SNIPPET_CHARS);
	while (from && ((unsigned char)text[from] & 0xc0) == 0x80)
		from--;
	return from;
}

void ofs_snippet_append(struct ofs_buf *out, const char *text, size_t len, size_t at)
{
	size_t i = snippet_start(text, len, at), chars, n, start;
	uint32_t c;

	if (has_ink(text, i))
		ofs_buf_append_str(out, "...");

	start = out->len;
	for (chars = 0; i < len && chars < OFS_SNIPPET_CHARS; i += n) {
		n = ofs_fold_decode(text + i, len - i, &c);
		chars++;
		if (c == OFS_FOLD_INVALID)
			ofs_buf_append_str(out, "?");
		else if (c != ' ' && !ofs_fold_is_control(c))
			ofs_buf_append(out, text + i, n);
		else if (out->len > start)
			ofs_buf_append_str(out, " ");
		else
			chars--; /* blanks at the start */
	}
	while (out->len > start && out->data[out->len - 1] == ' ')
		out->len--;
	if (has_ink(text + i, len - i))
		ofs_buf_append_str(out, "...");
}

/* The place in these lines whose neighbourhood in its line has the most of the terms. */
static const struct place *choose_place(const struct scan *s, size_t first, size_t last)
{
	const size_t around = OFS_SNIPPET_CHARS - SNIPPET_LEAD;
	const struct place *p = &s->places[s->lines[first].place], *best = p, *q;
	const struct place *end = s->places + places_end(s, last);
	double most = -1;

	for (; p < end; p++) {
		enum ofs_match how[OFS_TERMS_MAX] = { 0 };
		double score = 0;

		how[p->term] = p->how;
		for (q = p; q < end && q->line == p->line && q->end <= p->at + around; q++)
			how[q->term] = OFS_MAX(how[q->term], q->how);
		for (size_t t = 0; t < s->query->wanted; t++)
			score += weights[how[t]];
		if (score > most) {
			most = score;
			best = p;
		}
	}
	return best;
}

/* Where a byte of the folded line is in the text. */
static size_t source(const struct scan *s, const struct line *l, size_t at)
{
	return l->off + ofs_fold_source(s->text + l->off, l->end - l->off, at - l->folded);
}

/*
 * Appends the snippet around `at`, in its line, without secrets. These are looked for in the lines
 * around it, too: it may be one of a private key.
 */
static void append_shown(const struct scan *s, size_t at, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf shown = OFS_BUF_INIT;
	size_t from = at - OFS_MIN(at, (size_t)OFS_REDACT_AHEAD), end;
	size_t to = at + OFS_MIN(s->len - at, (size_t)OFS_REDACT_AHEAD);
	const char *newline, *text;

	while (from && at - from < SECRET_MAX && (unsigned char)s->text[from - 1] > ' ')
		from--;
	at -= from;
	ofs_redact_text_at(&shown, s->text + from, to - from, &at);
	text = (const char *)shown.data;
	newline = memrchr(text, '\n', at);
	from = newline ? (size_t)(newline + 1 - text) : 0;
	end = line_end(text, shown.len, at);
	ofs_snippet_append(out, text + from, end - from, at - from);
}

static void fill(const struct scan *s, size_t first, size_t last, double score,
		 struct ofs_passage *ret)
{
	const struct place *p = choose_place(s, first, last);
	const struct line *l = &s->lines[p->line];
	size_t at = source(s, l, p->at);

	*ret = (struct ofs_passage){
		.first = s->lines[first].number,
		.last = s->lines[last].last,
		.off = s->off + s->lines[first].off,
		.line = l->number,
		.line_off = s->off + l->off,
		.match = s->off + at,
		.match_end = s->off + source(s, l, p->end),
		.score = score,
	};
	append_shown(s, at, &ret->snippet);
}

/* Keeps the passage if it is among the best; of equal ones, the earlier part comes first. */
static void keep(struct ofs_passages *p, struct ofs_passage *found)
{
	size_t i = p->n;

	while (i && p->list[i - 1].score < found->score)
		i--;
	if (i == OFS_PASSAGES_MAX) {
		ofs_buf_finish(&found->snippet);
		return;
	}
	if (p->n == OFS_PASSAGES_MAX)
		ofs_buf_finish(&p->list[--p->n].snippet);
	memmove(&p->list[i + 1], &p->list[i], (p->n - i) * sizeof(*p->list));
	p->list[i] = *found;
	p->n++;
}

void ofs_passages_scan(struct ofs_passages *p, const struct ofs_query *q, const char *text,
		       size_t len, uint64_t off, uint64_t line)
{
	OFS_CLEANUP(scan_finish)
	struct scan s = { .query = q, .text = text, .len = len, .off = off, .number = line };
	struct ofs_passage found;
	size_t first, last;
	double score;

	s.folded = ofs_alloc(len + 1);
	s.folded_len = ofs_fold(text, len, s.folded);
	find_places(&s, p);
	find_lines(&s);
	for (int i = 0; i < OFS_PASSAGES_MAX && find_best(&s, &first, &last, &score); i++) {
		extend(&s, &first, &last);
		fill(&s, first, last, score, &found);
		for (size_t j = first; j <= last; j++)
			s.lines[j].taken = true;
		keep(p, &found);
	}
}
