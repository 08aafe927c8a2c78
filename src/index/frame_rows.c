/* SPDX-License-Identifier: MIT */
/* Frames, chunks, and the dead ranges of packs that can be reclaimed. */
#include "index/index_state.h"

static int chunk_read(sqlite3_stmt *st, struct ofs_index_chunk *ret)
{
	struct ofs_index_chunk c = {
		.id = ofs_column_u64(st, 0),
		.pack = ofs_column_u32(st, 2),
		.frame_off = ofs_column_u64(st, 3),
		.frame_stored = ofs_column_u32(st, 4),
		.frame_raw = ofs_column_u32(st, 5),
		.off = ofs_column_u32(st, 6),
		.len = ofs_column_u32(st, 7),
		.lines = ofs_column_u32(st, 8),
		.bearer = ofs_column_u64(st, 9),
		.class = ofs_column_u32(st, 10),
		.dense = sqlite3_column_int(st, 11) != 0,
		.bad = sqlite3_column_int(st, 12) != 0,
	};
	int r = ofs_column_bytes(st, 1, c.sha, sizeof(c.sha));

	if (c.off > c.frame_raw || c.len > c.frame_raw - c.off)
		return -EUCLEAN;
	if (r == 0)
		*ret = c;
	return r;
}

static void frame_read(sqlite3_stmt *st, struct ofs_index_frame *f)
{
	f->id = ofs_column_u64(st, 0);
	f->pack = ofs_column_u32(st, 1);
	f->off = ofs_column_u64(st, 2);
	f->stored = ofs_column_u32(st, 3);
	f->raw = ofs_column_u32(st, 4);
	f->live = ofs_column_u32(st, 5);
	f->held = ofs_column_u32(st, 6);
	f->class = ofs_column_u32(st, 7);
	f->dense = sqlite3_column_int(st, 8) != 0;
	f->bad = sqlite3_column_int(st, 9) != 0;
}

int ofs_index_find_chunk(struct ofs_index *ix, const uint8_t sha[32], struct ofs_index_chunk *ret)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&ix->db, OFS_STMT_CHUNK_FIND, OFS_NO_ARGS, &st);

	if (r == 0)
		r = ofs_db_bind_blob(&ix->db, st, 1, sha, 32);
	if (r == 0)
		r = ofs_db_step(&ix->db, st);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	return chunk_read(st, ret);
}

int ofs_index_get_chunk(struct ofs_index *ix, uint64_t id, struct ofs_index_chunk *ret)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, OFS_STMT_CHUNK_GET, OFS_ARGS(id), &st);

	return r < 0 ? r : chunk_read(st, ret);
}

int ofs_index_list_chunks(struct ofs_index *ix, uint64_t frame,
			  int (*fn)(void *arg, const struct ofs_index_chunk *c), void *arg)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&ix->db, OFS_STMT_CHUNK_OF_FRAME, OFS_ARGS(frame), &st);

	if (r < 0)
		return r;
	while ((r = ofs_db_step(&ix->db, st)) > 0) {
		struct ofs_index_chunk c;

		r = chunk_read(st, &c);
		if (r == 0)
			r = fn(arg, &c);
		if (r)
			return r;
	}
	return r;
}

/* Passes the chunks that a statement returns to `fn`, each with the number in `column`. */
static int list_chunks_of(struct ofs_index *ix, enum ofs_index_stmt id, const int64_t *args,
			  size_t n, int column,
			  int (*fn)(void *arg, uint64_t number, const struct ofs_index_chunk *c),
			  void *arg)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&ix->db, id, args, n, &st);

	if (r < 0)
		return r;
	while ((r = ofs_db_step(&ix->db, st)) > 0) {
		struct ofs_index_chunk c;

		/* The chunk or its frame is missing, which must not be taken for a hole. */
		if (sqlite3_column_type(st, 2) == SQLITE_NULL)
			return -EUCLEAN;
		r = chunk_read(st, &c);
		if (r == 0)
			r = fn(arg, ofs_column_u64(st, column), &c);
		if (r)
			return r;
	}
	return r;
}

int ofs_index_list_blocks(struct ofs_index *ix, uint64_t ino,
			  int (*fn)(void *arg, uint64_t block, const struct ofs_index_chunk *c),
			  void *arg)
{
	OFS_DB_LOCKED(&ix->db);
	int r = list_chunks_of(ix, OFS_STMT_FIRST_LIST, OFS_ARGS(ino, ino), 14, fn, arg);

	return r ? r : list_chunks_of(ix, OFS_STMT_BLOCK_LIST, OFS_ARGS(ino), 13, fn, arg);
}

int ofs_index_list_firsts(struct ofs_index *ix, uint64_t first, uint64_t last,
			  int (*fn)(void *arg, uint64_t ino, const struct ofs_index_chunk *c),
			  void *arg)
{
	OFS_DB_LOCKED(&ix->db);

	return list_chunks_of(ix, OFS_STMT_FIRST_LIST, OFS_ARGS(first, last), 13, fn, arg);
}

int ofs_index_totals(struct ofs_index *ix, uint64_t block, uint64_t *ret_frames, uint64_t *ret_long)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, OFS_STMT_TOTALS, OFS_ARGS(block), &st);

	if (r < 0)
		return r;
	*ret_frames = ofs_column_u64(st, 0);
	*ret_long = ofs_column_u64(st, 1);
	return 0;
}

/* Under the lock. */
static int frame_get(struct ofs_index *ix, enum ofs_index_stmt id, uint64_t number,
		     struct ofs_index_frame *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, id, OFS_ARGS(number), &st);

	if (r == 0)
		frame_read(st, ret);
	return r;
}

int ofs_index_get_frame(struct ofs_index *ix, uint64_t id, struct ofs_index_frame *ret)
{
	OFS_DB_LOCKED(&ix->db);

	return frame_get(ix, OFS_STMT_FRAME_GET, id, ret);
}

int ofs_index_next_frame(struct ofs_index *ix, uint64_t after, struct ofs_index_frame *ret)
{
	OFS_DB_LOCKED(&ix->db);

	return frame_get(ix, OFS_STMT_FRAME_NEXT, after, ret);
}

/* Under the lock. */
static int list_frames(struct ofs_index *ix, enum ofs_index_stmt id, const int64_t *args, size_t n,
		       int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&ix->db, id, args, n, &st);

	if (r < 0)
		return r;
	while ((r = ofs_db_step(&ix->db, st)) > 0) {
		struct ofs_index_frame f;

		frame_read(st, &f);
		r = fn(arg, &f);
		if (r)
			return r;
	}
	return r;
}

int ofs_index_list_due(struct ofs_index *ix, int (*fn)(void *arg, const struct ofs_index_frame *f),
		       void *arg)
{
	OFS_DB_LOCKED(&ix->db);

	return list_frames(ix, OFS_STMT_FRAME_DUE, OFS_NO_ARGS, fn, arg);
}

int ofs_index_list_frames_at(struct ofs_index *ix, uint32_t pack, uint64_t off, uint64_t end,
			     int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg)
{
	OFS_DB_LOCKED(&ix->db);

	return list_frames(ix, OFS_STMT_FRAME_IN, OFS_ARGS(pack, off, end), fn, arg);
}

int ofs_index_has_frame(struct ofs_index *ix, uint32_t pack, uint64_t off)
{
	OFS_DB_LOCKED(&ix->db);
	uint64_t id;
	int r = ofs_db_get_number(&ix->db, OFS_STMT_FRAME_AT, OFS_ARGS(pack, off), &id);

	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

/* The end of the last extent. Under the lock. */
static int last_end(struct ofs_index *ix, uint32_t *ret_pack, uint64_t *ret_off)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, OFS_STMT_EXTENT_LAST, OFS_NO_ARGS, &st);

	*ret_pack = r == 0 ? ofs_column_u32(st, 0) : 0;
	*ret_off = r == 0 ? ofs_column_u64(st, 1) : 0;
	return r == -ENOENT ? 0 : r;
}

int ofs_index_list_unsent(struct ofs_index *ix,
			  int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg)
{
	OFS_DB_LOCKED(&ix->db);
	uint32_t pack;
	uint64_t off;
	int r = last_end(ix, &pack, &off);

	return r < 0 ? r : list_frames(ix, OFS_STMT_FRAME_UNSENT, OFS_ARGS(pack, off), fn, arg);
}

int ofs_index_list_passed(struct ofs_index *ix, uint64_t first, uint64_t last,
			  int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg)
{
	OFS_DB_LOCKED(&ix->db);
	uint32_t pack;
	uint64_t off;
	int r = last_end(ix, &pack, &off);

	return r < 0 ? r
		     : list_frames(ix, OFS_STMT_FRAME_PASSED, OFS_ARGS(first, last, pack, off), fn,
				   arg);
}

int ofs_index_put_frame(struct ofs_index *ix, const struct ofs_index_frame *f, uint64_t *ret_id)
{
	OFS_DB_LOCKED(&ix->db);
	int r = ofs_db_writable(&ix->db);

	if (r < 0)
		return r;
	r = ofs_db_run(&ix->db, OFS_STMT_FRAME_PUT,
		       OFS_ARGS(f->pack, f->off, f->stored, f->raw, f->class, f->dense));
	if (r == 0)
		*ret_id = (uint64_t)sqlite3_last_insert_rowid(ix->db.conn);
	return ofs_db_written(&ix->db, r);
}

static int chunk_put(struct ofs_index *ix, uint64_t frame, const struct ofs_index_chunk *c)
{
	struct ofs_index_frame f;
	int r = frame_get(ix, OFS_STMT_FRAME_GET, frame, &f);

	if (r < 0)
		return r;
	if (!c->len || (uint64_t)c->off + c->len > f.raw)
		return -EINVAL;
	return ofs_db_run_blob(&ix->db, OFS_STMT_CHUNK_PUT,
			       OFS_ARGS(c->id, frame, c->off, c->len, c->lines), c->sha,
			       sizeof(c->sha));
}

int ofs_index_put_chunk(struct ofs_index *ix, uint64_t frame, const struct ofs_index_chunk *c)
{
	OFS_DB_LOCKED(&ix->db);
	int r = ofs_db_writable(&ix->db);

	return r < 0 ? r : ofs_db_written(&ix->db, chunk_put(ix, frame, c));
}

int ofs_index_delete_unused(struct ofs_index *ix, uint64_t from)
{
	return ofs_db_write(&ix->db, OFS_STMT_CHUNK_DELETE_UNUSED, OFS_ARGS(from), NULL, 0);
}

int ofs_index_set_frame_bad(struct ofs_index *ix, uint64_t frame, bool bad)
{
	OFS_DB_LOCKED(&ix->db);
	int r = ofs_db_writable(&ix->db);

	if (r < 0)
		return r;
	r = ofs_db_run(&ix->db, OFS_STMT_FRAME_SET_BAD, OFS_ARGS(frame, bad));
	if (r == 0 && sqlite3_changes(ix->db.conn) == 0)
		r = -ENOENT;
	return ofs_db_written(&ix->db, r);
}

/* ---- reclaiming */

struct dead_frame {
	uint32_t pack;
	uint64_t off;
	int64_t id;
};

/* The first dead frame at or after a position in any pack. Under the lock. */
static int dead_next(struct ofs_index *ix, uint32_t pack, uint64_t off, struct dead_frame *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, OFS_STMT_FRAME_DEAD, OFS_ARGS(pack, off), &st);

	if (r < 0)
		return r;
	ret->pack = ofs_column_u32(st, 0);
	ret->off = ofs_column_u64(st, 1);
	ret->id = sqlite3_column_int64(st, 2);
	return 0;
}

/* The next dead range at or after a position. -ENOENT: none. */
static int dead_range(struct ofs_index *ix, uint64_t header, uint32_t pack, uint64_t off,
		      struct ofs_index_dead *ret)
{
	OFS_DB_LOCKED(&ix->db);
	struct dead_frame f;
	uint64_t start = header, end = 0;
	int before, after;
	int r = dead_next(ix, pack, off, &f);

	if (r < 0)
		return r;
	before = ofs_db_get_number(&ix->db, OFS_STMT_FRAME_LIVE_BEFORE, OFS_ARGS(f.pack, f.off),
				   &start);
	if (before < 0 && before != -ENOENT)
		return before;
	after = ofs_db_get_number(&ix->db, OFS_STMT_FRAME_LIVE_AFTER, OFS_ARGS(f.pack, f.off),
				  &end);
	if (after == -ENOENT)
		r = ofs_db_get_number(&ix->db, OFS_STMT_FRAME_END, OFS_ARGS(f.pack), &end);
	else
		r = after;
	if (r < 0)
		return r;
	if (start > f.off || end <= f.off)
		return -EUCLEAN;
	*ret = (struct ofs_index_dead){
		.pack = f.pack,
		.off = start,
		.len = end - start,
		.whole = before == -ENOENT && after == -ENOENT,
	};
	return 0;
}

int ofs_index_list_dead(struct ofs_index *ix, uint64_t header, size_t max,
			int (*fn)(void *arg, const struct ofs_index_dead *d), void *arg)
{
	struct ofs_index_dead d = { 0 };
	int r;

	for (size_t i = 0; i < max; i++) {
		r = dead_range(ix, header, d.pack, d.off + d.len, &d);
		if (r < 0)
			return r == -ENOENT ? 0 : r;
		r = fn(arg, &d);
		if (r)
			return r;
	}
	return 0;
}

/* Deletes the first dead frame of a range. 1: there was one. Holds the lock only for this frame. */
static int dead_delete_next(struct ofs_index *ix, const struct ofs_index_dead *d)
{
	OFS_DB_LOCKED(&ix->db);
	struct dead_frame f;
	int r = ofs_db_writable(&ix->db);

	if (r < 0)
		return r;
	r = dead_next(ix, d->pack, d->off, &f);
	if (r == -ENOENT || (r == 0 && (f.pack != d->pack || f.off - d->off >= d->len)))
		return 0;
	if (r == 0)
		r = ofs_db_run(&ix->db, OFS_STMT_FRAME_DELETE, OFS_ARGS(f.id));
	return r < 0 ? ofs_db_written(&ix->db, r) : 1;
}

int ofs_index_delete_dead(struct ofs_index *ix, const struct ofs_index_dead *d)
{
	int r;

	do {
		r = dead_delete_next(ix, d);
	} while (r > 0);
	return r;
}
