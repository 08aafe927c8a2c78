/* SPDX-License-Identifier: MIT */
#include "cli/top_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"

enum form {
	FORM_TEXT,
	FORM_PATH, /* with the slice; as wide as there is room; also for a name */
	FORM_COUNT,
	FORM_RATE,
	FORM_SIZE,
	FORM_AGE, /* of a time */
};

struct column {
	const char *head, *key;
	enum form form;
	int width; /* 0: what the others leave */
	bool optional; /* left out if it is empty in all rows */
};

#define COLUMNS_MAX 8
#define NARROW 64 /* narrower screens have no room for optional columns */

static const struct pane {
	const char *name;
	int sort; /* at first */
	struct column columns[COLUMNS_MAX]; /* ends with one without a head */
} panes[OFS_PANES] = {
	[OFS_PANE_NEWEST] = { "Newest",
			      0,
			      { { "AGE", "time", FORM_AGE, 4, false },
				{ "WHAT", "event", FORM_TEXT, 12, false },
				{ "SIZE", "size", FORM_SIZE, 8, false },
				{ "TOKENS", "tokens", FORM_COUNT, 7, false },
				{ "TASK", "task", FORM_TEXT, 12, true },
				{ "AGENT", "agent", FORM_TEXT, 10, true },
				{ "PATH", "path", FORM_PATH, 0, false } } },
	[OFS_PANE_TASKS] = { "Tasks",
			     2,
			     { { "TASK", "name", FORM_PATH, 0, false },
			       { "RESULTS", "results", FORM_COUNT, 8, false },
			       { "OFFLOADED", "offloaded", FORM_COUNT, 10, false },
			       { "SHOWN", "pointers", FORM_COUNT, 9, false },
			       { "READ BACK", "read", FORM_COUNT, 9, false },
			       { "SAVED", "saved", FORM_COUNT, 10, false },
			       { "NOW/s", "now", FORM_RATE, 7, false } } },
	[OFS_PANE_AGENTS] = { "Agents",
			      2,
			      { { "AGENT", "name", FORM_PATH, 0, false },
				{ "RESULTS", "results", FORM_COUNT, 8, false },
				{ "OFFLOADED", "offloaded", FORM_COUNT, 10, false },
				{ "SHOWN", "pointers", FORM_COUNT, 9, false },
				{ "READ BACK", "read", FORM_COUNT, 9, false },
				{ "SAVED", "saved", FORM_COUNT, 10, false },
				{ "NOW/s", "now", FORM_RATE, 7, false } } },
};

const char *ofs_top_table_name(enum ofs_top_pane pane)
{
	return panes[pane].name;
}

struct ofs_top_table ofs_top_table_begin(enum ofs_top_pane pane)
{
	return (struct ofs_top_table){ .sort = panes[pane].sort };
}

int ofs_top_table_columns(enum ofs_top_pane pane)
{
	int n = 0;

	while (n < COLUMNS_MAX && panes[pane].columns[n].head)
		n++;
	return n;
}

const char *ofs_top_table_order(const struct ofs_top_table *t, enum ofs_top_pane pane)
{
	return panes[pane].columns[t->sort].head;
}

const json_t *ofs_top_table_all(const struct ofs_top_model *m, enum ofs_top_pane pane)
{
	return pane == OFS_PANE_NEWEST ? m->newest : pane == OFS_PANE_TASKS ? m->tasks : m->agents;
}

/* ---- numbers */

static void print_count(double n, char ret[OFS_TOP_NUMBER_SIZE])
{
	struct ofs_text_stream s;
	char *text;

	ofs_text_number(ofs_text_open(&s), (uint64_t)(n + 0.5));
	text = ofs_text_close(&s);
	snprintf(ret, OFS_TOP_NUMBER_SIZE, "%s", text);
	free(text);
}

void ofs_top_count(double n, char ret[OFS_TOP_NUMBER_SIZE])
{
	static const char units[] = "MGT";
	size_t i = 0;

	if (n < 0) {
		snprintf(ret, OFS_TOP_NUMBER_SIZE, "-");
	} else if (n < 999999.5) {
		print_count(n, ret);
	} else {
		for (n /= 1e6; n >= 999.95 && units[i + 1]; n /= 1e3)
			i++;
		snprintf(ret, OFS_TOP_NUMBER_SIZE, "%.1f%c", n, units[i]);
	}
}

void ofs_top_rate_text(double n, char ret[OFS_TOP_NUMBER_SIZE])
{
	if (n <= 0 || n >= 9.95)
		ofs_top_count(n, ret);
	else
		snprintf(ret, OFS_TOP_NUMBER_SIZE, "%.1f", n);
}

void ofs_top_size(double n, char ret[OFS_TOP_NUMBER_SIZE])
{
	static const char units[] = "KMGTP";
	size_t i = 0;

	if (n < 999.5) {
		snprintf(ret, OFS_TOP_NUMBER_SIZE, n < 0 ? "-" : "%.0f B", n);
		return;
	}
	for (n /= 1e3; n >= 999.95 && units[i + 1]; n /= 1e3)
		i++;
	snprintf(ret, OFS_TOP_NUMBER_SIZE, "%.1f %cB", n, units[i]);
}

void ofs_top_age(double seconds, char ret[OFS_TOP_NUMBER_SIZE])
{
	static const struct {
		double size;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 0, 's' } };
	size_t i = 0;

	if (seconds < 0) {
		snprintf(ret, OFS_TOP_NUMBER_SIZE, "-");
		return;
	}
	while (seconds < units[i].size)
		i++;
	snprintf(ret, OFS_TOP_NUMBER_SIZE, "%" PRIu64 "%c",
		 (uint64_t)(seconds / OFS_MAX(units[i].size, 1.0)), units[i].unit);
}

void ofs_top_share(double part, double whole, char ret[OFS_TOP_NUMBER_SIZE])
{
	if (whole > 0 && part >= 0)
		snprintf(ret, OFS_TOP_NUMBER_SIZE, "%.1f%%", part / whole * 100);
	else
		snprintf(ret, OFS_TOP_NUMBER_SIZE, "-");
}

/* ---- rows */

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static double number_of(const json_t *row, const char *key)
{
	const json_t *n = json_object_get(row, key);

	return json_is_number(n) ? json_number_value(n) : -1;
}

static bool is_text(const struct column *c)
{
	return c->form == FORM_TEXT || c->form == FORM_PATH || c->form == FORM_AGE;
}

static bool passes(const json_t *row, const char *filter)
{
	static const char *const keys[] = { "name", "path", "event", "task", "agent", "title" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(keys); i++)
		if (strcasestr(text_of(row, keys[i]), filter))
			return true;
	return false;
}

struct ranked {
	json_t *row;
	size_t at;
	const struct column *column;
	bool reverse;
};

/* Names sort from A, numbers and times from the greatest. */
static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	const char *key = x->column->key;
	double p, q;
	int r;

	if (is_text(x->column)) {
		r = strcmp(text_of(x->row, key), text_of(y->row, key));
		r = x->column->form == FORM_AGE ? -r : r;
	} else {
		p = number_of(x->row, key);
		q = number_of(y->row, key);
		r = (p < q) - (p > q);
	}
	if (r)
		return x->reverse ? -r : r;
	return x->at < y->at ? -1 : x->at > y->at;
}

json_t *ofs_top_table_rows(const struct ofs_top_model *m, enum ofs_top_pane pane,
			   const struct ofs_top_table *t, const char *filter)
{
	const json_t *all = ofs_top_table_all(m, pane);
	size_t cap = json_array_size(all), n = 0;
	OFS_FREE struct ranked *ranked = ofs_alloc((cap + 1) * sizeof(*ranked));
	json_t *list = json_array(), *row;
	size_t i;

	json_array_foreach(all, i, row)
	{
		if (!*filter || passes(row, filter))
			ranked[n++] = (struct ranked){ row, i, &panes[pane].columns[t->sort],
						       t->reverse };
	}
	qsort(ranked, n, sizeof(*ranked), compare);
	for (i = 0; i < n; i++)
		json_array_append(list, ranked[i].row);
	return list;
}

/* ---- drawing */

/* Computes the widths of the columns; 0: left out. */
static void lay_out(const struct pane *p, const json_t *all, int cols, int ret[COLUMNS_MAX])
{
	int left = cols, wide = 0;
	bool narrow = cols < NARROW;
	json_t *row;
	size_t k;

	for (int i = 0; i < COLUMNS_MAX && p->columns[i].head; i++) {
		const struct column *c = &p->columns[i];
		bool shown = !c->optional;

		json_array_foreach(all, k, row) shown = shown || (!narrow && *text_of(row, c->key));
		ret[i] = shown ? c->width : 0;
		left -= ret[i] ? ret[i] + 1 : 0;
		wide = c->width ? wide : i;
	}
	ret[wide] = OFS_MAX(left, 8);
}

static void print_cell(const struct column *column, const json_t *row, int64_t now,
		       struct ofs_buf *out)
{
	double n = number_of(row, column->key);
	char text[OFS_TOP_NUMBER_SIZE] = "";
	int64_t at;

	if (column->form == FORM_AGE) {
		at = ofs_top_time(json_object_get(row, column->key));
		ofs_top_age(at ? (double)OFS_MAX(now - at, (int64_t)0) / 1e9 : -1, text);
	} else if (column->form == FORM_SIZE) {
		ofs_top_size(n, text);
	} else if (column->form == FORM_COUNT) {
		ofs_top_count(n, text);
	} else if (column->form == FORM_RATE) {
		ofs_top_rate_text(n, text);
	} else {
		ofs_buf_append_str(out, text_of(row, column->key));
	}
	ofs_buf_append_str(out, text);
	if (column->form == FORM_PATH && *text_of(row, "slice"))
		ofs_buf_printf(out, ":%s", text_of(row, "slice"));
}

static void draw_cell(const struct column *column, const char *text, enum ofs_style style,
		      struct ofs_canvas *c, int row, int col, int width)
{
	bool path = column->form == FORM_PATH && style != OFS_STYLE_BAR;

	if (column->form == FORM_TEXT || column->form == FORM_PATH)
		ofs_canvas_put(c, row, col, width, style, path ? OFS_CUT_START : OFS_CUT_END, text);
	else
		ofs_canvas_put_right(c, row, col, width, style, text);
}

/* Draws a row of the table, or its head for NULL. */
static void draw_row(const struct pane *p, const int width[COLUMNS_MAX], const json_t *row,
		     int64_t now, enum ofs_style style, struct ofs_canvas *c, int at)
{
	int col = 0;

	for (int i = 0; i < COLUMNS_MAX && p->columns[i].head; i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

		if (!width[i])
			continue;
		if (row)
			print_cell(&p->columns[i], row, now, &text);
		else
			ofs_buf_append_str(&text, p->columns[i].head);
		draw_cell(&p->columns[i], ofs_buf_str(&text), style, c, at, col, width[i]);
		col += width[i] + 1;
	}
	if (style != OFS_STYLE_PLAIN)
		ofs_canvas_fill(c, at, style);
}

void ofs_top_table_draw(const struct ofs_top_table *t, enum ofs_top_pane pane, const json_t *all,
			const json_t *rows, int64_t now, struct ofs_canvas *c, int row, int n)
{
	const struct pane *p = &panes[pane];
	int width[COLUMNS_MAX], count = (int)json_array_size(rows);

	lay_out(p, all, c->cols, width);
	draw_row(p, width, NULL, now, OFS_STYLE_BAR, c, row);
	for (int i = t->first; i < count && i - t->first < n - 1; i++)
		draw_row(p, width, json_array_get(rows, (size_t)i), now,
			 i == t->chosen ? OFS_STYLE_CHOSEN : OFS_STYLE_PLAIN, c,
			 row + 1 + i - t->first);
}
