/* SPDX-License-Identifier: MIT */
/* The indexer: noting changes, its thread, opening and closing. */

#include "tree/search/indexer.h"

#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/util.h"
#include "tree/core/root.h"
#include "tree/search/indexer_state.h"

#define GATHER_NS (100 * OFS_NS_PER_MS) /* from the first note to the first look */
#define SHARE 3 /* rest this many times as long as it worked, while requests come in */
#define CLOSING_NS (2 * OFS_NS_PER_S)
#define STOPPING_NS (OFS_NS_PER_S / 2) /* if a thread has done most of the work */
#define DISK_LEFT (UINT64_C(32) << 20)

/* ---- noting changes; must be cheap */

/* `lock` held. Never replaces a note by one for less. */
static void note(struct ofs_indexer *ix, uint64_t ino, enum ofs_look_how how)
{
	uintptr_t had = (uintptr_t)ofs_map_get(&ix->noted, ino);
	bool first = !ix->noted.count;

	if (!had || had > (uintptr_t)how + 1)
		ofs_map_put(&ix->noted, ino, (void *)((uintptr_t)how + 1));
	if (first && ix->running)
		pthread_cond_signal(&ix->wake);
}

void ofs_indexer_note(struct ofs_indexer *ix, uint64_t ino)
{
	if (!ix)
		return;
	OFS_LOCKED(&ix->lock);
	note(ix, ino, OFS_LOOK_WHOLE);
}

static bool is_working(struct ofs_indexer *ix, uint64_t dir)
{
	return dir && atomic_load(&ix->working[dir % OFS_INDEXER_WORKING_DIRS]) == dir;
}

/*
 * Repeated writes to one file return at once. That is safe since `last` is cleared before the noted
 * files are looked at: a write that finds its file in `last` comes before that look.
 */
void ofs_indexer_note_in(struct ofs_indexer *ix, uint64_t ino, uint64_t dir)
{
	if (!ix || atomic_load(&ix->last) == ino || is_working(ix, dir))
		return;
	OFS_LOCKED(&ix->lock);
	note(ix, ino, OFS_LOOK_CONTENT);
	atomic_store(&ix->last, ino);
}

static void note_entry(struct ofs_indexer *ix, uint64_t dir, const char *name)
{
	struct ofs_attr attr;

	/* If it is gone again, a later move has noted it. */
	if (ofs_store_lookup(ix->tree->store, dir, name, &attr) < 0)
		return;
	ofs_store_forget(ix->tree->store, attr.ino, 1);
	OFS_LOCKED(&ix->lock);
	for (size_t i = 0; S_ISDIR(attr.mode) && i < OFS_INDEXER_WORKING_DIRS; i++)
		atomic_store(&ix->working[i], 0);
	ix->moves += S_ISDIR(attr.mode);
	note(ix, attr.ino, OFS_LOOK_WHOLE);
}

void ofs_indexer_note_rename(struct ofs_indexer *ix, uint64_t dir, const char *name,
			     uint64_t newdir, const char *newname, unsigned int flags)
{
	/* A move within the working tier does not concern the index. */
	if (!ix || (is_working(ix, dir) && is_working(ix, newdir)))
		return;
	note_entry(ix, newdir, newname);
	if (flags & RENAME_EXCHANGE)
		note_entry(ix, dir, name);
}

void ofs_indexer_note_sealed(struct ofs_indexer *ix, uint64_t ino)
{
	if (!ix)
		return;
	OFS_LOCKED(&ix->lock);
	if (ofs_map_remove(&ix->early, ino))
		note(ix, ino, OFS_LOOK_AGAIN);
}

void ofs_indexer_note_all(struct ofs_indexer *ix)
{
	if (!ix)
		return;
	pthread_mutex_lock(&ix->lock);
	for (size_t i = 0; i < OFS_INDEXER_WORKING_DIRS; i++)
		atomic_store(&ix->working[i], 0);
	ix->moves++;
	ix->all_noted = true;
	note(ix, 0, OFS_LOOK_CONTENT); /* no inode has number 0: only wakes the thread */
	pthread_mutex_unlock(&ix->lock);
}

/* ---- the thread */

/* Whether requests have come in since the last call. */
static bool is_busy(struct ofs_tree *t, uint64_t *last)
{
	uint64_t sum = 0;
	bool busy;

	for (int i = 0; i < OFS_TREE_OPS; i++)
		sum += atomic_load_explicit(&t->ops[i], memory_order_relaxed);
	busy = sum != *last;
	*last = sum;
	return busy;
}

/* Waits for `ns` nanoseconds, or less if stopped; with `noted` only until something is noted. */
static void wait_for(struct ofs_indexer *ix, int64_t ns, bool noted)
{
	int64_t until = ofs_clock_monotonic() + ns;

	OFS_LOCKED(&ix->lock);
	while (!ix->stop && !(noted && ix->noted.count) &&
	       ofs_cond_wait_until(&ix->wake, &ix->lock, until))
		;
}

/* How long the thread may sleep unless something is noted. */
static int64_t idle_time(struct ofs_indexer *ix)
{
	OFS_LOCKED(&ix->lock);
	int64_t ns = ix->early.count ? ofs_indexer_again_after(ix)
		     : ix->away	     ? OFS_INDEXER_AWAY_NS
				     : OFS_INDEXER_SWEEP_NS / 24;

	return ix->index || ix->lazy ? ns : OFS_MIN(ns, OFS_INDEXER_RETRY_NS);
}

/* Whether free space is so low that it is left for content. */
static bool is_disk_full(struct ofs_indexer *ix)
{
	struct statvfs st;

	return ofs_store_statfs(ix->tree->store, &st) == 0 &&
	       (uint64_t)st.f_bavail * st.f_frsize < DISK_LEFT;
}

/* One turn of the thread. Returns 1 if there is more to do, 0 if there is not now, or -errno. */
static int take_turn(struct ofs_indexer *ix)
{
	OFS_LOCKED(&ix->work);
	int r = ix->lazy ? 0 : ofs_indexer_open_index(ix);

	if (r < 0)
		return r;
	ofs_indexer_take_noted(ix, false);
	if (ix->index)
		ofs_indexer_sweep_daily(ix);
	r = ofs_indexer_work_batch(ix);
	return r == 0 && ix->index ? ofs_fts_tidy(ix->index) : r;
}

static void tell_failure(struct ofs_indexer *ix, int r)
{
	if (r == -EAGAIN || r == -ECANCELED || r == -EUCLEAN || ix->told)
		return;
	ofs_log(LOG_WARNING, "cannot index files for search, will retry: %s", strerror(-r));
	ix->told = true;
}

static void *indexer_main(void *arg)
{
	struct ofs_indexer *ix = arg;
	uint64_t calls = 0;

	ofs_thread_give_way();
	while (!ofs_indexer_is_over(ix)) {
		int64_t began = ofs_clock_monotonic();
		int r = is_disk_full(ix) ? -EAGAIN : take_turn(ix);

		if (r < 0) {
			tell_failure(ix, r);
			wait_for(ix, r == -EUCLEAN ? 0 : OFS_INDEXER_RETRY_NS, false);
		} else if (r > 0) {
			ix->told = false;
			if (is_busy(ix->tree, &calls))
				wait_for(ix, SHARE * (ofs_clock_monotonic() - began), false);
		} else {
			wait_for(ix, idle_time(ix), true);
			wait_for(ix, GATHER_NS, false);
		}
	}
	return NULL;
}

/* ---- creating and stopping */

static int take_one(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	*(bool *)arg = false;
	return 1;
}

/* Whether there is neither an index nor any file to index. */
static bool is_needless(struct ofs_tree *t, const char *path)
{
	bool empty = access(path, F_OK) < 0;

	ofs_store_readdir(t->store, t->root->tops[OFS_TOP_PERSISTENT], 0, false, take_one, &empty);
	ofs_store_readdir(t->store, t->root->tops[OFS_TOP_ARCHIVE], 0, false, take_one, &empty);
	return empty;
}

struct ofs_indexer *ofs_indexer_create(struct ofs_tree *t, const char *path)
{
	struct ofs_indexer *ix = ofs_alloc(sizeof(*ix));

	ix->tree = t;
	ix->path = ofs_strdup(path);
	ix->swept_at = ofs_clock_monotonic();
	pthread_mutex_init(&ix->lock, NULL);
	pthread_mutex_init(&ix->work, NULL);
	ofs_cond_init(&ix->wake);
	ix->lazy = t->background && !t->follow && is_needless(t, path);
	if (t->background && !ix->lazy && ofs_indexer_open_index(ix) == 0)
		ofs_indexer_set_complete(ix, false);
	ix->everything_left = ix->everything;
	return ix;
}

int ofs_indexer_start(struct ofs_indexer *ix)
{
	OFS_LOCKED(&ix->lock);
	int r = ofs_thread_start(&ix->thread, "indexer", indexer_main, ix);

	ix->running = r == 0;
	return r;
}

/* `work` held. Whether nothing is noted, unsealed, away or still to be indexed. */
static bool is_done(struct ofs_indexer *ix)
{
	OFS_LOCKED(&ix->lock);

	return !ix->noted.count && !ix->early.count && !ix->away && !ofs_indexer_has_more(ix);
}

/* `work` held. Does all that can be done before the deadline. */
static int work_all(struct ofs_indexer *ix)
{
	bool again = true;
	int r;

	do {
		ofs_indexer_take_noted(ix, again);
		again = false;
		r = ofs_indexer_work_batch(ix);
		if (r == -EUCLEAN)
			r = 1;
	} while (r > 0 && !ofs_indexer_is_over(ix));
	while (r == 0 && ix->index && !ofs_indexer_is_over(ix))
		if (ofs_fts_tidy(ix->index) <= 0)
			break;
	return r < 0 ? r : 0;
}

int ofs_indexer_settle(struct ofs_indexer *ix)
{
	OFS_LOCKED(&ix->work);
	int r;

	ix->tried = 0;
	r = ofs_indexer_open_index(ix);
	if (r < 0)
		return r;
	ofs_indexer_sweep_daily(ix);
	return work_all(ix);
}

int ofs_indexer_write(struct ofs_indexer *ix, int (*fn)(void *arg, struct ofs_fts *index),
		      void *arg)
{
	OFS_LOCKED(&ix->work);
	struct ofs_fts *index = atomic_load(&ix->index);
	int r = index ? ofs_fts_begin(index) : -EAGAIN, ended;

	if (r < 0)
		return r;
	r = fn(arg, index);
	ended = ofs_fts_commit(index);
	return ended < 0 ? ended : r;
}

/* Does the remaining work; after a thread, only if that has left nothing but notes. */
static void finish_work(struct ofs_indexer *ix, bool had_thread)
{
	bool early;

	if (had_thread && ofs_indexer_has_more(ix))
		return;
	ix->deadline = ofs_clock_monotonic() + (had_thread ? STOPPING_NS : CLOSING_NS);
	work_all(ix);
	pthread_mutex_lock(&ix->lock);
	early = ix->early.count > 0;
	pthread_mutex_unlock(&ix->lock);
	if (early && !had_thread && ofs_store_seal(ix->tree->store) == 0)
		work_all(ix);
}

void ofs_indexer_stop(struct ofs_indexer *ix)
{
	bool had_thread;

	if (!ix)
		return;
	pthread_mutex_lock(&ix->lock);
	had_thread = ix->stop = ix->running;
	pthread_cond_signal(&ix->wake);
	pthread_mutex_unlock(&ix->lock);
	if (had_thread)
		pthread_join(ix->thread, NULL);
	OFS_LOCKED(&ix->work);
	pthread_mutex_lock(&ix->lock);
	ix->running = ix->stop = false;
	pthread_mutex_unlock(&ix->lock);
	finish_work(ix, had_thread);
	if (ix->index && is_done(ix))
		ofs_indexer_set_complete(ix, true);
	ofs_fts_close(ix->index);
	ix->index = NULL;
}

void ofs_indexer_destroy(struct ofs_indexer *ix)
{
	if (!ix)
		return;
	pthread_mutex_destroy(&ix->work);
	pthread_mutex_destroy(&ix->lock);
	pthread_cond_destroy(&ix->wake);
	ofs_map_finish(&ix->noted);
	ofs_map_finish(&ix->early);
	free(ix->todo.at);
	free(ix->done.at);
	free(ix->path);
	free(ix);
}

/* ---- the index and its state, for other parts of the tree */

struct ofs_fts *ofs_indexer_index(struct ofs_indexer *ix)
{
	struct ofs_fts *index = ix ? atomic_load(&ix->index) : NULL;

	if (!ix || index || ix->tree->background)
		return index;
	OFS_LOCKED(&ix->work);
	ofs_indexer_open_index(ix);
	return atomic_load(&ix->index);
}

void ofs_indexer_stats(struct ofs_indexer *ix, struct ofs_indexer_stats *ret)
{
	struct ofs_fts *index = atomic_load(&ix->index);
	struct ofs_fts_counts counts;

	*ret = (struct ofs_indexer_stats){ 0 };
	if (index ? ofs_fts_counts(index, &counts) < 0 : !ix->lazy)
		return;
	if (index) {
		ret->files = counts.files;
		ret->documents = counts.documents;
		ret->dead = counts.dead;
		ret->bytes = counts.bytes;
	}
	OFS_LOCKED(&ix->lock);
	ret->waiting = ix->noted.count + ix->early.count + ix->left;
	ret->caught_up = !ret->waiting && !ix->everything_left && !ix->away;
}
