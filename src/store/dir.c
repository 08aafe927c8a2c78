/* SPDX-License-Identifier: MIT */
#include "store/dir.h"

#include <offloadfs/tree.h>

#include "codec/hash.h"

int ofs_dir_check_name(const char *name)
{
	size_t len = strlen(name);

	if (len > OFS_NAME_MAX)
		return -ENAMETOOLONG;
	if (!len || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EINVAL;
	return 0;
}

struct ofs_dir *ofs_dir_create(void)
{
	struct ofs_dir *d = ofs_alloc(sizeof(*d));

	d->listed = UINT64_MAX;
	return d;
}

void ofs_dir_destroy(struct ofs_dir *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->norder; i++)
		free(d->order[i].entry);
	ofs_dir_committed(d, UINT64_MAX);
	ofs_map_finish(&d->by_name);
	ofs_map_finish(&d->by_ino);
	free(d->order);
	free(d);
}

static uint64_t dir_hash(const char *name)
{
	return ofs_checksum(name, strlen(name), 0);
}

struct ofs_dirent *ofs_dir_find(const struct ofs_dir *d, const char *name)
{
	struct ofs_dirent *e = ofs_map_get(&d->by_name, dir_hash(name));

	while (e && strcmp(e->name, name) != 0)
		e = e->next;
	return e;
}

static void name_removed(struct ofs_dir *d, const struct ofs_dirent *e)
{
	uint64_t hash = dir_hash(e->name);
	struct ofs_dirent *head = ofs_map_remove(&d->by_name, hash), **at = &head;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	if (head)
		ofs_map_put(&d->by_name, hash, head);
}

#define SMALL 32 /* entries; so few are scanned as fast as looked up */

static void ino_added(struct ofs_dir *d, struct ofs_dirent *e)
{
	if (d->by_ino.count && !ofs_map_get(&d->by_ino, e->ino))
		ofs_map_put(&d->by_ino, e->ino, e);
}

static void ino_removed(struct ofs_dir *d, const struct ofs_dirent *e)
{
	if (ofs_map_get(&d->by_ino, e->ino) == e)
		ofs_map_remove(&d->by_ino, e->ino);
}

const struct ofs_dirent *ofs_dir_find_ino(struct ofs_dir *d, uint64_t ino)
{
	struct ofs_dirent *e;

	/* Backwards, so that the oldest entry of an inode is put last and stays. */
	if (!d->by_ino.count && d->count > SMALL)
		for (size_t i = d->norder; i > 0; i--)
			if (d->order[i - 1].entry)
				ofs_map_put(&d->by_ino, d->order[i - 1].entry->ino,
					    d->order[i - 1].entry);
	e = ofs_map_get(&d->by_ino, ino);
	for (size_t i = 0; !e && d->by_ino.count < d->count && i < d->norder; i++)
		if (d->order[i].entry && d->order[i].entry->ino == ino)
			e = d->order[i].entry;
	if (e)
		ino_added(d, e);
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
	uint64_t hash = dir_hash(name);
	struct ofs_dirent *e = ofs_alloc(sizeof(*e) + len + 1);

	e->cookie = cookie;
	e->ino = ino;
	e->epoch = epoch;
	e->type = type;
	memcpy(e->name, name, len + 1);
	e->next = ofs_map_get(&d->by_name, hash);
	ofs_map_put(&d->by_name, hash, e);
	*ofs_append(d->order, d->norder, d->cap_order) = (struct ofs_dir_slot){ cookie, e };
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

int ofs_dir_sort(struct ofs_dir *d)
{
	if (d->norder)
		qsort(d->order, d->norder, sizeof(*d->order), slot_compare);
	for (size_t i = 0; i < d->norder; i++)
		if (d->order[i].cookie <= (i ? d->order[i - 1].cookie : 0) ||
		    d->order[i].cookie > INT64_MAX)
			return -EUCLEAN;
	return 0;
}

size_t ofs_dir_seek(const struct ofs_dir *d, uint64_t cookie)
{
	return OFS_BISECT(i, d->norder, d->order[i].cookie <= cookie);
}

void ofs_dir_begin(struct ofs_dir *d)
{
	d->listed = d->norder ? d->order[d->norder - 1].cookie : 0;
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
	name_removed(d, e);
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
