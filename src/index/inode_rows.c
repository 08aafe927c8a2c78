/* SPDX-License-Identifier: MIT */
/* Inodes and their attributes, drafts, marks and tombstones; and the ledger. */
#include "base/clock.h"
#include "base/xattr.h"
#include "index/index_state.h"

/*
 * Reads the hash of a row's content: known, unknown (NULL), or that of its first chunk (an
 * integer), which is in column `first`.
 */
static int inode_read_sha(sqlite3_stmt *st, int column, int first, struct ofs_index_inode *in)
{
	int type = sqlite3_column_type(st, column);

	in->has_sha = type != SQLITE_NULL;
	if (type == SQLITE_NULL)
		return 0;
	return ofs_column_bytes(st, type == SQLITE_BLOB ? column : first, in->sha, sizeof(in->sha));
}

static int inode_read_target(sqlite3_stmt *st, int column, struct ofs_index_inode *in)
{
	const char *target;

	if (sqlite3_column_type(st, column) == SQLITE_NULL)
		return 0;
	target = (const char *)sqlite3_column_text(st, column);
	in->target = target ? strdup(target) : NULL;
	return in->target ? 0 : -ENOMEM;
}

/* Times are stored as differences, which wrap like unsigned numbers. */
static int64_t time_from(uint64_t base, sqlite3_stmt *st, int column)
{
	return (int64_t)(base + ofs_column_u64(st, column));
}

/* The last use is stored in seconds after ctime. */
static int64_t used_from(int64_t ctime, sqlite3_stmt *st, int column)
{
	uint64_t seconds = (uint64_t)ofs_seconds(ctime) + ofs_column_u64(st, column);

	return (int64_t)(seconds * (uint64_t)OFS_NS_PER_S);
}

static int inode_read(sqlite3_stmt *st, struct ofs_index_inode *ret)
{
	struct ofs_index_inode in = { .ino = ofs_column_u64(st, 0) };
	uint64_t mtime;
	int r;

	in.parent = ofs_column_u64(st, 1);
	in.mode = ofs_column_u32(st, 2);
	in.uid = ofs_column_u32(st, 3);
	in.gid = ofs_column_u32(st, 4);
	in.nlink = ofs_column_u32(st, 5);
	in.rdev = ofs_column_u64(st, 6);
	in.size = ofs_column_u64(st, 7);
	mtime = ofs_column_u64(st, 8);
	in.mtime = (int64_t)mtime;
	in.atime = time_from(mtime, st, 9);
	in.ctime = time_from(mtime, st, 10);
	in.btime = time_from((uint64_t)in.atime, st, 11);
	in.stored = ofs_column_u64(st, 12);
	in.lines = sqlite3_column_int64(st, 13);
	in.used = used_from(in.ctime, st, 14);
	in.tokens = OFS_MAX(sqlite3_column_int64(st, 18), (sqlite3_int64)-1);
	r = inode_read_sha(st, 16, 17, &in);
	if (r == 0)
		r = inode_read_target(st, 15, &in);
	if (r == 0)
		*ret = in;
	return r;
}

int ofs_index_get_inode(struct ofs_index *ix, uint64_t ino, struct ofs_index_inode *ret)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, OFS_STMT_INODE_LIST, OFS_ARGS(ino, ino), &st);

	return r < 0 ? r : inode_read(st, ret);
}

int ofs_index_list_inodes(struct ofs_index *ix, uint64_t first, uint64_t last,
			  int (*fn)(void *arg, const struct ofs_index_inode *in), void *arg)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	struct ofs_index_inode in;
	int r = ofs_db_start(&ix->db, OFS_STMT_INODE_LIST, OFS_ARGS(first, last), &st);

	if (r < 0)
		return r;
	while ((r = ofs_db_step(&ix->db, st)) > 0) {
		r = inode_read(st, &in);
		if (r == 0)
			r = fn(arg, &in);
		if (r)
			return r;
	}
	return r;
}

int ofs_index_get_stored(struct ofs_index *ix, uint64_t ino, uint64_t *ret)
{
	OFS_DB_LOCKED(&ix->db);
	return ofs_db_get_number(&ix->db, OFS_STMT_INODE_STORED, OFS_ARGS(ino), ret);
}

/* Binds the hash in its shortest form (schema.h). An unbound parameter is NULL. */
static int inode_bind_sha(struct ofs_index *ix, sqlite3_stmt *st, int param,
			  const struct ofs_index_inode *row)
{
	uint8_t first[32];
	int r;

	if (!row->has_sha)
		return 0;
	r = ofs_index_block_sha(ix, row->ino, first);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && memcmp(first, row->sha, sizeof(first)) == 0)
		return ofs_db_errno(&ix->db, sqlite3_bind_int64(st, param, 0));
	return ofs_db_bind_blob(&ix->db, st, param, row->sha, sizeof(row->sha));
}

/* The difference to store (schema.h), which wraps like an unsigned number. */
static int64_t time_since(int64_t mtime, int64_t t)
{
	return (int64_t)((uint64_t)t - (uint64_t)mtime);
}

int ofs_index_put_inode(struct ofs_index *ix, const struct ofs_index_inode *row)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_writable(&ix->db);

	if (r < 0)
		return r;
	r = ofs_db_start(&ix->db, OFS_STMT_INODE_PUT,
			 OFS_ARGS(row->ino, row->parent, row->mode, row->uid, row->gid, row->nlink,
				  row->rdev, row->size, row->mtime,
				  time_since(row->mtime, row->atime),
				  time_since(row->mtime, row->ctime),
				  time_since(row->atime, row->btime), row->stored, row->lines,
				  ofs_seconds(row->used) - ofs_seconds(row->ctime), row->tokens),
			 &st);
	if (r == 0)
		r = inode_bind_sha(ix, st, 17, row);
	if (r == 0 && row->target)
		r = ofs_db_bind_blob(&ix->db, st, 18, row->target, strlen(row->target));
	if (r == 0)
		r = ofs_db_step(&ix->db, st);
	return ofs_db_written(&ix->db, r);
}

int ofs_index_delete_inode(struct ofs_index *ix, uint64_t ino)
{
	int r = ofs_index_truncate_blocks(ix, ino, 0);

	if (r < 0)
		return r;
	OFS_DB_LOCKED(&ix->db);
	r = ofs_db_writable(&ix->db);
	if (r < 0)
		return r;
	r = ofs_db_run(&ix->db, OFS_STMT_DRAFT_DELETE, OFS_ARGS(ino));
	if (r == 0)
		r = ofs_db_run(&ix->db, OFS_STMT_XATTR_DELETE, OFS_ARGS(ino));
	if (r == 0)
		r = ofs_db_run(&ix->db, OFS_STMT_MARK_DELETE, OFS_ARGS(ino));
	if (r == 0)
		r = ofs_db_run(&ix->db, OFS_STMT_INODE_DELETE, OFS_ARGS(ino));
	return ofs_db_written(&ix->db, r);
}

int ofs_index_list_orphans(struct ofs_index *ix, int (*fn)(void *arg, uint64_t ino), void *arg)
{
	return ofs_db_list_numbers(&ix->db, OFS_STMT_INODE_ORPHANS, OFS_NO_ARGS, fn, arg);
}

int ofs_index_list_labelled(struct ofs_index *ix, uint64_t after,
			    int (*fn)(void *arg, uint64_t ino), void *arg)
{
	return ofs_db_list_numbers(&ix->db, OFS_STMT_XATTR_LABELLED, OFS_ARGS(after), fn, arg);
}

int ofs_index_list_files(struct ofs_index *ix, uint64_t before, int (*fn)(void *arg, uint64_t ino),
			 void *arg)
{
	return ofs_db_list_numbers(&ix->db, OFS_STMT_INODE_FILES, OFS_ARGS(before), fn, arg);
}

int ofs_index_list_marks(struct ofs_index *ix, size_t max, int (*fn)(void *arg, uint64_t ino),
			 void *arg)
{
	return ofs_db_list_numbers(&ix->db, OFS_STMT_MARK_LIST, OFS_ARGS((int64_t)max), fn, arg);
}

int ofs_index_count(struct ofs_index *ix, uint64_t *ret_inodes, uint64_t *ret_bytes)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	uint64_t high, low, bytes;
	int r = ofs_db_first(&ix->db, OFS_STMT_INODE_COUNT, OFS_NO_ARGS, &st);

	if (r < 0)
		return r;
	/* The two halves of the sizes are summed separately, since sparse files can be huge. */
	high = ofs_column_u64(st, 1);
	low = ofs_column_u64(st, 2);
	if (high > UINT32_MAX || __builtin_add_overflow(high << 32, low, &bytes))
		bytes = UINT64_MAX;
	*ret_inodes = ofs_column_u64(st, 0);
	*ret_bytes = bytes;
	return 0;
}

/* ---- extended attributes, drafts, marks */

int ofs_index_get_xattrs(struct ofs_index *ix, uint64_t ino, struct ofs_buf *ret)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	const void *list;
	size_t len;
	int r = ofs_db_first(&ix->db, OFS_STMT_XATTR_GET, OFS_ARGS(ino), &st);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	list = sqlite3_column_blob(st, 0);
	len = (size_t)sqlite3_column_bytes(st, 0);
	if (!list || !ofs_xattr_is_list(list, len))
		return -EUCLEAN;
	ofs_buf_append(ret, list, len);
	return 0;
}

int ofs_index_set_xattrs(struct ofs_index *ix, uint64_t ino, const void *list, size_t len)
{
	if (!len)
		return ofs_db_write(&ix->db, OFS_STMT_XATTR_DELETE, OFS_ARGS(ino), NULL, 0);
	return ofs_db_write(&ix->db, OFS_STMT_XATTR_PUT, OFS_ARGS(ino), list, len);
}

int ofs_index_list_drafts(struct ofs_index *ix,
			  int (*fn)(void *arg, const struct ofs_index_draft *d), void *arg)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&ix->db, OFS_STMT_DRAFT_LIST, OFS_NO_ARGS, &st);

	if (r < 0)
		return r;
	while ((r = ofs_db_step(&ix->db, st)) > 0) {
		struct ofs_index_draft d = {
			.ino = ofs_column_u64(st, 0),
			.off = ofs_column_u64(st, 1),
			.len = ofs_column_u64(st, 2),
			.data_pos = ofs_column_u64(st, 3),
			.data_len = ofs_column_u32(st, 4),
			.data_off = ofs_column_u32(st, 5),
		};

		r = fn(arg, &d);
		if (r)
			return r;
	}
	return r;
}

int ofs_index_set_drafts(struct ofs_index *ix, uint64_t ino, const struct ofs_index_draft *drafts,
			 size_t n)
{
	OFS_DB_LOCKED(&ix->db);
	int r = ofs_db_writable(&ix->db);

	if (r < 0)
		return r;
	r = ofs_db_run(&ix->db, OFS_STMT_DRAFT_DELETE, OFS_ARGS(ino));
	for (size_t i = 0; r == 0 && i < n; i++)
		r = ofs_db_run(&ix->db, OFS_STMT_DRAFT_PUT,
			       OFS_ARGS(ino, drafts[i].off, drafts[i].len, drafts[i].data_pos,
					drafts[i].data_len, drafts[i].data_off));
	return ofs_db_written(&ix->db, r);
}

int ofs_index_put_mark(struct ofs_index *ix, uint64_t ino)
{
	return ofs_db_write(&ix->db, OFS_STMT_MARK_PUT, OFS_ARGS(ino), NULL, 0);
}

int ofs_index_delete_mark(struct ofs_index *ix, uint64_t ino)
{
	return ofs_db_write(&ix->db, OFS_STMT_MARK_DELETE, OFS_ARGS(ino), NULL, 0);
}

/* ---- tombstones */

#define PORTION 1024 /* rows examined while the lock is held */

int ofs_index_get_tombstone(struct ofs_index *ix, uint64_t ino, struct ofs_buf *ret,
			    int64_t *ret_removed)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	const void *what;
	int r = ofs_db_first(&ix->db, OFS_STMT_TOMBSTONE_GET, OFS_ARGS(ino), &st);

	if (r < 0)
		return r;
	what = sqlite3_column_blob(st, 1);
	if (what)
		ofs_buf_append(ret, what, (size_t)sqlite3_column_bytes(st, 1));
	*ret_removed = sqlite3_column_int64(st, 0);
	return 0;
}

int ofs_index_first_number(struct ofs_index *ix, uint64_t from, uint64_t *ret)
{
	OFS_DB_LOCKED(&ix->db);
	uint64_t first = 0;
	int r = ofs_db_get_number(&ix->db, OFS_STMT_NUMBER_FIRST, OFS_ARGS(from), &first);

	if (r == 0)
		*ret = first ? first : UINT64_MAX;
	return r;
}

int ofs_index_put_tombstone(struct ofs_index *ix, uint64_t ino, int64_t removed, const void *what,
			    size_t len)
{
	return ofs_db_write(&ix->db, OFS_STMT_TOMBSTONE_PUT, OFS_ARGS(ino, removed),
			    len ? what : "", len);
}

/*
 * Handles the next tombstones after *after, which it advances. 1: there may be more; 0: there are
 * none; or -errno.
 */
static int delete_portion(struct ofs_index *ix, int64_t removed, int64_t *after, uint64_t *n)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int64_t to = 0;
	int r = ofs_db_writable(&ix->db);

	if (r < 0)
		return r;
	r = ofs_db_first(&ix->db, OFS_STMT_TOMBSTONE_PORTION, OFS_ARGS(*after, PORTION), &st);
	if (r == 0)
		to = sqlite3_column_int64(st, 0);
	if (r < 0 || !to)
		return ofs_db_written(&ix->db, r);
	r = ofs_db_run(&ix->db, OFS_STMT_TOMBSTONE_DELETE, OFS_ARGS(*after, to, removed));
	if (r < 0)
		return ofs_db_written(&ix->db, r);
	*n += (uint64_t)sqlite3_changes(ix->db.conn);
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

/* ---- the ledger */

static void read_sums(sqlite3_stmt *st, struct ofs_ledger_entry *ret)
{
	ret->results = ofs_column_u64(st, 0);
	ret->offloaded = ofs_column_u64(st, 1);
	ret->pointers = ofs_column_u64(st, 2);
	ret->read = ofs_column_u64(st, 3);
}

int ofs_index_get_ledger(struct ofs_index *ix, int64_t id, struct ofs_ledger_entry *ret)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, OFS_STMT_LEDGER_GET, OFS_ARGS(id), &st);

	if (r == 0)
		read_sums(st, ret);
	return r;
}

int ofs_index_put_ledger(struct ofs_index *ix, int64_t id, const struct ofs_ledger_entry *e)
{
	return ofs_db_write(&ix->db, OFS_STMT_LEDGER_PUT,
			    OFS_ARGS(id, e->day, (int64_t)e->results, (int64_t)e->offloaded,
				     (int64_t)e->pointers, (int64_t)e->read),
			    e->who, strlen(e->who));
}

int ofs_index_list_ledger(struct ofs_index *ix, int64_t from,
			  int (*fn)(void *arg, int64_t id, const struct ofs_ledger_entry *e),
			  void *arg)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&ix->db, OFS_STMT_LEDGER_LIST, OFS_ARGS(from), &st);

	while (r == 0 && (r = ofs_db_step(&ix->db, st)) > 0) {
		size_t len = (size_t)sqlite3_column_bytes(st, 6);
		OFS_FREE char *who = ofs_strndup(len ? sqlite3_column_blob(st, 6) : "", len);
		struct ofs_ledger_entry e = { .day = sqlite3_column_int64(st, 5), .who = who };

		read_sums(st, &e);
		r = fn(arg, sqlite3_column_int64(st, 4), &e);
	}
	return r;
}
