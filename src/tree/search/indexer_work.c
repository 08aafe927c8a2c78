/* SPDX-License-Identifier: MIT */
/* Updates the index for the noted files, in batches. */
#include "base/log.h"
#include "base/thread.h"
#include "tree/core/entry_list.h"
#include "tree/core/walk.h"
#include "tree/search/indexer_state.h"

#define BATCH_NS (50 * OFS_NS_PER_MS) /* longest time from one commit, or pause, to the next */
#define BATCH_FILES 64
#define SWEPT_AT_ONCE 256 /* files */
#define REBUILT_UP_TO 20000 /* documents; larger indexes are not rebuilt for a few dead ones */

static void todo_add(struct ofs_indexer_todos *l, uint64_t ino, enum ofs_look_how how)
{
	*ofs_append(l->at, l->n, l->cap) = (struct ofs_indexer_todo){ ino, how };
}

/* ---- the index; all functions from here on are called with `work` held */

int ofs_indexer_open_index(struct ofs_indexer *ix)
{
	struct ofs_fts *index;
	struct ofs_error err;
	int64_t now = ofs_clock_monotonic();
	int r;

	if (atomic_load(&ix->index))
		return 0;
	if (ix->tried && now - ix->tried < OFS_INDEXER_RETRY_NS)
		return -EAGAIN;
	r = ofs_fts_open(ix->path, &err, &index);
	if (r < 0) {
		ix->tried = now;
		if (!ix->told)
			ofs_log(LOG_WARNING, "files are not indexed for search: %s", err.text);
		ix->told = true;
		return r;
	}
	ix->complete = ofs_fts_is_complete(index) > 0;
	ix->everything = ix->sweeping = !ix->complete;
	ix->swept = 0;
	ix->generation = ofs_fts_generation(index);
	ix->told = false;
	atomic_store(&ix->index, index);
	return 0;
}

int ofs_indexer_set_complete(struct ofs_indexer *ix, bool complete)
{
	int r = ix->complete == complete ? 0 : ofs_fts_set_complete(ix->index, complete);

	if (r == 0)
		ix->complete = complete;
	return r;
}

/* Starts over if the index was rebuilt, perhaps by a search that found it damaged. */
static void check_generation(struct ofs_indexer *ix)
{
	uint64_t now = ix->index ? ofs_fts_generation(ix->index) : ix->generation;

	if (now == ix->generation)
		return;
	ix->generation = now;
	ix->complete = false;
	ix->everything = true;
}

/* ---- looking at files */

bool ofs_indexer_is_over(void *arg)
{
	struct ofs_indexer *ix = arg;

	OFS_LOCKED(&ix->lock);

	return ix->stop || (ix->deadline && ofs_clock_monotonic() >= ix->deadline);
}

/* Catches changes that were not noted and, if the index is small, dead documents. */
void ofs_indexer_sweep_daily(struct ofs_indexer *ix)
{
	int64_t now = ofs_clock_monotonic();
	struct ofs_fts_counts counts;

	if (now - ix->swept_at < (ix->away ? OFS_INDEXER_AWAY_NS : OFS_INDEXER_SWEEP_NS))
		return;
	ix->swept_at = now;
	ix->away = false;
	ix->everything = ix->sweeping = true;
	ix->swept = 0;
	ix->thorough = ofs_fts_counts(ix->index, &counts) == 0 && counts.documents <= REBUILT_UP_TO;
}

static bool has_waste(struct ofs_indexer *ix)
{
	struct ofs_fts_counts counts;

	if (ix->thorough)
		return ofs_fts_counts(ix->index, &counts) == 0 && counts.dead;
	return ofs_fts_is_wasteful(ix->index);
}

/* Rebuilds the index if too many documents are dead; after a thorough sweep, if any is. */
static int drop_waste(struct ofs_indexer *ix)
{
	bool waste = ix->index && has_waste(ix);
	int r;

	ix->thorough = false;
	if (!waste)
		return 0;
	r = ofs_indexer_set_complete(ix, false);
	if (r == 0)
		r = ofs_fts_rebuild(ix->index);
	ix->everything = ix->everything || r == 0;
	return r;
}

static int add_file(void *arg, uint64_t ino, const char *name)
{
	todo_add(arg, ino, OFS_LOOK_WHOLE);
	return 0;
}

/* Adds only the entries of this directory, so that memory does not grow with the depth below. */
static void add_dir(struct ofs_indexer *ix, uint64_t dir)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list dirs = { 0 };
	int r = ofs_walk_subdirs(ix->tree, dir, &dirs);

	for (size_t i = 0; i < dirs.n && r == 0; i++)
		todo_add(&ix->todo, dirs.entries[i].key, OFS_LOOK_WHOLE);
	if (r == 0)
		ofs_walk_files(ix->tree, dir, false, add_file, &ix->todo);
}

/* When nothing is left to do: adds the next files of a sweep. */
static int find_more(struct ofs_indexer *ix)
{
	uint64_t inos[SWEPT_AT_ONCE];
	int n;

	if (ix->everything) {
		ix->everything = false;
		todo_add(&ix->todo, ix->tree->root->tops[OFS_TOP_PERSISTENT], OFS_LOOK_WHOLE);
		todo_add(&ix->todo, ix->tree->root->tops[OFS_TOP_ARCHIVE], OFS_LOOK_WHOLE);
		return 0;
	}
	if (!ix->sweeping)
		return 0;
	n = ofs_fts_list_files(ix->index, ix->swept, inos, SWEPT_AT_ONCE);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		todo_add(&ix->todo, inos[i], OFS_LOOK_WHOLE);
	ix->sweeping = n > 0;
	if (n)
		ix->swept = inos[n - 1];
	return 0;
}

void ofs_indexer_take_noted(struct ofs_indexer *ix, bool again)
{
	struct ofs_map noted, early = OFS_MAP_INIT;
	int64_t now = ofs_clock_monotonic();
	bool all;

	pthread_mutex_lock(&ix->lock);
	noted = ofs_steal(ix->noted);
	all = ix->all_noted;
	ix->all_noted = false;
	atomic_store(&ix->last, 0);
	if (again || now - ix->looked_again >= ofs_indexer_again_after(ix)) {
		early = ofs_steal(ix->early);
		ix->looked_again = now;
	}
	ix->left = ix->todo.n + noted.count + early.count;
	pthread_mutex_unlock(&ix->lock);
	for (size_t i = 0; early.slots && i <= early.mask; i++)
		if (early.slots[i].value && !ofs_map_get(&noted, early.slots[i].key))
			todo_add(&ix->todo, early.slots[i].key, OFS_LOOK_AGAIN);
	for (size_t i = 0; noted.slots && i <= noted.mask; i++)
		if (noted.slots[i].value)
			todo_add(&ix->todo, noted.slots[i].key,
				 (enum ofs_look_how)((uintptr_t)noted.slots[i].value - 1));
	ofs_map_finish(&noted);
	ofs_map_finish(&early);
	if (all) {
		ix->everything = ix->sweeping = true;
		ix->swept = 0;
	}
}

/* Updates the figures for ofs_indexer_stats(). */
static void publish(struct ofs_indexer *ix)
{
	OFS_LOCKED(&ix->lock);
	ix->left = ix->todo.n + ix->done.n;
	ix->everything_left = ix->everything || ix->sweeping;
}

static void add_early(struct ofs_indexer *ix, uint64_t ino)
{
	OFS_LOCKED(&ix->lock);
	if (!ix->early.count)
		ix->looked_again = ofs_clock_monotonic();
	ofs_map_put(&ix->early, ino, ix);
}

/* Caches a directory that was in the working tier when the number of moves was `moves`. */
static void add_working(struct ofs_indexer *ix, uint64_t dir, uint64_t moves)
{
	OFS_LOCKED(&ix->lock);
	if (ix->moves == moves)
		atomic_store(&ix->working[dir % OFS_INDEXER_WORKING_DIRS], dir);
}

/* Opens the index for the first file that belongs in it, and repeats the look. */
static int look_with_index(struct ofs_indexer *ix, struct ofs_look *l,
			   const struct ofs_indexer_todo *what)
{
	int r = ofs_indexer_open_index(ix);

	l->index = ix->index;
	l->failed = r < 0;
	if (r == 0)
		r = ofs_indexer_set_complete(ix, false);
	return r < 0 ? r : ofs_look_at(l, what->ino, what->how);
}

/* Looks at the last inode of `todo`. Errors of the store are left to a later sweep. */
static int look_at_one(struct ofs_indexer *ix, struct ofs_look *l)
{
	struct ofs_indexer_todo what = ix->todo.at[--ix->todo.n];
	uint64_t moves = ix->moves;
	int r = ofs_look_at(l, what.ino, what.how);

	if (r == -EAGAIN && !l->index)
		r = look_with_index(ix, l, &what);
	if (r < 0 && (l->failed || r == -ECANCELED)) {
		todo_add(&ix->todo, what.ino, what.how);
		return r;
	}
	todo_add(&ix->done, what.ino, what.how);
	if (l->working)
		add_working(ix, l->working, moves);
	if (r == OFS_LOOKED_DIR)
		add_dir(ix, what.ino);
	else if (r == OFS_LOOKED_EARLY || r == -ESTALE)
		add_early(ix, what.ino);
	else if (r == OFS_LOOKED_AWAY)
		ix->away = true;
	return 0;
}

int ofs_indexer_work_batch(struct ofs_indexer *ix)
{
	struct ofs_look l = {
		.tree = ix->tree, .index = ix->index, .cancelled = ofs_indexer_is_over, .arg = ix
	};
	int64_t end = ofs_clock_monotonic() + BATCH_NS;
	int r = 0, ended;

	ix->done.n = 0;
	if (!ix->todo.n && ix->index)
		r = find_more(ix);
	if (r == 0 && ix->todo.n && ix->index)
		r = ofs_indexer_set_complete(ix, false);
	while (r == 0 && ix->todo.n && ix->done.n < BATCH_FILES && !ofs_indexer_is_over(ix) &&
	       ofs_clock_monotonic() < end)
		r = look_at_one(ix, &l);
	if (l.batch) {
		ended = ofs_fts_commit(ix->index);
		for (size_t i = 0; ended < 0 && i < ix->done.n; i++)
			todo_add(&ix->todo, ix->done.at[i].ino, ix->done.at[i].how);
		r = r < 0 ? r : ended;
	}
	ix->done.n = 0;
	if (r == 0 && !ofs_indexer_has_more(ix))
		r = drop_waste(ix);
	check_generation(ix);
	publish(ix);
	return r < 0 ? r : ofs_indexer_has_more(ix);
}
