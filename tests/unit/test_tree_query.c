/* SPDX-License-Identifier: MIT */
/* The language of queries. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/util.h"
#include "tree/search/fold.h"
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

/* The terms as KIND(TEXT), unwanted ones with '-', each followed by a blank. */
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

Test(tree_query, terms)
{
	static const struct {
		const char *query, *terms;
	} list[] = {
		{ "bitcoin price", "text(bitcoin) text(price) " },
		{ "  a\tb\nc  ", "text(a) text(b) text(c) " },
		{ "\"a phrase\" x", "phrase(a phrase) text(x) " },
		{ "\"  two   blanks \"", "phrase(two blanks) " },
		{ "\"one\"\"two\"", "phrase(one) phrase(two) " },
		{ "pre*", "prefix(pre) " },
		{ "a*b", "text(a*b) " },
		{ "**kwargs", "text(**kwargs) " },
		{ "x -term", "text(x) -text(term) " },
		{ "-term x -\"two words\" y -pre*",
		  "text(x) text(y) -phrase(two words) -text(term) -prefix(pre) " },
		{ "get_user_id foo::bar --flag=x a.b.c",
		  "text(get_user_id) text(foo::bar) text(--flag=x) text(a.b.c) " },
		{ "std::x http://e.org/a key:value Tier:x tasks:y",
		  "text(std::x) text(http://e.org/a) text(key:value) text(tier:x) text(tasks:y) " },
		{ "task::spawn", "text(task::spawn) " },
		{ "a=\"b c\"", "text(a=\"b) text(c\") " },
		{ "f -> x", "text(f) text(x) " },
		{ "a & b", "text(a) text(b) " },
		{ "--> x", "text(-->) text(x) " },
		{ "CaF\xc3\x89 \xc3\x9c"
		  "ber",
		  "text(cafe) text(uber) " },
		{ "x tag:y", "text(x) " },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(list); i++)
		cr_assert_str_eq(terms(list[i].query), list[i].terms, "'%s': %s", list[i].query,
				 terms(list[i].query));
}

Test(tree_query, what_is_malformed)
{
	refuse("", "empty");
	refuse("   ", "empty");
	refuse("\"open", "not closed");
	refuse("a \"b c", "not closed");
	refuse("\"\"", "nothing in the quotes");
	refuse("*", "'*'");
	refuse("a *", "'*'");
	refuse("\"a b\"*", "'*'");
	refuse("-term", "leave out");
	refuse("-a -\"b c\" tag:x", "leave out");
	refuse("tier:", "needs a value");
	refuse("tag: x", "needs a value");
	refuse("category:\"\"", "needs a value");
	refuse("tier:cache x", "no tier 'cache'");
	refuse("after:yesterday", "'after:yesterday' is no time");
	refuse("before:2026-02-30", "no time");
	refuse("before:2026-13-01", "no time");
	refuse("before:2026-1-1", "no time");
	refuse("before:2026-01- 1", "no time");
	refuse("after:2026-01-31T25:00:00Z", "no time");
	refuse("after:2026-01-31T12:00:00", "no time");
	refuse("after:7w", "no time");
	refuse("after:h", "no time");
	refuse("after:9999999999d", "no time");
	refuse("x -tier:archive", "'-tier:'");
	refuse("->", "too short");
	refuse("= &&", "too short");
	refuse("\xff\xfe", "UTF-8");
}

Test(tree_query, filters)
{
	struct ofs_query *q =
		parse("tier:archive tier:long-term category:web category:\"my notes\" "
		      "task:t1 tag:a tag:b");

	cr_assert_eq(q->wanted, 0);
	cr_assert_eq(q->tiers, 6);
	cr_assert(ofs_wanted_has(&q->categories, "web"));
	cr_assert(ofs_wanted_has(&q->categories, "my notes"));
	cr_assert_not(ofs_wanted_has(&q->categories, "Web"));
	cr_assert(ofs_wanted_has(&q->tasks, "t1"));
	cr_assert_not(ofs_wanted_has(&q->tasks, ""));
	cr_assert(ofs_wanted_has(&q->tags, "b"));
	ofs_query_destroy(q);
	q = parse("word");
	cr_assert_eq(q->tiers, 0);
	cr_assert(ofs_wanted_has(&q->categories, "anything"));
	cr_assert_eq(q->after, INT64_MIN);
	cr_assert_eq(q->before, INT64_MAX);
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
	/* Any of several. */
	cr_assert_eq(after("after:1d after:7d"), NOW - 7 * 86400 * OFS_NS_PER_S);
	cr_assert_eq(before("before:7d before:1d"), NOW - 86400 * OFS_NS_PER_S);
	cr_assert_eq(before("before:1969-12-31"), -86400 * OFS_NS_PER_S);
}

Test(tree_query, too_many_terms)
{
	char text[4 * OFS_TERMS_MAX + 8] = "";

	for (int i = 0; i < OFS_TERMS_MAX; i++)
		strcat(text, "x ");
	ofs_query_destroy(parse(text));
	strcat(text, "x ");
	refuse(text, "more than 32");
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
		/* Twice is once. */
		memcpy(in, out, 3);
		cr_assert(ofs_fold(in, n, out) == n && memcmp(in, out, n) == 0, "%x", bytes);
	}
}
