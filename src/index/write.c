/* SPDX-License-Identifier: MIT */
/*
 * Rows that are put and deleted as they are; blocks, which carry references and charges, are in
 * block.c.
 */
#include "index/index.h"

#include "base/clock.h"
#include "index/internal.h"

int ofs_index_put_meta(struct ofs_index *ix, const struct ofs_index_meta *meta)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = ofs_stmt_start(ix, OFS_STMT_META_PUT,
			   OFS_ARGS(meta->checkpoint, meta->next_ino, meta->next_chunk, meta->pack,
				    meta->pack_size, meta->unused_from, meta->scrubbed,
				    meta->counts.files, meta->counts.dirs, meta->counts.others,
				    meta->counts.bytes, meta->counts.tombstones, meta->age,
				    meta->age_wall, meta->wall_high),
			   &st);
	if (r == 0)
		r = ofs_stmt_bind_blob(ix, st, 16, meta->uuid, sizeof(meta->uuid));
	if (r == 0)
		r = ofs_stmt_step(ix, st);
	return ofs_index_written(ix, r);
}

int ofs_index_recount(struct ofs_index *ix)
{
	OFS_INDEX_LOCKED(ix);
	int r = ofs_index_writable(ix);

	return r < 0 ? r
		     : ofs_index_written(ix, ofs_stmt_run(ix, OFS_STMT_META_COUNT, OFS_NO_ARGS));
}

/* Binds the hash in its shortest form; see schema.h. A parameter that is not bound is NULL. */
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
		return ofs_index_errno(ix, sqlite3_bind_int64(st, param, 0));
	return ofs_stmt_bind_blob(ix, st, param, row->sha, sizeof(row->sha));
}

/* See schema.h: the other times are differences that wrap as unsigned numbers do. */
static int64_t time_since(int64_t mtime, int64_t t)
{
	return (int64_t)((uint64_t)t - (uint64_t)mtime);
}

int ofs_index_put_inode(struct ofs_index *ix, const struct ofs_index_inode *row)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = ofs_stmt_start(
		ix, OFS_STMT_INODE_PUT,
		OFS_ARGS(row->ino, row->parent, row->mode, row->uid, row->gid, row->nlink,
			 row->rdev, row->size, row->mtime, time_since(row->mtime, row->atime),
			 time_since(row->mtime, row->ctime), time_since(row->atime, row->btime),
			 row->stored, row->lines, ofs_seconds(row->used) - ofs_seconds(row->ctime)),
		&st);
	if (r == 0)
		r = inode_bind_sha(ix, st, 16, row);
	if (r == 0 && row->target)
		r = ofs_stmt_bind_blob(ix, st, 17, row->target, strlen(row->target));
	if (r == 0)
		r = ofs_stmt_step(ix, st);
	return ofs_index_written(ix, r);
}

int ofs_index_put_dirent(struct ofs_index *ix, uint64_t dir, const struct ofs_index_dirent *e)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = ofs_stmt_start(ix, OFS_STMT_DIRENT_PUT, OFS_ARGS(dir, e->ino, e->type, e->cookie), &st);
	if (r == 0)
		r = ofs_stmt_bind_blob(ix, st, 5, e->name, strlen(e->name));
	if (r == 0)
		r = ofs_stmt_step(ix, st);
	return ofs_index_written(ix, r);
}

int ofs_index_delete_dirent(struct ofs_index *ix, uint64_t dir, const char *name)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = ofs_stmt_start(ix, OFS_STMT_DIRENT_DELETE, OFS_ARGS(dir), &st);
	if (r == 0)
		r = ofs_stmt_bind_blob(ix, st, 2, name, strlen(name));
	if (r == 0)
		r = ofs_stmt_step(ix, st);
	return ofs_index_written(ix, r);
}

int ofs_index_set_drafts(struct ofs_index *ix, uint64_t ino, const struct ofs_index_draft *drafts,
			 size_t n)
{
	OFS_INDEX_LOCKED(ix);
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = ofs_stmt_run(ix, OFS_STMT_DRAFT_DELETE, OFS_ARGS(ino));
	for (size_t i = 0; r == 0 && i < n; i++)
		r = ofs_stmt_run(ix, OFS_STMT_DRAFT_PUT,
				 OFS_ARGS(ino, drafts[i].off, drafts[i].len, drafts[i].data_pos,
					  drafts[i].data_len, drafts[i].data_off));
	return ofs_index_written(ix, r);
}

int ofs_index_set_xattrs(struct ofs_index *ix, uint64_t ino, const void *list, size_t len)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	if (!len)
		return ofs_index_written(ix,
					 ofs_stmt_run(ix, OFS_STMT_XATTR_DELETE, OFS_ARGS(ino)));
	r = ofs_stmt_start(ix, OFS_STMT_XATTR_PUT, OFS_ARGS(ino), &st);
	if (r == 0)
		r = ofs_stmt_bind_blob(ix, st, 2, list, len);
	if (r == 0)
		r = ofs_stmt_step(ix, st);
	return ofs_index_written(ix, r);
}

int ofs_index_put_mark(struct ofs_index *ix, uint64_t ino)
{
	OFS_INDEX_LOCKED(ix);
	int r = ofs_index_writable(ix);

	return r < 0 ? r
		     : ofs_index_written(ix, ofs_stmt_run(ix, OFS_STMT_MARK_PUT, OFS_ARGS(ino)));
}

int ofs_index_delete_mark(struct ofs_index *ix, uint64_t ino)
{
	OFS_INDEX_LOCKED(ix);
	int r = ofs_index_writable(ix);

	return r < 0 ? r
		     : ofs_index_written(ix, ofs_stmt_run(ix, OFS_STMT_MARK_DELETE, OFS_ARGS(ino)));
}
