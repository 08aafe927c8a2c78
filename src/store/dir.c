/* SPDX-License-Identifier: MIT */
#include "store/dir.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/util.h"
#include "codec/hash.h"

struct ofs_dir *ofs_dir_create(void)
{
	return ofs_alloc(sizeof(struct ofs_dir));
}

void ofs_dir_destroy(struct ofs_dir *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->norder; i++)
		free(d->order[i].entry);
	ofs_dir_committed(d, UINT64_MAX);
	ofs_map_finish(&d->by_ino);
	free(d->order);
	free(d->table);
	free(d);
}

static uint32_t dir_hash(const char *name)
{
	return (uint32_t)ofs_checksum(name, strlen(name), 0);
}

struct ofs_dirent *ofs_dir_find(const struct ofs_dir *d, const char *name)
{
	uint32_t hash = dir_hash(name);
	size_t i;

	if (!d->table)
		return NULL;
	for (i = hash & d->mask; d->table[i]; i = (i + 1) & d->mask)
		if (d->table[i]->hash == hash && strcmp(d->table[i]->name, name) == 0)
			return d->table[i];
	return NULL;
}

static void dir_table_put(struct ofs_dir *d, struct ofs_dirent *e)
{
	size_t i = e->hash & d->mask;

	while (d->table[i])
		i = (i + 1) & d->mask;
	d->table[i] = e;
}

static void dir_table_grow(struct ofs_dir *d)
{
	size_t i;

	if (d->table && (d->count + 1) * 4 <= (d->mask + 1) * 3)
		return;
	free(d->table);
	d->mask = d->mask ? d->mask * 2 + 1 : 7;
	d->table = ofs_alloc((d->mask + 1) * sizeof(*d->table));
	for (i = 0; i < d->norder; i++)
		if (d->order[i].entry)
			dir_table_put(d, d->order[i].entry);
}

static void dir_table_remove(struct ofs_dir *d, const struct ofs_dirent *e)
{
	size_t i = e->hash & d->mask, j;

	while (d->table[i] != e)
		i = (i + 1) & d->mask;
	for (j = (i + 1) & d->mask; d->table[j]; j = (j + 1) & d->mask) {
		size_t home = d->table[j]->hash & d->mask;

		/* Slot j may move to i unless its home lies cyclically in (i, j]. */
		if (i <= j ? (home <= i || home > j) : (home <= i && home > j)) {
			d->table[i] = d->table[j];
			i = j;
		}
	}
	d->table[i] = NULL;
}

/* ---- by inode */

#define SMALL 32 /* entries, which are looked through as fast */

/* In the place of an entry in `by_ino`: there may be one, or none. */
static struct ofs_dirent look_again;

static void ino_put(struct ofs_dir *d, uint64_t ino, struct ofs_dirent *e)
{
	ofs_map_put(&d->by_ino, ino, e);
}

static void ino_added(struct ofs_dir *d, struct ofs_dirent *e)
{
	struct ofs_dirent *had;

	if (!d->by_ino.count)
		return;
	had = ofs_map_get(&d->by_ino, e->ino);
	if (!had || had == &look_again)
		ino_put(d, e->ino, e);
}

static void ino_removed(struct ofs_dir *d, const struct ofs_dirent *e)
{
	if (ofs_map_get(&d->by_ino, e->ino) == e)
		ino_put(d, e->ino, &look_again);
	/* What is left of removed inodes. */
	if (d->by_ino.count > 2 * d->count + SMALL)
		ofs_map_finish(&d->by_ino);
}

static struct ofs_dirent *ino_scan(const struct ofs_dir *d, uint64_t ino)
{
	size_t i;

	for (i = 0; i < d->norder; i++)
		if (d->order[i].entry && d->order[i].entry->ino == ino)
			return d->order[i].entry;
	return NULL;
}

const struct ofs_dirent *ofs_dir_find_ino(struct ofs_dir *d, uint64_t ino)
{
	struct ofs_dirent *e;
	size_t i;

	if (!d->by_ino.count) {
		if (d->count <= SMALL)
			return ino_scan(d, ino);
		/* The oldest entry of an inode comes last, and stays. */
		for (i = d->norder; i > 0; i--)
			if (d->order[i - 1].entry)
				ino_put(d, d->order[i - 1].entry->ino, d->order[i - 1].entry);
	}
	e = ofs_map_get(&d->by_ino, ino);
	if (e != &look_again)
		return e;
	e = ino_scan(d, ino);
	if (e)
		ino_put(d, ino, e);
	else
		ofs_map_remove(&d->by_ino, ino);
	return e;
}

void ofs_dir_change(struct ofs_dir *d, struct ofs_dirent *e, uint64_t ino, uint8_t type,
		    uint64_t epoch)
{
	ino_removed(d, e);
	e->ino = ino;
	e->type = type;
	e->epoch = d->epoch = epoch;
	ino_added(d, e);
}

/* ---- adding and removing */

void ofs_dir_add(struct ofs_dir *d, const char *name, uint64_t ino, uint8_t type, uint64_t cookie,
		 uint64_t epoch)
{
	size_t len = strlen(name);
	struct ofs_dirent *e = ofs_alloc(sizeof(*e) + len + 1);

	e->cookie = cookie;
	e->ino = ino;
	e->epoch = epoch;
	e->hash = dir_hash(name);
	e->type = type;
	memcpy(e->name, name, len + 1);
	dir_table_grow(d);
	dir_table_put(d, e);
	d->order = ofs_grow(d->order, &d->cap_order, d->norder + 1, sizeof(*d->order));
	d->order[d->norder++] = (struct ofs_dir_slot){ cookie, e };
	d->count++;
	ino_added(d, e);
	if (epoch > d->epoch)
		d->epoch = epoch;
}

static int slot_compare(const void *a, const void *b)
{
	const struct ofs_dir_slot *x = a, *y = b;

	return x->cookie < y->cookie ? -1 : x->cookie > y->cookie;
}

void ofs_dir_sort(struct ofs_dir *d)
{
	if (d->norder)
		qsort(d->order, d->norder, sizeof(*d->order), slot_compare);
}

size_t ofs_dir_seek(const struct ofs_dir *d, uint64_t cookie)
{
	size_t lo = 0, hi = d->norder;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->order[mid].cookie <= cookie)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void dir_order_compact(struct ofs_dir *d)
{
	size_t i, n = 0;

	if (d->norder < 16 || d->count * 2 > d->norder)
		return;
	for (i = 0; i < d->norder; i++)
		if (d->order[i].entry)
			d->order[n++] = d->order[i];
	d->norder = n;
}

void ofs_dir_remove(struct ofs_dir *d, struct ofs_dirent *e, uint64_t epoch)
{
	size_t len = strlen(e->name);
	struct ofs_removed *r = ofs_alloc(sizeof(*r) + len + 1);

	r->epoch = epoch;
	memcpy(r->name, e->name, len + 1);
	r->next = d->removed;
	d->removed = r;
	d->epoch = epoch;
	dir_table_remove(d, e);
	d->order[ofs_dir_seek(d, e->cookie - 1)].entry = NULL;
	d->count--;
	ino_removed(d, e);
	free(e);
	dir_order_compact(d);
}

void ofs_dir_committed(struct ofs_dir *d, uint64_t epoch)
{
	struct ofs_removed **at = &d->removed;

	while (*at) {
		struct ofs_removed *r = *at;

		if (r->epoch > epoch) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		free(r);
	}
}
