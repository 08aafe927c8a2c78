/* SPDX-License-Identifier: MIT */
#include "cli/top_canvas.h"

#include <string.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/text.h"

#define CUT_MARK '~'

void ofs_canvas_init(struct ofs_canvas *c, int rows, int cols, bool utf8)
{
	size_t n = (size_t)OFS_MAX(rows, 0) * (size_t)OFS_MAX(cols, 0);

	*c = (struct ofs_canvas){ .rows = OFS_MAX(rows, 0),
				  .cols = OFS_MAX(cols, 0),
				  .utf8 = utf8,
				  .cells = ofs_alloc((n + 1) * sizeof(*c->cells)) };
	for (size_t i = 0; i < n; i++)
		c->cells[i] = (struct ofs_cell){ ' ', OFS_STYLE_PLAIN };
}

void ofs_canvas_finish(struct ofs_canvas *c)
{
	free(c->cells);
	*c = (struct ofs_canvas){ 0 };
}

struct ofs_cell *ofs_canvas_at(const struct ofs_canvas *c, int row, int col)
{
	if (row < 0 || row >= c->rows || col < 0 || col >= c->cols)
		return NULL;
	return &c->cells[row * c->cols + col];
}

/* Appends a cell for each column of the text. */
static void spread(const struct ofs_canvas *c, const char *text, struct ofs_buf *out)
{
	OFS_FREE char *shown = ofs_text_shown(text);
	const unsigned char *p = (const unsigned char *)shown, *end = p + strlen(shown);
	struct ofs_cell cell = { 0 }, second = { 0 };

	for (int n; p < end; p += n) {
		int width = 1;

		n = OFS_MAX(ofs_text_utf8(p, (size_t)(end - p)), 1);
		cell.c = ofs_text_code_point(p, n);
		if (cell.c >= 0x80 && !c->utf8)
			cell.c = '?';
		else if (cell.c >= 0x80)
			width = ofs_text_is_hidden(cell.c) ? 0 : wcwidth((wchar_t)cell.c);
		/* The terminal may know a width where the locale does not. */
		if (width < 0) {
			cell.c = '?';
			width = 1;
		}
		if (width > 0)
			ofs_buf_append(out, &cell, sizeof(cell));
		if (width > 1)
			ofs_buf_append(out, &second, sizeof(second));
	}
}

int ofs_canvas_width(const struct ofs_canvas *c, const char *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf cells = OFS_BUF_INIT;

	spread(c, text, &cells);
	return (int)(cells.len / sizeof(struct ofs_cell));
}

/* Half of a wide character becomes a blank. If the last is not ASCII, another cell follows it. */
static void set(struct ofs_canvas *c, int row, int col, enum ofs_style style,
		const struct ofs_cell *from, int n)
{
	for (int i = 0; i < n; i++) {
		struct ofs_cell *at = ofs_canvas_at(c, row, col + i);
		bool half = (i == 0 && !from[i].c) ||
			    (i + 1 == n && from[i].c >= 0x80 && !from[i + 1].c);

		if (at)
			*at = (struct ofs_cell){ half ? ' ' : from[i].c, (uint8_t)style };
	}
}

int ofs_canvas_put(struct ofs_canvas *c, int row, int col, int width, enum ofs_style style,
		   enum ofs_cut cut, const char *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf buf = OFS_BUF_INIT;
	static const struct ofs_cell mark = { CUT_MARK, 0 }, end = { ' ', 0 };
	const struct ofs_cell *cells;
	int n, all;

	width = OFS_MIN(width, c->cols - col);
	if (width <= 0)
		return 0;
	spread(c, text, &buf);
	all = (int)(buf.len / sizeof(*cells));
	ofs_buf_append(&buf, &end, sizeof(end));
	cells = (const struct ofs_cell *)buf.data;
	n = OFS_MIN(all, width);
	if (all <= width) {
		set(c, row, col, style, cells, n);
	} else if (cut == OFS_CUT_START) {
		set(c, row, col, style, &mark, 1);
		set(c, row, col + 1, style, cells + all - (n - 1), n - 1);
	} else {
		set(c, row, col, style, cells, n - 1);
		set(c, row, col + n - 1, style, &mark, 1);
	}
	return n;
}

void ofs_canvas_put_right(struct ofs_canvas *c, int row, int col, int width, enum ofs_style style,
			  const char *text)
{
	int n = OFS_MIN(ofs_canvas_width(c, text), width);

	ofs_canvas_put(c, row, col + width - n, n, style, OFS_CUT_END, text);
}

void ofs_canvas_fill(struct ofs_canvas *c, int row, enum ofs_style style)
{
	for (int col = 0; col < c->cols; col++) {
		struct ofs_cell *at = ofs_canvas_at(c, row, col);

		if (at)
			at->style = (uint8_t)style;
	}
}

void ofs_canvas_encode(uint32_t c, char ret[5])
{
	int n = 0;

	if (c < 0x80) {
		ret[n++] = (char)c;
	} else if (c < 0x800) {
		ret[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		ret[n++] = (char)(0xe0 | c >> 12);
		ret[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		ret[n++] = (char)(0xf0 | c >> 18);
		ret[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		ret[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		ret[n++] = (char)(0x80 | (c & 0x3f));
	ret[n] = '\0';
}

void ofs_canvas_print(const struct ofs_canvas *c, int rows, FILE *out)
{
	char text[5];

	for (int row = 0; row < OFS_MIN(rows, c->rows); row++) {
		int end = c->cols;

		while (end > 0 && ofs_canvas_at(c, row, end - 1)->c == ' ')
			end--;
		for (int col = 0; col < end; col++) {
			ofs_canvas_encode(ofs_canvas_at(c, row, col)->c, text);
			fputs(text, out);
		}
		putc('\n', out);
	}
}
