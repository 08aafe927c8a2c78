/* SPDX-License-Identifier: MIT */
/* What the parts of the search index share: the connection, its lock, its prepared statements. */
#ifndef OFS_INDEX_FTS_INTERNAL_H
#define OFS_INDEX_FTS_INTERNAL_H

#include <stdatomic.h>

#include "base/buf.h"
#include "index/internal.h"
#include "index/fts.h"

enum ofs_fts_stmt {
	OFS_FTS_BEGIN,
	OFS_FTS_COMMIT,
	OFS_FTS_ROLLBACK,

	OFS_FTS_META_GET,
	OFS_FTS_META_COMPLETE,
	OFS_FTS_META_MERGED,
	OFS_FTS_COUNT_FILES,
	OFS_FTS_COUNT_DOCS,
	OFS_FTS_COUNT_ALIVE,

	OFS_FTS_CONTENT_FIND,
	OFS_FTS_CONTENT_PUT,
	OFS_FTS_CONTENT_WHOLE,
	OFS_FTS_CONTENT_GET,
	OFS_FTS_CONTENT_USE,
	OFS_FTS_DOC_PUT,
	OFS_FTS_WORD_PUT,
	OFS_FTS_GRAM_PUT,
	OFS_FTS_WORD_MERGE,
	OFS_FTS_GRAM_MERGE,

	OFS_FTS_FILE_GET,
	OFS_FTS_FILE_PUT,
	OFS_FTS_FILE_DELETE,
	OFS_FTS_FILE_LIST,
	OFS_FTS_FILE_OF,
	OFS_FTS_NAME_PUT,
	OFS_FTS_NAME_DELETE,

	OFS_FTS_FIND_WORDS,
	OFS_FTS_FIND_GRAMS,

	OFS_FTS_STMTS
};

struct ofs_fts {
	char *path; /* as SQLite is given it; constant */
	_Atomic uint64_t generation; /* written under the lock */
	pthread_mutex_t gate; /* taken first, and held only while waiting for `lock` */
	pthread_mutex_t lock; /* guards all that follows */
	sqlite3 *db; /* NULL: it could not be begun anew; the next batch tries again */
	sqlite3_stmt *stmt[OFS_FTS_STMTS]; /* prepared at first use; always reset under the lock */
	bool writing; /* between begin and commit or rollback */
	int failure; /* the first error since begin, else 0 */
	uint64_t files, documents, alive; /* as the database has them */
	uint64_t merged; /* documents there were when segments were last merged */
	bool merging; /* they are being merged */
	bool changed; /* since the write-ahead log was given back */
};

/* See ofs_index_lock(). */
static inline pthread_mutex_t *ofs_fts_lock(struct ofs_fts *fts)
{
	pthread_mutex_lock(&fts->gate);
	pthread_mutex_lock(&fts->lock);
	pthread_mutex_unlock(&fts->gate);
	return &fts->lock;
}

/* Holds the lock from here to the end of the scope; stands before any OFS_STMT in it. */
#define OFS_FTS_LOCKED(fts)      \
	pthread_mutex_t *locked_ \
		__attribute__((cleanup(ofs_index_unlock), unused)) = ofs_fts_lock(fts)

/* All of these are called under the lock. */

/* A statement ready to step, parameters 1 to n bound. The caller resets it. */
int ofs_fts_stmt(struct ofs_fts *fts, enum ofs_fts_stmt id, const int64_t *args, size_t n,
		 sqlite3_stmt **ret);
/* 1: there is a row, 0: there is none, or -errno. */
int ofs_fts_step(struct ofs_fts *fts, sqlite3_stmt *st);
/* The same, started; the caller resets it. */
int ofs_fts_first(struct ofs_fts *fts, enum ofs_fts_stmt id, const int64_t *args, size_t n,
		  sqlite3_stmt **ret);
/* Runs a statement that gives no rows. */
int ofs_fts_run(struct ofs_fts *fts, enum ofs_fts_stmt id, const int64_t *args, size_t n);
int ofs_fts_exec(struct ofs_fts *fts, const char *sql);
int ofs_fts_bind(struct ofs_fts *fts, sqlite3_stmt *st, int param, const struct ofs_buf *b);

/* The number of a content that is whole: 1 and *ret, 0, or -errno. */
int ofs_fts_content_find(struct ofs_fts *fts, const uint8_t sha[32], int64_t *ret);

/* 0 when a write may go on: a batch is open and nothing in it has failed. */
int ofs_fts_writable(const struct ofs_fts *fts);

/*
 * Every public call ends in one of these, with no statement left to reset: what is damaged is begun
 * anew. Returns r. The second also remembers a failure, so that the batch cannot be committed.
 */
int ofs_fts_done(struct ofs_fts *fts, int r);
int ofs_fts_written(struct ofs_fts *fts, int r);

#endif
