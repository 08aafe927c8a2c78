/* SPDX-License-Identifier: MIT */
/* The calls that use the ledger. */
#include <stdlib.h>

#include "base/clock.h"
#include "store/ledger.h"
#include "store/store_state.h"

#define NS_PER_DAY (86400 * OFS_NS_PER_S)

int ofs_store_add_to_ledger(struct ofs_store *s, const struct ofs_ledger_entry *e,
			    struct ofs_ledger_made *made, const char *rest)
{
	struct ofs_record r = {
		.type = OFS_RECORD_LEDGER,
		.dir = (uint64_t)(ofs_clock_wall() / NS_PER_DAY),
		.name = e->who,
		.from_off = e->results,
		.size = e->offloaded,
		.from = e->pointers,
		.len = e->read,
	};
	struct ofs_ledger_row *row;
	int loaded;

	if (!*e->who || strlen(e->who) > OFS_LEDGER_WHO_MAX)
		return -EINVAL;
	OFS_LOCKED(&s->lock);
	if (made->day != (int64_t)r.dir)
		*made = (struct ofs_ledger_made){ .day = (int64_t)r.dir };
	loaded = ofs_ledger_load(s, made->day, r.name, made->rows < OFS_LEDGER_ROWS_MAX, &row);
	made->rows += loaded == 1;
	if (loaded == -ENOENT) {
		r.name = rest;
		loaded = ofs_ledger_load(s, made->day, r.name, true, &row);
	}
	return loaded < 0 ? loaded : ofs_store_log(s, &r, NULL, 0);
}

/* ---- reading */

struct listing {
	struct ofs_ledger_row **rows;
	size_t n, cap;
	struct ofs_map by_id;
};

static void listing_finish(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->rows[i]);
	free(l->rows);
	ofs_map_finish(&l->by_id);
}

/* Sums only grow. */
static bool is_newer(const struct ofs_ledger_entry *a, const struct ofs_ledger_entry *b)
{
	return a->results > b->results || a->offloaded > b->offloaded ||
	       a->pointers > b->pointers || a->read > b->read;
}

/* The copy of memory is the newer one, unless a checkpoint has written later sums since. */
static int note(void *arg, int64_t id, const struct ofs_ledger_entry *e)
{
	struct listing *l = arg;
	struct ofs_ledger_row *row = ofs_map_get(&l->by_id, (uint64_t)id);

	if (!row) {
		*ofs_append(l->rows, l->n, l->cap) = ofs_ledger_make_row(id, e);
	} else if (is_newer(e, &row->entry)) {
		struct ofs_ledger_entry newer = *e;

		newer.who = row->who;
		row->entry = newer;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct ofs_ledger_entry *x = &(*(struct ofs_ledger_row *const *)a)->entry;
	const struct ofs_ledger_entry *y = &(*(struct ofs_ledger_row *const *)b)->entry;

	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	return strcmp(x->who, y->who);
}

int ofs_store_list_ledger(struct ofs_store *s, int64_t from,
			  int (*fn)(void *arg, const struct ofs_ledger_entry *e), void *arg)
{
	OFS_CLEANUP(listing_finish) struct listing l = { 0 };
	const struct ofs_ledger_entry nothing = { 0 };
	int r;

	pthread_mutex_lock(&s->lock);
	l.rows = ofs_ledger_take(s, &l.n);
	l.cap = l.n;
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < l.n; i++)
		ofs_map_put(&l.by_id, (uint64_t)l.rows[i]->id, l.rows[i]);
	r = ofs_index_list_ledger(s->index, from, note, &l);
	if (l.n)
		qsort(l.rows, l.n, sizeof(*l.rows), compare);
	for (size_t i = 0; i < l.n && r == 0; i++)
		if (l.rows[i]->entry.day >= from && is_newer(&l.rows[i]->entry, &nothing))
			r = fn(arg, &l.rows[i]->entry);
	return r;
}
