/* SPDX-License-Identifier: MIT */
/* What is kept of inodes that were removed. */
#include "index/index.h"

#include "index/internal.h"

#define PORTION 1024 /* looked at while the lock is held */

int ofs_index_get_tombstone(struct ofs_index *ix, uint64_t ino, struct ofs_buf *ret,
			    int64_t *ret_removed)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	const void *what;
	int r = ofs_stmt_first(ix, OFS_STMT_TOMBSTONE_GET, OFS_ARGS(ino), &st);

	if (r < 0)
		return r;
	what = sqlite3_column_blob(st, 1);
	if (what)
		ofs_buf_append(ret, what, (size_t)sqlite3_column_bytes(st, 1));
	*ret_removed = sqlite3_column_int64(st, 0);
	return 0;
}

int ofs_index_put_tombstone(struct ofs_index *ix, uint64_t ino, int64_t removed, const void *what,
			    size_t len)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = ofs_stmt_start(ix, OFS_STMT_TOMBSTONE_PUT, OFS_ARGS(ino, removed), &st);
	if (r == 0)
		r = ofs_stmt_bind_blob(ix, st, 3, len ? what : "", len);
	if (r == 0)
		r = ofs_stmt_step(ix, st);
	return ofs_index_written(ix, r);
}

/* Looks at the next ones after *after and moves it there; 0 behind the last one, else 1. */
static int delete_portion(struct ofs_index *ix, int64_t removed, int64_t *after, uint64_t *n)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int64_t to = 0;
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = ofs_stmt_first(ix, OFS_STMT_TOMBSTONE_PORTION, OFS_ARGS(*after, PORTION), &st);
	if (r == 0)
		to = sqlite3_column_int64(st, 0);
	if (r < 0 || !to)
		return ofs_index_written(ix, r);
	r = ofs_stmt_run(ix, OFS_STMT_TOMBSTONE_DELETE, OFS_ARGS(*after, to, removed));
	if (r < 0)
		return ofs_index_written(ix, r);
	*n += (uint64_t)sqlite3_changes(ix->db);
	*after = to;
	return 1;
}

int ofs_index_delete_tombstones(struct ofs_index *ix, int64_t removed, uint64_t *ret_n)
{
	int64_t after = 0;
	uint64_t n = 0;
	int r;

	do {
		r = delete_portion(ix, removed, &after, &n);
	} while (r > 0);
	if (r == 0)
		*ret_n = n;
	return r;
}
