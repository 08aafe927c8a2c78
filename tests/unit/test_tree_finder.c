/* SPDX-License-Identifier: MIT */
/* The finder must find the same words as reading word by word. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "test_draw.h"
#include "tree/search/finder.h"

static struct ofs_query *parse(const char *text)
{
	struct ofs_error err = { "" };
	struct ofs_query *q = NULL;

	cr_assert_eq(ofs_query_parse(text, 0, &err, &q), 0, "'%s': %s", text, err.text);
	return q;
}

/* ---- word by word, and by the finder */

struct reading {
	const struct ofs_query *query;
	const char *text;
	size_t from, to; /* the block */
	uint32_t found; /* words of the query that begin in the block */
};

static void take_word(void *arg, const struct ofs_word *word)
{
	struct reading *r = arg;

	if (word->at >= r->from && word->at < r->to)
		r->found |= ofs_query_match(r->query, r->text, word);
}

static uint32_t read_words(const struct ofs_query *q, const char *text, size_t len, size_t from,
			   size_t to)
{
	struct ofs_words *w = ofs_words_create();
	struct reading r = { q, text, from, to, 0 };

	ofs_words_each(w, text, len, take_word, &r);
	ofs_words_destroy(w);
	return r.found;
}

/* Returns the words found in all blocks. Compares each block with reading word by word. */
static uint32_t find_words(struct ofs_finder *f, const struct ofs_query *q, const char *text,
			   size_t len)
{
	uint32_t all = 0;

	for (size_t at = 0, size; at < len; at += size) {
		uint32_t found, read;

		size = OFS_MIN(len - at, (size_t)OFS_FINDER_BLOCK);
		found = ofs_finder_words(f, text, len, at, at + size) & ~ofs_finder_unsought(f);
		read = read_words(q, text, len, at, at + size) & ~ofs_finder_unsought(f);
		cr_assert_eq(found, read, "at %zu: %x, not %x", at, found, read);
		all |= found;
	}
	return all;
}

static uint32_t find_in(const struct ofs_query *q, const char *text, size_t len)
{
	/* Exactly that size, so that a sanitizer detects reads beyond the end. */
	OFS_FREE char *copy = malloc(len + !len);
	struct ofs_finder *f = ofs_finder_create(q);
	uint32_t all;

	memcpy(copy, text, len);
	all = find_words(f, q, copy, len);
	ofs_finder_destroy(f);
	return all;
}

static uint32_t find(const char *query, const char *text)
{
	struct ofs_query *q = parse(query);
	uint32_t found = find_in(q, text, strlen(text));

	ofs_query_destroy(q);
	return found;
}

Test(tree_finder, words_in_any_form)
{
	ofs_finder_destroy(NULL);
	cr_assert_eq(find("alpha beta", "no alpha, no"), 1);
	cr_assert_eq(find("alpha beta", "ALPHA\nBeta"), 3);
	cr_assert_eq(find("alpha", "alphabet"), 0);
	cr_assert_eq(find("alpha", ""), 0);
	cr_assert_eq(find("", "alpha"), 0);
	cr_assert_eq(find("x", "x"), 1);
	cr_assert_eq(find("x", "max"), 0);
	cr_assert_eq(find("running", "she runs"), 1);
	cr_assert_eq(find("happy", "happiness happily"), 1);
	cr_assert_eq(find("happiness", "happy"), 1);
	cr_assert_eq(find("hope", "hoping"), 1);
	cr_assert_eq(find("hoping", "HOPES"), 1);
	cr_assert_eq(find("capability", "its capability"), 1);
	cr_assert_eq(find("scalable", "of scalability"), 1);
	cr_assert_eq(find("2026", "2026-01-31"), 1);
}

/* The stem has three letters, and some forms lack the last one. */
Test(tree_finder, short_words_in_any_form)
{
	cr_assert_eq(find("try", "try"), 1);
	cr_assert_eq(find("try", "tries"), 1);
	cr_assert_eq(find("tried", "try"), 1);
	cr_assert_eq(find("use", "using"), 1);
	cr_assert_eq(find("using", "use"), 1);
	cr_assert_eq(find("key", "keys"), 1);
	cr_assert_eq(find("api", "APIs"), 1);
	cr_assert_eq(find("fly", "flies flying"), 1);
	cr_assert_eq(find("dying", "dying"), 1);
	cr_assert_eq(find("lie", "lying"), 1);
}

Test(tree_finder, names)
{
	cr_assert_eq(find("user", "loadUserId(x)"), 1);
	cr_assert_eq(find("user", "load_user_id"), 1);
	cr_assert_eq(find("user", "loaduserid"), 0);
	cr_assert_eq(find("users", "loadUser"), 1);
	cr_assert_eq(find("loadUserId", "load_user_id"), 15);
	cr_assert_eq(find("load_user_id", "loadUserId"), 15);
	cr_assert_eq(find("loadUserId", "loaduserid"), 1);
	cr_assert_eq(find("loadUserId", "__loadUserId__"), 15);
	cr_assert_eq(find("HTTPServer", "http_server"), 7);
	cr_assert_eq(find("init", "__init__"), 1);
	cr_assert_eq(find("file", "OpenFileDialog"), 1);
	/* Names without readable parts. */
	cr_assert_eq(find("x_y", "x_y xY"), 1);
	cr_assert_eq(find("xY", "x_y"), 1);
	cr_assert_eq(find("aB_c", "a_b_c"), 1);
	/* A word of the query occurs inside another, across the borders of its parts. */
	cr_assert_eq(find("loadUserId userid", "load_user_id"), 15);
	cr_assert_eq(find("loadUserId my_userid", "load_user_id") & 15, 15);
	cr_assert_eq(find("tryHoping", "try_hoping"), 7);
}

Test(tree_finder, other_scripts)
{
	cr_assert_eq(find("cafe", "a Café"), 1);
	cr_assert_eq(find("café", "cafe"), 1);
	cr_assert_eq(find("café", "CAFÉS"), 1);
	cr_assert_eq(find("cafe", "cafe\u0301s"), 1);
	cr_assert_eq(find("价格", "商品价格表"), 1);
	cr_assert_eq(find("价格", "格价"), 0);
	cr_assert_eq(find("привет", "ПРИВЕТ мир"), 31);
	cr_assert_eq(find("мир", "миру"), 1);
	cr_assert_eq(find("text", "23→text"), 1);
	cr_assert_eq(find("text", "👍text"), 1);
	cr_assert_eq(find("text", "│text│"), 1);
	cr_assert_eq(find("ok 10µs", "in 10µs"), 2);
	cr_assert_eq(find("ª", "1 ª"), 1);
	cr_assert_eq(find("𠮷野", "𠮷野家"), 1);
	cr_assert_eq(find("x", "\xff\x80x\xc3"), 1);
	cr_assert_eq(find("cafe", "FindCaféBar"), 1);
	cr_assert_eq(find("find", "FindCaféBar"), 1);
	cr_assert_eq(find("bar", "FindCaféBar"), 1);
}

Test(tree_finder, starts)
{
	cr_assert_eq(find("pre*", "a Prefix"), 1);
	cr_assert_eq(find("pre*", "suppress"), 0);
	cr_assert_eq(find("us*", "getUserId"), 1);
	cr_assert_eq(find("get_us*", "get_user_id"), 1);
	cr_assert_eq(find("__ini*", "__init__"), 1);
	cr_assert_eq(find("happin*", "happiness"), 1);
	cr_assert_eq(find("über*", "ÜBERFALL"), 1);
	cr_assert_eq(find("при*", "Привет"), 1);
	cr_assert_eq(find("p*", "x p"), 1);
}

static struct ofs_query *with_typo(const char *word)
{
	struct ofs_query *q = parse("zzzz");

	ofs_query_add_form(q, 0, OFS_FORM_TYPO, word, strlen(word));
	return q;
}

static uint32_t find_typo(const char *word, const char *text)
{
	struct ofs_query *q = with_typo(word);
	uint32_t found = find_in(q, text, strlen(text));

	ofs_query_destroy(q);
	return found;
}

Test(tree_finder, typos)
{
	cr_assert(find_typo("bitcoin", "bitcon"));
	cr_assert(find_typo("bitcoin", "Bitcooin"));
	cr_assert(find_typo("bitcoin", "a bictoin"));
	cr_assert(find_typo("bitcoin", "bitocin"));
	cr_assert(find_typo("bitcoin", "biitcoin"));
	cr_assert_not(find_typo("bitcoin", "itcoin"));
	cr_assert_not(find_typo("bitcoin", "bit coin"));
	cr_assert(find_typo("abcd", "abdc acbd abd"));
	cr_assert(find_typo("abcd", "acbd"));
}

/* Each kind of typo, at any letter but the first. */
Test(tree_finder, random_typos)
{
	static const char letters[] = "bcdfgklmnprt";
	char word[16], text[32];

	draw_state = 3;
	for (int i = 0; i < 5000; i++) {
		size_t len = 4 + draw(9), at = 1 + draw((uint32_t)len - 1), kind = draw(4);

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
		cr_assert(find_typo(word, text), "%s, %s", word, text);
	}
}

/* ---- borders of blocks */

Test(tree_finder, words_across_blocks)
{
	static const char *const words[] = { "needle", "getNeedle", "x_needle_y", "→needle←" };
	OFS_FREE char *text = ofs_alloc(3 * OFS_FINDER_BLOCK);
	struct ofs_query *q = parse("needle");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i]);

		for (size_t at = OFS_FINDER_BLOCK - 20; at < OFS_FINDER_BLOCK + 20; at++) {
			memset(text, ' ', 3 * OFS_FINDER_BLOCK);
			memcpy(text + at, words[i], len);
			cr_assert_eq(find_in(q, text, 3 * OFS_FINDER_BLOCK), 1, "%zu", at);
			/* At the end of the text. */
			cr_assert_eq(find_in(q, text, at + len), 1, "%zu", at);
		}
	}
	ofs_query_destroy(q);
}

/* A part of a word is no match, wherever a block begins or ends. */
Test(tree_finder, no_parts_of_words_across_blocks)
{
	static const char *const words[] = { "xneedle", "needlex",  "éneedle",
					     "needlé",	"éxneedlé", "needleé" };
	OFS_FREE char *text = ofs_alloc(3 * OFS_FINDER_BLOCK);
	struct ofs_query *q = parse("needle");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i]);

		for (size_t at = OFS_FINDER_BLOCK - 140; at < OFS_FINDER_BLOCK + 140; at++) {
			memset(text, ' ', 3 * OFS_FINDER_BLOCK);
			memcpy(text + 5, "é", 2);
			memcpy(text + OFS_FINDER_BLOCK + 500, "é", 2);
			memcpy(text + at, words[i], len);
			find_in(q, text, 3 * OFS_FINDER_BLOCK);
		}
	}
	ofs_query_destroy(q);
}

Test(tree_finder, every_place_of_a_short_text)
{
	char text[64];
	struct ofs_query *q = parse("needle x");

	for (size_t len = 0; len < sizeof(text); len++)
		for (size_t at = 0; at < len; at++) {
			memset(text, '.', len);
			text[at] = 'x';
			find_in(q, text, len);
			if (at + 6 <= len)
				memcpy(text + at, "needle", 6);
			find_in(q, text, len);
		}
	ofs_query_destroy(q);
}

/* ---- random texts and queries */

static const char *const fragments[] = {
	"get",	"user",	   "User",   "id",	 "Id",	   "HTTP",   "server",	"Ready",
	"run",	"running", "runs",   "hope",	 "hoping", "happy",  "happily", "happiness",
	"try",	"tries",   "key",    "keys",	 "use",	   "using",  "value2",	"x",
	"y",	"1",	   "42",     "the",	 "is",	   "class",  "connect", "connection",
	"file", "files",   "cafe",   "café",	 "CAFÉ",   "naïve",  "über",	"价格",
	"价",	"格表",	   "한국어", "привет",	 "мир",	   "ПРИВЕТ", "ελλάς",	"→",
	"👍",	"│",	   "\xff",   "\xe4\xbb", "don't",  "a",	     "e",	"i",
};

static const char *const gaps[] = { " ", " ", " ", "\n", "_", "", "", ".", "-", "(", "  ", "\t" };

/* Draws fragments with gaps between them, up to `max` bytes. Returns their length. */
static size_t draw_text(char *text, size_t max)
{
	size_t n = 0;

	for (;;) {
		const char *f = fragments[draw(OFS_ARRAY_SIZE(fragments))];
		const char *gap = gaps[draw(OFS_ARRAY_SIZE(gaps))];

		if (n + strlen(f) + strlen(gap) > max)
			return n;
		memcpy(text + n, f, strlen(f));
		n += strlen(f);
		memcpy(text + n, gap, strlen(gap));
		n += strlen(gap);
	}
}

/* Draws a query of a few fragments. Some get forms for starts or typos. */
static struct ofs_query *draw_query(char *text, size_t max)
{
	struct ofs_query *q;
	size_t n = draw_text(text, 1 + draw((uint32_t)max - 1)), forms;

	q = ofs_query_of_words(text, n);
	forms = q->nforms;
	for (size_t i = 0; i < forms; i++) {
		struct ofs_form f = q->forms[i];

		if (draw(4) == 0)
			ofs_query_add_form(q, f.word, OFS_FORM_START, f.text, f.len);
		if (draw(4) == 0 && f.len >= 4)
			ofs_query_add_form(q, f.word, OFS_FORM_TYPO, f.text, f.len);
	}
	return q;
}

Test(tree_finder, finds_what_reading_finds)
{
	char query[80];
	OFS_FREE char *text = ofs_alloc(3 * OFS_FINDER_BLOCK);

	draw_state = 29;
	for (int i = 0; i < 3000; i++) {
		struct ofs_query *q = draw_query(query, sizeof(query));
		size_t max = draw(3) ? 200 : 3 * OFS_FINDER_BLOCK;

		find_in(q, text, draw_text(text, 1 + draw((uint32_t)max)));
		ofs_query_destroy(q);
	}
}
