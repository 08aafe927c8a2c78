/* SPDX-License-Identifier: MIT */
#include "store/away.h"

#include "base/log.h"
#include "pack/frame.h"
#include "pack/frame_buffer.h"
#include "store/store_state.h"

/* Bytes requested at once: the least, and the most, for frames that are read in sequence. */
#define BRING_MIN (UINT64_C(256) << 10)
#define BRING_MAX (UINT64_C(8) << 20)
#define BLOCK 4096u /* assumed block size of the disk */

void ofs_away_init(struct ofs_away *a)
{
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->brought, NULL);
}

void ofs_away_finish(struct ofs_away *a)
{
	free(a->late);
	pthread_cond_destroy(&a->brought);
	pthread_mutex_destroy(&a->lock);
}

int ofs_away_find(struct ofs_store *s, uint32_t pack, uint64_t off, struct ofs_index_extent *ret,
		  struct ofs_index_object *ret_object)
{
	struct ofs_away *a = &s->away;
	int r = ofs_index_find_extent(s->index, pack, off, ret, ret_object);

	if (r != -ENOENT || !s->follow)
		return r;
	OFS_LOCKED(&a->lock);
	for (size_t i = 0; i < a->nlate; i++) {
		const struct ofs_index_extent *e = &a->late[i].extent;

		if (e->pack != pack || off < e->off || off - e->off >= e->len)
			continue;
		*ret = *e;
		*ret_object = a->late[i].object;
		return 0;
	}
	return r;
}

void ofs_away_add(struct ofs_store *s, const struct ofs_index_object *object,
		  const struct ofs_index_extent *extents, size_t n)
{
	struct ofs_away *a = &s->away;

	OFS_LOCKED(&a->lock);
	for (size_t i = 0; i < n; i++)
		*ofs_append(a->late, a->nlate, a->cap_late) =
			(struct ofs_away_extent){ *object, extents[i] };
}

void ofs_away_settle(struct ofs_store *s)
{
	struct ofs_away *a = &s->away;
	struct ofs_index_object object;
	struct ofs_index_extent e;
	size_t n = 0;

	OFS_LOCKED(&a->lock);
	for (size_t i = 0; i < a->nlate; i++) {
		const struct ofs_index_extent *late = &a->late[i].extent;

		if (ofs_index_find_extent(s->index, late->pack, late->off, &e, &object) < 0)
			a->late[n++] = a->late[i];
	}
	a->nlate = n;
}

/* How much to bring from the frame on: twice the last amount if that was read to its end. */
static uint64_t plan(struct ofs_away *a, const struct ofs_frame_loc *loc)
{
	uint64_t len = BRING_MIN;

	for (unsigned int i = 0; i < OFS_AWAY_STREAMS; i++) {
		struct ofs_away_range *s = &a->stream[i];

		if (s->pack == loc->pack && loc->off >= s->off &&
		    loc->off - s->end + BRING_MIN <= 2 * BRING_MIN) {
			len = OFS_MIN(2 * (s->end - s->off), BRING_MAX);
			s->pack = 0;
		}
	}
	return OFS_MAX(len, loc->stored);
}

/*
 * Returns a free place for the range once nobody is bringing its first frame; NULL: somebody else
 * has brought it. a->lock is held.
 */
static struct ofs_away_range *take_turn(struct ofs_away *a, const struct ofs_frame_loc *loc)
{
	bool waited = false;

	for (;;) {
		struct ofs_away_range *free_one = NULL;
		bool same = false;

		for (unsigned int i = 0; i < OFS_AWAY_BUSY; i++) {
			struct ofs_away_range *b = &a->busy[i];

			if (!b->pack)
				free_one = b;
			else if (b->pack == loc->pack && loc->off >= b->off && loc->off < b->end)
				same = true;
		}
		if (waited && !same)
			return NULL;
		if (free_one && !same)
			return free_one;
		waited = waited || same;
		pthread_cond_wait(&a->brought, &a->lock);
	}
}

/* The length of the sound frames at the start of `bytes`; 0: the first of them is not `loc`. */
static size_t sound_frames(const struct ofs_frame_loc *loc, const uint8_t *bytes, size_t len)
{
	struct ofs_frame_info info;
	uint8_t *content;
	size_t end = 0;

	while (end < len && ofs_frame_decode(bytes + end, len - end, loc->pack, loc->off + end,
					     &info, &content) == 0) {
		ofs_frame_buffer_put(content, info.raw);
		if (!end && info.stored != loc->stored)
			break;
		end += info.stored;
	}
	return end;
}

/*
 * Writes the frames back, except those that have died: their space may have been given back, or
 * their pack removed. `reclaim` keeps readers out, who would find half of a frame.
 */
static int put_back(struct ofs_store *s, const struct ofs_frame_loc *loc, const uint8_t *bytes,
		    size_t len)
{
	struct ofs_frame_info info = { .stored = 0 };
	int r = 0;

	pthread_rwlock_wrlock(&s->reclaim);
	for (size_t at = 0; at < len && r >= 0; at += info.stored) {
		uint64_t off = loc->off + at;

		r = ofs_frame_parse_head(bytes + at, len - at, loc->pack, off, &info);
		/* A follower writes nothing else into packs. */
		if (r == 0)
			r = s->follow ? 1 : ofs_index_has_frame(s->index, loc->pack, off);
		if (r > 0)
			r = ofs_packset_put_back(s->packs, loc->pack, off, bytes + at, info.stored);
	}
	pthread_rwlock_unlock(&s->reclaim);
	return r;
}

/*
 * The number of bytes to request: up to the next data that is here, plus a block, since the last
 * frame before that may end within its first block.
 */
static size_t clip(struct ofs_store *s, const struct ofs_frame_loc *loc, uint64_t end)
{
	uint64_t here = ofs_packset_next_data(s->packs, loc->pack, loc->off + loc->stored);

	return (size_t)(OFS_MIN(end, here < end ? here + BLOCK : end) - loc->off);
}

/* Brings as many sound frames of the range as it can, and sets its end accordingly. */
static int bring(struct ofs_store *s, const struct ofs_frame_loc *loc, struct ofs_away_range *range)
{
	OFS_FREE uint8_t *bytes = NULL;
	struct ofs_index_object object;
	struct ofs_index_extent e;
	size_t len;
	int r = ofs_away_find(s, loc->pack, loc->off, &e, &object);

	if (r < 0)
		return r;
	len = clip(s, loc, OFS_MIN(range->end, e.off + e.len));
	if (len < loc->stored)
		return -EUCLEAN;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	r = s->away.get(s->away.arg, &object, e.at + (loc->off - e.off), bytes, len);
	if (r < 0)
		return r;
	/* A partial frame would be taken for a damaged one. */
	len = sound_frames(loc, bytes, len);
	if (!len)
		return -EUCLEAN;
	range->end = loc->off + len;
	return put_back(s, loc, bytes, len);
}

/* Brings the frame or, with `ahead`, also those after it, or waits until somebody else has. */
static int bring_in_turn(struct ofs_store *s, const struct ofs_frame_loc *loc, bool ahead)
{
	struct ofs_away *a = &s->away;
	struct ofs_away_range range, *mine;
	int r;

	pthread_mutex_lock(&a->lock);
	mine = take_turn(a, loc);
	if (mine)
		*mine = range =
			(struct ofs_away_range){ loc->pack, loc->off,
						 loc->off + (ahead ? plan(a, loc) : loc->stored) };
	pthread_mutex_unlock(&a->lock);
	if (!mine)
		return 0;
	r = bring(s, loc, &range);
	pthread_mutex_lock(&a->lock);
	if (r == 0 && ahead)
		a->stream[a->next_stream++ % OFS_AWAY_STREAMS] = range;
	mine->pack = 0;
	pthread_cond_broadcast(&a->brought);
	pthread_mutex_unlock(&a->lock);
	if (r < 0 && r != -ECANCELED)
		ofs_log(LOG_ERR, "packs/%08x.pack: the frame at %llu cannot be brought back: %s",
			loc->pack, (unsigned long long)loc->off, strerror(-r));
	return r == 0 || r == -ENOMEM ? r : -EIO;
}

int ofs_away_bring(struct ofs_store *s, const struct ofs_frame_loc *loc)
{
	if (!s->away.get)
		return -EIO;
	/* This may wait for the sealer, which may itself wait for frames that others bring. */
	if (s->away.room)
		s->away.room(s->away.arg);
	return bring_in_turn(s, loc, true);
}

bool ofs_away_has(struct ofs_store *s, const struct ofs_frame_loc *loc)
{
	struct ofs_index_object object;
	struct ofs_index_extent e;

	return s->away.get && ofs_away_find(s, loc->pack, loc->off, &e, &object) == 0;
}

int ofs_away_mend(struct ofs_store *s, const struct ofs_frame_loc *loc)
{
	int r = s->away.get ? bring_in_turn(s, loc, false) : -EIO;

	if (r == 0)
		ofs_log(LOG_WARNING,
			"packs/%08x.pack: the frame at %llu was damaged or unreadable; the "
			"remote's copy replaces it",
			loc->pack, (unsigned long long)loc->off);
	return r;
}
