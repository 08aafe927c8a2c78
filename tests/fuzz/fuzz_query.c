/* SPDX-License-Identifier: MIT */
/*
 * An input is a query, a newline, and a text that is searched. What is found lies in the text, is
 * in order and does not overlap, and is shown as one line of UTF-8.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/util.h"
#include "fuzz.h"
#include "tree/search/fold.h"
#include "tree/search/passage.h"

static uint64_t count_lines(const char *text, size_t len)
{
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n + (len && text[len - 1] != '\n');
}

static void check_snippet(const struct ofs_buf *snippet)
{
	const char *p = (const char *)snippet->data;
	size_t left = snippet->len, n, chars = 0;
	uint32_t c;

	for (; left; p += n, left -= n, chars++) {
		n = ofs_fold_decode(p, left, &c);
		FUZZ_ASSERT(c != OFS_FOLD_INVALID && c >= ' ' && !(c >= 0x7f && c < 0xa0));
	}
	FUZZ_ASSERT(chars <= OFS_SNIPPET_CHARS + 6);
}

static void check_passages(const struct ofs_passages *p, const char *text, size_t len)
{
	uint64_t lines = count_lines(text, len);

	for (size_t i = 0; i < p->n; i++) {
		const struct ofs_passage *a = &p->list[i];

		FUZZ_ASSERT(a->first >= 1 && a->first <= a->last && a->last <= lines);
		FUZZ_ASSERT(a->line >= a->first && a->line <= a->last);
		FUZZ_ASSERT(a->off <= a->line_off && a->line_off <= a->match);
		FUZZ_ASSERT(a->match < a->match_end && a->match_end <= len);
		FUZZ_ASSERT(!a->off || text[a->off - 1] == '\n');
		FUZZ_ASSERT(count_lines(text, a->off) == a->first - 1);
		FUZZ_ASSERT(a->score >= 0 && a->score <= 1);
		FUZZ_ASSERT(!i || a->score <= p->list[i - 1].score);
		check_snippet(&a->snippet);
	}
}

static void check_folding(const char *text, size_t len)
{
	OFS_FREE char *once = ofs_alloc(len + 1), *twice = ofs_alloc(len + 1);
	size_t n = ofs_fold(text, len, once);

	FUZZ_ASSERT(n <= len);
	FUZZ_ASSERT(count_lines(once, n) <= count_lines(text, len) + 1);
	for (size_t i = 0; i < n; i += n / 16 + 1)
		FUZZ_ASSERT(ofs_fold_source(text, len, i) < len);
	ofs_fold(once, n, twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t len = end ? (size_t)(end - data) : size;
	OFS_FREE char *query = ofs_alloc(len + 1);
	struct ofs_passages p = { .n = 0 };
	struct ofs_error err = { "" };
	struct ofs_query *q;
	const char *text;

	if (len)
		memcpy(query, data, len);
	text = end ? (const char *)end + 1 : "";
	size -= end ? len + 1 : size;
	check_folding(text, size);
	if (ofs_query_parse(query, INT64_C(1800000000000000000), &err, &q) < 0) {
		FUZZ_ASSERT(err.text[0]);
		return 0;
	}
	FUZZ_ASSERT(q->wanted || (!q->unwanted && (q->tiers || q->categories.n || q->tasks.n ||
						   q->tags.n || q->by_time)));
	for (size_t i = 0; i < q->wanted + q->unwanted; i++)
		FUZZ_ASSERT(q->terms[i].len && q->terms[i].len == strlen(q->terms[i].text));
	if (q->wanted)
		ofs_passages_scan(&p, q, text, size, 0, 1);
	check_passages(&p, text, size);
	ofs_passages_finish(&p);
	ofs_query_destroy(q);
	return 0;
}
