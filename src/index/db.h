/* SPDX-License-Identifier: MIT */
/*
 * A SQLite database of the store: its connection, the lock of the connection, its prepared
 * statements, and the state of the write transaction. The index and the search index are one each.
 *
 * SQLite's codes become -errno here: a full disk is -ENOSPC or -EDQUOT, corruption -EUCLEAN, a lock
 * of another process -EBUSY, no memory -ENOMEM, a violated constraint -EEXIST, a read-only file
 * -EROFS, and the rest -EIO.
 */
#pragma once

#include <pthread.h>
#include <sqlite3.h>

#include "base/util.h"

struct ofs_db {
	char *path; /* in the form for SQLite; constant, like the next four */
	const char *vfs;
	bool fixed; /* nothing is written, and nobody else changes the file */
	const char *const *sql; /* the text of each statement */
	size_t nsql;

	pthread_mutex_t gate; /* taken first, and held only while waiting for `lock` */
	pthread_mutex_t lock; /* guards what follows */
	sqlite3 *conn; /* NULL while closed */
	sqlite3_stmt **stmt; /* prepared on first use; always reset under the lock */
	bool writing; /* true during a write transaction */
	int failure; /* the first error of the write transaction, or 0 */
};

/* Copies `path`; borrows `vfs` and `sql`. */
void ofs_db_init(struct ofs_db *db, const char *path, const char *vfs, const char *const *sql,
		 size_t nsql);
void ofs_db_finish(struct ofs_db *db);

/*
 * A write transaction takes the lock again right after releasing it. The gate keeps it from
 * overtaking a waiting thread: a thread that waits for the lock holds the gate, which the writer
 * must pass.
 */
static inline pthread_mutex_t *ofs_db_lock(struct ofs_db *db)
{
	pthread_mutex_lock(&db->gate);
	pthread_mutex_lock(&db->lock);
	pthread_mutex_unlock(&db->gate);
	return &db->lock;
}

static inline void ofs_db_unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

/* Holds the lock to the end of the scope. Must precede any OFS_STMT in the scope. */
#define OFS_DB_LOCKED(db) \
	pthread_mutex_t *locked_ __attribute__((cleanup(ofs_db_unlock), unused)) = ofs_db_lock(db)

/* Bytes on disk, including the write-ahead log. Not under the lock. */
int ofs_db_disk_usage(const struct ofs_db *db, uint64_t *ret);

/*
 * Creates the file with mode 0600 unless it exists. SQLite takes an empty file for an empty
 * database, so nothing is lost if the process dies right after.
 */
int ofs_db_create_file(struct ofs_db *db);

/* ---- The following are called under the lock, or while nobody else has the database. */

int ofs_db_connect(struct ofs_db *db);
void ofs_db_disconnect(struct ofs_db *db);

/*
 * 1: the database is empty; 0: it is signed with `application`; -EUCLEAN: neither; or another
 * -errno. Unless it is another -errno, *ret_format is its format.
 */
int ofs_db_examine(struct ofs_db *db, int64_t application, int64_t *ret_format);

int ofs_db_errno(const struct ofs_db *db, int rc);

/* Runs SQL that takes no parameters and whose rows do not matter. */
int ofs_db_exec(struct ofs_db *db, const char *sql);

/* The first column of the first row, as of a pragma or a count. */
int ofs_db_number(struct ofs_db *db, const char *sql, int64_t *ret);

/* Empties the write-ahead log into the database and frees its space. */
int ofs_db_checkpoint(struct ofs_db *db);

/* Resets a statement and clears its bindings, for OFS_CLEANUP. NULL is allowed. */
void ofs_stmt_reset(sqlite3_stmt **st);
#define OFS_STMT OFS_CLEANUP(ofs_stmt_reset)

/* Integer parameters: OFS_ARGS(a, b) expands to an array and its length. */
#define OFS_ARGS(...) \
	(const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)
#define OFS_NO_ARGS NULL, 0

/* Returns a statement ready to step, with parameters 1 to n bound. The caller resets it. */
int ofs_db_start(struct ofs_db *db, int id, const int64_t *args, size_t n, sqlite3_stmt **ret);

/* 1: there is a row; 0: there is none; or -errno. */
int ofs_db_step(struct ofs_db *db, sqlite3_stmt *st);

/* Starts a statement and steps to its first row. -ENOENT: there is none. */
int ofs_db_first(struct ofs_db *db, int id, const int64_t *args, size_t n, sqlite3_stmt **ret);

/* The first column of the first row of a statement. -ENOENT: there is none. */
int ofs_db_get_number(struct ofs_db *db, int id, const int64_t *args, size_t n, uint64_t *ret);

/* Runs a statement that returns no rows. */
int ofs_db_run(struct ofs_db *db, int id, const int64_t *args, size_t n);

/* Does the same. The parameter after the numbers is a blob, or NULL if `data` is NULL. */
int ofs_db_run_blob(struct ofs_db *db, int id, const int64_t *args, size_t n, const void *data,
		    size_t len);

/* Binds a blob, or NULL if `data` is NULL. The bytes are borrowed until the reset. */
int ofs_db_bind_blob(struct ofs_db *db, sqlite3_stmt *st, int param, const void *data, size_t len);

/* Binds a text of `len` bytes, borrowed likewise. A length of 0 binds the empty text. */
int ofs_db_bind_text(struct ofs_db *db, sqlite3_stmt *st, int param, const void *text, size_t len);

/* Unsigned numbers survive being stored as SQLite's signed ones. */
static inline uint64_t ofs_column_u64(sqlite3_stmt *st, int column)
{
	return (uint64_t)sqlite3_column_int64(st, column);
}

static inline uint32_t ofs_column_u32(sqlite3_stmt *st, int column)
{
	return (uint32_t)sqlite3_column_int64(st, column);
}

/* -EUCLEAN unless the column is a blob of `len` bytes. */
int ofs_column_bytes(sqlite3_stmt *st, int column, void *ret, size_t len);

/* A transaction on the connection. ofs_db_end() commits if `r` is 0, and otherwise rolls back. */
int ofs_db_begin(struct ofs_db *db);
int ofs_db_end(struct ofs_db *db, int r);

/* 0 if a write is possible: a transaction is open, and nothing in it has failed. */
int ofs_db_writable(const struct ofs_db *db);

/* Records a failure, so that the transaction cannot be committed. Returns r. */
int ofs_db_written(struct ofs_db *db, int r);

/* ---- These take the lock themselves. */

/* ofs_db_run_blob() as one write of the write transaction. */
int ofs_db_write(struct ofs_db *db, int id, const int64_t *args, size_t n, const void *data,
		 size_t len);

/*
 * Passes the numbers that a statement returns to `fn`, under the lock, until it returns nonzero,
 * which is returned.
 */
int ofs_db_list_numbers(struct ofs_db *db, int id, const int64_t *args, size_t n,
			int (*fn)(void *arg, uint64_t number), void *arg);
