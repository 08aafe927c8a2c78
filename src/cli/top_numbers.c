/* SPDX-License-Identifier: MIT */
#include "cli/top_numbers.h"

#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/top_table.h"

#define LABEL_COLS 10

/* A row of numbers being drawn. */
struct line {
	struct ofs_canvas *canvas;
	int row;
	int col;
};

static void label(struct line *l, const char *name)
{
	ofs_canvas_put(l->canvas, l->row, 0, LABEL_COLS - 1, OFS_STYLE_BOLD, OFS_CUT_END, name);
	l->col = LABEL_COLS;
}

static void words(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void words(struct line *l, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	l->col += ofs_canvas_put(l->canvas, l->row, l->col, l->canvas->cols - l->col,
				 OFS_STYLE_PLAIN, OFS_CUT_END, text);
}

typedef void (*number_fn)(double n, char ret[OFS_TOP_NUMBER_SIZE]);

/* Puts a number into a field of fixed width, so that nothing moves. */
static void put(struct line *l, int width, number_fn as_text, double n)
{
	char text[OFS_TOP_NUMBER_SIZE];

	as_text(n, text);
	words(l, "%*s", width, text);
}

static void draw_requests(const struct ofs_top_model *m, struct line *l, int64_t now)
{
	label(l, "Requests");
	put(l, 7, ofs_top_rate_text, ofs_top_rate(m, "requests"));
	words(l, "/s  read");
	put(l, 8, ofs_top_rate_text, ofs_top_rate(m, "reads"));
	words(l, "/s");
	put(l, 9, ofs_top_size, ofs_top_rate(m, "read_bytes"));
	words(l, "/s  write");
	put(l, 8, ofs_top_rate_text, ofs_top_rate(m, "writes"));
	words(l, "/s");
	put(l, 9, ofs_top_size, ofs_top_rate(m, "written_bytes"));
	words(l, "/s");
}

static void put_share(struct line *l, const struct ofs_top_model *m, const char *hits,
		      const char *loads)
{
	double hit = ofs_top_rate(m, hits), load = ofs_top_rate(m, loads);
	char text[OFS_TOP_NUMBER_SIZE];

	ofs_top_share(hit, hit + load, text);
	words(l, "%7s", text);
}

static void draw_caches(const struct ofs_top_model *m, struct line *l, int64_t now)
{
	label(l, "Caches");
	words(l, "frames");
	put_share(l, m, "frame_hits", "frame_loads");
	words(l, " hit,");
	put(l, 9, ofs_top_size, ofs_top_number(m, "cache.frames.bytes"));
	words(l, "  inodes");
	put_share(l, m, "inode_hits", "inode_loads");
	words(l, " hit,");
	put(l, 8, ofs_top_count, ofs_top_number(m, "memory.inodes"));
	words(l, "  sync");
	put(l, 5, ofs_top_rate_text, ofs_top_rate(m, "syncs"));
	words(l, "/s");
}

static void draw_journal(const struct ofs_top_model *m, struct line *l, int64_t now)
{
	label(l, "Journal");
	put(l, 8, ofs_top_size, ofs_top_number(m, "journal.bytes"));
	words(l, " in");
	put(l, 3, ofs_top_count, ofs_top_number(m, "journal.segments"));
	words(l, " files, waiting");
	put(l, 9, ofs_top_size, ofs_top_number(m, "journal.waiting_bytes"));
	words(l, " of");
	put(l, 9, ofs_top_size, ofs_top_number(m, "journal.waiting_max"));
	words(l, ", unsynced");
	put(l, 9, ofs_top_size, ofs_top_number(m, "journal.unsynced_bytes"));
}

static void draw_sealing(const struct ofs_top_model *m, struct line *l, int64_t now)
{
	double bytes = ofs_top_number(m, "sealed.bytes");
	double stored = ofs_top_number(m, "sealed.stored");

	label(l, "Sealing");
	put(l, 8, ofs_top_size, ofs_top_number(m, "unsealed.bytes"));
	words(l, " in");
	put(l, 8, ofs_top_count, ofs_top_number(m, "unsealed.files"));
	words(l, " files to seal");
	put(l, 9, ofs_top_size, ofs_top_rate(m, "sealed_bytes"));
	words(l, "/s");
	if (bytes > 0 && stored > 0)
		words(l, "  ratio %.1f to 1", bytes / stored);
}

static double tier_stored(const struct ofs_top_model *m, const char *tier)
{
	const json_t *n = json_object_get(json_object_get(m->tiers, tier), "stored_bytes");

	return !m->tiers ? -1 : json_number_value(n);
}

static void draw_storage(const struct ofs_top_model *m, struct line *l, int64_t now)
{
	static const struct {
		const char *name, *tier;
	} tiers[] = { { "working", "working" },
		      { "  long-term", "long-term" },
		      { "  archive", "archive" } };

	label(l, "Storage");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tiers); i++) {
		words(l, "%s", tiers[i].name);
		put(l, 9, ofs_top_size, tier_stored(m, tiers[i].tier));
	}
	words(l, "  free");
	put(l, 9, ofs_top_size, ofs_top_number(m, "disk.free"));
}

static void draw_tokens(const struct ofs_top_model *m, struct line *l, int64_t now)
{
	double out = ofs_top_number(m, "tokens.offloaded");
	double shown = ofs_top_number(m, "tokens.pointers"),
	       read = ofs_top_number(m, "tokens.read");
	double saved = out - shown - read;
	char text[OFS_TOP_NUMBER_SIZE];

	label(l, "Tokens");
	words(l, "kept out");
	put(l, 8, ofs_top_count, out);
	words(l, "  shown");
	put(l, 8, ofs_top_count, shown);
	words(l, "  read back");
	put(l, 8, ofs_top_count, read);
	ofs_top_count(saved < 0 ? -saved : saved, text);
	if (out > 0)
		words(l, "  saved %s%s (%.0f%%)", saved < 0 ? "-" : "", text, saved / out * 100);
}

static void draw_remote(const struct ofs_top_model *m, struct line *l, int64_t now)
{
	const json_t *remote = json_object_get(m->status, "remote");
	const char *state = json_string_value(json_object_get(remote, "state"));
	const char *error = json_string_value(json_object_get(remote, "error"));
	double lag = ofs_top_lag(m, now);

	label(l, "Remote");
	words(l, "%s", state ? state : "");
	if (lag >= 0) {
		words(l, ", behind");
		put(l, 5, ofs_top_age, lag);
	}
	words(l, ", to send");
	put(l, 9, ofs_top_size, ofs_top_number(m, "remote.pending_bytes"));
	if (error)
		words(l, ": %s", error);
}

typedef void (*line_fn)(const struct ofs_top_model *m, struct line *l, int64_t now);

/* In order. If room is short, those with the highest ranks are left out first. */
static const struct {
	line_fn draw;
	const char *part; /* of the status; without it, the line is left out */
	int rank; /* drawn if there are more rows than this */
} lines[] = {
	{ draw_requests, "calls", 0 }, { draw_caches, "cache", 4 }, { draw_journal, "journal", 3 },
	{ draw_sealing, "sealed", 2 }, { draw_storage, "disk", 5 }, { draw_tokens, "tokens", 1 },
	{ draw_remote, "remote", 6 },
};

int ofs_top_numbers_draw(const struct ofs_top_model *m, int64_t now, struct ofs_canvas *c, int row,
			 int rest)
{
	int room = OFS_MAX(c->rows - row - rest, 1);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(lines); i++) {
		struct line l = { c, row, 0 };

		if (!json_object_get(m->status, lines[i].part) || lines[i].rank >= room)
			continue;
		lines[i].draw(m, &l, now);
		row++;
	}
	return row;
}
