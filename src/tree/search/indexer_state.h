/* SPDX-License-Identifier: MIT */
/* The state of the indexer, shared by indexer.c and indexer_work.c. */
#pragma once

#include "base/clock.h"
#include "base/map.h"
#include "tree/search/indexer.h"
#include "tree/search/indexer_look.h"
#include <pthread.h>

#define OFS_INDEXER_WORKING_DIRS 64
#define OFS_INDEXER_AGAIN_NS OFS_NS_PER_S /* until unsealed files are tried again, */
#define OFS_INDEXER_AGAIN_EACH_NS OFS_NS_PER_MS /* and this much more for each of them */
#define OFS_INDEXER_RETRY_NS (10 * OFS_NS_PER_S) /* after an error */
#define OFS_INDEXER_SWEEP_NS (86400 * OFS_NS_PER_S) /* between two sweeps of everything */

#define OFS_INDEXER_AWAY_NS (600 * OFS_NS_PER_S) /* the same, where content could not be had */

/* An inode to be indexed. */
struct ofs_indexer_todo {
	uint64_t ino;
	enum ofs_look_how how;
};

struct ofs_indexer_todos {
	struct ofs_indexer_todo *at;
	size_t n, cap;
};

struct ofs_indexer {
	struct ofs_tree *tree;
	char *path;
	bool lazy; /* the index is made with the first file to be indexed; constant */
	_Atomic(struct ofs_fts *) index; /* set once, under `work`; NULL: it is not open */
	_Atomic uint64_t last; /* what was noted last; 0 once that has been taken */

	/*
	 * Directories that were seen in the working tier, each at the place of its number, and how
	 * often a directory was moved: a place is filled only if none was meanwhile. Written under
	 * `lock`.
	 */
	_Atomic uint64_t working[OFS_INDEXER_WORKING_DIRS];
	_Atomic uint64_t moves;

	pthread_mutex_t lock; /* guards these; neither store nor index is called under it */
	pthread_cond_t wake;
	pthread_t thread;
	bool running;
	bool stop;
	struct ofs_map noted; /* inode -> enum ofs_look_how + 1 */
	bool all_noted; /* everything is to be looked at */
	struct ofs_map early; /* those that are not sealed */
	uint64_t left; /* inodes still to be indexed, as of the last batch */
	bool everything_left; /* the same */

	pthread_mutex_t work; /* one looks at a time; taken before the store's locks and `lock` */
	struct ofs_indexer_todos todo;
	struct ofs_indexer_todos done; /* in the open batch: to be done again if it fails */
	bool everything; /* all of persistent/ and archive/ is to be indexed */
	bool sweeping; /* and all that the index knows, */
	uint64_t swept; /* up to this inode */
	bool thorough; /* after which nothing that is dead stays */
	bool complete; /* what the index says of itself */
	atomic_bool away; /* content could not be had since the last sweep; read without `work` */
	uint64_t generation; /* of the index when everything was indexed */
	int64_t deadline; /* monotonic, when work ends; 0: none */
	int64_t looked_again; /* when unsealed files were last tried */
	int64_t swept_at;
	int64_t tried; /* when opening the index failed last; 0: it did not */
	bool told; /* a failure was logged */
};

/* `lock` held. From the last try of unsealed files to the next. */
static inline int64_t ofs_indexer_again_after(const struct ofs_indexer *ix)
{
	return OFS_INDEXER_AGAIN_NS + (int64_t)ix->early.count * OFS_INDEXER_AGAIN_EACH_NS;
}

/* `work` held. There is more to do now. */
static inline bool ofs_indexer_has_more(const struct ofs_indexer *ix)
{
	return ix->todo.n || ix->everything || ix->sweeping;
}

/* indexer_work.c; with `work` held */

int ofs_indexer_open_index(struct ofs_indexer *ix);
int ofs_indexer_set_complete(struct ofs_indexer *ix, bool complete);

/* The indexer, `arg`, must stop, or its time is up. */
bool ofs_indexer_is_over(void *arg);

/* Once a day, starts to index everything again. */
void ofs_indexer_sweep_daily(struct ofs_indexer *ix);

/* Takes over what was noted; with `again` also what was too early before. */
void ofs_indexer_take_noted(struct ofs_indexer *ix, bool again);

/* One batch, committed. 1: there are more; 0: none is left. */
int ofs_indexer_work_batch(struct ofs_indexer *ix);
