/* SPDX-License-Identifier: MIT */
/* The query language. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fold.h"
#include "base/util.h"
#include "test_draw.h"
#include "tree/search/query.h"

#define NOW (INT64_C(1800000000) * OFS_NS_PER_S)

static struct ofs_query *parse(const char *text)
{
	struct ofs_error err = { "" };
	struct ofs_query *q = NULL;

	cr_assert_eq(ofs_query_parse(text, NOW, &err, &q), 0, "'%s': %s", text, err.text);
	return q;
}

static void refuse(const char *text, const char *why)
{
	struct ofs_error err = { "" };
	struct ofs_query *q = NULL;

	cr_assert_eq(ofs_query_parse(text, NOW, &err, &q), -EINVAL, "'%s'", text);
	cr_assert_null(q);
	cr_assert_not_null(strstr(err.text, why), "'%s': %s", text, err.text);
	cr_assert_eq(ofs_query_parse(text, NOW, NULL, &q), -EINVAL);
}

/* Returns the terms as "KIND(TEXT) ", with '-' before unwanted ones. */
static const char *terms(const char *text)
{
	static const char *const kinds[] = { "text", "phrase", "prefix" };
	struct ofs_query *q = parse(text);
	static char all[4096];
	size_t used = 0;

	all[0] = 0;
	for (size_t i = 0; i < q->wanted + q->unwanted; i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s(%s) ",
					 i < q->wanted ? "" : "-", kinds[q->terms[i].kind],
					 q->terms[i].text);
	ofs_query_destroy(q);
	return all;
}

/*
 * Returns the forms, each followed by a blank. "*" follows a start of a word, "=" precedes a word
 * whose order does not count, and ":" precedes the weight of the word unless it is 1.
 */
static const char *forms(const struct ofs_query *q)
{
	static char all[8192];
	size_t used = 0;

	all[0] = 0;
	for (size_t i = 0; i < q->nforms; i++) {
		const struct ofs_form *f = &q->forms[i];
		const struct ofs_query_word *w = &q->words[f->word];

		cr_assert_lt(f->word, q->nwords);
		cr_assert_neq(q->starting[(unsigned char)f->text[0]] & UINT64_C(1) << i, 0);
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%.*s%s",
					 w->in_order ? "" : "=", (int)f->len, f->text,
					 f->kind == OFS_FORM_START ? "*" : "");
		if (w->weight != 1)
			used += (size_t)snprintf(all + used, sizeof(all) - used, ":%g", w->weight);
		used += (size_t)snprintf(all + used, sizeof(all) - used, " ");
	}
	return all;
}

static const char *words(const char *text)
{
	struct ofs_query *q = parse(text);
	const char *all = forms(q);

	ofs_query_destroy(q);
	return all;
}

struct sample {
	const char *query, *got;
};

static void expect(const struct sample *samples, size_t n, const char *(*fn)(const char *query))
{
	for (size_t i = 0; i < n; i++) {
		const char *got = fn(samples[i].query);

		cr_expect_str_eq(got, samples[i].got, "'%s': '%s', not '%s'", samples[i].query, got,
				 samples[i].got);
	}
}

/* clang-format off */
static const struct sample with_terms[] = {
	/* Plain words are not terms. */
	{ "bitcoin price", "" },
	{ "get_user_id foo::bar --flag=x a.b.c", "" },
	{ "+get_user_id", "text(get_user_id) " },
	{ "+foo::bar +x", "text(foo::bar) text(x) " },
	{ "\"a phrase\" x", "phrase(a phrase) " },
	{ "+\"a phrase\"", "phrase(a phrase) " },
	{ "\"  two \t\n blanks \"", "phrase(two blanks) " },
	{ "\"one\"\"two\"", "phrase(one) phrase(two) " },
	{ "\"one\"two", "phrase(one) " },
	{ "pre*", "prefix(pre) " },
	{ "+pre*", "prefix(pre) " },
	{ "a*b **kwargs * ** a *", "" },
	{ "x -term", "-text(term) " },
	{ "-term x -\"two words\" +y -pre*", "text(y) -phrase(two words) -text(term) -prefix(pre) " },
	{ "-a +b -c +d -e +f", "text(b) text(d) text(f) -text(a) -text(e) -text(c) " },
	/* Signs that stand for themselves. */
	{ "f -> x", "" },
	{ "a & b - c + d += e --> f --flag ++i - -", "" },
	{ "-_x +_y", "text(_y) -text(_x) " },
	/* An unclosed quote is an ordinary character. */
	{ "\"open", "" },
	{ "a \"b c", "" },
	{ "-\"open it", "-text(\"open) " },
	{ "+\"open it", "text(\"open) " },
	{ "a=\"b c\"", "" },
	{ "\"", "" },
	{ "\"\" +\"\" -\"\"", "" },
	{ "\"=> {\" \"...\"", "" },
	{ "+CaFÉ -Über*", "text(cafe) -prefix(uber) " },
	{ "+价格 \"价 格\"", "text(价格) phrase(价 格) " },
	{ "+x tag:y", "text(x) " },
	{ "Tag:x tag::y tags:z task::spawn http://e.org/a", "" },
};

static const struct sample with_words[] = {
	{ "bitcoin prices", "bitcoin price " },
	{ "  a\tb\nc  ", "a:0.2 b:0.2 c:0.2 " },
	{ "what is the price", "what:0.2 is:0.2 the:0.2 price " },
	/* Each word once. */
	{ "price Prices PRICE", "price " },
	{ "getUserId", "=getuserid get:0.2 user:0.4 id:0.4 " },
	{ "get_user_id", "=getuserid get:0.2 user:0.4 id:0.4 " },
	{ "user get_user_id id", "user =getuserid get:0.2 id " },
	{ "价格表", "价格:0.5 格表:0.5 表:0.5 " },
	{ "привет", "привет при:0.5 рив:0.5 иве:0.5 вет:0.5 " },
	{ "Café", "cafe " },
	{ "foo::bar --flag=x a.b", "foo bar flag x:0.2 a:0.2 b:0.2 " },
	{ "don't", "don:0.2 t:0.2 " },
	/* Required terms are words, too. Excluded ones are not. */
	{ "+price -cost", "price " },
	{ "\"no such files\" -\"or directory\"", "no:0.2 such:0.2 file " },
	{ "pre* -su*", "pre* " },
	{ "Über*", "uber* " },
	{ "run running*", "run running* " },
	{ "__Init* get_us* _*", "init* get_us* " },
	{ "src/foo.ba* --fl* src/*", "src foo ba* fl* " },
	{ "-x", "" },
	{ "\"open", "open " },
	{ "tag:x category:y", "" },
	{ "tags:x Tag:y tag::z", "tag x:0.2 y:0.2 z:0.2 " },
	{ "-> = && 👍", "" },
	{ "", "" },
	{ " \t\n", "" },
};
/* clang-format on */

Test(tree_query, terms)
{
	expect(with_terms, OFS_ARRAY_SIZE(with_terms), terms);
}

Test(tree_query, words)
{
	expect(with_words, OFS_ARRAY_SIZE(with_words), words);
}

Test(tree_query, words_of_any_text)
{
	static const char text[] = "-not \"quoted\" tag:x pre* \xff|\0z tier:cache cut off";
	struct ofs_query *q = ofs_query_of_words(text, sizeof(text) - sizeof(" off"));

	cr_assert_str_eq(forms(q), "not:0.2 quot tag x:0.2 pre z:0.2 tier cach cut ");
	cr_assert_eq(q->wanted + q->unwanted, 0);
	cr_assert_not(q->filtered);
	ofs_query_destroy(q);
	q = ofs_query_of_words(NULL, 0);
	cr_assert_eq(q->nwords, 0);
	ofs_query_destroy(q);
	ofs_query_destroy(NULL);
}

static bool has_plain(const char *text)
{
	struct ofs_query *q = parse(text);
	bool has = q->has_plain;

	ofs_query_destroy(q);
	return has;
}

Test(tree_query, plain_words)
{
	cr_assert(has_plain("price"));
	cr_assert(has_plain("\"a phrase\" price"));
	cr_assert(has_plain("the price"));
	cr_assert(has_plain("getUserId"));
	cr_assert_not(has_plain("\"a phrase\""));
	cr_assert_not(has_plain("\"a phrase\" the"));
	cr_assert_not(has_plain("+price -cost pre* tag:x"));
	cr_assert_not(has_plain(""));
}

/* Returns `word` with the numbers 0 to `n` - 1. The caller frees it. */
static char *many(const char *word, int n)
{
	char *text = ofs_alloc((size_t)n * 16 + 1), *to = text;

	for (int i = 0; i < n; i++)
		to += sprintf(to, "%s%d ", word, i);
	return text;
}

Test(tree_query, words_beyond_those_it_may_have)
{
	OFS_FREE char *text = many("word", 100);
	struct ofs_query *q = parse(text);

	cr_assert_eq(q->nwords, OFS_QUERY_WORDS);
	cr_assert_eq(q->nforms, OFS_QUERY_WORDS);
	cr_assert_eq(memcmp(q->forms[31].text, "word31", 6), 0);
	ofs_query_destroy(q);
	/* Common words take at most half of the room. */
	q = parse("a about after all also am an and any are as at be because been before being but "
		  "price by can could");
	cr_assert_eq(q->nwords, OFS_QUERY_WORDS / 2 + 1);
	cr_assert_eq(q->forms[OFS_QUERY_WORDS / 2].text[0], 'p');
	ofs_query_destroy(q);
	/* A start beyond the limit is no word, but remains a required term. */
	strcpy(text + strlen(text) - 10, " begin*");
	q = parse(text);
	cr_assert_eq(q->nwords, OFS_QUERY_WORDS);
	cr_assert_eq(q->wanted, 1);
	ofs_query_destroy(q);
}

Test(tree_query, forms_that_are_added)
{
	struct ofs_query *q = parse("alpha beta");
	char long_text[OFS_WORD_MAX * 2];

	memset(long_text, 'l', sizeof(long_text));
	ofs_query_add_form(q, 1, OFS_FORM_START, "gam", 3);
	ofs_query_add_form(q, 1, OFS_FORM_WORD, "", 0);
	cr_assert_str_eq(forms(q), "alpha beta gam* ");
	ofs_query_add_form(q, 0, OFS_FORM_WORD, long_text, sizeof(long_text));
	cr_assert_eq(q->forms[3].len, OFS_WORD_MAX);
	for (int i = 0; i < 100; i++)
		ofs_query_add_form(q, 1, OFS_FORM_WORD, "x", 1);
	cr_assert_eq(q->nforms, OFS_QUERY_FORMS);
	ofs_query_destroy(q);
}

/* ---- which words of a text match */

struct matching {
	const struct ofs_query *query;
	const char *text;
	uint32_t found;
};

static void take_word(void *arg, const struct ofs_word *word)
{
	struct matching *m = arg;

	m->found |= ofs_query_match(m->query, m->text, word);
}

static uint32_t match_of(const struct ofs_query *q, const char *text)
{
	struct ofs_words *w = ofs_words_create();
	struct matching m = { q, text, 0 };

	ofs_words_each(w, text, strlen(text), take_word, &m);
	ofs_words_destroy(w);
	return m.found;
}

static uint32_t match(const char *query, const char *text)
{
	struct ofs_query *q = parse(query);
	uint32_t found = match_of(q, text);

	ofs_query_destroy(q);
	return found;
}

Test(tree_query, words_match_in_any_form)
{
	cr_assert_eq(match("alpha beta gamma", "gammas and alpha"), 5);
	cr_assert_eq(match("running", "Runs"), 1);
	cr_assert_eq(match("getUserId", "get_user_id()"), 15);
	cr_assert_eq(match("getUserId", "the user"), 4);
	cr_assert_eq(match("user", "getUserId"), 1);
	cr_assert_eq(match("use", "user"), 0);
	cr_assert_eq(match("价格", "价格表"), 1);
	cr_assert_eq(match("café", "CAFE"), 1);
	cr_assert_eq(match("word", ""), 0);
}

Test(tree_query, starts_match_words_as_they_stand)
{
	cr_assert_eq(match("happin*", "happiness"), 1);
	cr_assert_eq(match("happini*", "happiness"), 0);
	cr_assert_eq(match("pre*", "a prefix"), 1);
	cr_assert_eq(match("pre*", "pre"), 1);
	cr_assert_eq(match("pre*", "suppress pr"), 0);
	cr_assert_eq(match("us*", "getUserId"), 1);
	cr_assert_eq(match("getu*", "getUserId"), 1);
	cr_assert_eq(match("get_u*", "get_user_id"), 1);
	cr_assert_eq(match("_get_u*", "__get_user_id"), 1);
	cr_assert_eq(match("init*", "__init__"), 1);
	cr_assert_eq(match("__init*", "init"), 1);
	cr_assert_eq(match("foo.ba*", "foo"), 1);
	cr_assert_eq(match("foo.ba*", "foo.bar"), 3);
	cr_assert_eq(match("über*", "Uberfall"), 1);
	cr_assert_eq(match("uber*", "ÜBERFALL"), 1);
	cr_assert_eq(match("при*", "Привет"), 1);
}

static uint32_t match_typo(const char *word, const char *text)
{
	struct ofs_query *q = parse("x");
	uint32_t found;

	ofs_query_add_form(q, 0, OFS_FORM_TYPO, word, strlen(word));
	found = match_of(q, text);
	ofs_query_destroy(q);
	return found;
}

Test(tree_query, typos_are_one_letter_away)
{
	cr_assert(match_typo("bitcoin", "bitcoin"));
	cr_assert(match_typo("bitcoin", "bitcon"));
	cr_assert(match_typo("bitcoin", "bitcooin"));
	cr_assert(match_typo("bitcoin", "bitcoim"));
	cr_assert(match_typo("bitcoin", "bictoin"));
	cr_assert(match_typo("bitcoin", "bitcion"));
	cr_assert(match_typo("bitcoin", "bitconi"));
	cr_assert(match_typo("bitcoin", "bitcoi"));
	cr_assert_not(match_typo("bitcoin", "bitco"));
	cr_assert_not(match_typo("bitcoin", "bitcoinxx"));
	cr_assert_not(match_typo("bitcoin", "itcoin"));
	cr_assert_not(match_typo("bitcoin", "bitxxin"));
	cr_assert_not(match_typo("bitcoin", "bocitin"));
	cr_assert_not(match_typo("ab", "ba"));
	cr_assert(match_typo("abc", "acb"));
	cr_assert(match_typo("abc", "ab"));
}

/* One mistake at any letter but the first is tolerated. */
Test(tree_query, random_typos)
{
	static const char letters[] = "bcdfgklmnprt";
	char word[16], text[16];

	draw_state = 3;
	for (int i = 0; i < 5000; i++) {
		size_t len = 5 + draw(8), at = 1 + draw((uint32_t)len - 1), kind = draw(4);

		for (size_t k = 0; k < len; k++)
			word[k] = letters[draw(12)];
		word[len] = 0;
		strcpy(text, word);
		if (kind == 0)
			memmove(text + at, text + at + 1, len - at);
		else if (kind == 1)
			memmove(text + at + 1, text + at, len - at + 1);
		if (kind == 1 || kind == 2)
			text[at] = letters[draw(12)];
		if (kind == 3 && at + 1 < len) {
			text[at] = word[at + 1];
			text[at + 1] = word[at];
		}
		cr_assert(match_typo(word, text), "%s, %s", word, text);
	}
}

/* ---- refusals */

Test(tree_query, what_is_malformed)
{
	refuse("tier:", "needs a value");
	refuse("tag: x", "needs a value");
	refuse("category:\"\"", "needs a value");
	refuse("tier:cache x", "no tier 'cache'");
	refuse("after:yesterday", "'after:yesterday' is not a time");
	refuse("before:2026-02-30", "not a time");
	refuse("before:2026-13-01", "not a time");
	refuse("before:2026-1-1", "not a time");
	refuse("before:2026-01- 1", "not a time");
	refuse("after:2026-01-31T25:00:00Z", "not a time");
	refuse("after:2026-01-31T12:00:00", "not a time");
	refuse("after:7w", "not a time");
	refuse("after:h", "not a time");
	refuse("after:9999999999d", "not a time");
	refuse("x -tier:archive", "'-tier:'");
	refuse("\xff\xfe", "UTF-8");
	refuse("a \xc3", "UTF-8");
	refuse("\xed\xa0\x80", "UTF-8");
}

Test(tree_query, filters)
{
	struct ofs_query *q =
		parse("tier:archive tier:long-term category:web category:\"my notes\" "
		      "task:t1 tag:a tag:b");

	cr_assert_eq(q->wanted, 0);
	cr_assert_eq(q->nwords, 0);
	cr_assert(q->filtered);
	cr_assert_eq(q->tiers, 6);
	cr_assert(ofs_wanted_has(&q->categories, "web"));
	cr_assert(ofs_wanted_has(&q->categories, "my notes"));
	cr_assert_not(ofs_wanted_has(&q->categories, "Web"));
	cr_assert(ofs_wanted_has(&q->tasks, "t1"));
	cr_assert_not(ofs_wanted_has(&q->tasks, ""));
	cr_assert_eq(q->tags.n, 2);
	cr_assert(ofs_wanted_has(&q->tags, "b"));
	ofs_query_destroy(q);
	q = parse("word");
	cr_assert_not(q->filtered);
	cr_assert_eq(q->tiers, 0);
	cr_assert(ofs_wanted_has(&q->categories, "anything"));
	cr_assert_eq(q->after, INT64_MIN);
	cr_assert_eq(q->before, INT64_MAX);
	ofs_query_destroy(q);
	/* An unclosed quote is part of the value. '+' does not change a filter. */
	q = parse("tag:\"a b +tag:c");
	cr_assert(ofs_wanted_has(&q->tags, "\"a"));
	cr_assert(ofs_wanted_has(&q->tags, "c"));
	cr_assert_eq(q->nwords, 1);
	ofs_query_destroy(q);
}

static int64_t after(const char *text)
{
	struct ofs_query *q = parse(text);
	int64_t when = q->after;

	ofs_query_destroy(q);
	return when;
}

static int64_t before(const char *text)
{
	struct ofs_query *q = parse(text);
	int64_t when = q->before;

	ofs_query_destroy(q);
	return when;
}

Test(tree_query, times)
{
	cr_assert_eq(after("after:2026-01-31"), 1769817600 * OFS_NS_PER_S);
	cr_assert_eq(after("after:2026-01-31T12:00:01Z"), (1769817600 + 43201) * OFS_NS_PER_S);
	cr_assert_eq(after("after:30m"), NOW - 1800 * OFS_NS_PER_S);
	cr_assert_eq(before("before:6h"), NOW - 21600 * OFS_NS_PER_S);
	cr_assert_eq(before("before:7d"), NOW - 7 * 86400 * OFS_NS_PER_S);
	/* Of several limits, the widest counts. */
	cr_assert_eq(after("after:1d after:7d"), NOW - 7 * 86400 * OFS_NS_PER_S);
	cr_assert_eq(before("before:7d before:1d"), NOW - 86400 * OFS_NS_PER_S);
	cr_assert_eq(before("before:1969-12-31"), -86400 * OFS_NS_PER_S);
}

Test(tree_query, too_many_terms)
{
	char text[4 * OFS_TERMS_MAX + 8] = "";

	for (int i = 0; i < OFS_TERMS_MAX; i++)
		strcat(text, i % 2 ? "+x " : "-x ");
	ofs_query_destroy(parse(text));
	strcat(text, "+x ");
	refuse(text, "more than 32");
}

/* Any query is read or refused, and none exceeds the limits. */
Test(tree_query, any_query)
{
	static const char *const pieces[] = {
		"-",	"+",   "\"",	    "*",       " ",	      " ",	  "a",
		"word", "the", "getUserId", "价格",    "tag:",	      "after:1d", "é",
		"_",	":",   "\t",	    "running", "tier:archive"
	};
	char text[600];

	draw_state = 5;
	for (int i = 0; i < 5000; i++) {
		struct ofs_query *q = NULL;
		size_t n = draw(50);

		text[0] = 0;
		for (size_t k = 0; k < n; k++)
			strcat(text, pieces[draw(OFS_ARRAY_SIZE(pieces))]);
		if (ofs_query_parse(text, NOW, NULL, &q) < 0)
			continue;
		forms(q);
		cr_assert(q->nwords <= OFS_QUERY_WORDS && q->nforms <= OFS_QUERY_FORMS);
		for (size_t k = 0; k < q->wanted + q->unwanted; k++)
			cr_assert_eq(strlen(q->terms[k].text), q->terms[k].len);
		ofs_query_destroy(q);
	}
}

static const char *fold(const char *text)
{
	static char out[256];

	out[ofs_fold(text, strlen(text), out)] = 0;
	return out;
}

Test(tree_query, folding)
{
	cr_assert_str_eq(fold("Hello, World_9"), "hello, world_9");
	cr_assert_str_eq(fold("\xc3\x84\xc3\xa4\xc3\x85\xc3\xa9\xc5\x81\xc3\xb8"), "aaaelo");
	cr_assert_str_eq(fold("e\xcc\x81"), "e");
	cr_assert_str_eq(fold("\xe1\xbb\x87"), "e"); /* Vietnamese */
	cr_assert_str_eq(fold("\xd0\x9f\xd0\xa0\xd0\x98"), "\xd0\xbf\xd1\x80\xd0\xb8");
	cr_assert_str_eq(fold("\xce\xa3\xcf\x82"), "\xcf\x83\xcf\x83");
	cr_assert_str_eq(fold("\xc3\x9f\xe4\xbb\xb7"), "\xc3\x9f\xe4\xbb\xb7");
	cr_assert_str_eq(fold("5\xc3\x97"
			      "3"),
			 "5\xc3\x97"
			 "3");
	cr_assert_str_eq(fold("\xff"
			      "A\xc3"),
			 "\xff"
			 "a\xc3");
}

Test(tree_query, where_folded_text_comes_from)
{
	const char *text = "\xc3\x84"
			   "b\xcc\x81"
			   "c\xff"
			   "D";

	cr_assert_str_eq(fold(text), "abc\xff"
				     "d");
	cr_assert_eq(ofs_fold_source(text, strlen(text), 0), 0);
	cr_assert_eq(ofs_fold_source(text, strlen(text), 1), 2);
	cr_assert_eq(ofs_fold_source(text, strlen(text), 2), 5);
	cr_assert_eq(ofs_fold_source(text, strlen(text), 4), 7);
	cr_assert_eq(ofs_fold_source(text, strlen(text), 5), 8);
}

Test(tree_query, capitals)
{
	static const uint32_t capitals[] = { 'A', 'Z', 0xc9, 0x141, 0x17d, 0x1e00, 0x416, 0x3a3 };
	static const uint32_t others[] = { 'a', '_', '0', 0xe9, 0xd7, 0xdf, 0x142, 0x436, 0x4ef7 };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(capitals); i++)
		cr_assert(ofs_fold_is_capital(capitals[i]), "%x", capitals[i]);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(others); i++)
		cr_assert_not(ofs_fold_is_capital(others[i]), "%x", others[i]);
}

Test(tree_query, every_character_folds_to_no_more_bytes)
{
	char in[4], out[4];
	uint32_t c;
	size_t n;

	for (uint32_t bytes = 0; bytes < 0x1000000; bytes += 1 + (bytes > 0xffff) * 36) {
		in[0] = (char)(bytes & 0xff);
		in[1] = (char)(bytes >> 8 & 0xff);
		in[2] = (char)(bytes >> 16 & 0xff);
		n = ofs_fold_decode(in, 3, &c);
		cr_assert(n >= 1 && n <= 3);
		cr_assert(c == OFS_FOLD_INVALID ? n == 1 : c <= 0xffff);
		n = ofs_fold(in, 3, out);
		cr_assert_leq(n, 3);
		/* Folding twice changes nothing more. */
		memcpy(in, out, 3);
		cr_assert(ofs_fold(in, n, out) == n && memcmp(in, out, n) == 0, "%x", bytes);
	}
}
