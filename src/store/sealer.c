/* SPDX-License-Identifier: MIT */
/* When to seal and to write a checkpoint: the background thread and its cycle. */
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/internal.h"

#define CHECKPOINT_AGE (5 * OFS_NS_PER_S) /* a change waits at most this long for the index */
#define TICK_MIN (20 * OFS_NS_PER_MS)
#define TICK_MAX (250 * OFS_NS_PER_MS)
#define RETRY_DELAY (5 * OFS_NS_PER_S) /* after a cycle that failed */

/* Makes the batch's frames known to the index. */
static int commit_frames(struct ofs_store *s, struct ofs_seal_batch *b)
{
	struct ofs_index_meta meta;
	int r;

	r = ofs_packset_sync(s->packs);
	if (r < 0)
		return r;
	r = ofs_index_get_meta(s->index, &meta);
	if (r < 0)
		return r;
	r = ofs_index_begin(s->index);
	if (r < 0)
		return r;
	ofs_packset_tail(s->packs, &meta.pack, &meta.pack_size);
	meta.next_chunk = s->next_chunk;
	r = ofs_seal_commit_frames(b);
	if (r == 0)
		r = ofs_index_put_meta(s->index, &meta);
	return ofs_index_end(s->index, r);
}

/* Cuts off the frames that the index never heard of; where that fails, it is tried again. */
static int cut_strays(struct ofs_store *s)
{
	struct ofs_index_meta meta;
	int r;

	if (!s->strays)
		return 0;
	r = ofs_index_get_meta(s->index, &meta);
	if (r == 0)
		r = ofs_packset_resume(s->packs, meta.pack, meta.pack_size, NULL);
	s->strays = r < 0;
	return r;
}

/* Collects and makes the frames known to the index; returns how many files the batch held. */
static int append_batch(struct ofs_store *s, struct ofs_seal_batch *b, int64_t before)
{
	uint32_t pack, pack_after;
	uint64_t size, size_after;
	int r, n;

	r = cut_strays(s);
	if (r < 0)
		return r;
	ofs_packset_tail(s->packs, &pack, &size);
	n = ofs_seal_collect(b, before);
	ofs_packset_tail(s->packs, &pack_after, &size_after);
	/* Files that came to nothing may have left frames as well. */
	s->strays = pack != pack_after || size != size_after;
	r = n > 0 ? commit_frames(s, b) : n;
	if (r == 0 && n > 0)
		s->strays = false;
	else
		cut_strays(s);
	return r < 0 ? r : n;
}

/* Seals one batch; returns how many files it held. */
static int seal_batch(struct ofs_store *s, int64_t before)
{
	struct ofs_seal_batch *b;
	int r, n;

	r = ofs_seal_batch_create(s, &b);
	if (r < 0)
		return r;
	n = append_batch(s, b, before);
	r = n > 0 ? ofs_store_checkpoint(s, b) : n;
	ofs_seal_batch_destroy(b);
	return r < 0 ? r : n;
}

static bool store_is_dirty(struct ofs_store *s)
{
	bool dirty;

	pthread_mutex_lock(&s->lock);
	dirty = s->dirty.n > 0;
	pthread_mutex_unlock(&s->lock);
	return dirty;
}

int ofs_store_cycle(struct ofs_store *s, int64_t before, bool always_checkpoint)
{
	int r, e, sealed = 0;

	pthread_mutex_lock(&s->cycle);
	do {
		r = seal_batch(s, before);
		sealed += r > 0 ? r : 0;
	} while (r > 0);
	/* On a full disk sealing fails, and what follows may give it the room that it needs. */
	e = always_checkpoint ? 0 : r;
	if (always_checkpoint && store_is_dirty(s))
		e = ofs_store_checkpoint(s, NULL);
	if (e == 0 && !s->strays && (sealed || always_checkpoint))
		e = ofs_store_reclaim(s);
	/* A write-ahead log that grew large is emptied while nothing waits for it. */
	if (e == 0 && always_checkpoint)
		e = ofs_index_checkpoint(s->index);
	pthread_mutex_unlock(&s->cycle);
	return r < 0 ? r : e;
}

/* Whether a file has been quiet for long enough; `lock` held. */
static bool draft_is_due(struct ofs_store *s, int64_t before)
{
	size_t i;

	for (i = 0; i < s->drafts.n; i++)
		if (!s->drafts.list[i]->gone && s->drafts.list[i]->written_at <= before)
			return true;
	return false;
}

/* Sleeps until there is something to look at; `lock` held. */
static void sealer_wait(struct ofs_store *s, int64_t pause)
{
	int64_t until = ofs_clock_monotonic() + pause;
	struct timespec ts = { .tv_sec = until / OFS_NS_PER_S, .tv_nsec = until % OFS_NS_PER_S };

	if (!s->drafts.n && !s->dirty.n)
		pthread_cond_wait(&s->sealer_wake, &s->lock);
	else
		pthread_cond_timedwait(&s->sealer_wake, &s->lock, &ts);
}

static void *sealer_main(void *arg)
{
	struct ofs_store *s = arg;
	int64_t delay = s->seal_delay_ms * OFS_NS_PER_MS;
	int64_t tick = OFS_MAX(TICK_MIN, OFS_MIN(TICK_MAX, delay / 4)), pause = tick;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		int64_t now;
		bool seal, checkpoint;
		int r = 0;

		sealer_wait(s, pause);
		now = ofs_clock_monotonic();
		seal = draft_is_due(s, now - delay);
		checkpoint = s->dirty_since && s->dirty_since <= now - CHECKPOINT_AGE;
		if (s->stop || (!seal && !checkpoint))
			continue;
		pthread_mutex_unlock(&s->lock);
		r = ofs_store_cycle(s, now - delay, checkpoint);
		if (r < 0)
			ofs_log(LOG_ERR, "sealing failed, trying again: %s", strerror(-r));
		pthread_mutex_lock(&s->lock);
		pause = r < 0 ? RETRY_DELAY : tick;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int ofs_sealer_start(struct ofs_store *s)
{
	int r = pthread_create(&s->sealer, NULL, sealer_main, s);

	s->sealer_runs = r == 0;
	return -r;
}

void ofs_sealer_stop(struct ofs_store *s)
{
	if (!s->sealer_runs)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->sealer_wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->sealer, NULL);
	s->sealer_runs = false;
}

int ofs_store_seal(struct ofs_store *s)
{
	return ofs_store_cycle(s, INT64_MAX, true);
}
