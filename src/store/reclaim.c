/* SPDX-License-Identifier: MIT */
/*
 * Gives back what no map names any more: journal segments, on a full disk also the dead parts of
 * segments, and frames of the packs.
 *
 * Order, and what would break otherwise:
 *   1. the index commits durably, and its WAL is emptied into the database, before anything is
 *      removed (else: the state that a power failure brings back, or a damaged WAL that is read up
 *      to the damage, names content that is gone)
 *   2. the journal is synced before parts of it that memory no longer needs are removed (else: the
 *      index that a power failure brings back still names drafts whose removal is in records that
 *      are lost)
 *   3. space is given back while nobody holds `reclaim` (else: a reader that knows the place gets
 *      what is there afterwards)
 */
#include "store/cycle.h"

#include "store/store_state.h"

/* A segment that nothing needs is replaced once it has this size, whatever room it has left. */
#define SEGMENT_LEFTOVER (UINT64_C(256) << 10)
#define SEGMENT_LEFTOVER_IDLE 1 /* when nothing else happens */
#define HELD_SEGMENTS 64

struct span {
	ofs_lsn from, to;
};

static int span_compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Returns the parts of the journal that drafts read, in order; `lock` held. */
static struct span *draft_spans(struct ofs_store *s, size_t *ret_n)
{
	struct span *list = NULL;
	size_t cap = 0, n = 0, i, k;

	for (i = 0; i < s->drafts.n; i++) {
		const struct ofs_content_map *c = &s->drafts.list[i]->content;

		for (k = 0; k < c->nextents; k++) {
			const struct ofs_journal_data *d = &c->extents[k].data;

			if (d->pos <= OFS_LOST_POS)
				continue;
			/* A record's data is always read as a whole, to check it. */
			*ofs_append(list, n, cap) =
				(struct span){ d->pos - OFS_JOURNAL_SUM, d->pos + d->len };
		}
	}
	if (n)
		qsort(list, n, sizeof(*list), span_compare);
	*ret_n = n;
	return list;
}

/* On a full disk: punches what lies between drafts, up to `reached`. */
static int punch_journal(struct ofs_store *s, ofs_lsn reached)
{
	OFS_FREE struct span *live = NULL;
	ofs_lsn from = ofs_journal_begin(s->journal);
	size_t n, i;
	int r = ofs_index_checkpoint(s->index);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	live = draft_spans(s, &n);
	pthread_mutex_unlock(&s->lock);
	r = ofs_journal_sync(s->journal);
	if (r < 0)
		return r;
	pthread_rwlock_wrlock(&s->reclaim);
	for (i = 0; i <= n && r == 0 && from < reached; i++) {
		ofs_lsn to = i < n ? OFS_MIN(live[i].from, reached) : reached;

		if (to > from)
			r = ofs_journal_punch(s->journal, from, to);
		from = i < n ? OFS_MAX(from, live[i].to) : reached;
	}
	pthread_rwlock_unlock(&s->reclaim);
	return r;
}

/*
 * Returns the position from which the log is kept for somebody else. If that is too much, it is not
 * kept any more, and whoever wanted it finds it gone. `lock` held.
 */
static ofs_lsn held_from(struct ofs_store *s, ofs_lsn keep)
{
	if (s->log_held < keep && (s->reserve.tight || keep - s->log_held > s->log_held_max))
		s->log_held = UINT64_MAX;
	return s->log_held;
}

int ofs_store_trim(struct ofs_store *s, bool idle)
{
	uint64_t leftover = idle ? SEGMENT_LEFTOVER_IDLE : SEGMENT_LEFTOVER;
	struct ofs_index_meta meta;
	ofs_lsn keep;
	bool trim;
	int r = ofs_index_get_meta(s->index, &meta);

	if (r < 0)
		return r;
	keep = meta.checkpoint;
	pthread_rwlock_wrlock(&s->reclaim);
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->drafts.n; i++)
		keep = OFS_MIN(keep, ofs_content_map_oldest(&s->drafts.list[i]->content));
	s->log_needed = keep;
	keep = OFS_MIN(keep, held_from(s, keep));
	/* Segments are open files, so those that are held must not become many. */
	if (keep < s->log_needed)
		leftover = OFS_MIN(s->log_held_max / HELD_SEGMENTS, s->journal_max / 4);
	pthread_mutex_unlock(&s->lock);
	if (s->log_needed == meta.checkpoint && ofs_journal_end(s->journal) == s->log_needed)
		r = ofs_journal_rotate(s->journal, leftover);
	/* No room for a new segment: the dead parts of the old one are punched below. */
	if (ofs_store_is_full(r) && s->reserve.tight)
		r = 0;
	trim = r == 0 && ofs_journal_can_trim(s->journal, keep);
	pthread_rwlock_unlock(&s->reclaim);
	if (r == 0 && s->reserve.tight)
		r = punch_journal(s, meta.checkpoint);
	if (!trim)
		return r;
	r = ofs_journal_sync(s->journal);
	if (r == 0)
		r = ofs_index_checkpoint(s->index);
	if (r < 0)
		return r;
	pthread_rwlock_wrlock(&s->reclaim);
	ofs_journal_trim(s->journal, keep);
	pthread_rwlock_unlock(&s->reclaim);
	return ofs_journal_sweep(s->journal);
}

#define DEAD_MAX 256

struct dead_list {
	struct ofs_index_dead list[DEAD_MAX];
	size_t n;
};

static int note_dead(void *arg, const struct ofs_index_dead *d)
{
	struct dead_list *l = arg;

	l->list[l->n++] = *d;
	return 0;
}

/* Punches a dead range. A pack without a live frame is removed, unless it is the one written to. */
static int reclaim_one(struct ofs_store *s, const struct ofs_index_dead *d)
{
	uint32_t tail;
	uint64_t size;

	ofs_packset_tail(s->packs, &tail, &size);
	if (d->whole && d->pack != tail)
		return ofs_packset_remove(s->packs, d->pack);
	return ofs_packset_punch(s->packs, d->pack, d->off, d->len);
}

static int reclaim_some(struct ofs_store *s, struct dead_list *dead)
{
	int r = 0;

	pthread_rwlock_wrlock(&s->reclaim);
	for (size_t i = 0; i < dead->n && r == 0; i++)
		r = reclaim_one(s, &dead->list[i]);
	pthread_rwlock_unlock(&s->reclaim);
	if (r < 0)
		return r;
	r = ofs_index_begin(s->index);
	if (r < 0)
		return r;
	for (size_t i = 0; i < dead->n && r == 0; i++)
		r = ofs_index_delete_dead(s->index, &dead->list[i]);
	return ofs_index_end(s->index, r);
}

/*
 * Does nothing between the commit of new frames and the checkpoint that refers to them: until then
 * the index has no reference to them, though memory may have installed them.
 */
int ofs_store_reclaim(struct ofs_store *s)
{
	struct ofs_index_meta meta;
	struct dead_list dead;
	bool emptied = false;
	int r = ofs_index_get_meta(s->index, &meta);

	if (r < 0 || meta.unused_from || s->strays)
		return r;
	if (s->pins && !s->reserve.tight)
		return 0;
	do {
		dead.n = 0;
		r = ofs_index_list_dead(s->index, OFS_PACK_HEADER, DEAD_MAX, note_dead, &dead);
		if (r == 0 && dead.n && !emptied)
			r = ofs_index_checkpoint(s->index);
		emptied = true;
		if (r == 0 && dead.n)
			r = reclaim_some(s, &dead);
	} while (r == 0 && dead.n == DEAD_MAX);
	return r;
}
