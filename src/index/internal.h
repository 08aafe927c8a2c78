/* SPDX-License-Identifier: MIT */
/* What the parts of the index share: the connection, its lock, its prepared statements. */
#ifndef OFS_INDEX_INTERNAL_H
#define OFS_INDEX_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>

#include "base/u64_list.h"
#include "base/util.h"
#include "index/index.h"

enum ofs_stmt {
	OFS_STMT_BEGIN,
	OFS_STMT_COMMIT,
	OFS_STMT_ROLLBACK,

	OFS_STMT_META_GET,
	OFS_STMT_META_PUT,
	OFS_STMT_META_COUNT,

	OFS_STMT_INODE_LIST,
	OFS_STMT_INODE_PUT,
	OFS_STMT_INODE_DELETE,
	OFS_STMT_INODE_STORED,
	OFS_STMT_INODE_CHARGE,
	OFS_STMT_INODE_SHA,
	OFS_STMT_INODE_SET_SHA,
	OFS_STMT_INODE_ORPHANS,
	OFS_STMT_INODE_COUNT,

	OFS_STMT_DIRENT_LIST,
	OFS_STMT_DIRENT_PARENTS,
	OFS_STMT_DIRENT_SCAN,
	OFS_STMT_DIRENT_PUT,
	OFS_STMT_DIRENT_DELETE,

	OFS_STMT_FIRST_GET,
	OFS_STMT_FIRST_PUT,
	OFS_STMT_FIRST_LIST,
	OFS_STMT_FIRST_SHA,

	OFS_STMT_BLOCK_LIST,
	OFS_STMT_BLOCK_GET,
	OFS_STMT_BLOCK_NEXT,
	OFS_STMT_BLOCK_PUT,
	OFS_STMT_BLOCK_DELETE,
	OFS_STMT_BLOCK_GUEST_OF,
	OFS_STMT_BLOCK_GUEST,

	OFS_STMT_BLOCK_HOLDERS,
	OFS_STMT_BLOCK_NEXT_LONG,
	OFS_STMT_TOTALS,

	OFS_STMT_CHUNK_FIND,
	OFS_STMT_CHUNK_GET,
	OFS_STMT_CHUNK_OF_FRAME,
	OFS_STMT_CHUNK_REFERENCE,
	OFS_STMT_CHUNK_PUT,
	OFS_STMT_CHUNK_BEARER,
	OFS_STMT_CHUNK_MOVE,
	OFS_STMT_CHUNK_DELETE,
	OFS_STMT_CHUNK_DELETE_UNUSED,

	OFS_STMT_FRAME_PUT,
	OFS_STMT_FRAME_GET,
	OFS_STMT_FRAME_NEXT,
	OFS_STMT_FRAME_DUE,
	OFS_STMT_FRAME_BAD,
	OFS_STMT_FRAME_SET_BAD,
	OFS_STMT_FRAME_HOLD,
	OFS_STMT_FRAME_DEAD,
	OFS_STMT_FRAME_LIVE_BEFORE,
	OFS_STMT_FRAME_LIVE_AFTER,
	OFS_STMT_FRAME_END,
	OFS_STMT_FRAME_DELETE,

	OFS_STMT_DRAFT_LIST,
	OFS_STMT_DRAFT_PUT,
	OFS_STMT_DRAFT_DELETE,

	OFS_STMT_XATTR_GET,
	OFS_STMT_XATTR_PUT,
	OFS_STMT_XATTR_DELETE,
	OFS_STMT_XATTR_LABELLED,

	OFS_STMT_MARK_LIST,
	OFS_STMT_MARK_PUT,
	OFS_STMT_MARK_DELETE,

	OFS_STMT_TOMBSTONE_GET,
	OFS_STMT_TOMBSTONE_PUT,
	OFS_STMT_TOMBSTONE_PORTION,
	OFS_STMT_TOMBSTONE_DELETE,

	OFS_STMT_COUNT
};

struct ofs_index {
	char *path; /* as SQLite was given it; constant */
	pthread_mutex_t gate; /* taken first, and held only while waiting for `lock` */
	pthread_mutex_t lock; /* guards all that follows */
	sqlite3 *db;
	sqlite3_stmt *stmt[OFS_STMT_COUNT]; /* prepared at first use; always reset under the lock */
	bool writing; /* between begin and commit or rollback */
	int failure; /* the first error since begin, else 0 */
	struct ofs_u64_list heirs; /* inodes that inherited a charge and were not taken yet */
	size_t heirs_kept; /* how many of them a rollback keeps */
	bool changed; /* since the database was last made compact */
	int changes; /* SQLite's count of them at begin; wraps */
	struct ofs_u64_list dropped; /* chunks that lost their last reference since begin */
};

/*
 * A write transaction takes the lock again right after it has let go. The gate keeps it from
 * overtaking the one that waits: who waits for the lock holds the gate, and the writer has to come
 * through it.
 */
static inline pthread_mutex_t *ofs_index_lock(struct ofs_index *ix)
{
	pthread_mutex_lock(&ix->gate);
	pthread_mutex_lock(&ix->lock);
	pthread_mutex_unlock(&ix->gate);
	return &ix->lock;
}

static inline void ofs_index_unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

/* Holds the lock from here to the end of the scope; stands before any OFS_STMT in it. */
#define OFS_INDEX_LOCKED(ix)     \
	pthread_mutex_t *locked_ \
		__attribute__((cleanup(ofs_index_unlock), unused)) = ofs_index_lock(ix)

/* SQLite's result code as -errno. */
int ofs_sqlite_errno(sqlite3 *db, int rc);
int ofs_index_errno(struct ofs_index *ix, int rc);

/* Adds what the file `path` with `suffix` takes on disk; a missing one takes nothing. */
int ofs_index_file_usage(const char *path, const char *suffix, uint64_t *sum);

/* Statements. All of these are called under the lock. */

/* Number parameters: OFS_ARGS(a, b) stands for the array and its length. */
#define OFS_ARGS(...) \
	(const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)
#define OFS_NO_ARGS NULL, 0

/* Resets a statement and forgets what was bound; fit for OFS_CLEANUP. NULL is allowed. */
void ofs_stmt_reset(sqlite3_stmt **st);
#define OFS_STMT OFS_CLEANUP(ofs_stmt_reset)

/* A statement ready to step, parameters 1 to n bound. The caller resets it. */
int ofs_stmt_start(struct ofs_index *ix, enum ofs_stmt id, const int64_t *args, size_t n,
		   sqlite3_stmt **ret);

/* 1: there is a row, 0: there is none, or -errno. */
int ofs_stmt_step(struct ofs_index *ix, sqlite3_stmt *st);

/* The same, started, and -ENOENT when there is no row. */
int ofs_stmt_first(struct ofs_index *ix, enum ofs_stmt id, const int64_t *args, size_t n,
		   sqlite3_stmt **ret);

/* Runs a statement that gives no rows. */
int ofs_stmt_run(struct ofs_index *ix, enum ofs_stmt id, const int64_t *args, size_t n);

/* NULL data is bound as NULL. The bytes are borrowed until the reset. */
int ofs_stmt_bind_blob(struct ofs_index *ix, sqlite3_stmt *st, int param, const void *data,
		       size_t len);

/* -EUCLEAN unless the column holds `len` bytes. */
int ofs_stmt_bytes(sqlite3_stmt *st, int column, void *ret, size_t len);

/* The hash of block 0's chunk; -ENOENT when the file has none. Under the lock. */
int ofs_index_block_sha(struct ofs_index *ix, uint64_t ino, uint8_t ret[32]);

/* The columns of OFS_STMT_CHUNK_*, and of OFS_STMT_FRAME_*, beginning with the id. */
int ofs_index_read_chunk(sqlite3_stmt *st, struct ofs_index_chunk *ret);
void ofs_index_read_frame(sqlite3_stmt *st, struct ofs_index_frame *ret);

/* Deletes what of `dropped` is still without a reference; not under the lock. */
void ofs_index_delete_dropped(struct ofs_index *ix);

/* Writes. Under the lock. */

/* 0 when a write may go on: a transaction is open and nothing in it has failed. */
int ofs_index_writable(const struct ofs_index *ix);

/* Remembers a failure, so that the transaction cannot be committed; returns r. */
int ofs_index_written(struct ofs_index *ix, int r);

#endif
