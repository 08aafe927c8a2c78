/* SPDX-License-Identifier: MIT */
/* A screen of cells in memory. Text of any origin is put into its columns, and shown later. */
#pragma once

#include <stdio.h>

#include "base/util.h"

enum ofs_style {
	OFS_STYLE_PLAIN,
	OFS_STYLE_DIM, /* names of numbers */
	OFS_STYLE_BOLD,
	OFS_STYLE_BAR, /* the head of a table, the foot of the screen */
	OFS_STYLE_CHOSEN, /* the row that keys act on */
	OFS_STYLE_GOOD,
	OFS_STYLE_BAD,
	OFS_STYLES
};

struct ofs_cell {
	uint32_t c; /* a character; 0: second column of the wide one before it */
	uint8_t style;
};

struct ofs_canvas {
	int rows, cols;
	bool utf8; /* otherwise "?" replaces what is not ASCII */
	struct ofs_cell *cells;
};

/* Makes a blank canvas. The locale, UTF-8 if `utf8` is set, knows which characters are wide. */
void ofs_canvas_init(struct ofs_canvas *c, int rows, int cols, bool utf8);
void ofs_canvas_finish(struct ofs_canvas *c);

/* Returns a cell, or NULL if it lies outside. */
struct ofs_cell *ofs_canvas_at(const struct ofs_canvas *c, int row, int col);

enum ofs_cut {
	OFS_CUT_END, /* text that is too long ends with "~" */
	OFS_CUT_START, /* starts with "~": the end of a path tells most */
};

/* Returns the number of columns that a text takes, made harmless. */
int ofs_canvas_width(const struct ofs_canvas *c, const char *text);

/*
 * Puts a text, made harmless (ofs_text_line()), into `width` columns from `col` on, and cuts it if
 * it is longer. Characters without a width of their own are left out. Returns the number of columns
 * used.
 */
int ofs_canvas_put(struct ofs_canvas *c, int row, int col, int width, enum ofs_style style,
		   enum ofs_cut cut, const char *text);

/* Does the same at the right end of the columns. */
void ofs_canvas_put_right(struct ofs_canvas *c, int row, int col, int width, enum ofs_style style,
			  const char *text);

/* Sets the style of a whole row, blanks included. */
void ofs_canvas_fill(struct ofs_canvas *c, int row, enum ofs_style style);

/* Prints rows [0, rows) as lines of text, without trailing blanks. */
void ofs_canvas_print(const struct ofs_canvas *c, int rows, FILE *out);

/* Writes a character as UTF-8, with a NUL. */
void ofs_canvas_encode(uint32_t c, char ret[5]);
