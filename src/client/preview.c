/* SPDX-License-Identifier: MIT */
#include "client/preview.h"

#include "base/redact.h"
#include "base/text.h"

/*
 * Escape sequences take room in the input and none in the output; a line with more than this of
 * both is cut early. A secret that starts within it is seen whole.
 */
#define PREVIEW_WINDOW 4096
#define PREVIEW_HEAD_MAX (OFS_PREVIEW_MAX / 2)
/* Bytes of the last lines that tell if they are the rest of a private key. */
#define PREVIEW_AHEAD ((size_t)16 << 10)

void ofs_preview_finish(struct ofs_preview *p)
{
	for (size_t i = 0; i < OFS_CONTENT_LINES; i++) {
		free(p->first[i]);
		free(p->last[i]);
	}
	*p = (struct ofs_preview){ 0 };
}

/* Writes a line of which `len` bytes were not read. */
static char *preview_shown(const struct ofs_buf *line, uint64_t unread, bool *ret_whole)
{
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);
	size_t used;

	ofs_text_printable(out, line->data, line->len, unread > 0, OFS_PREVIEW_LINE_MAX, &used);
	*ret_whole = used == line->len && !unread;
	if (!*ret_whole)
		fprintf(out, "...[+%llu bytes]", (unsigned long long)(line->len - used + unread));
	putc('\n', out);
	return ofs_text_close(&s);
}

/* Line `i` (from 0) as it is shown; `ret_whole`: nothing of it is missing. */
static int preview_line(const struct ofs_content *c, uint64_t i, struct ofs_redact_state *state,
			char **ret, bool *ret_whole)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	uint64_t start = ofs_content_line(c, i), len = ofs_content_line(c, i + 1) - start;
	char window[PREVIEW_WINDOW + OFS_REDACT_AHEAD];
	ssize_t n = ofs_spool_read(c->spool, window, (size_t)OFS_MIN(len, sizeof(window)), start);

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
	ofs_redact_state_line(state, &line, window, (size_t)n);
	*ret = preview_shown(&line, len - (uint64_t)n, ret_whole);
	return 0;
}

/* For each line that could be shown: it is whole. */
struct preview_whole {
	bool first[OFS_CONTENT_LINES];
	bool last[OFS_CONTENT_LINES];
};

static int preview_read_last(const struct ofs_content *c, uint64_t from, struct ofs_preview *p,
			     struct preview_whole *whole)
{
	OFS_FREE char *ahead = ofs_realloc(NULL, 1, PREVIEW_AHEAD);
	struct ofs_redact_state state;
	ssize_t n = ofs_spool_read(c->spool, ahead, PREVIEW_AHEAD, ofs_content_line(c, from));
	int r = 0;

	if (n < 0)
		return (int)n;
	ofs_redact_state_init(&state, ahead, (size_t)n);
	for (uint64_t i = from; i < c->lines && r == 0; i++) {
		size_t place = (size_t)(c->lines - 1 - i);

		r = preview_line(c, i, &state, &p->last[place], &whole->last[place]);
	}
	return r;
}

static int preview_read(const struct ofs_content *c, struct ofs_preview *p,
			struct preview_whole *whole)
{
	uint64_t n = OFS_MIN(c->lines, OFS_CONTENT_LINES), from = n;
	struct ofs_redact_state state;
	int r = 0;

	ofs_redact_state_init(&state, "", 0);
	for (uint64_t i = 0; i < n && r == 0; i++)
		r = preview_line(c, i, &state, &p->first[i], &whole->first[i]);
	if (c->lines > n + OFS_CONTENT_LINES)
		from = c->lines - OFS_CONTENT_LINES;
	return r < 0 ? r : preview_read_last(c, from, p, whole);
}

/* Line `i`, which is one of the first or of the last. */
static char *preview_text(const struct ofs_preview *p, const struct ofs_content *c, uint64_t i)
{
	return i < OFS_CONTENT_LINES ? p->first[i] : p->last[c->lines - 1 - i];
}

static bool preview_is_whole(const struct preview_whole *whole, const struct ofs_content *c,
			     uint64_t i)
{
	return i < OFS_CONTENT_LINES ? whole->first[i] : whole->last[c->lines - 1 - i];
}

/* As many of the first and last lines as have room. */
static void preview_choose(const struct ofs_content *c, const struct preview_whole *whole,
			   struct ofs_preview *p)
{
	size_t used = 0, n;
	uint64_t least;

	while (p->head < OFS_MIN(c->lines, OFS_CONTENT_LINES)) {
		n = strlen(preview_text(p, c, p->head));
		if (used + n > PREVIEW_HEAD_MAX)
			break;
		used += n;
		p->head++;
		if (!preview_is_whole(whole, c, p->head - 1) && !p->first_missing)
			p->first_missing = p->head;
	}
	least = c->lines > p->head + OFS_CONTENT_LINES ? c->lines - OFS_CONTENT_LINES : p->head;
	while (p->tail - 1 > least) {
		n = strlen(preview_text(p, c, p->tail - 2));
		if (used + n > OFS_PREVIEW_MAX)
			break;
		used += n;
		p->tail--;
		if (!preview_is_whole(whole, c, p->tail - 1) &&
		    (!p->first_missing || p->first_missing > p->head))
			p->first_missing = p->tail;
	}
	if (p->tail > p->head + 1 && (!p->first_missing || p->first_missing > p->head))
		p->first_missing = p->head + 1;
}

int ofs_preview_plan(const struct ofs_content *c, struct ofs_preview *ret)
{
	struct ofs_preview p = { .tail = c->lines + 1 };
	struct preview_whole whole;
	int r;

	if (c->binary) {
		p.first_missing = 1;
		*ret = p;
		return 0;
	}
	r = preview_read(c, &p, &whole);
	if (r < 0) {
		ofs_preview_finish(&p);
		return r;
	}
	preview_choose(c, &whole, &p);
	*ret = p;
	return 0;
}

static void preview_block(const struct ofs_preview *p, const struct ofs_content *c, uint64_t from,
			  uint64_t to, FILE *out)
{
	fprintf(out, "--- line%s %llu", from == to ? "" : "s", (unsigned long long)from);
	if (from != to)
		fprintf(out, "-%llu", (unsigned long long)to);
	fprintf(out, " of %llu ---\n", (unsigned long long)c->lines);
	for (uint64_t i = from - 1; i < to; i++)
		fputs(preview_text(p, c, i), out);
}

void ofs_preview_print(const struct ofs_preview *p, const struct ofs_content *c, FILE *out)
{
	if (c->binary || !c->lines)
		return;
	if (p->tail == p->head + 1) {
		preview_block(p, c, 1, c->lines, out);
		return;
	}
	preview_block(p, c, 1, p->head, out);
	if (p->tail <= c->lines)
		preview_block(p, c, p->tail, c->lines, out);
}
