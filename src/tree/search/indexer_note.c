/* SPDX-License-Identifier: MIT */
/* Noting changes for the indexer, at next to no cost. */

#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/util.h"
#include "tree/search/indexer.h"
#include "tree/search/indexer_look.h"
#include "tree/search/indexer_state.h"

/* `lock` held. An inode that was noted for a fuller update stays so. */
static void note(struct ofs_indexer *ix, uint64_t ino, enum ofs_look_how how)
{
	uintptr_t had = (uintptr_t)ofs_map_get(&ix->noted, ino);
	bool first = !ix->noted.count;

	if ((!had || had > (uintptr_t)how + 1))
		ofs_map_put(&ix->noted, ino, (void *)((uintptr_t)how + 1));
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
	return dir && atomic_load(&ix->working[dir % OFS_INDEXER_WORKING_DIRS]) == dir;
}

/*
 * Repeated writes to one file return at once. `last` is cleared before the noted files are read, so
 * a write that finds its file there happened before that.
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

	/* Gone again: a later move has noted it. */
	if (ofs_store_lookup(ix->tree->store, dir, name, &attr) < 0)
		return;
	ofs_store_forget(ix->tree->store, attr.ino, 1);
	pthread_mutex_lock(&ix->lock);
	for (size_t i = 0; S_ISDIR(attr.mode) && i < OFS_INDEXER_WORKING_DIRS; i++)
		atomic_store(&ix->working[i], 0);
	ix->moves += S_ISDIR(attr.mode);
	note(ix, attr.ino, OFS_LOOK_WHOLE);
	pthread_mutex_unlock(&ix->lock);
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
	pthread_mutex_lock(&ix->lock);
	if (ofs_map_remove(&ix->early, ino))
		note(ix, ino, OFS_LOOK_AGAIN);
	pthread_mutex_unlock(&ix->lock);
}

uint64_t ofs_indexer_count_moves(struct ofs_indexer *ix)
{
	uint64_t n;

	pthread_mutex_lock(&ix->lock);
	n = ix->moves;
	pthread_mutex_unlock(&ix->lock);
	return n;
}

/* The directory was in the working tier when `moves` had been counted. */
void ofs_indexer_note_working(struct ofs_indexer *ix, uint64_t dir, uint64_t moves)
{
	pthread_mutex_lock(&ix->lock);
	if (ix->moves == moves)
		atomic_store(&ix->working[dir % OFS_INDEXER_WORKING_DIRS], dir);
	pthread_mutex_unlock(&ix->lock);
}
