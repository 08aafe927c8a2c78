/* SPDX-License-Identifier: MIT */
/* The state of the indexer, shared by indexer.c and indexer_work.c. */
#pragma once

#include "base/clock.h"
#include "base/map.h"
#include "tree/search/indexer.h"
#include "tree/search/indexer_look.h"
#include <pthread.h>

#define OFS_INDEXER_WORKING_DIRS 64
#define OFS_INDEXER_AGAIN_NS OFS_NS_PER_S /* between two tries of unsealed files, */
#define OFS_INDEXER_AGAIN_EACH_NS OFS_NS_PER_MS /* plus this for each of them */
#define OFS_INDEXER_RETRY_NS (10 * OFS_NS_PER_S) /* after an error */
#define OFS_INDEXER_SWEEP_NS (86400 * OFS_NS_PER_S) /* between two sweeps of everything, */
#define OFS_INDEXER_AWAY_NS (600 * OFS_NS_PER_S) /* or this, if some content could not be fetched */

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
	bool lazy; /* the index is created with the first file to index; constant */
	_Atomic(struct ofs_fts *) index; /* set once, under `work`; NULL: not open */
	_Atomic uint64_t last; /* the inode noted last; 0 once the notes have been taken */

	/*
	 * `working` caches directories seen in the working tier, by number modulo its size. `moves`
	 * counts moves of directories; an entry is added only if it has not changed since the look.
	 * Both are written under `lock`.
	 */
	_Atomic uint64_t working[OFS_INDEXER_WORKING_DIRS];
	_Atomic uint64_t moves;

	/* Guards the fields up to `work`. Neither the store nor the index is called under it. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running;
	bool stop;
	struct ofs_map noted; /* inode -> enum ofs_look_how + 1 */
	bool all_noted; /* everything is to be looked at */
	struct ofs_map early; /* inodes not yet sealed */
	uint64_t left; /* inodes still to be indexed, as of the last batch */
	bool everything_left; /* `everything` or `sweeping`, as of the last batch */

	pthread_mutex_t work; /* guards what follows; taken before the store's locks and `lock` */
	struct ofs_indexer_todos todo;
	struct ofs_indexer_todos done; /* in the open batch: redone if it fails */
	bool everything; /* all of persistent/ and archive/ is to be looked at */
	bool sweeping; /* all files in the index are to be looked at */
	uint64_t swept; /* the sweep has reached this inode */
	bool thorough; /* after the sweep, any dead document causes a rebuild */
	bool complete; /* as recorded in the index */
	atomic_bool away; /* some content was away since the last sweep; read without `work` */
	uint64_t generation; /* of the index when `everything` was last decided */
	int64_t deadline; /* monotonic: when to stop working; 0: none */
	int64_t looked_again; /* when unsealed files were last tried */
	int64_t swept_at; /* when the last sweep began */
	int64_t tried; /* when opening the index last failed; 0: it has not */
	bool told; /* a failure was logged */
};

/* Time between two tries of unsealed files. Call it with `lock` held. */
static inline int64_t ofs_indexer_again_after(const struct ofs_indexer *ix)
{
	return OFS_INDEXER_AGAIN_NS + (int64_t)ix->early.count * OFS_INDEXER_AGAIN_EACH_NS;
}

/* Whether there is more to do now. Call it with `work` held. */
static inline bool ofs_indexer_has_more(const struct ofs_indexer *ix)
{
	return ix->todo.n || ix->everything || ix->sweeping;
}

/* ---- indexer_work.c; all with `work` held */

/* Opens the index unless it is open. -EAGAIN: opening failed a short time ago. */
int ofs_indexer_open_index(struct ofs_indexer *ix);
/* Records in the index whether it is complete. Returns 0 or -errno. */
int ofs_indexer_set_complete(struct ofs_indexer *ix, bool complete);

/* Whether the indexer, `arg`, must stop or is past its deadline. */
bool ofs_indexer_is_over(void *arg);

/* Starts to look at everything again, if the last sweep was long enough ago. */
void ofs_indexer_sweep_daily(struct ofs_indexer *ix);

/* Moves the notes to `todo`; with `again` also the unsealed files, however recently tried. */
void ofs_indexer_take_noted(struct ofs_indexer *ix, bool again);

/* Works off one batch and commits it. Returns 1 if there is more to do, 0 if not, or -errno. */
int ofs_indexer_work_batch(struct ofs_indexer *ix);
