/* SPDX-License-Identifier: MIT */
/* What the parts of the text index share: the connection, its lock, its prepared statements. */
#ifndef OFS_INDEX_TEXT_INTERNAL_H
#define OFS_INDEX_TEXT_INTERNAL_H

#include <stdatomic.h>

#include "base/buf.h"
#include "index/internal.h"
#include "index/text_index.h"

enum ofs_text_stmt {
	OFS_TEXT_BEGIN,
	OFS_TEXT_COMMIT,
	OFS_TEXT_ROLLBACK,

	OFS_TEXT_META_GET,
	OFS_TEXT_META_COMPLETE,
	OFS_TEXT_META_MERGED,
	OFS_TEXT_COUNT_FILES,
	OFS_TEXT_COUNT_DOCS,
	OFS_TEXT_COUNT_ALIVE,

	OFS_TEXT_CONTENT_FIND,
	OFS_TEXT_CONTENT_PUT,
	OFS_TEXT_CONTENT_WHOLE,
	OFS_TEXT_CONTENT_GET,
	OFS_TEXT_CONTENT_USE,
	OFS_TEXT_DOC_PUT,
	OFS_TEXT_WORD_PUT,
	OFS_TEXT_GRAM_PUT,
	OFS_TEXT_WORD_MERGE,
	OFS_TEXT_GRAM_MERGE,

	OFS_TEXT_FILE_GET,
	OFS_TEXT_FILE_PUT,
	OFS_TEXT_FILE_DELETE,
	OFS_TEXT_FILE_LIST,
	OFS_TEXT_FILE_OF,
	OFS_TEXT_NAME_PUT,
	OFS_TEXT_NAME_DELETE,

	OFS_TEXT_FIND_WORDS,
	OFS_TEXT_FIND_GRAMS,

	OFS_TEXT_STMTS
};

struct ofs_text_index {
	char *path; /* as SQLite is given it; constant */
	_Atomic uint64_t generation; /* written under the lock */
	pthread_mutex_t gate; /* taken first, and held only while waiting for `lock` */
	pthread_mutex_t lock; /* guards all that follows */
	sqlite3 *db; /* NULL: it could not be begun anew; the next batch tries again */
	sqlite3_stmt *stmt[OFS_TEXT_STMTS]; /* prepared at first use; always reset under the lock */
	bool writing; /* between begin and commit or rollback */
	int failure; /* the first error since begin, else 0 */
	uint64_t files, documents, alive; /* as the database has them */
	uint64_t merged; /* documents there were when segments were last merged */
	bool merging; /* they are being merged */
	bool changed; /* since the write-ahead log was given back */
};

/* See ofs_index_lock(). */
static inline pthread_mutex_t *ofs_text_lock(struct ofs_text_index *ti)
{
	pthread_mutex_lock(&ti->gate);
	pthread_mutex_lock(&ti->lock);
	pthread_mutex_unlock(&ti->gate);
	return &ti->lock;
}

/* Holds the lock from here to the end of the scope; stands before any OFS_STMT in it. */
#define OFS_TEXT_LOCKED(ti)      \
	pthread_mutex_t *locked_ \
		__attribute__((cleanup(ofs_index_unlock), unused)) = ofs_text_lock(ti)

/* All of these are called under the lock. */

/* A statement ready to step, parameters 1 to n bound. The caller resets it. */
int ofs_text_stmt(struct ofs_text_index *ti, enum ofs_text_stmt id, const int64_t *args, size_t n,
		  sqlite3_stmt **ret);
/* 1: there is a row, 0: there is none, or -errno. */
int ofs_text_step(struct ofs_text_index *ti, sqlite3_stmt *st);
/* The same, started; the caller resets it. */
int ofs_text_first(struct ofs_text_index *ti, enum ofs_text_stmt id, const int64_t *args, size_t n,
		   sqlite3_stmt **ret);
/* Runs a statement that gives no rows. */
int ofs_text_run(struct ofs_text_index *ti, enum ofs_text_stmt id, const int64_t *args, size_t n);
int ofs_text_exec(struct ofs_text_index *ti, const char *sql);
int ofs_text_bind(struct ofs_text_index *ti, sqlite3_stmt *st, int param, const struct ofs_buf *b);

/* The number of a content that is whole: 1 and *ret, 0, or -errno. */
int ofs_text_content_find(struct ofs_text_index *ti, const uint8_t sha[32], int64_t *ret);

/* 0 when a write may go on: a batch is open and nothing in it has failed. */
int ofs_text_writable(const struct ofs_text_index *ti);

/*
 * Every public call ends in one of these, with no statement left to reset: what is damaged is begun
 * anew. Returns r. The second also remembers a failure, so that the batch cannot be committed.
 */
int ofs_text_done(struct ofs_text_index *ti, int r);
int ofs_text_written(struct ofs_text_index *ti, int r);

#endif
