/* SPDX-License-Identifier: MIT */
/*
 * What is kept of files that were removed so that something is: in memory until the checkpoint that
 * puts it into the index is committed, then there alone.
 */
#include "store/tombstone.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/util.h"
#include "store/store.h"
#include "store/store_state.h"
#include <pthread.h>

void ofs_tombstone_add(struct ofs_store *s, uint64_t ino, int64_t time, const void *what,
		       size_t len)
{
	struct ofs_tombstone *t = ofs_alloc(sizeof(*t) + len);

	t->ino = ino;
	t->removed = ofs_seconds(time);
	t->len = len;
	if (len)
		memcpy(t->what, what, len);
	ofs_map_put(&s->tombstones, ino, t);
	s->counts.tombstones++;
}

size_t ofs_tombstones_take(struct ofs_store *s, const struct ofs_tombstone ***ret)
{
	const struct ofs_tombstone **list, *t;
	size_t n = 0, pos = 0;

	if (!s->tombstones.count)
		return 0;
	list = ofs_realloc(NULL, s->tombstones.count, sizeof(*list));
	while ((t = ofs_map_next(&s->tombstones, &pos)))
		list[n++] = t;
	*ret = list;
	return n;
}

/* After a burst the map is not looked through for ever. */
static void shrink(struct ofs_store *s)
{
	if (!s->tombstones.count)
		ofs_map_finish(&s->tombstones);
}

void ofs_tombstones_committed(struct ofs_store *s, const struct ofs_tombstone *const *list,
			      size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(ofs_map_remove(&s->tombstones, list[i]->ino));
	shrink(s);
}

void ofs_tombstones_finish(struct ofs_store *s)
{
	struct ofs_tombstone *t;
	size_t pos = 0;

	while ((t = ofs_map_next(&s->tombstones, &pos)))
		free(t);
	ofs_map_finish(&s->tombstones);
}

int ofs_store_get_tombstone(struct ofs_store *s, uint64_t ino, struct ofs_buf *ret_what,
			    int64_t *ret_removed)
{
	const struct ofs_tombstone *t;
	int64_t removed = 0;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	t = ofs_map_get(&s->tombstones, ino);
	if (t) {
		removed = t->removed;
		ofs_buf_append(ret_what, t->what, t->len);
	}
	pthread_mutex_unlock(&s->lock);
	/* It leaves memory only once it is in the index. */
	if (!t)
		r = ofs_index_get_tombstone(s->index, ino, ret_what, &removed);
	if (r == 0)
		*ret_removed = removed * OFS_NS_PER_S;
	return r;
}

static int drop_from_index(struct ofs_store *s, int64_t removed, uint64_t *ret_n)
{
	struct ofs_index_meta meta;
	int r;

	r = ofs_index_get_meta(s->index, &meta);
	if (r < 0 || !meta.counts.tombstones)
		return r;
	r = ofs_index_begin(s->index);
	if (r < 0)
		return r;
	r = ofs_index_delete_tombstones(s->index, removed, ret_n);
	if (r == 0 && !*ret_n) {
		ofs_index_rollback(s->index);
		return 0;
	}
	meta.counts.tombstones -= *ret_n;
	if (r == 0)
		r = ofs_index_put_meta(s->index, &meta);
	return ofs_index_end(s->index, r);
}

/* `lock` held. Where its record is replayed, one of these comes back until it is dropped again. */
static void drop_from_memory(struct ofs_store *s, int64_t removed)
{
	const struct ofs_tombstone **list = NULL;
	size_t n = ofs_tombstones_take(s, &list), i;

	for (i = 0; i < n; i++)
		if (list[i]->removed < removed) {
			free(ofs_map_remove(&s->tombstones, list[i]->ino));
			s->counts.tombstones--;
		}
	free(list);
	shrink(s);
}

int ofs_store_drop_tombstones(struct ofs_store *s, int64_t before)
{
	int64_t removed = ofs_seconds(before);
	uint64_t n = 0;
	int r;

	/* With `cycle` held no checkpoint has any of them in its hands. */
	pthread_mutex_lock(&s->cycle);
	r = s->broken ? -EIO : drop_from_index(s, removed, &n);
	if (r == 0) {
		pthread_mutex_lock(&s->lock);
		s->counts.tombstones -= n;
		drop_from_memory(s, removed);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&s->cycle);
	return r;
}
