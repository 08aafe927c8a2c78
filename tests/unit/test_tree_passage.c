/* SPDX-License-Identifier: MIT */
/* Matching terms, and choosing the lines that answer best. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/fold.h"
#include "base/text.h"
#include "base/util.h"
#include "test_draw.h"
#include "tree/search/match.h"
#include "tree/search/passage.h"

/* ---- terms */

/* Quotes make a phrase, '*' makes the start of a word. */
static enum ofs_match match(const char *term, const char *text)
{
	OFS_FREE char *folded = ofs_alloc(strlen(term) + 1);
	struct ofs_term t = { .kind = OFS_TERM_TEXT, .text = folded };
	size_t len = strlen(term);

	if (term[0] == '"') {
		t.kind = OFS_TERM_PHRASE;
		term++;
		len -= 2;
	} else if (term[len - 1] == '*') {
		t.kind = OFS_TERM_PREFIX;
		len--;
	}
	t.len = ofs_fold(term, len, folded);
	return ofs_match_best(&t, text);
}

struct sample {
	const char *term, *text;
	enum ofs_match how;
};

#define NONE OFS_MATCH_NONE
#define WORD OFS_MATCH_WORD
#define NAME OFS_MATCH_NAME

static const struct sample samples[] = {
	{ "price", "The Price.", NAME },
	{ "price", "prices", NONE },
	{ "price", "low_price_limit", WORD },
	{ "price", "priceless and price", NAME },
	{ "price", "", NONE },
	{ "price", NULL, NONE },
	{ "id", "an id, here", NAME },
	{ "id", "user_id", WORD },
	{ "id", "said video", NONE },
	{ "x", "x", NAME },
	{ "get_user_id", "forget_user_id()", NONE },
	{ "get_user_id", "self.get_user_id(x)", NAME },
	{ "get_user_id", "get user id", NONE },
	{ "foo::bar", "a foo::bar<T>", NAME },
	{ "--flag=x", "run --flag=x now", NAME },
	{ "--flag=x", "run --flag=xy now", NONE },
	{ "a.b.c", "import a.b.c", NAME },
	{ "a.b.c", "import aa.b.cc", NONE },
	{ "(foo", "x(foo)", NAME },
	{ "cafe", "Caf\xc3\xa9", NAME },
	{ "caf\xc3\xa9", "CAFE", NAME },
	{ "hello", "\xe2\x80\x9chello\xe2\x80\x9d", NAME },
	{ "\xd0\xbc\xd0\xb8\xd1\x80", "\xd0\x9c\xd0\x98\xd0\xa0!", NAME },
	{ "\xe4\xbb\xb7\xe6\xa0\xbc\xe8\xa1\xa8",
	  "\xe4\xbb\xb7\xe6\xa0\xbc\xe8\xa1\xa8\xe6\xa0\xbc", NAME },
	{ "pre*", "a prefix", NAME },
	{ "pre*", "a_prefix", WORD },
	{ "pre*", "suppress", NONE },
	{ "p*", "a prefix", NAME },
	{ "\"no such file\"", "ls: No such file or", NAME },
	{ "\"no such file\"", "no  such\nfile", WORD },
	{ "\"no such file\"", "no_such-file", WORD },
	{ "\"no such file\"", "no such x file", NONE },
	{ "\"no such file\"", "no such files", NONE },
	{ "\"such fil\"", "no such files", NONE },
	{ "\"(no such)\"", "x (no such)", NAME },
	{ "\"(no such)\"", "no such", WORD },
	{ "\"=> {\"", "x => {", NAME },
	{ "\"=> {\"", "x => [", NONE },
	{ "\"a\"", "banana", NONE },
	{ "\"a b\"", "cab a b", NAME },
	{ "\"a b\"", "a \xe2\x80\x94 b", WORD },
	{ "\"a b\"", "a\302\240b", WORD },
	{ "\"a \xe2\x80\x94 b\"", "a - b", WORD },
	{ "\"\xe2\x86\x92\"", "a \xe2\x86\x92 b", NAME },
	{ "passed", "\xe2\x9c\x93passed", NAME },
	{ "name", "\xe2\x94\x82name\xe2\x94\x82", NAME },
	{ "caf", "caf\xe9", NAME },
	{ "caf", "caf\xc3\xa9", NONE },
};

Test(tree_passage, terms)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(samples); i++) {
		enum ofs_match how = match(samples[i].term, samples[i].text);

		cr_assert_eq(how, samples[i].how, "'%s' in '%s': %d, not %d", samples[i].term,
			     samples[i].text ? samples[i].text : "(null)", (int)how,
			     (int)samples[i].how);
	}
}

/* ---- passages */

static struct ofs_query *parse(const char *text)
{
	struct ofs_error err = { "" };
	struct ofs_query *q = NULL;

	cr_assert_eq(ofs_query_parse(text, 0, &err, &q), 0, "'%s': %s", text, err.text);
	return q;
}

/* The passages of a text and the query that found them. */
struct result {
	struct ofs_query *query;
	struct ofs_passages p;
};

static void result_finish(struct result *r)
{
	ofs_passages_finish(&r->p);
	ofs_query_destroy(r->query);
}

/* Returns true if `off` is the start of the region or follows a newline. */
static bool starts_line(const struct ofs_text_region *r, uint64_t off)
{
	return off == r->off || r->text[off - r->off - 1] == '\n';
}

static bool ends_line(const struct ofs_text_region *r, uint64_t end)
{
	return r->text[end - r->off - 1] == '\n' || (end == r->off + r->len && !r->after);
}

/* Checks what holds for all passages. */
static void check(const struct ofs_passages *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct ofs_passage *a = &p->list[i];
		const struct ofs_text_region *r = &p->regions[a->region];

		cr_assert_lt(a->region, p->nregions);
		cr_assert(r->off <= a->off && a->off < a->end && a->end <= r->off + r->len);
		cr_assert(a->off <= a->match && a->match < a->match_end && a->match_end <= a->end);
		cr_assert_eq(a->first, r->line + ofs_text_newlines(r->text, a->off - r->off));
		cr_assert_eq(a->last, r->line + ofs_text_newlines(r->text, a->end - 1 - r->off));
		cr_assert_eq(a->whole, starts_line(r, a->off) && ends_line(r, a->end));
		cr_assert_neq((unsigned char)r->text[a->off - r->off] & 0xc0, 0x80);
		cr_assert_leq(a->end - a->off, 800);
		cr_assert_lt(a->last - a->first, 12);
		cr_assert_gt(a->score, r->bonus);
		cr_assert(!i || a->score <= p->list[i - 1].score);
		for (size_t k = 0; k < i; k++)
			cr_assert(p->list[k].region != a->region || p->list[k].end <= a->off ||
				  a->end <= p->list[k].off);
	}
}

/* Ranks the added regions as if each word occurred in 10 of 1000 texts. */
static void rank(struct result *r)
{
	uint64_t counts[OFS_QUERY_WORDS];
	double weights[OFS_QUERY_WORDS];

	for (size_t i = 0; i < OFS_QUERY_WORDS; i++)
		counts[i] = 10;
	ofs_passages_weigh(r->query, counts, 1000, weights);
	ofs_passages_rank(&r->p, r->query, weights);
	check(&r->p);
}

/* Drops passages that have no words of their own and only surround others. */
static void drop_neighbours(struct ofs_passages *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->list[i].words)
			p->list[n++] = p->list[i];
	p->n = n;
}

static struct result find(const char *query, const char *text, size_t len)
{
	struct result r = { .query = parse(query) };

	ofs_passages_add(&r.p, &(struct ofs_text_region){ .text = text, .len = len, .line = 1 });
	rank(&r);
	drop_neighbours(&r.p);
	return r;
}

/* Returns the passages as "FROM-TO ", or as bytes if they are not whole lines. */
static const char *list(const struct ofs_passages *p)
{
	static char all[1024];
	size_t used = 0;

	all[0] = 0;
	for (size_t i = 0; i < p->n && used < sizeof(all) - 64; i++) {
		const struct ofs_passage *a = &p->list[i];

		used += (size_t)snprintf(all + used, sizeof(all) - used,
					 a->whole ? "%" PRIu64 "-%" PRIu64 " "
						  : "b%" PRIu64 "-%" PRIu64 " ",
					 a->whole ? a->first : a->off, a->whole ? a->last : a->end);
	}
	return all;
}

static const char *passages_of(const char *query, const char *text, size_t len)
{
	OFS_CLEANUP(result_finish) struct result r = find(query, text, len);

	return list(&r.p);
}

static const char *passages(const char *query, const char *text)
{
	return passages_of(query, text, strlen(text));
}

/* Returns a text of `n` lines. Line i is fn(i), or "line" if that is NULL. */
static char *make_text(int n, const char *(*fn)(int i))
{
	char *text = ofs_alloc((size_t)n * 200), *to = text;

	for (int i = 1; i <= n; i++) {
		const char *line = fn(i);

		to = stpcpy(stpcpy(to, line ? line : "line"), "\n");
	}
	return text;
}

static void expect(const char *query, int n, const char *(*fn)(int i), const char *want)
{
	OFS_FREE char *text = make_text(n, fn);
	const char *got = passages_of(query, text, strlen(text));

	cr_expect_str_eq(got, want, "'%s': '%s', not '%s'", query, got, want);
}

static const char *one_of_many(int i)
{
	return i == 40 ? "the needle" : NULL;
}

static const char *the_first(int i)
{
	return i == 1 ? "needle" : NULL;
}

static const char *the_last(int i)
{
	return i == 20 ? "needle" : NULL;
}

static const char *everywhere(int i)
{
	return "needle";
}

static const char *twenty_in_a_row(int i)
{
	return i > 30 && i <= 50 ? "needle and more" : NULL;
}

/* 150 bytes per line. */
static const char *wide(int i)
{
	return i > 20 && i <= 30 ? "needle needle needle needle needle needle needle needle needle "
				   "needle needle needle needle needle needle needle needle needle "
				   "needle needle needle..."
				 : NULL;
}

static const char *two_words(int i)
{
	switch (i) {
	case 3:
		return "alpha";
	case 30:
		return "beta";
	case 60:
		return "alpha";
	case 62:
		return "beta";
	case 90:
		return "alpha beta";
	default:
		return NULL;
	}
}

Test(tree_passage, lines_with_those_after_them)
{
	/* A short passage takes in two more lines. */
	expect("needle", 80, one_of_many, "40-42 ");
	expect("needle", 80, the_first, "1-3 ");
	expect("needle", 20, the_last, "18-20 ");
	expect("nothing", 80, one_of_many, "");
}

Test(tree_passage, all_that_is_as_good)
{
	OFS_FREE char *text = make_text(60, wide);
	OFS_CLEANUP(result_finish) struct result r = find("needle", text, strlen(text));

	/* At most twelve lines. */
	expect("needle", 60, twenty_in_a_row, "31-42 43-52 ");
	/* At most 800 bytes. */
	cr_assert_geq(r.p.n, 2);
	cr_assert_leq(r.p.list[0].end - r.p.list[0].off, 800);
	cr_assert_geq(r.p.list[0].end - r.p.list[0].off, 360);
	cr_assert_geq(r.p.list[0].first, 21);
	cr_assert_leq(r.p.list[0].last, 31);
	/* At most ten passages of a region. */
	result_finish(&r);
	free(ofs_steal(text));
	text = make_text(500, everywhere);
	r = find("needle", text, strlen(text));
	cr_assert_eq(r.p.n, 10);
}

Test(tree_passage, more_words_and_near_each_other)
{
	OFS_FREE char *text = make_text(100, two_words);
	OFS_CLEANUP(result_finish) struct result r = find("alpha beta", text, strlen(text));

	cr_assert_geq(r.p.n, 4);
	cr_assert(r.p.list[0].first <= 90 && r.p.list[0].last >= 90);
	cr_assert_eq(r.p.list[0].words, 3);
	cr_assert(r.p.list[1].first <= 62 && r.p.list[1].last >= 60);
	/* Passages with only one of the words come last. */
	cr_assert_eq(r.p.list[r.p.n - 2].last, 5);
	cr_assert_eq(r.p.list[r.p.n - 1].last, 32);
}

Test(tree_passage, words_in_the_order_of_the_query)
{
	const char *text = "price list\n\n\n\nlist x x x price\n\n\n\nlist price\n";

	cr_assert_eq(strncmp(passages("list price", text), "9-9 ", 4), 0);
	cr_assert_eq(strncmp(passages("price list", text), "1-", 2), 0);
}

Test(tree_passage, rare_words_tell_more)
{
	const char *text = "common\n\n\n\n\nrare\n";
	OFS_CLEANUP(result_finish) struct result r = { .query = parse("common rare") };
	const uint64_t counts[OFS_QUERY_WORDS] = { 900, 1 };
	double weights[OFS_QUERY_WORDS];

	ofs_passages_weigh(r.query, counts, 1000, weights);
	cr_assert_gt(weights[1], 10 * weights[0]);
	ofs_passages_add(&r.p,
			 &(struct ofs_text_region){ .text = text, .len = strlen(text), .line = 1 });
	ofs_passages_rank(&r.p, r.query, weights);
	cr_assert(r.p.list[0].last == 6);
}

Test(tree_passage, weights)
{
	struct ofs_query *q = parse("alpha the getUserId");
	uint64_t counts[OFS_QUERY_WORDS] = { 0, 0, 5 };
	double weights[OFS_QUERY_WORDS];

	ofs_passages_weigh(q, counts, 0, weights);
	cr_assert_gt(weights[0], weights[1]);
	for (size_t i = 0; i < q->nwords; i++)
		cr_assert(weights[i] > 0 && weights[i] < 1);
	/* A count above the total is taken as the total. */
	counts[0] = counts[2] = 100;
	ofs_passages_weigh(q, counts, 50, weights);
	cr_assert_eq(weights[0], weights[2]);
	cr_assert(weights[0] > 0 && weights[0] < weights[1]);
	ofs_query_destroy(q);
}

Test(tree_passage, the_answer_follows_the_question)
{
	const char *chat = "user: hello\n\nuser: What is the password of the staging database?\n"
			   "assistant: It is in vault/staging.\n\nuser: thanks\n";
	const char *faq = "# Install\nRun make.\n\n## How to reset the password\n"
			  "1. Open the console.\n2. Type it again.\n\n## Other things\nNothing.\n";
	const char *code = "import os\n\n\ndef reset_password(user):\n\tuser.hash = None\n"
			   "\tsave(user)\n\n\ndef other():\n\tpass\n";

	cr_assert_str_eq(passages("password of the staging database", chat), "3-4 ");
	cr_assert_str_eq(passages("how to reset the password", faq), "4-6 ");
	cr_assert_str_eq(passages("reset_password", code), "4-6 ");
}

Test(tree_passage, paragraphs)
{
	/* Lines of the same paragraph or block come first. */
	cr_assert_str_eq(passages("needle", "one\n\nneedle\nafter\n\nother\n"), "3-4 ");
	cr_assert_str_eq(passages("needle", "one\n\nbefore\nneedle\n\nother\n"), "3-4 ");
	cr_assert_str_eq(passages("needle", "# A\nx\nneedle\n# B\ny\n"), "1-3 ");
	cr_assert_str_eq(passages("needle", "a:\n\tx\n\tneedle\nb:\n\ty\n"), "1-3 ");
	cr_assert_str_eq(passages("needle", "a {\n\tx\n\tneedle\n}\nb {\n\ty\n"), "3-5 ");
	/* A passage neither begins nor ends with blank lines. */
	cr_assert_str_eq(passages("needle", "\n\n\nneedle\n\n\n\n"), "4-4 ");
}

Test(tree_passage, first_and_last_lines)
{
	cr_assert_str_eq(passages("x", "a\nb x"), "1-2 ");
	cr_assert_str_eq(passages("x", "x"), "1-1 ");
	cr_assert_str_eq(passages("x", ""), "");
	cr_assert_str_eq(passages("x", "\n\n\n"), "");
	cr_assert_str_eq(passages("x", "\n\n\nx\n"), "4-4 ");
	cr_assert_str_eq(passages_of("x", "a\0b\nx\n", 6), "1-2 ");
	cr_assert_str_eq(passages_of("x", "x", 0), "");
	cr_assert_str_eq(passages("", "x\n"), "");
	cr_assert_str_eq(passages("-x", "x\n"), "");
}

/* ---- long lines */

Test(tree_passage, slices_of_long_lines)
{
	const size_t len = 6000;
	OFS_FREE char *text = ofs_alloc(len);
	OFS_CLEANUP(result_finish) struct result r = { 0 };
	const struct ofs_passage *p;

	for (size_t i = 0; i < len; i++)
		text[i] = "words "[i % 6];
	text[3] = text[len - 2] = '\n';
	memcpy(text + 3000, "fox", 3);
	text[3003] = text[3004] = ' ';
	r = find("fox", text, len);
	cr_assert_eq(r.p.n, 1);
	p = &r.p.list[0];
	cr_assert_not(p->whole);
	cr_assert(p->first == 2 && p->last == 2);
	cr_assert(p->off <= 3000 && p->end >= 3003);
	cr_assert_eq(p->match, 3000);
	cr_assert_eq(p->match_end, 3003);
	/* Cut at blanks. */
	cr_assert_eq(text[p->off - 1], ' ');
	cr_assert_eq(text[p->end - 1], ' ');
	result_finish(&r);
	/* Without blanks, cut between characters. */
	for (size_t i = 0; i < len; i++)
		text[i] = "€"[i % 3];
	memcpy(text + 3000, " needle ", 8);
	text[3008] = 'x';
	r = find("needle", text, len);
	cr_assert_eq(r.p.n, 1);
	cr_assert(r.p.list[0].off <= 3001 && r.p.list[0].end >= 3007);
}

Test(tree_passage, ends_of_long_lines)
{
	char text[1000];

	memset(text, 'x', sizeof(text));
	memcpy(text, "needle ", 7);
	/* A line of 400 bytes is one unit, with or without its newline. */
	text[400] = '\n';
	cr_assert_str_eq(passages_of("needle", text, 401), "1-1 ");
	cr_assert_str_eq(passages_of("needle", text, 400), "1-1 ");
	text[400] = 'x';
	text[401] = '\n';
	cr_assert_eq(strncmp(passages_of("needle", text, 402), "b0-400 ", 4), 0);
}

/* ---- exact terms */

Test(tree_passage, terms_as_they_are_written)
{
	const char *text = "get user id\nget user id\nget user id\n\n\n\n\n\nx get_user_id\n";
	OFS_CLEANUP(result_finish) struct result r = find("+get_user_id", text, strlen(text));

	cr_assert_eq(r.p.n, 2);
	cr_assert_eq(r.p.list[0].first, 9);
	cr_assert(r.p.list[0].exact);
	cr_assert_not(r.p.list[1].exact);
	result_finish(&r);
	r = find("get_user_id", text, strlen(text));
	cr_assert_geq(r.p.n, 1);
	for (size_t i = 0; i < r.p.n; i++)
		cr_assert_not(r.p.list[i].exact, "it is no term");
}

Test(tree_passage, a_phrase_over_lines)
{
	const char *text = "1\n2 one\n  two\n\nthree 5\n6\n";
	OFS_CLEANUP(result_finish) struct result r = find("\"one two\"", text, strlen(text));

	cr_assert_eq(r.p.n, 1);
	cr_assert(r.p.list[0].exact);
	cr_assert(r.p.list[0].first <= 2 && r.p.list[0].last >= 3);
	result_finish(&r);
	r = find("\"one two three\"", text, strlen(text));
	cr_assert(r.p.list[0].exact);
	result_finish(&r);
	r = find("\"two one\"", text, strlen(text));
	cr_assert_eq(r.p.n, 1);
	cr_assert_not(r.p.list[0].exact);
}

/* ---- regions */

Test(tree_passage, a_region_amid_a_text)
{
	const char *text = "before\nx\nneedle\nafter\nmore\nend";
	OFS_CLEANUP(result_finish) struct result r = { .query = parse("needle") };
	const struct ofs_passage *p;
	int owner;

	ofs_passages_add(&r.p, &(struct ofs_text_region){ .text = text + 7,
							  .len = strlen(text) - 7 - 3,
							  .before = 7,
							  .after = 3,
							  .off = 1007,
							  .line = 101,
							  .bonus = 2,
							  .owner = &owner });
	rank(&r);
	drop_neighbours(&r.p);
	cr_assert_eq(r.p.n, 1);
	p = &r.p.list[0];
	cr_assert_eq(p->first, 102);
	cr_assert_eq(p->last, 104);
	cr_assert_eq(p->off, 1009);
	cr_assert_eq(p->end, 1027);
	cr_assert_eq(p->match, 1009);
	cr_assert_eq(p->match_end, 1015);
	cr_assert(p->whole);
	cr_assert_eq(r.p.regions[p->region].owner, &owner);
}

/* A passage that ends where the region cuts a line is not made of whole lines. */
Test(tree_passage, a_region_cut_within_a_line)
{
	const char *text = "one\nneedle and so on";
	OFS_CLEANUP(result_finish) struct result r = { .query = parse("needle") };

	ofs_passages_add(
		&r.p, &(struct ofs_text_region){ .text = text, .len = 10, .after = 10, .line = 1 });
	rank(&r);
	drop_neighbours(&r.p);
	cr_assert_eq(r.p.n, 1);
	cr_assert_not(r.p.list[0].whole);
	cr_assert_eq(r.p.list[0].end, 10);
}

Test(tree_passage, the_best_of_many_regions)
{
	OFS_CLEANUP(result_finish) struct result r = { .query = parse("needle other") };

	for (uint64_t i = 0; i < 100; i++) {
		const char *text = i == 70 ? "needle other\n" : "needle\n";

		ofs_passages_add(&r.p, &(struct ofs_text_region){ .text = text,
								  .len = strlen(text),
								  .off = i * 8,
								  .line = i + 1,
								  .bonus = i == 50 ? 100 : 0 });
	}
	rank(&r);
	cr_assert_eq(r.p.n, 100);
	cr_assert_eq(r.p.list[0].first, 51);
	cr_assert_eq(r.p.list[1].first, 71);
	/* Of equal passages, the first ones. */
	for (size_t i = 2; i < 50; i++)
		cr_assert_eq(r.p.list[i].region, i - 2);
}

Test(tree_passage, places_after_diacritics)
{
	const char *text = "ÄÖ\n\nÄ é née\u0301dleü x\n";
	OFS_CLEANUP(result_finish) struct result r = find("needleu", text, strlen(text));

	cr_assert_eq(r.p.n, 1);
	cr_assert_eq(r.p.list[0].last, 3);
	cr_assert_eq(r.p.list[0].match, 12);
	cr_assert_eq(r.p.list[0].match_end, 23);
}

/* Runs check() on random texts, in one region or in two. */
Test(tree_passage, any_text)
{
	static const char *const pieces[] = { "alpha", "beta", "getUserId", "gamma", "价格", " ",
					      " ",     "\n",   "\n\n",	    "\t",    "# ",   "ж",
					      "é",     "\xff", "{",	    "}",     "-",    "_" };
	static const char *const queries[] = { "alpha beta",	 "+get_user_id gamma",
					       "\"alpha beta\"", "价格",
					       "al* -beta",	 "жж é the getUserId alpha" };
	OFS_FREE char *text = ofs_alloc(20000);

	draw_state = 23;
	for (int i = 0; i < 500; i++) {
		OFS_CLEANUP(result_finish)
		struct result r = { .query = parse(queries[draw(OFS_ARRAY_SIZE(queries))]) };
		size_t n = draw(1500), len = 0, cut;
		uint32_t kinds = 5 + draw(OFS_ARRAY_SIZE(pieces) - 4);

		for (size_t k = 0; k < n; k++)
			len = (size_t)(stpcpy(text + len, pieces[draw(kinds)]) - text);
		cut = draw((uint32_t)len + 1);
		while (cut && text[cut - 1] != '\n')
			cut--;
		ofs_passages_add(&r.p,
				 &(struct ofs_text_region){
					 .text = text, .len = cut, .after = len - cut, .line = 1 });
		ofs_passages_add(
			&r.p, &(struct ofs_text_region){ .text = text + cut,
							 .len = len - cut,
							 .before = cut,
							 .off = cut,
							 .line = 1 + ofs_text_newlines(text, cut),
							 .bonus = draw(2) });
		rank(&r);
		for (size_t k = 0; k < r.p.n; k++) {
			OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

			ofs_passage_snippet(&r.p, &r.p.list[k], &out);
			ofs_buf_append(&out, "", 1);
			cr_assert(ofs_text_is_utf8((const char *)out.data));
			cr_assert_null(strchr((const char *)out.data, '\n'));
		}
	}
}

/* ---- snippets */

static const char *snippet(const char *text, size_t len, size_t at)
{
	static char out[2048];
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;

	ofs_snippet_append(&b, text, len, at);
	cr_assert_lt(b.len, sizeof(out));
	if (b.len)
		memcpy(out, b.data, b.len);
	out[b.len] = 0;
	return out;
}

Test(tree_passage, short_snippets)
{
	cr_assert_str_eq(snippet("\t  a\tb\x1b[0m \r\n", 13, 3), "a b");
	cr_assert_str_eq(snippet("", 0, 0), "");
	cr_assert_str_eq(snippet(" \t", 2, 0), "");
	cr_assert_str_eq(snippet("a\xff\xc3", 3, 0), "a??");
	cr_assert_str_eq(snippet("a\0b", 3, 0), "a b");
	cr_assert_str_eq(snippet("\xc2\x85x\xe2\x80\xa8y", 7, 2), "x y");
}

Test(tree_passage, long_snippets)
{
	char text[1001];
	const char *s;

	memset(text, 'a', 1000);
	text[1000] = 0;
	memcpy(text + 500, "NEEDLE", 6);
	s = snippet(text, 1000, 500);
	cr_assert_eq(strlen(s), OFS_SNIPPET_CHARS + 6, "%s", s);
	cr_assert_eq(strncmp(s, "...a", 4), 0);
	cr_assert_str_eq(s + strlen(s) - 4, "a...");
	cr_assert_not_null(strstr(s, "NEEDLE"));
	cr_assert_eq(strncmp(snippet(text, 1000, 0), "aaaa", 4), 0);
	s = snippet(text, 1000, 999);
	cr_assert_eq(strlen(s), OFS_SNIPPET_CHARS + 3);
	cr_assert_str_eq(s + strlen(s) - 4, "aaaa");
	/* Never inside a character. */
	for (int i = 0; i < 500; i++)
		memcpy(text + 2 * i, "\xc3\xa9", 2);
	s = snippet(text, 1000, 500);
	cr_assert_eq(strlen(s), 2 * OFS_SNIPPET_CHARS + 6);
	cr_assert_eq(strncmp(s, "...\xc3\xa9", 5), 0);
}

/* Returns the snippet of the best passage in a region of `text`. */
static const char *shown(const char *query, const char *text, size_t before, size_t len)
{
	OFS_CLEANUP(result_finish) struct result r = { .query = parse(query) };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;
	static char out[2048];

	ofs_passages_add(&r.p, &(struct ofs_text_region){ .text = text + before,
							  .len = len,
							  .before = before,
							  .after = strlen(text) - before - len,
							  .off = 500 + before,
							  .line = 7 });
	rank(&r);
	cr_assert_geq(r.p.n, 1);
	ofs_passage_snippet(&r.p, &r.p.list[0], &b);
	snprintf(out, sizeof(out), "%.*s", (int)b.len, (const char *)b.data);
	return out;
}

Test(tree_passage, snippets_are_the_line_that_tells_most)
{
	const char *text = "one needle\n\ttwo needle and other\nthree\n";

	cr_assert_str_eq(shown("needle other", text, 0, strlen(text)), "two needle and other");
	cr_assert_str_eq(shown("three", text, 11, strlen(text) - 11), "three");
}

Test(tree_passage, snippets_show_no_secrets)
{
	const char *text = "a\nneedle gh"
			   "p_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2 end\nb\n";
	const char *key = "-----BEGIN RSA PRIVATE KEY-----\n"
			  "MIIEpAIBAAKCAQEA75HXWpVnH1FPmfGSYn7KqHGvA1ziCJn6y1WhrnnUbmBEIE\n"
			  "needle7zHPHDGc5fPWfEnFGBQaJsGfLtVDhZR8RCRo5jpGKmTn6SOJ5ipMdIZR8\n"
			  "u0mtwD4MmBCs4OeBB1dtSQK5LeDv1NsbPR9UOHNpyPOIVhVGVQ2jkHsYqPVwmSt\n"
			  "-----END RSA PRIVATE KEY-----\n";
	const char *s = shown("needle", text, 2, strlen(text) - 4);

	cr_assert_not_null(strstr(s, "needle"));
	cr_assert_null(strstr(s, "gH7jK9"), "%s", s);
	/* The text that identifies a secret may lie around the region. */
	s = shown("needle*", key, 95, 64);
	cr_assert_null(strstr(s, "zHPHDG"), "%s", s);
}

Test(tree_passage, much_of_everything)
{
	const size_t len = 256 * 1024;
	OFS_FREE char *text = ofs_alloc(len);
	OFS_CLEANUP(result_finish) struct result r = { 0 };

	for (size_t i = 0; i < len; i++)
		text[i] = "aa bb\n"[i % 6];
	r = find("aa bb \"aa bb\" a* b", text, len);
	cr_assert_eq(r.p.n, 10);
	result_finish(&r);
	memset(text, 'a', len);
	r = find("aa bb \"aa bb\" a* b", text, len);
	cr_assert_leq(r.p.n, 10);
}
