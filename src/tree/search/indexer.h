/* SPDX-License-Identifier: MIT */
/*
 * Keeps the search index (index/fts.h) in step with persistent/ and archive/: names, titles and
 * tags at once, content once it is sealed. Changed files are noted, and indexed later by the thread
 * of a served tree, otherwise by ofs_indexer_settle().
 *
 * While the index cannot be opened, nothing is indexed, and opening is retried from time to time.
 */
#pragma once

#include "index/fts.h"
#include "tree/core/tree_state.h"

struct ofs_indexer;

/*
 * The store must be open and the tree's directories known. `path` is the file of the search index.
 * For a tree with background threads the index is opened here, if it exists or there are files to
 * index, and marked incomplete; otherwise it is opened on first use.
 */
struct ofs_indexer *ofs_indexer_create(struct ofs_tree *t, const char *path);

/* Starts the thread. Returns 0 or -errno. */
int ofs_indexer_start(struct ofs_indexer *ix);

/*
 * Ends the thread and closes the index. Without a thread, first seals and indexes what was noted,
 * for up to two seconds; the next start finds the rest. The store must still be open. NULL is a
 * no-op.
 */
void ofs_indexer_stop(struct ofs_indexer *ix);

/* Frees it. Call it after the store was closed, when nobody can note anything. NULL is a no-op. */
void ofs_indexer_destroy(struct ofs_indexer *ix);

/*
 * Notes that this file, or anything below this directory, may have changed: content, existence,
 * place, title or tags. Cheap; from any thread with no lock held. NULL is a no-op.
 */
void ofs_indexer_note(struct ofs_indexer *ix, uint64_t ino);

/* The same for a file in directory `dir`; even cheaper if that is in the working tier. */
void ofs_indexer_note_in(struct ofs_indexer *ix, uint64_t ino, uint64_t dir);

/* Notes that `name` in `dir` was moved to `newname` in `newdir`; flags of ofs_tree_rename(). */
void ofs_indexer_note_rename(struct ofs_indexer *ix, uint64_t dir, const char *name,
			     uint64_t newdir, const char *newname, unsigned int flags);

/* Notes that any file may have changed. */
void ofs_indexer_note_all(struct ofs_indexer *ix);

/* Called by the sealer when it has sealed a file. */
void ofs_indexer_note_sealed(struct ofs_indexer *ix, uint64_t ino);

/*
 * Returns the open index, valid until ofs_indexer_stop(), or NULL if there is none now. Without a
 * background thread, call ofs_indexer_settle() first to find everything.
 */
struct ofs_fts *ofs_indexer_index(struct ofs_indexer *ix);

/*
 * Indexes all that was noted and is sealed, in the caller's thread; unsealed files stay noted. If
 * the index is not marked complete, looks at everything first. Returns 0 or -errno.
 */
int ofs_indexer_settle(struct ofs_indexer *ix);

/*
 * Calls `fn` within a batch of the index and commits it. Returns what `fn` returns, or -errno;
 * -EAGAIN if there is no index.
 */
int ofs_indexer_write(struct ofs_indexer *ix, int (*fn)(void *arg, struct ofs_fts *index),
		      void *arg);

struct ofs_indexer_stats {
	uint64_t files; /* in the index */
	uint64_t documents; /* including dead ones */
	uint64_t dead;
	uint64_t bytes; /* on disk */
	uint64_t waiting; /* files noted, or not yet sealed */
	bool caught_up; /* nothing is waiting, and all files have been checked */
};

/* Cheap. Without an index all is zero and false, except before the first file is indexed. */
void ofs_indexer_stats(struct ofs_indexer *ix, struct ofs_indexer_stats *ret);
