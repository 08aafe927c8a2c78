/* SPDX-License-Identifier: MIT */
/* Finding terms, and the lines that answer best. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/util.h"
#include "tree/search/passage.h"

static struct ofs_query *parse(const char *text)
{
	struct ofs_error err = { "" };
	struct ofs_query *q = NULL;

	cr_assert_eq(ofs_query_parse(text, 0, &err, &q), 0, "'%s': %s", text, err.text);
	return q;
}

/* ---- terms */

static enum ofs_match match(const char *term, const char *text)
{
	struct ofs_query *q = parse(term);
	enum ofs_match how = ofs_match_best(&q->terms[0], text);

	cr_assert_eq(q->wanted, 1, "'%s'", term);
	ofs_query_destroy(q);
	return how;
}

struct sample {
	const char *term, *text;
	enum ofs_match how;
};

#define NONE OFS_MATCH_NONE
#define PART OFS_MATCH_PART
#define WORD OFS_MATCH_WORD
#define NAME OFS_MATCH_NAME

static const struct sample samples[] = {
	{ "price", "The Price.", NAME },
	{ "price", "prices", PART },
	{ "price", "low_price_limit", WORD },
	{ "price", "priceless and price", NAME },
	{ "price", "", NONE },
	{ "price", NULL, NONE },
	{ "id", "an id, here", NAME },
	{ "id", "user_id", WORD },
	{ "id", "said video", NONE },
	{ "x", "x", NAME },
	{ "get_user_id", "forget_user_id()", PART },
	{ "get_user_id", "self.get_user_id(x)", NAME },
	{ "get_user_id", "get user id", NONE },
	{ "foo::bar", "a foo::bar<T>", NAME },
	{ "--flag=x", "run --flag=x now", NAME },
	{ "--flag=x", "run --flag=xy now", PART },
	{ "a.b.c", "import a.b.c", NAME },
	{ "a.b.c", "import aa.b.cc", PART },
	{ "(foo", "x(foo)", NAME },
	{ "cafe", "Caf\xc3\xa9", NAME },
	{ "caf\xc3\xa9", "CAFE", NAME },
	{ "hello", "\xe2\x80\x9chello\xe2\x80\x9d", NAME },
	{ "\xd0\xbc\xd0\xb8\xd1\x80", "\xd0\x9c\xd0\x98\xd0\xa0!", NAME },
	{ "\xe4\xbb\xb7\xe6\xa0\xbc\xe8\xa1\xa8",
	  "\xe4\xbb\xb7\xe6\xa0\xbc\xe8\xa1\xa8\xe6\xa0\xbc", PART },
	{ "pre*", "a prefix", NAME },
	{ "pre*", "a_prefix", WORD },
	{ "pre*", "suppress", NONE },
	{ "p*", "a prefix", NAME },
	{ "\"no such file\"", "ls: No such file or", NAME },
	{ "\"no such file\"", "no  such\nfile", WORD },
	{ "\"no such file\"", "no_such-file", WORD },
	{ "\"no such file\"", "no such x file", NONE },
	{ "\"no such file\"", "no such files", PART },
	{ "\"such fil\"", "no such files", PART },
	{ "\"(no such)\"", "x (no such)", NAME },
	{ "\"(no such)\"", "no such", WORD },
	{ "\"=> {\"", "x => {", NAME },
	{ "\"=> {\"", "x => [", NONE },
	{ "\"a\"", "banana", NONE },
	{ "\"a b\"", "cab a b", NAME },
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

/* The passages as FROM-TO, each followed by a blank. */
static const char *passages_of(const char *query, const char *text, size_t len)
{
	struct ofs_passages p = { .n = 0 };
	struct ofs_query *q = parse(query);
	static char all[512];
	size_t used = 0;

	all[0] = 0;
	ofs_passages_scan(&p, q, text, len, 0, 1);
	for (size_t i = 0; i < p.n; i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%" PRIu64 "-%" PRIu64 " ",
					 p.list[i].first, p.list[i].last);
	ofs_passages_finish(&p);
	ofs_query_destroy(q);
	return all;
}

/* A text of `n` lines of which line i is what fn(i) gives, or "line". */
static char *make_text(int n, const char *(*fn)(int i))
{
	char *text = ofs_alloc((size_t)n * 32), *to = text;

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

	cr_assert_str_eq(got, want, "'%s': %s", query, got);
}

static const char *one_of_many(int i)
{
	return i == 40 ? "the needle" : NULL;
}

static const char *near_and_far(int i)
{
	switch (i) {
	case 10:
	case 14:
	case 19:
	case 25:
		return "needle";
	default:
		return NULL;
	}
}

static const char *everywhere(int i)
{
	return "needle";
}

static const char *words_and_parts(int i)
{
	return i == 5 ? "needles" : i == 50 ? "needle_x" : i == 90 ? "a needle" : NULL;
}

static const char *two_terms(int i)
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

Test(tree_passage, lines)
{
	expect("needle", 80, one_of_many, "40-40 ");
	expect("nothing", 80, one_of_many, "");
	/* Within five lines of each other, and no farther. */
	expect("needle", 80, near_and_far, "10-19 25-25 ");
	/* No more than are useful, the first ones first. */
	expect("needle", 80, everywhere, "1-12 13-24 25-36 ");
	/* Names before words before parts of words. */
	expect("needle", 100, words_and_parts, "90-90 50-50 5-5 ");
	/* All terms, and near each other. */
	expect("alpha beta", 100, two_terms, "90-90 60-62 3-3 ");
	expect("beta alpha", 100, two_terms, "90-90 60-62 3-3 ");
}

Test(tree_passage, last_line_and_none)
{
	cr_assert_str_eq(passages_of("x", "a\nb x", 5), "2-2 ");
	cr_assert_str_eq(passages_of("x", "x", 1), "1-1 ");
	cr_assert_str_eq(passages_of("x", "", 0), "");
	cr_assert_str_eq(passages_of("x", "\n\n\nx\n", 5), "4-4 ");
	cr_assert_str_eq(passages_of("x", "a\0b\nx\n", 6), "2-2 ");
}

Test(tree_passage, a_phrase_over_lines)
{
	const char *text = "1\n2 one\n  two\n\nthree 5\n6\n";

	cr_assert_str_eq(passages_of("\"one two\"", text, strlen(text)), "2-3 ");
	cr_assert_str_eq(passages_of("\"one two three\"", text, strlen(text)), "2-5 ");
	cr_assert_str_eq(passages_of("\"two three\" 6", text, strlen(text)), "3-6 ");
}

Test(tree_passage, parts)
{
	struct ofs_passages p = { .n = 0 };
	struct ofs_query *q = parse("needle other -bad");

	ofs_passages_scan(&p, q, "x\nneedle\n", 9, 1000, 101);
	cr_assert_eq(p.found[0], NAME);
	cr_assert_eq(p.found[1], NONE);
	ofs_passages_scan(&p, q, "other needles bad\n", 18, 0, 1);
	cr_assert_eq(p.found[1], NAME);
	cr_assert_eq(p.found[2], NAME);
	cr_assert_eq(p.count[0], 2);
	cr_assert_eq(p.n, 2);
	cr_assert_eq(p.list[0].first, 1);
	cr_assert_eq(p.list[1].first, 102);
	cr_assert_eq(p.list[1].off, 1002);
	cr_assert_eq(p.list[1].match, 1002);
	cr_assert_eq(p.list[1].match_end, 1008);
	ofs_passages_finish(&p);
	ofs_query_destroy(q);
}

Test(tree_passage, the_best_of_many_parts)
{
	struct ofs_passages p = { .n = 0 };
	struct ofs_query *q = parse("needle");

	for (uint64_t i = 0; i < 100; i++)
		ofs_passages_scan(&p, q, i == 70 ? "needle\n" : "needles\n", 7, i * 8, i + 1);
	cr_assert_eq(p.n, OFS_PASSAGES_MAX);
	cr_assert_eq(p.list[0].first, 71);
	cr_assert_eq(p.list[1].first, 1);
	cr_assert_eq(p.list[2].first, 2);
	ofs_passages_finish(&p);
	ofs_query_destroy(q);
}

Test(tree_passage, places_behind_diacritics)
{
	struct ofs_passages p = { .n = 0 };
	struct ofs_query *q = parse("needle");
	const char *text = "\xc3\x84\xc3\x96\n\xc3\x84 e\xcc\x81 n\xc3\xa9"
			   "edle\xc3\xbc\n";

	ofs_passages_scan(&p, q, text, strlen(text), 0, 1);
	cr_assert_eq(p.n, 1);
	cr_assert_eq(p.list[0].first, 2);
	cr_assert_eq(p.list[0].match, 12);
	cr_assert_eq(p.list[0].match_end, 19);
	ofs_passages_finish(&p);
	ofs_query_destroy(q);
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
	cr_assert_str_eq(snippet("\t  a\tb\x1b[0m \r\n", 13, 3), "a b [0m");
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
	/* Never within a character. */
	for (int i = 0; i < 500; i++)
		memcpy(text + 2 * i, "\xc3\xa9", 2);
	s = snippet(text, 1000, 500);
	cr_assert_eq(strlen(s), 2 * OFS_SNIPPET_CHARS + 6);
	cr_assert_eq(strncmp(s, "...\xc3\xa9", 5), 0);
}

Test(tree_passage, much_of_everything)
{
	const size_t len = 256 * 1024;
	OFS_FREE char *text = ofs_alloc(len);
	struct ofs_passages p = { .n = 0 };
	struct ofs_query *q = parse("aa bb \"aa bb\" a* b");

	for (size_t i = 0; i < len; i++)
		text[i] = "aa bb\n"[i % 6];
	ofs_passages_scan(&p, q, text, len, 0, 1);
	cr_assert_eq(p.n, OFS_PASSAGES_MAX);
	ofs_passages_finish(&p);
	memset(text, 'a', len);
	ofs_passages_scan(&p, q, text, len, 0, 1);
	ofs_passages_finish(&p);
	ofs_query_destroy(q);
}
