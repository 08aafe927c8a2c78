/* SPDX-License-Identifier: MIT */
#include "tree/indexer.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "tree/index_look.h"
#include "tree/walk.h"

#define BATCH_NS (50 * OFS_NS_PER_MS) /* the work between two commits, and between two pauses */
#define BATCH_FILES 64
#define GATHER_NS (100 * OFS_NS_PER_MS) /* from the first note to looking at it */
#define AGAIN_NS OFS_NS_PER_S /* until what is not sealed is looked at again, */
#define AGAIN_EACH_NS OFS_NS_PER_MS /* and so much more for each of those */
#define RETRY_NS (10 * OFS_NS_PER_S) /* after an error */
#define SWEEP_NS (86400 * OFS_NS_PER_S) /* between two looks at everything */
#define SWEPT_AT_ONCE 256
#define SHARE 3 /* for each part of work so many of rest, while requests come in */
#define CLOSING_NS (2 * OFS_NS_PER_S)
#define STOPPING_NS (OFS_NS_PER_S / 2) /* with a thread, which has done the most of it */
#define REBUILT_UP_TO 20000 /* documents, for the sake of a few dead ones */
#define WORKING_DIRS 64
#define DISK_LEFT (UINT64_C(32) << 20)

/* What is still to be looked at. */
struct todo {
	uint64_t ino;
	enum ofs_look_how how;
};

struct todos {
	struct todo *at;
	size_t n, cap;
};

struct ofs_indexer {
	struct ofs_tree *tree;
	char *path;
	_Atomic(struct ofs_text_index *) index; /* set once, under `work`; NULL: it is not open */
	_Atomic uint64_t last; /* what was noted last; 0 once that has been taken */

	/*
	 * Directories that were seen in the working tier, each at the place of its number, and how
	 * often a directory was moved: a place is filled only if none was meanwhile. Written under
	 * `lock`.
	 */
	_Atomic uint64_t working[WORKING_DIRS];
	uint64_t moves; /* `lock` */

	pthread_mutex_t lock; /* guards these; neither store nor index is called under it */
	pthread_cond_t wake;
	pthread_t thread;
	bool running;
	bool stop;
	struct ofs_map noted; /* inode -> enum ofs_look_how + 1 */
	struct ofs_map early; /* those that are not sealed */
	bool missed; /* there was no memory for one of either */
	uint64_t left; /* a copy of what `work` guards, of those still to be looked at */
	bool everything_left; /* the same */

	pthread_mutex_t work; /* one looks at a time; taken before the store's locks and `lock` */
	struct todos todo;
	struct todos done; /* in the open batch: to be done again if it fails */
	bool everything; /* all of persistent/ and archive/ is to be looked at */
	bool sweeping; /* and all that the index knows, */
	uint64_t swept; /* up to this inode */
	bool thorough; /* after which nothing that is dead stays */
	bool complete; /* what the index says of itself */
	uint64_t generation; /* of the index, as it was when everything was looked at */
	int64_t deadline; /* monotonic, when work ends; 0: none */
	int64_t looked_again; /* when those that were early were looked at last */
	int64_t swept_at;
	int64_t tried; /* when opening the index failed last; 0: it did not */
	bool told; /* the log knows that it fails */
};

static void todo_add(struct todos *l, uint64_t ino, enum ofs_look_how how)
{
	l->at = ofs_grow(l->at, &l->cap, l->n + 1, sizeof(*l->at));
	l->at[l->n++] = (struct todo){ ino, how };
}

/* ---- noting */

/* `lock` is held. What was noted as more than this stays more. */
static void note(struct ofs_indexer *ix, uint64_t ino, enum ofs_look_how how)
{
	uintptr_t had = (uintptr_t)ofs_map_get(&ix->noted, ino);
	bool first = !ix->noted.count;

	if ((!had || had > (uintptr_t)how + 1) &&
	    ofs_map_put(&ix->noted, ino, (void *)((uintptr_t)how + 1)) < 0)
		ix->missed = true;
	if (first && ix->running)
		pthread_cond_signal(&ix->wake);
}

void ofs_indexer_note(struct ofs_indexer *ix, uint64_t ino)
{
	if (!ix)
		return;
	pthread_mutex_lock(&ix->lock);
	note(ix, ino, OFS_LOOK_WHOLE);
	pthread_mutex_unlock(&ix->lock);
}

static bool is_working(struct ofs_indexer *ix, uint64_t dir)
{
	return dir && atomic_load(&ix->working[dir % WORKING_DIRS]) == dir;
}

/*
 * Whoever writes to one file again and again is past this at once: `last` is taken back before what
 * was noted is looked at, so that a write that finds it there was done before that look.
 */
void ofs_indexer_note_in(struct ofs_indexer *ix, uint64_t ino, uint64_t dir)
{
	if (!ix || atomic_load(&ix->last) == ino || is_working(ix, dir))
		return;
	pthread_mutex_lock(&ix->lock);
	note(ix, ino, OFS_LOOK_CONTENT);
	atomic_store(&ix->last, ino);
	pthread_mutex_unlock(&ix->lock);
}

static void note_entry(struct ofs_indexer *ix, uint64_t dir, const char *name)
{
	struct ofs_attr attr;

	/* Gone already: that has been noted by whoever moved it. */
	if (ofs_store_lookup(ix->tree->store, dir, name, &attr) < 0)
		return;
	ofs_store_forget(ix->tree->store, attr.ino, 1);
	pthread_mutex_lock(&ix->lock);
	for (size_t i = 0; S_ISDIR(attr.mode) && i < WORKING_DIRS; i++)
		atomic_store(&ix->working[i], 0);
	ix->moves += S_ISDIR(attr.mode);
	note(ix, attr.ino, OFS_LOOK_WHOLE);
	pthread_mutex_unlock(&ix->lock);
}

void ofs_indexer_note_rename(struct ofs_indexer *ix, uint64_t dir, const char *name,
			     uint64_t newdir, const char *newname, unsigned int flags)
{
	/* What stays in the working tier is none of the index's, nor is what is below it. */
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
	pthread_mutex_lock(&ix->lock);
	if (ofs_map_remove(&ix->early, ino))
		note(ix, ino, OFS_LOOK_AGAIN);
	pthread_mutex_unlock(&ix->lock);
}

static uint64_t count_moves(struct ofs_indexer *ix)
{
	uint64_t n;

	pthread_mutex_lock(&ix->lock);
	n = ix->moves;
	pthread_mutex_unlock(&ix->lock);
	return n;
}

/* The directory was in the working tier when `moves` had been counted. */
static void note_working(struct ofs_indexer *ix, uint64_t dir, uint64_t moves)
{
	pthread_mutex_lock(&ix->lock);
	if (ix->moves == moves)
		atomic_store(&ix->working[dir % WORKING_DIRS], dir);
	pthread_mutex_unlock(&ix->lock);
}

/* ---- the index. All that follows is called with `work` held. */

static int open_index(struct ofs_indexer *ix)
{
	struct ofs_text_index *index;
	struct ofs_error err;
	int64_t now = ofs_clock_monotonic();
	int r;

	if (atomic_load(&ix->index))
		return 0;
	if (ix->tried && now - ix->tried < RETRY_NS)
		return -EAGAIN;
	r = ofs_text_index_open(ix->path, &err, &index);
	if (r < 0) {
		ix->tried = now;
		if (!ix->told)
			ofs_log(LOG_WARNING, "nothing is indexed for search: %s", err.text);
		ix->told = true;
		return r;
	}
	ix->complete = ofs_text_index_is_complete(index) > 0;
	ix->everything = ix->sweeping = !ix->complete;
	ix->swept = 0;
	ix->generation = ofs_text_index_generation(index);
	ix->told = false;
	atomic_store(&ix->index, index);
	return 0;
}

/* Before the first change what the index says of itself is taken back. */
static int set_complete(struct ofs_indexer *ix, bool complete)
{
	int r = 0;

	if (ix->complete != complete)
		r = ofs_text_index_set_complete(ix->index, complete);
	if (r == 0)
		ix->complete = complete;
	return r;
}

/* It was begun anew, maybe by a search that found it damaged. */
static void check_generation(struct ofs_indexer *ix)
{
	uint64_t now = ix->index ? ofs_text_index_generation(ix->index) : ix->generation;

	if (now == ix->generation)
		return;
	ix->generation = now;
	ix->complete = false;
	ix->everything = true;
}

/* ---- looking */

static bool is_over(struct ofs_indexer *ix)
{
	bool stop;

	pthread_mutex_lock(&ix->lock);
	stop = ix->stop;
	pthread_mutex_unlock(&ix->lock);
	return stop || (ix->deadline && ofs_clock_monotonic() >= ix->deadline);
}

static bool is_cancelled(void *arg)
{
	return is_over(arg);
}

static bool is_time_to_sweep(struct ofs_indexer *ix, int64_t now)
{
	if (now - ix->swept_at < SWEEP_NS)
		return false;
	ix->swept_at = now;
	return true;
}

/* Once a day: what nobody told of, and then dead documents, while there are not too many others. */
static void sweep_daily(struct ofs_indexer *ix)
{
	struct ofs_text_counts counts;

	if (!is_time_to_sweep(ix, ofs_clock_monotonic()))
		return;
	ix->everything = ix->sweeping = true;
	ix->swept = 0;
	ix->thorough = ofs_text_index_counts(ix->index, &counts) == 0 &&
		       counts.documents <= REBUILT_UP_TO;
}

static bool has_waste(struct ofs_indexer *ix)
{
	struct ofs_text_counts counts;

	if (ix->thorough)
		return ofs_text_index_counts(ix->index, &counts) == 0 && counts.dead;
	return ofs_text_index_is_wasteful(ix->index);
}

/* Begins to index all contents anew, when too many of them are dead, or after a thorough sweep any. */
static int drop_waste(struct ofs_indexer *ix)
{
	bool waste = ix->index && has_waste(ix);
	int r;

	ix->thorough = false;
	if (!waste)
		return 0;
	r = set_complete(ix, false);
	if (r == 0)
		r = ofs_text_index_rebuild(ix->index);
	ix->everything = ix->everything || r == 0;
	return r;
}

static int add_file(void *arg, uint64_t ino, const char *name)
{
	todo_add(arg, ino, OFS_LOOK_WHOLE);
	return 0;
}

/* One directory at a time, so that memory does not grow with what is below. */
static void add_dir(struct ofs_indexer *ix, uint64_t dir)
{
	OFS_CLEANUP(ofs_view_list_finish) struct ofs_view_list dirs = { 0 };
	int r = ofs_walk_subdirs(ix->tree, dir, &dirs);

	for (size_t i = 0; i < dirs.n && r == 0; i++)
		todo_add(&ix->todo, dirs.entries[i].key, OFS_LOOK_WHOLE);
	if (r == 0)
		ofs_walk_files(ix->tree, dir, false, add_file, &ix->todo);
}

/* When nothing is left of what was noted: more of what has to be looked at anyhow. */
static int find_more(struct ofs_indexer *ix)
{
	uint64_t inos[SWEPT_AT_ONCE];
	int n;

	if (ix->everything) {
		ix->everything = false;
		todo_add(&ix->todo, ix->tree->tops[OFS_TOP_PERSISTENT], OFS_LOOK_WHOLE);
		todo_add(&ix->todo, ix->tree->tops[OFS_TOP_ARCHIVE], OFS_LOOK_WHOLE);
		return 0;
	}
	if (!ix->sweeping)
		return 0;
	n = ofs_text_index_list_files(ix->index, ix->swept, inos, SWEPT_AT_ONCE);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		todo_add(&ix->todo, inos[i], OFS_LOOK_WHOLE);
	ix->sweeping = n > 0;
	if (n)
		ix->swept = inos[n - 1];
	return 0;
}

/* Takes what was noted; what was early as well once it is time, or when `again`. */
static void take_noted(struct ofs_indexer *ix, bool again)
{
	struct ofs_map noted, early = OFS_MAP_INIT;
	int64_t now = ofs_clock_monotonic();
	size_t i;

	pthread_mutex_lock(&ix->lock);
	noted = ix->noted;
	ix->noted = (struct ofs_map)OFS_MAP_INIT;
	atomic_store(&ix->last, 0);
	ix->everything = ix->everything || ix->missed;
	ix->missed = false;
	if (again ||
	    now - ix->looked_again >= AGAIN_NS + (int64_t)ix->early.count * AGAIN_EACH_NS) {
		early = ix->early;
		ix->early = (struct ofs_map)OFS_MAP_INIT;
		ix->looked_again = now;
	}
	ix->left = ix->todo.n + noted.count + early.count;
	pthread_mutex_unlock(&ix->lock);
	for (i = 0; early.slots && i <= early.mask; i++)
		if (early.slots[i].value && !ofs_map_get(&noted, early.slots[i].key))
			todo_add(&ix->todo, early.slots[i].key, OFS_LOOK_AGAIN);
	for (i = 0; noted.slots && i <= noted.mask; i++)
		if (noted.slots[i].value)
			todo_add(&ix->todo, noted.slots[i].key,
				 (enum ofs_look_how)((uintptr_t)noted.slots[i].value - 1));
	ofs_map_finish(&noted);
	ofs_map_finish(&early);
}

/* Tells the others how much there is left. */
static void publish(struct ofs_indexer *ix)
{
	pthread_mutex_lock(&ix->lock);
	ix->left = ix->todo.n + ix->done.n;
	ix->everything_left = ix->everything || ix->sweeping;
	pthread_mutex_unlock(&ix->lock);
}

static void add_early(struct ofs_indexer *ix, uint64_t ino)
{
	pthread_mutex_lock(&ix->lock);
	if (!ix->early.count)
		ix->looked_again = ofs_clock_monotonic();
	if (ofs_map_put(&ix->early, ino, ix) < 0)
		ix->missed = true;
	pthread_mutex_unlock(&ix->lock);
}

/* Opens the index for the first that belongs into it. */
static int look_with_index(struct ofs_indexer *ix, struct ofs_look *l, const struct todo *what)
{
	int r = open_index(ix);

	l->index = ix->index;
	l->failed = r < 0;
	if (r == 0)
		r = set_complete(ix, false);
	return r < 0 ? r : ofs_look_at(l, what->ino, what->how);
}

/* Looks at the last one. What the store cannot tell of is left to the next sweep. */
static int look_at_one(struct ofs_indexer *ix, struct ofs_look *l)
{
	struct todo what = ix->todo.at[--ix->todo.n];
	uint64_t moves = count_moves(ix);
	int r = ofs_look_at(l, what.ino, what.how);

	if (r == -EAGAIN && !l->index)
		r = look_with_index(ix, l, &what);
	if (r < 0 && (l->failed || r == -ECANCELED)) {
		todo_add(&ix->todo, what.ino, what.how);
		return r;
	}
	todo_add(&ix->done, what.ino, what.how);
	if (l->working)
		note_working(ix, l->working, moves);
	if (r == OFS_LOOKED_DIR)
		add_dir(ix, what.ino);
	else if (r == OFS_LOOKED_EARLY || r == -ESTALE)
		add_early(ix, what.ino);
	return 0;
}

/* Looks at some, in one batch. 1: there are more; 0: none is left. */
static int work_batch(struct ofs_indexer *ix)
{
	struct ofs_look l = {
		.tree = ix->tree, .index = ix->index, .cancelled = is_cancelled, .arg = ix
	};
	int64_t end = ofs_clock_monotonic() + BATCH_NS;
	int r = 0, ended;

	ix->done.n = 0;
	if (!ix->todo.n && ix->index)
		r = find_more(ix);
	if (r == 0 && ix->todo.n && ix->index)
		r = set_complete(ix, false);
	while (r == 0 && ix->todo.n && ix->done.n < BATCH_FILES && !is_over(ix) &&
	       ofs_clock_monotonic() < end)
		r = look_at_one(ix, &l);
	if (l.batch) {
		ended = ofs_text_index_commit(ix->index);
		for (size_t i = 0; ended < 0 && i < ix->done.n; i++)
			todo_add(&ix->todo, ix->done.at[i].ino, ix->done.at[i].how);
		r = r < 0 ? r : ended;
	}
	ix->done.n = 0;
	if (r == 0 && !ix->todo.n && !ix->everything && !ix->sweeping)
		r = drop_waste(ix);
	check_generation(ix);
	publish(ix);
	return r < 0 ? r : ix->todo.n || ix->everything || ix->sweeping;
}

/* ---- the thread */

/* Whether requests came in since the last call. */
static bool is_busy(struct ofs_tree *t, uint64_t *last)
{
	uint64_t sum = 0;
	bool busy;

	for (int i = 0; i < OFS_CALLS; i++)
		sum += atomic_load_explicit(&t->calls[i], memory_order_relaxed);
	busy = sum != *last;
	*last = sum;
	return busy;
}

/* Until so much later, or the end; with `noted` also until something is noted. */
static void wait_for(struct ofs_indexer *ix, int64_t ns, bool noted)
{
	int64_t until = ofs_clock_monotonic() + ns;
	struct timespec ts = { until / OFS_NS_PER_S, until % OFS_NS_PER_S };

	pthread_mutex_lock(&ix->lock);
	while (!ix->stop && !(noted && ix->noted.count) &&
	       pthread_cond_timedwait(&ix->wake, &ix->lock, &ts) == 0)
		;
	pthread_mutex_unlock(&ix->lock);
}

/* How long nothing is to be done unless something is noted. */
static int64_t idle_time(struct ofs_indexer *ix)
{
	int64_t ns;

	pthread_mutex_lock(&ix->lock);
	ns = ix->early.count ? AGAIN_NS + (int64_t)ix->early.count * AGAIN_EACH_NS : SWEEP_NS / 24;
	pthread_mutex_unlock(&ix->lock);
	return ix->index ? ns : OFS_MIN(ns, RETRY_NS);
}

/* What is left of a full disk is for those who need it. */
static bool is_disk_full(struct ofs_indexer *ix)
{
	struct statvfs st;

	return ofs_store_statfs(ix->tree->store, &st) == 0 &&
	       (uint64_t)st.f_bavail * st.f_frsize < DISK_LEFT;
}

/* A turn of the thread: -errno; 0: nothing is left to do now; 1: there is more. */
static int take_turn(struct ofs_indexer *ix)
{
	int r;

	pthread_mutex_lock(&ix->work);
	r = open_index(ix);
	if (r == 0) {
		take_noted(ix, false);
		sweep_daily(ix);
		r = work_batch(ix);
		if (r == 0)
			r = ofs_text_index_tidy(ix->index);
	}
	pthread_mutex_unlock(&ix->work);
	return r;
}

static void tell_failure(struct ofs_indexer *ix, int r)
{
	if (r == -EAGAIN || r == -ECANCELED || r == -EUCLEAN || ix->told)
		return;
	ofs_log(LOG_WARNING, "indexing for search fails, and is tried again: %s", strerror(-r));
	ix->told = true;
}

static void *indexer_main(void *arg)
{
	struct ofs_indexer *ix = arg;
	uint64_t calls = 0;

	while (!is_over(ix)) {
		int64_t began = ofs_clock_monotonic();
		int r = is_disk_full(ix) ? -EAGAIN : take_turn(ix);

		if (r < 0) {
			tell_failure(ix, r);
			wait_for(ix, r == -EUCLEAN ? 0 : RETRY_NS, false);
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

/* ---- life */

struct ofs_indexer *ofs_indexer_create(struct ofs_tree *t, const char *path)
{
	struct ofs_indexer *ix = ofs_alloc(sizeof(*ix));
	pthread_condattr_t attr;

	ix->tree = t;
	ix->path = ofs_strdup(path);
	ix->swept_at = ofs_clock_monotonic();
	pthread_mutex_init(&ix->lock, NULL);
	pthread_mutex_init(&ix->work, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&ix->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (t->background && open_index(ix) == 0)
		set_complete(ix, false);
	ix->everything_left = ix->everything;
	return ix;
}

int ofs_indexer_start(struct ofs_indexer *ix)
{
	sigset_t all, before;
	int r;

	/* The program's signals are for its other threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&ix->thread, NULL, indexer_main, ix);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_mutex_lock(&ix->lock);
	ix->running = r == 0;
	pthread_mutex_unlock(&ix->lock);
	return -r;
}

/* Nothing is noted, not sealed, or still to be looked at. `work` is held. */
static bool is_done(struct ofs_indexer *ix)
{
	bool done;

	pthread_mutex_lock(&ix->lock);
	done = !ix->noted.count && !ix->early.count && !ix->missed;
	pthread_mutex_unlock(&ix->lock);
	return done && !ix->todo.n && !ix->everything && !ix->sweeping;
}

/* Does what can be done, until the deadline. `work` is held. */
static int work_all(struct ofs_indexer *ix)
{
	bool again = true;
	int r;

	do {
		take_noted(ix, again);
		again = false;
		r = work_batch(ix);
		if (r == -EUCLEAN)
			r = 1;
	} while (r > 0 && !is_over(ix));
	while (r == 0 && ix->index && !is_over(ix))
		if (ofs_text_index_tidy(ix->index) <= 0)
			break;
	return r < 0 ? r : 0;
}

int ofs_indexer_settle(struct ofs_indexer *ix)
{
	int r;

	pthread_mutex_lock(&ix->work);
	ix->tried = 0;
	r = open_index(ix);
	if (r == 0) {
		sweep_daily(ix);
		r = work_all(ix);
	}
	pthread_mutex_unlock(&ix->work);
	return r;
}

/* What has been noted; with a thread only if it was through with everything before. */
static void finish_work(struct ofs_indexer *ix, bool had_thread)
{
	bool early;

	if (had_thread && (ix->todo.n || ix->everything || ix->sweeping))
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
	pthread_mutex_lock(&ix->work);
	ix->running = ix->stop = false;
	finish_work(ix, had_thread);
	if (ix->index && is_done(ix))
		set_complete(ix, true);
	ofs_text_index_close(ix->index);
	ix->index = NULL;
	pthread_mutex_unlock(&ix->work);
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

/* ---- for others */

struct ofs_text_index *ofs_indexer_index(struct ofs_indexer *ix)
{
	struct ofs_text_index *index = ix ? atomic_load(&ix->index) : NULL;

	if (!ix || index || ix->tree->background)
		return index;
	pthread_mutex_lock(&ix->work);
	open_index(ix);
	pthread_mutex_unlock(&ix->work);
	return atomic_load(&ix->index);
}

void ofs_indexer_stats(struct ofs_indexer *ix, struct ofs_indexer_stats *ret)
{
	struct ofs_text_index *index = atomic_load(&ix->index);
	struct ofs_text_counts counts;

	*ret = (struct ofs_indexer_stats){ 0 };
	if (!index || ofs_text_index_counts(index, &counts) < 0)
		return;
	ret->files = counts.files;
	ret->documents = counts.documents;
	ret->dead = counts.dead;
	ret->bytes = counts.bytes;
	pthread_mutex_lock(&ix->lock);
	ret->waiting = ix->noted.count + ix->early.count + ix->left;
	ret->caught_up = !ret->waiting && !ix->everything_left;
	pthread_mutex_unlock(&ix->lock);
}
