/* SPDX-License-Identifier: MIT */
#include "store/ledger.h"

#include "codec/hash.h"
#include "store/store_state.h"

struct ofs_ledger_row *ofs_ledger_make_row(int64_t id, const struct ofs_ledger_entry *e)
{
	size_t len = strlen(e->who);
	struct ofs_ledger_row *row = ofs_alloc(sizeof(*row) + len + 1);

	row->id = id;
	row->entry = *e;
	memcpy(row->who, e->who, len);
	row->entry.who = row->who;
	return row;
}

int ofs_ledger_load(struct ofs_store *s, int64_t day, const char *who, bool may_make,
		    struct ofs_ledger_row **ret)
{
	struct ofs_ledger_entry e = { .day = day, .who = who };
	int64_t id = (int64_t)ofs_checksum(who, strlen(who), (uint64_t)day);
	int r = 0;

	*ret = ofs_map_get(&s->ledger, (uint64_t)id);
	if (*ret)
		return 0;
	r = ofs_index_get_ledger(s->index, id, &e);
	if (r < 0 && (r != -ENOENT || !may_make))
		return r;
	*ret = ofs_ledger_make_row(id, &e);
	ofs_map_put(&s->ledger, (uint64_t)id, *ret);
	return r == -ENOENT;
}

void ofs_ledger_apply(struct ofs_store *s, struct ofs_ledger_row *row, const struct ofs_record *r)
{
	const struct ofs_ledger_entry e = {
		.results = r->from_off, .offloaded = r->size, .pointers = r->from, .read = r->len
	};

	ofs_ledger_entry_add(&row->entry, &e);
	row->epoch = s->epoch;
	ofs_store_dirtied(s);
}

/* ---- checkpoints */

struct ofs_ledger_row **ofs_ledger_take(struct ofs_store *s, size_t *ret_n)
{
	struct ofs_ledger_row **rows = ofs_alloc((s->ledger.count + 1) * sizeof(*rows));
	const struct ofs_ledger_row *row;
	size_t pos = 0, n = 0;

	while ((row = ofs_map_next(&s->ledger, &pos))) {
		rows[n] = ofs_ledger_make_row(row->id, &row->entry);
		rows[n++]->epoch = row->epoch;
	}
	*ret_n = n;
	return rows;
}

void ofs_ledger_forget(struct ofs_store *s, int64_t id, uint64_t epoch)
{
	const struct ofs_ledger_row *row = ofs_map_get(&s->ledger, (uint64_t)id);

	if (row && row->epoch <= epoch)
		free(ofs_map_remove(&s->ledger, (uint64_t)id));
}

void ofs_ledger_finish(struct ofs_store *s)
{
	struct ofs_ledger_row *row;
	size_t pos = 0;

	while ((row = ofs_map_next(&s->ledger, &pos)))
		free(row);
	ofs_map_finish(&s->ledger);
}
