/* SPDX-License-Identifier: MIT */
#include "cli/top_view.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/top_numbers.h"

#define ROWS_MIN 4 /* with fewer, nothing is shown */
#define COLS_MIN 30
#define TABLE_MIN 5 /* rows of a table, before it gives way to more numbers */

static const char help[] =
	"q              leave\n"
	"Tab, 1 2 3     the next table; newest files and slices, tasks, agents\n"
	"j k, arrows    one row down, up; also PgDn, PgUp, g (first), G (last)\n"
	"s              sort by the next column; r: the other way round\n"
	"/              show only rows that have a text in them; Esc: all again\n"
	"Enter          a file: its summary; a task or an agent: its files and slices\n"
	"p              pause, and go on\n"
	"+ -            a longer, a shorter time between two samples\n"
	"\n"
	"Caches         frames: parts of packs, expanded; inodes: files and directories.\n"
	"               Reads that the kernel answers from its own cache are not seen.\n"
	"Journal        waiting: not sealed yet; unsynced: what an fsync would write\n"
	"Sealing        compressing and deduplicating; the ratio is that since the mount\n"
	"Storage        on disk, by tier; counted now and then, as it takes longer\n"
	"Tokens         kept out of prompts, of pointers in their place, read back\n";

void ofs_top_view_init(struct ofs_top_view *v, unsigned int interval)
{
	*v = (struct ofs_top_view){ .interval = interval };
	for (int i = 0; i < OFS_PANES; i++)
		v->tables[i] = ofs_top_table_begin((enum ofs_top_pane)i);
}

void ofs_top_view_finish(struct ofs_top_view *v)
{
	free(v->text);
	free(v->text_name);
	v->text = v->text_name = NULL;
}

void ofs_top_view_show(struct ofs_top_view *v, const char *name, const char *text)
{
	char *copy = ofs_strdup(text), *name_copy = ofs_strdup(name);

	/* The arguments may be what is shown now, so they are copied first. */
	ofs_top_view_finish(v);
	v->text = copy;
	v->text_name = name_copy;
	v->scroll = 0;
}

/* ---- the screen */

static const char *state_of(const struct ofs_top_model *m)
{
	const char *state = json_string_value(json_object_get(m->status, "state"));

	return m->error		 ? "away"
	       : !m->status	 ? "waiting"
	       : !m->mounted	 ? "not mounted"
	       : state && *state ? state
				 : "";
}

static void draw_title(const struct ofs_top_view *v, const struct ofs_top_model *m,
		       struct ofs_canvas *c)
{
	const char *where = m->mounted ? m->mounted : m->store ? m->store : "";
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf right = OFS_BUF_INIT;
	double uptime = ofs_top_number(m, "uptime_seconds");
	char up[OFS_TOP_NUMBER_SIZE];
	int width, col;

	ofs_buf_append_str(&right, state_of(m));
	ofs_top_age(uptime, up);
	if (uptime >= 0 && m->mounted && !m->error)
		ofs_buf_printf(&right, ", up %s", up);
	if (v->paused)
		ofs_buf_append_str(&right, ", paused");
	else
		ofs_buf_printf(&right, ", every %us", v->interval);
	width = ofs_canvas_width(c, ofs_buf_str(&right));
	col = ofs_canvas_put(c, 0, 0, c->cols, OFS_STYLE_BOLD, OFS_CUT_END, "offload top") + 2;
	ofs_canvas_put(c, 0, col, c->cols - col - width - 2, OFS_STYLE_PLAIN, OFS_CUT_START, where);
	ofs_canvas_put_right(c, 0, col, c->cols - col,
			     m->error || strcmp(state_of(m), "ok") != 0 ? OFS_STYLE_BAD
									: OFS_STYLE_GOOD,
			     ofs_buf_str(&right));
}

static void draw_tabs(const struct ofs_top_view *v, const struct ofs_top_model *m,
		      struct ofs_canvas *c, int row)
{
	const struct ofs_top_table *t = &v->tables[v->pane];
	char text[64];
	int col = 0;

	for (int i = 0; i < OFS_PANES; i++) {
		size_t n = json_array_size(ofs_top_table_all(m, (enum ofs_top_pane)i));

		snprintf(text, sizeof(text), i == (int)v->pane ? "[%s %zu]" : " %s %zu ",
			 ofs_top_table_name((enum ofs_top_pane)i), n);
		col += ofs_canvas_put(c, row, col, c->cols - col,
				      i == (int)v->pane ? OFS_STYLE_BOLD : OFS_STYLE_DIM,
				      OFS_CUT_END, text);
		col++;
	}
	snprintf(text, sizeof(text), "by %s%s", ofs_top_table_order(t, v->pane),
		 t->reverse ? ", reversed" : "");
	ofs_canvas_put_right(c, row, col, c->cols - col, OFS_STYLE_DIM, text);
}

static void draw_foot(const struct ofs_top_view *v, const struct ofs_top_model *m,
		      struct ofs_canvas *c)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const char *warning = json_string_value(json_object_get(m->status, "error"));
	enum ofs_style style = OFS_STYLE_BAR;

	if (v->typing) {
		ofs_buf_printf(&text, "filter: %s_", v->filter);
	} else if (v->text || v->helping) {
		ofs_buf_append_str(&text, "j k scroll  q back");
	} else if (m->error) {
		style = OFS_STYLE_BAD;
		ofs_buf_printf(&text, "waiting (q quits): %s", m->error);
	} else if (v->silent) {
		style = OFS_STYLE_BAD;
		ofs_buf_printf(&text, "waiting (q quits): no answer for %d s", v->silent);
	} else if (warning) {
		style = OFS_STYLE_BAD;
		ofs_buf_append_str(&text, warning);
	} else if (*v->filter) {
		ofs_buf_printf(&text, "only with \"%s\": Esc shows all", v->filter);
	} else {
		ofs_buf_append_str(&text, "q quit  ? help  Tab table  s sort  / filter  p pause  "
					  "+ - interval  Enter look");
	}
	ofs_canvas_put(c, c->rows - 1, 0, c->cols, style, OFS_CUT_END, ofs_buf_str(&text));
	ofs_canvas_fill(c, c->rows - 1, style);
}

/* Draws lines of a text from `row` on. Also limits how far it is scrolled. */
static void draw_text(struct ofs_top_view *v, const char *name, const char *text,
		      struct ofs_canvas *c, int row)
{
	int room = c->rows - 2 - row, count = (int)ofs_text_newlines(text, strlen(text)) + 1;
	OFS_FREE char *copy = ofs_strdup(text);
	char *rest = copy, *line;

	v->rows = OFS_MAX(room, 1);
	v->scroll = OFS_MAX(OFS_MIN(v->scroll, count - v->rows), 0);
	ofs_canvas_put(c, row, 0, c->cols, OFS_STYLE_BAR, OFS_CUT_START, name);
	ofs_canvas_fill(c, row, OFS_STYLE_BAR);
	for (int i = 0; (line = strsep(&rest, "\n")) && i - v->scroll < room; i++)
		if (i >= v->scroll)
			ofs_canvas_put(c, row + 1 + i - v->scroll, 0, c->cols, OFS_STYLE_PLAIN,
				       OFS_CUT_END, line);
}

static void draw_table(struct ofs_top_view *v, const struct ofs_top_model *m, int64_t now,
		       struct ofs_canvas *c, int row)
{
	struct ofs_top_table *t = &v->tables[v->pane];
	json_t *rows = ofs_top_table_rows(m, v->pane, t, v->filter);
	int count = (int)json_array_size(rows);

	v->rows = OFS_MAX(c->rows - row - 3, 1);
	t->chosen = OFS_MAX(OFS_MIN(t->chosen, count - 1), 0);
	t->first = OFS_MIN(t->first, t->chosen);
	t->first = OFS_MAX(t->first, t->chosen - v->rows + 1);
	t->first = OFS_MAX(OFS_MIN(t->first, count - v->rows), 0);
	draw_tabs(v, m, c, row);
	ofs_top_table_draw(t, v->pane, ofs_top_table_all(m, v->pane), rows, now, c, row + 1,
			   v->rows + 1);
	json_decref(rows);
}

void ofs_top_view_draw(struct ofs_top_view *v, const struct ofs_top_model *m, int64_t now,
		       struct ofs_canvas *c)
{
	int row;

	if (c->rows < ROWS_MIN || c->cols < COLS_MIN) {
		ofs_canvas_put(c, 0, 0, c->cols, OFS_STYLE_PLAIN, OFS_CUT_END, "too small");
		return;
	}
	draw_title(v, m, c);
	if (v->helping) {
		draw_text(v, "Help", help, c, 1);
	} else {
		row = ofs_top_numbers_draw(m, now, c, 1, TABLE_MIN);
		if (v->text)
			draw_text(v, v->text_name, v->text, c, row);
		else
			draw_table(v, m, now, c, row);
	}
	draw_foot(v, m, c);
}

int ofs_top_view_draw_once(const struct ofs_top_model *m, unsigned int interval, int rows,
			   int64_t now, struct ofs_canvas *c)
{
	struct ofs_top_view v;
	int row;

	ofs_top_view_init(&v, interval);
	draw_title(&v, m, c);
	row = ofs_top_numbers_draw(m, now, c, 1, 0);
	for (int i = 0; i < OFS_PANES; i++) {
		const json_t *all = ofs_top_table_all(m, (enum ofs_top_pane)i);
		struct ofs_top_table *t = &v.tables[i];
		json_t *list = ofs_top_table_rows(m, (enum ofs_top_pane)i, t, "");
		int n = OFS_MIN((int)json_array_size(list), rows);

		t->chosen = -1;
		if (n) {
			ofs_top_table_draw(t, (enum ofs_top_pane)i, all, list, now, c, row + 1,
					   n + 1);
			row += n + 2;
		}
		json_decref(list);
	}
	return row;
}

/* ---- keys */

static enum ofs_top_act scroll(int *at, int rows, uint32_t key)
{
	switch (key) {
	case 'j':
	case OFS_KEY_DOWN:
		++*at;
		break;
	case 'k':
	case OFS_KEY_UP:
		--*at;
		break;
	case OFS_KEY_PAGE_DOWN:
	case ' ':
		*at += rows;
		break;
	case OFS_KEY_PAGE_UP:
		*at -= rows;
		break;
	case 'g':
	case OFS_KEY_HOME:
		*at = 0;
		break;
	case 'G':
	case OFS_KEY_END:
		*at = INT32_MAX / 2;
		break;
	default:
		break;
	}
	*at = OFS_MAX(*at, 0);
	return OFS_TOP_STAY;
}

static void type(struct ofs_top_view *v, uint32_t key)
{
	size_t len = strlen(v->filter);
	char text[5];

	if (key == OFS_KEY_ENTER || key == OFS_KEY_ESCAPE) {
		v->typing = false;
		if (key == OFS_KEY_ESCAPE)
			v->filter[0] = '\0';
	} else if (key == OFS_KEY_RUBOUT && len) {
		do
			len--;
		while (len && (v->filter[len] & 0xc0) == 0x80);
		v->filter[len] = '\0';
	} else if (key >= ' ' && key < OFS_KEY_OTHER && key != OFS_KEY_RUBOUT) {
		ofs_canvas_encode(key, text);
		if (len + strlen(text) < sizeof(v->filter))
			memcpy(v->filter + len, text, strlen(text) + 1);
	}
}

static void change_interval(struct ofs_top_view *v, bool longer)
{
	static const unsigned int steps[] = { 1, 2, 3, 5, 10, 15, 30, 60, 300, 900, 3600 };
	size_t n = OFS_ARRAY_SIZE(steps), i;

	if (longer) {
		for (i = 0; i + 1 < n && steps[i] <= v->interval; i++)
			;
	} else {
		for (i = n - 1; i > 0 && steps[i] >= v->interval; i--)
			;
	}
	v->interval = steps[i];
}

/* Enter: shows the summary of a file, or filters by a task or an agent. */
static enum ofs_top_act enter(struct ofs_top_view *v, const struct ofs_top_model *m,
			      const char **ret_path)
{
	struct ofs_top_table *t = &v->tables[v->pane];
	json_t *rows = ofs_top_table_rows(m, v->pane, t, v->filter);
	const json_t *row = json_array_get(rows, (size_t)t->chosen);
	const char *name = json_string_value(json_object_get(row, "name"));
	const char *path = json_string_value(json_object_get(row, "path"));
	enum ofs_top_act act = OFS_TOP_STAY;

	if (v->pane == OFS_PANE_NEWEST && path) {
		*ret_path = path;
		act = OFS_TOP_OPEN;
	} else if (v->pane != OFS_PANE_NEWEST && name) {
		snprintf(v->filter, sizeof(v->filter), "%s", name);
		v->filter[ofs_text_utf8_prefix(v->filter, strlen(v->filter))] = '\0';
		v->pane = OFS_PANE_NEWEST;
	}
	json_decref(rows);
	return act;
}

static enum ofs_top_act key_of_table(struct ofs_top_view *v, const struct ofs_top_model *m,
				     uint32_t key, const char **ret_path)
{
	struct ofs_top_table *t = &v->tables[v->pane];

	switch (key) {
	case OFS_KEY_TAB:
		v->pane = (enum ofs_top_pane)((v->pane + 1) % OFS_PANES);
		break;
	case OFS_KEY_BACKTAB:
		v->pane = (enum ofs_top_pane)((v->pane + OFS_PANES - 1) % OFS_PANES);
		break;
	case '1':
	case '2':
	case '3':
		v->pane = (enum ofs_top_pane)(key - '1');
		break;
	case 's':
		t->sort = (t->sort + 1) % ofs_top_table_columns(v->pane);
		t->reverse = false;
		break;
	case 'r':
		t->reverse = !t->reverse;
		break;
	case '/':
		v->typing = true;
		break;
	case OFS_KEY_ESCAPE:
		v->filter[0] = '\0';
		break;
	case 'p':
		v->paused = !v->paused;
		return v->paused ? OFS_TOP_STAY : OFS_TOP_RESUME;
	case '+':
	case '-':
		change_interval(v, key == '+');
		break;
	case OFS_KEY_ENTER:
		return enter(v, m, ret_path);
	default:
		return scroll(&t->chosen, v->rows, key);
	}
	return OFS_TOP_STAY;
}

enum ofs_top_act ofs_top_view_key(struct ofs_top_view *v, const struct ofs_top_model *m,
				  uint32_t key, const char **ret_path)
{
	if (key == '\r')
		key = OFS_KEY_ENTER;
	if (key == '\b')
		key = OFS_KEY_RUBOUT;
	if (v->typing) {
		type(v, key);
		return OFS_TOP_STAY;
	}
	if (v->helping || v->text) {
		if (key != 'q' && key != OFS_KEY_ESCAPE && key != OFS_KEY_ENTER && key != '?')
			return scroll(&v->scroll, v->rows, key);
		v->helping = false;
		ofs_top_view_finish(v);
		return OFS_TOP_STAY;
	}
	if (key == 'q')
		return OFS_TOP_QUIT;
	if (key == '?' || key == 'h') {
		v->helping = true;
		v->scroll = 0;
		return OFS_TOP_STAY;
	}
	return key_of_table(v, m, key, ret_path);
}
