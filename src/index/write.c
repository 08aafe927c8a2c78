/* SPDX-License-Identifier: MIT */
/*
 * Rows that are put and deleted as they are; blocks, which carry references and charges, are in
 * block.c.
 */
#include "index/index.h"

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
				    meta->pack_size),
			   &st);
	if (r == 0)
		r = ofs_stmt_bind_blob(ix, st, 6, meta->uuid, sizeof(meta->uuid));
	if (r == 0)
		r = ofs_stmt_step(ix, st);
	return ofs_index_written(ix, r);
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
	r = ofs_stmt_start(ix, OFS_STMT_INODE_PUT,
			   OFS_ARGS(row->ino, row->parent, row->mode, row->uid, row->gid,
				    row->nlink, row->rdev, row->size, row->mtime,
				    time_since(row->mtime, row->atime),
				    time_since(row->mtime, row->ctime),
				    time_since(row->mtime, row->btime), row->stored, row->lines),
			   &st);
	if (r == 0)
		r = inode_bind_sha(ix, st, 15, row);
	if (r == 0 && row->target)
		r = ofs_stmt_bind_blob(ix, st, 16, row->target, strlen(row->target));
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

/* The chunks of one frame follow each other without gaps, are not empty and fill it. */
static bool frame_is_sound(const struct ofs_index_chunk *chunks, size_t n)
{
	uint64_t off = 0;

	for (size_t i = 0; i < n; i++) {
		const struct ofs_index_chunk *c = &chunks[i];

		if (c->pack != chunks[0].pack || c->frame_off != chunks[0].frame_off ||
		    c->frame_stored != chunks[0].frame_stored ||
		    c->frame_raw != chunks[0].frame_raw || c->off != off || c->len == 0)
			return false;
		off += c->len;
	}
	return n > 0 && off == chunks[0].frame_raw;
}

static int chunk_put(struct ofs_index *ix, int64_t frame, const struct ofs_index_chunk *c)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_start(ix, OFS_STMT_CHUNK_PUT,
			       OFS_ARGS(c->id, frame, c->off, c->len, c->lines), &st);

	if (r == 0)
		r = ofs_stmt_bind_blob(ix, st, 6, c->sha, sizeof(c->sha));
	return r < 0 ? r : ofs_stmt_step(ix, st);
}

int ofs_index_put_frame(struct ofs_index *ix, const struct ofs_index_chunk *chunks, size_t n)
{
	OFS_INDEX_LOCKED(ix);
	uint64_t first, last;
	int64_t frame;
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	if (!frame_is_sound(chunks, n))
		return ofs_index_written(ix, -EINVAL);
	first = last = chunks[0].id;
	for (size_t i = 1; i < n; i++) {
		first = OFS_MIN(first, chunks[i].id);
		last = OFS_MAX(last, chunks[i].id);
	}
	r = ofs_stmt_run(ix, OFS_STMT_FRAME_PUT,
			 OFS_ARGS(chunks[0].pack, chunks[0].frame_off, chunks[0].frame_stored,
				  chunks[0].frame_raw, first, last));
	frame = sqlite3_last_insert_rowid(ix->db);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = chunk_put(ix, frame, &chunks[i]);
	return ofs_index_written(ix, r);
}
