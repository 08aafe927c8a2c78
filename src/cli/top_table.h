/* SPDX-License-Identifier: MIT */
/* The tables of `offload top`: which rows they show, in which order and columns. */
#pragma once

#include "cli/top_canvas.h"
#include "cli/top_model.h"

enum ofs_top_pane {
	OFS_PANE_NEWEST,
	OFS_PANE_TASKS,
	OFS_PANE_AGENTS,
	OFS_PANES
};

struct ofs_top_table {
	int sort; /* index of a column */
	bool reverse; /* against the order of that column */
	int chosen, first; /* rows: the one that keys act on; the top one */
};

/* Returns the name of a table, "Newest". */
const char *ofs_top_table_name(enum ofs_top_pane pane);
/* Returns the initial state of a table. */
struct ofs_top_table ofs_top_table_begin(enum ofs_top_pane pane);
int ofs_top_table_columns(enum ofs_top_pane pane);
/* Returns the name of the column that the table is sorted by. */
const char *ofs_top_table_order(const struct ofs_top_table *t, enum ofs_top_pane pane);

/* Returns all rows of the pane, borrowed, or NULL. */
const json_t *ofs_top_table_all(const struct ofs_top_model *m, enum ofs_top_pane pane);

/* Returns an owned array of the rows that have `filter` in a text of theirs ("": all), sorted. */
json_t *ofs_top_table_rows(const struct ofs_top_model *m, enum ofs_top_pane pane,
			   const struct ofs_top_table *t, const char *filter);

/*
 * Draws the head and up to n - 1 of `rows`, from t->first on. `all` decides which columns are
 * shown. `now`: the wall clock. The chosen row is marked, unless `t->chosen` is -1.
 */
void ofs_top_table_draw(const struct ofs_top_table *t, enum ofs_top_pane pane, const json_t *all,
			const json_t *rows, int64_t now, struct ofs_canvas *c, int row, int n);

#define OFS_TOP_NUMBER_SIZE 32

/* Format numbers as short texts. Negative: "-". */
void ofs_top_count(double n, char ret[OFS_TOP_NUMBER_SIZE]); /* "812", "48,213", "1.2M" */
void ofs_top_rate_text(double n, char ret[OFS_TOP_NUMBER_SIZE]); /* "0.3", "12", "48,213" */
void ofs_top_size(double n, char ret[OFS_TOP_NUMBER_SIZE]); /* "812 B", "4.2 KB" */
void ofs_top_age(double seconds, char ret[OFS_TOP_NUMBER_SIZE]); /* "3s", "41m", "5h", "12d" */
/* "98.2%"; "-" if there is nothing to divide by. */
void ofs_top_share(double part, double whole, char ret[OFS_TOP_NUMBER_SIZE]);
