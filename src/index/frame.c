/* SPDX-License-Identifier: MIT */
/* Frames and the chunks in them: putting, moving, forgetting. */
#include "index/index.h"

#include "index/internal.h"

int ofs_index_put_frame(struct ofs_index *ix, const struct ofs_index_frame *f, uint64_t *ret_id)
{
	OFS_INDEX_LOCKED(ix);
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = ofs_stmt_run(ix, OFS_STMT_FRAME_PUT,
			 OFS_ARGS(f->pack, f->off, f->stored, f->raw, f->class, f->dense));
	if (r == 0)
		*ret_id = (uint64_t)sqlite3_last_insert_rowid(ix->db);
	return ofs_index_written(ix, r);
}

/* Under the lock. */
static int frame_get(struct ofs_index *ix, uint64_t id, struct ofs_index_frame *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, OFS_STMT_FRAME_GET, OFS_ARGS(id), &st);

	if (r == 0)
		ofs_index_read_frame(st, ret);
	return r;
}

static int chunk_put(struct ofs_index *ix, uint64_t frame, const struct ofs_index_chunk *c)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	struct ofs_index_frame f;
	int r = frame_get(ix, frame, &f);

	if (r < 0)
		return r;
	if (!c->len || (uint64_t)c->off + c->len > f.raw)
		return -EINVAL;
	r = ofs_stmt_start(ix, OFS_STMT_CHUNK_PUT, OFS_ARGS(c->id, frame, c->off, c->len, c->lines),
			   &st);
	if (r == 0)
		r = ofs_stmt_bind_blob(ix, st, 6, c->sha, sizeof(c->sha));
	return r < 0 ? r : ofs_stmt_step(ix, st);
}

int ofs_index_put_chunk(struct ofs_index *ix, uint64_t frame, const struct ofs_index_chunk *c)
{
	OFS_INDEX_LOCKED(ix);
	int r = ofs_index_writable(ix);

	return r < 0 ? r : ofs_index_written(ix, chunk_put(ix, frame, c));
}

int ofs_index_delete_unused(struct ofs_index *ix, uint64_t from)
{
	OFS_INDEX_LOCKED(ix);
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	return ofs_index_written(ix,
				 ofs_stmt_run(ix, OFS_STMT_CHUNK_DELETE_UNUSED, OFS_ARGS(from)));
}

int ofs_index_set_frame_bad(struct ofs_index *ix, uint64_t frame, bool bad)
{
	OFS_INDEX_LOCKED(ix);
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = ofs_stmt_run(ix, OFS_STMT_FRAME_SET_BAD, OFS_ARGS(frame, bad));
	if (r == 0 && sqlite3_changes(ix->db) == 0)
		r = -ENOENT;
	return ofs_index_written(ix, r);
}
