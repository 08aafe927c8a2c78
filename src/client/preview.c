/* SPDX-License-Identifier: MIT */
#include "client/preview.h"

#include <errno.h>

#include "base/util.h"
#include "client/text.h"

/*
 * Escape sequences take room in the input and none in the output; a line with more than this of
 * both is cut early.
 */
#define PREVIEW_WINDOW 4096
#define PREVIEW_HEAD_MAX (OFS_PREVIEW_MAX / 2)

/*
 * Prints line `i` (from 0), or only measures it when `out` is NULL; returns the bytes printed or
 * -errno.
 */
static int preview_line(const struct ofs_content *c, uint64_t i, FILE *out, bool *ret_whole)
{
	uint64_t start = ofs_content_line(c, i), len = ofs_content_line(c, i + 1) - start;
	char window[PREVIEW_WINDOW];
	ssize_t n = ofs_spool_read(c->spool, window, (size_t)OFS_MIN(len, sizeof(window)), start);
	size_t used, printed;
	int mark = 0;

	if (n < 0)
		return (int)n;
	/* Only the part that was read can end in the line's end; a line end is not shown. */
	if ((uint64_t)n == len && n && window[n - 1] == '\n') {
		n--;
		len--;
		if (n && window[n - 1] == '\r') {
			n--;
			len--;
		}
	}
	printed = ofs_text_printable(out, window, (size_t)n, (uint64_t)n < len,
				     OFS_PREVIEW_LINE_MAX, &used);
	if (used < len) {
		char text[48];

		mark = snprintf(text, sizeof(text), "...[+%llu bytes]\n",
				(unsigned long long)(len - used));
		if (out)
			fputs(text, out);
	} else {
		mark = 1;
		if (out)
			putc('\n', out);
	}
	*ret_whole = used == len;
	return (int)printed + mark;
}

int ofs_preview_plan(const struct ofs_content *c, struct ofs_preview *ret)
{
	struct ofs_preview p = { .tail = c->lines + 1 };
	uint64_t least;
	size_t used = 0;
	bool whole;
	int n;

	if (c->binary) {
		p.first_missing = 1;
		*ret = p;
		return 0;
	}
	while (p.head < OFS_MIN(c->lines, OFS_CONTENT_LINES)) {
		n = preview_line(c, p.head, NULL, &whole);
		if (n < 0)
			return n;
		if (used + (size_t)n > PREVIEW_HEAD_MAX)
			break;
		used += (size_t)n;
		p.head++;
		if (!whole && !p.first_missing)
			p.first_missing = p.head;
	}
	least = c->lines > p.head + OFS_CONTENT_LINES ? c->lines - OFS_CONTENT_LINES : p.head;
	while (p.tail - 1 > least) {
		n = preview_line(c, p.tail - 2, NULL, &whole);
		if (n < 0)
			return n;
		if (used + (size_t)n > OFS_PREVIEW_MAX)
			break;
		used += (size_t)n;
		p.tail--;
		if (!whole && (!p.first_missing || p.first_missing > p.head))
			p.first_missing = p.tail;
	}
	if (p.tail > p.head + 1 && (!p.first_missing || p.first_missing > p.head))
		p.first_missing = p.head + 1;
	*ret = p;
	return 0;
}

static int preview_block(const struct ofs_content *c, uint64_t from, uint64_t to, FILE *out)
{
	fprintf(out, "--- line%s %llu", from == to ? "" : "s", (unsigned long long)from);
	if (from != to)
		fprintf(out, "-%llu", (unsigned long long)to);
	fprintf(out, " of %llu ---\n", (unsigned long long)c->lines);
	for (uint64_t i = from - 1; i < to; i++) {
		bool whole;
		int n = preview_line(c, i, out, &whole);

		if (n < 0)
			return n;
	}
	return 0;
}

int ofs_preview_print(const struct ofs_preview *p, const struct ofs_content *c, FILE *out)
{
	int r;

	if (c->binary || !c->lines)
		return 0;
	if (p->tail == p->head + 1)
		return preview_block(c, 1, c->lines, out);
	r = preview_block(c, 1, p->head, out);
	if (r == 0 && p->tail <= c->lines)
		r = preview_block(c, p->tail, c->lines, out);
	return r;
}
