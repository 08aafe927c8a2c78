/* SPDX-License-Identifier: MIT */
/* The screen of `offload top`: what it shows of a model, and what keys do to it. */
#pragma once

#include "cli/top_table.h"

/* Keys that are not characters. */
enum ofs_top_key {
	OFS_KEY_NONE = 0,
	OFS_KEY_ENTER = '\n',
	OFS_KEY_ESCAPE = 0x1b,
	OFS_KEY_RUBOUT = 0x7f,
	OFS_KEY_TAB = '\t',
	OFS_KEY_OTHER = 0x110000, /* from here on beyond Unicode */
	OFS_KEY_BACKTAB,
	OFS_KEY_UP,
	OFS_KEY_DOWN,
	OFS_KEY_PAGE_UP,
	OFS_KEY_PAGE_DOWN,
	OFS_KEY_HOME,
	OFS_KEY_END,
};

#define OFS_TOP_INTERVAL_MAX 3600 /* seconds */

struct ofs_top_view {
	enum ofs_top_pane pane;
	struct ofs_top_table tables[OFS_PANES];
	char filter[128]; /* UTF-8 */
	bool typing; /* the filter is being typed */
	bool paused;
	bool helping;
	unsigned int interval; /* seconds */
	char *text; /* shown over the table; NULL: none */
	char *text_name; /* its heading */
	int scroll; /* lines above the first that is shown */
	int silent; /* seconds without an answer; 0: there is one */
	int rows; /* room of the table or the text, when last drawn */
};

void ofs_top_view_init(struct ofs_top_view *v, unsigned int interval);
void ofs_top_view_finish(struct ofs_top_view *v);

/* Draws everything; `now`: the wall clock. If the chosen row is gone, another one is chosen. */
void ofs_top_view_draw(struct ofs_top_view *v, const struct ofs_top_model *m, int64_t now,
		       struct ofs_canvas *c);

/* Draws the numbers, then each table with up to `rows` rows, as text. Returns the row after. */
int ofs_top_view_draw_once(const struct ofs_top_model *m, unsigned int interval, int rows,
			   int64_t now, struct ofs_canvas *c);

enum ofs_top_act {
	OFS_TOP_STAY,
	OFS_TOP_QUIT,
	OFS_TOP_RESUME, /* a sample is wanted now */
	OFS_TOP_OPEN, /* the summary of a file is wanted */
};

/* Handles a key. With OFS_TOP_OPEN, *ret_path is the file, borrowed from the model. */
enum ofs_top_act ofs_top_view_key(struct ofs_top_view *v, const struct ofs_top_model *m,
				  uint32_t key, const char **ret_path);

/* Shows a text of several lines over the table. Both strings are copied. */
void ofs_top_view_show(struct ofs_top_view *v, const char *name, const char *text);
