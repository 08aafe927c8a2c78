/* SPDX-License-Identifier: MIT */
/*
 * Keeps the search index (index/fts.h) in line with the files of persistent/ and archive/: their
 * content once it is sealed, and their names, titles and tags at once. Noted files are indexed
 * later, by the thread of a tree that is served, else by ofs_indexer_settle().
 *
 * If the index cannot be opened, nothing is indexed, and opening is tried again from time to time.
 */
#pragma once

#include "index/fts.h"
#include "tree/core/tree_state.h"

struct ofs_indexer;

/*
 * For a tree whose store is open and whose four trees are known. `path` is the search index's file.
 * In the background it is opened here, and no longer counts as complete; else when it is first
 * needed.
 */
struct ofs_indexer *ofs_indexer_create(struct ofs_tree *t, const char *path);

/* Starts the thread. */
int ofs_indexer_start(struct ofs_indexer *ix);

/*
 * Ends the thread and closes the index. Without a thread, what was noted is sealed and indexed
 * first, for as long as two seconds; the next start finds what is left. The store must
 * still be open. NULL is allowed.
 */
void ofs_indexer_stop(struct ofs_indexer *ix);

/* Once nobody can note anything any more, so after the store was closed. NULL is allowed. */
void ofs_indexer_destroy(struct ofs_indexer *ix);

/*
 * This file, or what is below this directory, may be other than it was: written, made, moved, or
 * with another title or other tags. Costs next to nothing and may come from any thread, with no
 * lock held. NULL is allowed.
 */
void ofs_indexer_note(struct ofs_indexer *ix, uint64_t ino);

/*
 * The same of a file whose directory is `dir`: costs even less where that is in the working tier.
 */
void ofs_indexer_note_in(struct ofs_indexer *ix, uint64_t ino, uint64_t dir);

/* `name` in `dir` was moved to `newname` in `newdir`, with the flags of ofs_tree_rename(). */
void ofs_indexer_note_rename(struct ofs_indexer *ix, uint64_t dir, const char *name,
			     uint64_t newdir, const char *newname, unsigned int flags);

/* All files may be others than they were. */
void ofs_indexer_note_all(struct ofs_indexer *ix);

/* From the sealer: a file has been sealed. */
void ofs_indexer_note_sealed(struct ofs_indexer *ix, uint64_t ino);

/*
 * The index to ask, valid as long as the indexer is; NULL: there is none now. Without a background
 * thread, call ofs_indexer_settle() first to find everything.
 */
struct ofs_fts *ofs_indexer_index(struct ofs_indexer *ix);

/*
 * Does all that is noted and can be done now, in the caller's thread; what is not sealed stays
 * noted. Looks at everything first when the index does not know itself to be complete. 0 or -errno.
 */
int ofs_indexer_settle(struct ofs_indexer *ix);

/*
 * Calls `fn` within a batch of the index. Returns what that does, or -errno; -EAGAIN: there is no
 * index.
 */
int ofs_indexer_write(struct ofs_indexer *ix, int (*fn)(void *arg, struct ofs_fts *index),
		      void *arg);

struct ofs_indexer_stats {
	uint64_t files; /* in the index */
	uint64_t documents; /* dead ones included */
	uint64_t dead;
	uint64_t bytes; /* on disk */
	uint64_t waiting; /* noted and not indexed, or not sealed yet */
	bool caught_up; /* nothing is waiting, and all files have been checked */
};

/* Cheap. Without an index all is 0 and false. */
void ofs_indexer_stats(struct ofs_indexer *ix, struct ofs_indexer_stats *ret);
