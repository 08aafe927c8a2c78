/* SPDX-License-Identifier: MIT */
#include "pack/pack_use.h"

#include "base/map.h"
#include "base/thread.h"

/* The parts of one pack. */
struct parts {
	size_t n;
	uint64_t *last;
};

struct ofs_pack_use {
	pthread_mutex_t lock; /* guards what follows */
	struct ofs_map packs; /* number -> struct parts */
	uint64_t clock;
};

struct ofs_pack_use *ofs_pack_use_create(void)
{
	struct ofs_pack_use *u = ofs_alloc(sizeof(*u));

	pthread_mutex_init(&u->lock, NULL);
	return u;
}

static void parts_free(struct parts *p)
{
	if (p)
		free(p->last);
	free(p);
}

void ofs_pack_use_destroy(struct ofs_pack_use *u)
{
	struct parts *p;
	size_t pos = 0;

	if (!u)
		return;
	while ((p = ofs_map_next(&u->packs, &pos)))
		parts_free(p);
	ofs_map_finish(&u->packs);
	pthread_mutex_destroy(&u->lock);
	free(u);
}

void ofs_pack_use_note(struct ofs_pack_use *u, uint32_t pack, uint64_t off)
{
	size_t i = off / OFS_PACK_PART, n;
	struct parts *p;

	OFS_LOCKED(&u->lock);
	p = ofs_map_get(&u->packs, pack);
	if (!p) {
		p = ofs_alloc(sizeof(*p));
		ofs_map_put(&u->packs, pack, p);
	}
	if (i >= p->n) {
		n = OFS_MAX(i + 1, 2 * p->n);
		p->last = ofs_realloc(p->last, n, sizeof(*p->last));
		memset(p->last + p->n, 0, (n - p->n) * sizeof(*p->last));
		p->n = n;
	}
	p->last[i] = ++u->clock;
}

uint64_t ofs_pack_use_last(struct ofs_pack_use *u, uint32_t pack, uint64_t off)
{
	size_t i = off / OFS_PACK_PART;
	const struct parts *p;

	OFS_LOCKED(&u->lock);
	p = ofs_map_get(&u->packs, pack);
	return p && i < p->n ? p->last[i] : 0;
}

void ofs_pack_use_forget(struct ofs_pack_use *u, uint32_t pack)
{
	OFS_LOCKED(&u->lock);

	parts_free(ofs_map_remove(&u->packs, pack));
}
