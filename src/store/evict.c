/* SPDX-License-Identifier: MIT */
/*
 * Keeps less on this disk than the store holds: frames that are also in an object of the remote are
 * punched out of the packs, least recently used first.
 */
#include "store/cycle.h"

#include "pack/frame.h"
#include "pack/pack_use.h"
#include "store/read.h"
#include "store/replication.h"
#include "store/store_state.h"

#define LOOKED_AFTER 8 /* parts emptied between two measurements of the disk */

struct part {
	uint32_t pack;
	uint64_t off;
	uint64_t used;
};

struct part_list {
	struct part *at;
	size_t n, cap;
};

static int note_part(void *arg, uint32_t pack, uint64_t off, uint64_t used)
{
	struct part_list *l = arg;

	*ofs_append(l->at, l->n, l->cap) = (struct part){ pack, off, used };
	return 0;
}

static int part_compare(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->used != y->used)
		return x->used < y->used ? -1 : 1;
	if (x->pack != y->pack)
		return x->pack < y->pack ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

struct frame_list {
	struct ofs_index_frame *at;
	size_t n, cap;
};

static int note_frame(void *arg, const struct ofs_index_frame *f)
{
	struct frame_list *l = arg;

	*ofs_append(l->at, l->n, l->cap) = *f;
	return 0;
}

/* 1: an object with an id up to `durable` has the frame; 0: none has; or -errno. */
static int is_elsewhere(struct ofs_store *s, const struct ofs_index_frame *f, uint64_t durable)
{
	struct ofs_index_object object;
	struct ofs_index_extent e;
	int r = ofs_index_find_extent(s->index, f->pack, f->off, &e, &object);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return object.id <= durable && e.off + e.len - f->off >= f->stored;
}

/* Punches the frames that begin in the part and are elsewhere; adds their bytes to *freed. */
static int evict_part(struct ofs_store *s, const struct part *p, uint64_t durable, uint64_t *freed)
{
	struct frame_list l = { 0 };
	uint64_t off = 0, end = 0; /* of the run of frames to punch next */
	int r = ofs_index_list_frames_at(s->index, p->pack, p->off, p->off + OFS_PACK_PART,
					 note_frame, &l);

	for (size_t i = 0; i <= l.n && r == 0; i++) {
		int go = i < l.n ? is_elsewhere(s, &l.at[i], durable) : 0;

		if (go < 0)
			r = go;
		if (go > 0 && end == l.at[i].off) {
			end += l.at[i].stored;
			continue;
		}
		if (r == 0 && off < end) {
			pthread_rwlock_wrlock(&s->reclaim);
			r = ofs_packset_punch(s->packs, p->pack, off, end - off);
			pthread_rwlock_unlock(&s->reclaim);
			*freed += end - off;
		}
		off = go > 0 ? l.at[i].off : 0;
		end = go > 0 ? off + l.at[i].stored : 0;
	}
	free(l.at);
	return r;
}

/*
 * Punches all of a part of a follower: everything in it is elsewhere, and its dead frames are no
 * longer in the index. A frame that begins before the part stays; one that ends after it goes as a
 * whole.
 */
static int empty_part(struct ofs_store *s, const struct part *p)
{
	uint64_t from = p->off, to = p->off + OFS_PACK_PART;
	struct frame_list l = { 0 };
	int r = ofs_index_list_frames_at(s->index, p->pack,
					 from - OFS_MIN(from, (uint64_t)OFS_FRAME_STORED_MAX), to,
					 note_frame, &l);

	for (size_t i = 0; i < l.n; i++) {
		uint64_t end = l.at[i].off + l.at[i].stored;

		if (l.at[i].off < p->off)
			from = OFS_MAX(from, end);
		else
			to = OFS_MAX(to, end);
	}
	free(l.at);
	if (r < 0 || from >= to)
		return r;
	pthread_rwlock_wrlock(&s->reclaim);
	r = ofs_packset_punch(s->packs, p->pack, from, to - from);
	pthread_rwlock_unlock(&s->reclaim);
	return r;
}

/* Empties parts until `keep` bytes are left, measuring the disk: nobody knows what a part held. */
static int empty_parts(struct ofs_store *s, const struct part_list *l, uint64_t keep,
		       uint64_t *used)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0 && *used > keep; i++) {
		r = empty_part(s, &l->at[i]);
		if (r == 0 && (i % LOOKED_AFTER == LOOKED_AFTER - 1 || i + 1 == l->n))
			r = ofs_packset_disk_usage(s->packs, used);
	}
	return r;
}

/* *used: the bytes that packs take on disk, before and after. */
static int evict(struct ofs_store *s, uint64_t keep, uint64_t durable, uint64_t *used)
{
	struct part_list l = { 0 };
	uint64_t freed = 0;
	int r = ofs_packset_list_parts(s->packs, note_part, &l);

	if (l.n)
		qsort(l.at, l.n, sizeof(*l.at), part_compare);
	if (r == 0 && s->follow)
		r = empty_parts(s, &l, keep, used);
	for (size_t i = 0; i < l.n && r == 0 && *used > keep && !s->follow; i++) {
		r = evict_part(s, &l.at[i], durable, &freed);
		/* Some of it may have been punched before, or be less than a block. */
		if (r == 0 && freed && (i + 1 == l.n || *used - OFS_MIN(freed, *used) <= keep)) {
			r = ofs_packset_disk_usage(s->packs, used);
			freed = 0;
		}
	}
	free(l.at);
	return r;
}

int ofs_store_evict_frames(struct ofs_store *s, uint64_t keep, uint64_t durable, uint64_t *ret_left)
{
	uint64_t used = 0;
	bool mine = pthread_mutex_lock(&s->cycle) == EDEADLK;
	int r = ofs_packset_disk_usage(s->packs, &used);

	if (r == 0 && used > keep)
		r = evict(s, keep, durable, &used);
	if (!mine)
		pthread_mutex_unlock(&s->cycle);
	*ret_left = used;
	return r;
}
