/* SPDX-License-Identifier: MIT */
/*
 * An input is a query, a newline and the text to search. Matches lie in the text, in order and
 * without overlap, and are shown as one line of UTF-8.
 */
#include <math.h>

#include "base/fold.h"
#include "base/text.h"
#include "fuzz.h"
#include "tree/search/finder.h"
#include "tree/search/match.h"
#include "tree/search/passage.h"

#define NOW INT64_C(1800000000000000000)
#define BLOCK 64 /* small, so that words cross the borders of blocks */
#define BLOCKS_MAX 256

struct text {
	const struct ofs_query *query;
	const char *text;
	size_t len;
	size_t at; /* of the latest word */
	uint32_t words[BLOCKS_MAX]; /* bits of the words that begin in each block */
};

/* ---- queries */

static uint32_t bits(size_t n)
{
	return (uint32_t)((UINT64_C(1) << n) - 1);
}

static void check_term(const struct ofs_term *term)
{
	FUZZ_ASSERT(term->len && term->len == strlen(term->text));
}

static void check_query(const struct ofs_query *q)
{
	FUZZ_ASSERT(q->nwords <= OFS_QUERY_WORDS && q->nforms <= OFS_QUERY_FORMS);
	FUZZ_ASSERT(q->wanted + q->unwanted <= OFS_TERMS_MAX && q->nwishes <= OFS_WISHES_MAX);
	for (size_t i = 0; i < q->nwords; i++)
		FUZZ_ASSERT(q->words[i].weight > 0 && q->words[i].weight <= 1);
	for (size_t i = 0; i < q->nforms; i++) {
		const struct ofs_form *f = &q->forms[i];

		FUZZ_ASSERT(f->len && f->len <= OFS_WORD_MAX && f->word < q->nwords);
		FUZZ_ASSERT(q->starting[(unsigned char)f->text[0]] >> i & 1);
	}
	for (size_t i = 0; i < q->wanted + q->unwanted; i++)
		check_term(&q->terms[i]);
	for (size_t i = 0; i < q->nwishes; i++) {
		check_term(&q->wishes[i].term);
		FUZZ_ASSERT(q->wishes[i].words && !(q->wishes[i].words & ~bits(q->nwords)));
	}
}

/* ---- words */

static void take_word(void *arg, const struct ofs_word *word)
{
	struct text *t = arg;
	uint32_t words = ofs_query_match(t->query, t->text, word);

	FUZZ_ASSERT(word->len && word->len <= OFS_WORD_MAX);
	FUZZ_ASSERT(t->at <= word->at && word->at < word->end && word->end <= t->len);
	FUZZ_ASSERT(!(words & ~bits(t->query->nwords)));
	t->at = word->at;
	t->words[OFS_MIN(word->at / BLOCK, (size_t)BLOCKS_MAX - 1)] |= words;
}

static void check_words(struct text *t, uint64_t found[OFS_QUERY_WORDS], uint64_t *ret_all)
{
	struct ofs_finder *finder = ofs_finder_create(t->query);
	struct ofs_words *words = ofs_words_create();

	ofs_words_each(words, t->text, t->len, take_word, t);
	for (size_t at = 0; at < t->len && *ret_all < BLOCKS_MAX - 1; at += BLOCK) {
		size_t end = OFS_MIN(at + BLOCK, t->len);
		uint32_t has = ofs_finder_words(finder, t->text, t->len, at, end);

		FUZZ_ASSERT(!(has & ~bits(t->query->nwords)));
		for (has |= t->words[(*ret_all)++]; has; has &= has - 1)
			found[__builtin_ctz(has)]++;
	}
	ofs_words_destroy(words);
	ofs_finder_destroy(finder);
}

/* ---- terms and folding */

static void check_match(const struct ofs_term *term, const char *folded, size_t len)
{
	size_t from = 0, at, end;

	while (ofs_match_next(term, folded, len, from, &at, &end) != OFS_MATCH_NONE) {
		FUZZ_ASSERT(from <= at && at < end && end <= len);
		from = end;
	}
}

static void check_folding(const struct ofs_query *q, const char *text, size_t len)
{
	OFS_FREE char *once = ofs_alloc(len + 1), *twice = ofs_alloc(len + 1);
	size_t n = ofs_fold(text, len, once);

	FUZZ_ASSERT(n <= len);
	FUZZ_ASSERT(ofs_text_newlines(once, n) == ofs_text_newlines(text, len));
	for (size_t i = 0; i < n; i += n / 16 + 1)
		FUZZ_ASSERT(ofs_fold_source(text, len, i) < len);
	ofs_fold(once, n, twice);
	for (size_t i = 0; i < q->wanted + q->unwanted; i++)
		check_match(&q->terms[i], once, n);
}

/* ---- passages */

static void check_snippet(const struct ofs_passages *p, const struct ofs_passage *passage)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf snippet = OFS_BUF_INIT;
	size_t n, chars = 0;
	uint32_t c;

	ofs_passage_snippet(p, passage, &snippet);
	for (size_t i = 0; i < snippet.len; i += n, chars++) {
		n = ofs_fold_decode((const char *)snippet.data + i, snippet.len - i, &c);
		FUZZ_ASSERT(c != OFS_FOLD_INVALID && !ofs_fold_is_control(c));
	}
	FUZZ_ASSERT(chars <= OFS_SNIPPET_CHARS + 2 * strlen("..."));
}

static void check_passage(const struct ofs_passages *p, const struct ofs_passage *a,
			  const struct text *t)
{
	const struct ofs_text_region *r = &p->regions[a->region];

	FUZZ_ASSERT(a->region < p->nregions && a->words && !(a->words & ~bits(t->query->nwords)));
	FUZZ_ASSERT(r->off <= a->off && a->off < a->end && a->end <= r->off + r->len);
	FUZZ_ASSERT(a->off <= a->match && a->match < a->end);
	FUZZ_ASSERT(a->match < a->match_end && a->match_end <= r->off + r->len);
	FUZZ_ASSERT(a->first == 1 + ofs_text_newlines(t->text, a->off));
	FUZZ_ASSERT(a->last == a->first + ofs_text_newlines(t->text + a->off, a->end - a->off - 1));
	FUZZ_ASSERT(!a->whole || !a->off || t->text[a->off - 1] == '\n');
	FUZZ_ASSERT(!a->whole || a->end == t->len || t->text[a->end - 1] == '\n');
	FUZZ_ASSERT(isfinite(a->score) && a->score >= r->bonus);
	check_snippet(p, a);
}

static void check_passages(const struct ofs_passages *p, const struct text *t)
{
	for (size_t i = 0; i < p->n; i++) {
		check_passage(p, &p->list[i], t);
		FUZZ_ASSERT(!i || p->list[i].score <= p->list[i - 1].score);
		for (size_t k = 0; k < i; k++)
			FUZZ_ASSERT(p->list[i].end <= p->list[k].off ||
				    p->list[k].end <= p->list[i].off);
	}
}

static void add_region(struct ofs_passages *p, const struct text *t, size_t at, size_t end)
{
	ofs_passages_add(p, &(struct ofs_text_region){
				    .text = t->text + at,
				    .len = end - at,
				    .before = at,
				    .after = t->len - end,
				    .off = at,
				    .line = 1 + ofs_text_newlines(t->text, at),
				    .bonus = at ? 0.5 : 0,
			    });
}

/* Ranks the text as one region, or as two that end with lines, like a reader of blocks. */
static void check_ranking(const struct text *t, const uint64_t found[OFS_QUERY_WORDS], uint64_t all)
{
	const char *line = t->len ? memchr(t->text + t->len / 2, '\n', t->len - t->len / 2) : NULL;
	size_t middle = line && t->len % 2 ? (size_t)(line - t->text) + 1 : t->len;
	struct ofs_passages p = { .n = 0 };
	double weights[OFS_QUERY_WORDS];

	ofs_passages_weigh(t->query, found, all, weights);
	for (size_t i = 0; i < t->query->nwords; i++)
		FUZZ_ASSERT(isfinite(weights[i]) && weights[i] >= 0);
	add_region(&p, t, 0, middle);
	if (middle < t->len)
		add_region(&p, t, middle, t->len);
	ofs_passages_rank(&p, t->query, weights);
	check_passages(&p, t);
	ofs_passages_finish(&p);
}

/* ---- everything */

static void check_search(const struct ofs_query *q, const char *text, size_t len)
{
	struct text t = { .query = q, .text = text, .len = len };
	uint64_t found[OFS_QUERY_WORDS] = { 0 }, all = 0;

	check_query(q);
	check_words(&t, found, &all);
	check_ranking(&t, found, all);
}

/* Adds forms, as a search does for words that occur nowhere. */
static void add_forms(struct ofs_query *q)
{
	for (size_t i = 0, n = q->nforms; i < n; i++) {
		struct ofs_form f = q->forms[i];

		if (f.kind != OFS_FORM_WORD || f.len < 4)
			continue;
		ofs_query_add_form(q, f.word, OFS_FORM_START, f.text, f.len);
		ofs_query_add_form(q, f.word, OFS_FORM_TYPO, f.text, f.len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t len = end ? (size_t)(end - data) : size;
	OFS_FREE char *query = ofs_alloc(len + 1), *text = NULL;
	struct ofs_error err = { "" };
	struct ofs_query *q;

	if (len)
		memcpy(query, data, len);
	size -= end ? len + 1 : size;
	text = fuzz_copy(end ? end + 1 : data, size);
	q = ofs_query_of_words(query, len);
	check_search(q, text, size);
	ofs_query_destroy(q);
	if (ofs_query_parse(query, NOW, &err, &q) < 0) {
		FUZZ_ASSERT(err.text[0]);
		FUZZ_ASSERT(strchr(query, ':') || !ofs_text_is_utf8(query) ||
			    strlen(query) > 2 * OFS_TERMS_MAX);
		return 0;
	}
	check_search(q, text, size);
	check_folding(q, text, size);
	add_forms(q);
	check_search(q, text, size);
	ofs_query_destroy(q);
	return 0;
}
