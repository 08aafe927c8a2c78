/* SPDX-License-Identifier: MIT */
#include "index/index.h"

#include "base/clock.h"
#include "base/xattr.h"
#include "index/internal.h"

/* Unsigned numbers come back from SQLite's signed ones as they were put. */
static uint64_t column_u64(sqlite3_stmt *st, int column)
{
	return (uint64_t)sqlite3_column_int64(st, column);
}

static uint32_t column_u32(sqlite3_stmt *st, int column)
{
	return (uint32_t)sqlite3_column_int64(st, column);
}

int ofs_index_get_meta(struct ofs_index *ix, struct ofs_index_meta *ret)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	struct ofs_index_meta meta;
	int r = ofs_stmt_first(ix, OFS_STMT_META_GET, OFS_NO_ARGS, &st);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	r = ofs_stmt_bytes(st, 0, meta.uuid, sizeof(meta.uuid));
	if (r < 0)
		return r;
	meta.checkpoint = column_u64(st, 1);
	meta.next_ino = column_u64(st, 2);
	meta.next_chunk = column_u64(st, 3);
	meta.pack = column_u32(st, 4);
	meta.pack_size = column_u64(st, 5);
	meta.unused_from = column_u64(st, 6);
	meta.scrubbed = column_u64(st, 7);
	meta.counts.files = column_u64(st, 8);
	meta.counts.dirs = column_u64(st, 9);
	meta.counts.others = column_u64(st, 10);
	meta.counts.bytes = column_u64(st, 11);
	meta.counts.tombstones = column_u64(st, 12);
	meta.age = sqlite3_column_int64(st, 13);
	meta.age_wall = sqlite3_column_int64(st, 14);
	meta.wall_high = sqlite3_column_int64(st, 15);
	*ret = meta;
	return 0;
}

int ofs_index_block_sha(struct ofs_index *ix, uint64_t ino, uint8_t ret[32])
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, OFS_STMT_FIRST_SHA, OFS_ARGS(ino), &st);

	return r < 0 ? r : ofs_stmt_bytes(st, 0, ret, 32);
}

/* The hash of a row's content: known, unknown, or that of its first chunk, which is in `first`. */
static int inode_read_sha(sqlite3_stmt *st, int column, int first, struct ofs_index_inode *in)
{
	int type = sqlite3_column_type(st, column);

	in->has_sha = type != SQLITE_NULL;
	if (type == SQLITE_NULL)
		return 0;
	return ofs_stmt_bytes(st, type == SQLITE_BLOB ? column : first, in->sha, sizeof(in->sha));
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

/* Times are kept as differences; they wrap as unsigned numbers do. */
static int64_t time_from(uint64_t base, sqlite3_stmt *st, int column)
{
	return (int64_t)(base + column_u64(st, column));
}

/* The last use: so many seconds after that of ctime. */
static int64_t used_from(int64_t ctime, sqlite3_stmt *st, int column)
{
	uint64_t seconds = (uint64_t)ofs_seconds(ctime) + column_u64(st, column);

	return (int64_t)(seconds * (uint64_t)OFS_NS_PER_S);
}

static int inode_read(sqlite3_stmt *st, struct ofs_index_inode *ret)
{
	struct ofs_index_inode in = { .ino = column_u64(st, 0) };
	uint64_t mtime;
	int r;

	in.parent = column_u64(st, 1);
	in.mode = column_u32(st, 2);
	in.uid = column_u32(st, 3);
	in.gid = column_u32(st, 4);
	in.nlink = column_u32(st, 5);
	in.rdev = column_u64(st, 6);
	in.size = column_u64(st, 7);
	mtime = column_u64(st, 8);
	in.mtime = (int64_t)mtime;
	in.atime = time_from(mtime, st, 9);
	in.ctime = time_from(mtime, st, 10);
	in.btime = time_from((uint64_t)in.atime, st, 11);
	in.stored = column_u64(st, 12);
	in.lines = sqlite3_column_int64(st, 13);
	in.used = used_from(in.ctime, st, 14);
	r = inode_read_sha(st, 16, 17, &in);
	if (r == 0)
		r = inode_read_target(st, 15, &in);
	if (r == 0)
		*ret = in;
	return r;
}

int ofs_index_get_inode(struct ofs_index *ix, uint64_t ino, struct ofs_index_inode *ret)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, OFS_STMT_INODE_LIST, OFS_ARGS(ino, ino), &st);

	return r < 0 ? r : inode_read(st, ret);
}

int ofs_index_list_inodes(struct ofs_index *ix, uint64_t first, uint64_t last,
			  int (*fn)(void *arg, const struct ofs_index_inode *in), void *arg)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	struct ofs_index_inode in;
	int r = ofs_stmt_start(ix, OFS_STMT_INODE_LIST, OFS_ARGS(first, last), &st);

	if (r < 0)
		return r;
	while ((r = ofs_stmt_step(ix, st)) > 0) {
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
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, OFS_STMT_INODE_STORED, OFS_ARGS(ino), &st);

	if (r == 0)
		*ret = column_u64(st, 0);
	return r;
}

int ofs_index_list_dir(struct ofs_index *ix, uint64_t dir,
		       int (*fn)(void *arg, const struct ofs_index_dirent *e), void *arg)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_start(ix, OFS_STMT_DIRENT_LIST, OFS_ARGS(dir), &st);

	if (r < 0)
		return r;
	while ((r = ofs_stmt_step(ix, st)) > 0) {
		struct ofs_index_dirent e = {
			.name = (const char *)sqlite3_column_text(st, 0),
			.ino = column_u64(st, 1),
			.type = (uint8_t)sqlite3_column_int(st, 2),
			.cookie = column_u64(st, 3),
		};

		if (!e.name)
			return -ENOMEM;
		r = fn(arg, &e);
		if (r)
			return r;
	}
	return r;
}

/* Hands the numbers that a statement finds to `fn`. */
static int list_numbers(struct ofs_index *ix, enum ofs_stmt id, const int64_t *args, size_t n,
			int (*fn)(void *arg, uint64_t number), void *arg)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_start(ix, id, args, n, &st);

	if (r < 0)
		return r;
	while ((r = ofs_stmt_step(ix, st)) > 0) {
		r = fn(arg, column_u64(st, 0));
		if (r)
			return r;
	}
	return r;
}

int ofs_index_list_parents(struct ofs_index *ix, uint64_t ino, int (*fn)(void *arg, uint64_t dir),
			   void *arg)
{
	return list_numbers(ix, OFS_STMT_DIRENT_PARENTS, OFS_ARGS(ino), fn, arg);
}

int ofs_index_read_chunk(sqlite3_stmt *st, struct ofs_index_chunk *c)
{
	c->id = column_u64(st, 0);
	c->pack = column_u32(st, 2);
	c->frame_off = column_u64(st, 3);
	c->frame_stored = column_u32(st, 4);
	c->frame_raw = column_u32(st, 5);
	c->off = column_u32(st, 6);
	c->len = column_u32(st, 7);
	c->lines = column_u32(st, 8);
	c->bearer = column_u64(st, 9);
	c->class = column_u32(st, 10);
	c->dense = sqlite3_column_int(st, 11) != 0;
	c->bad = sqlite3_column_int(st, 12) != 0;
	if (c->off > c->frame_raw || c->len > c->frame_raw - c->off)
		return -EUCLEAN;
	return ofs_stmt_bytes(st, 1, c->sha, sizeof(c->sha));
}

void ofs_index_read_frame(sqlite3_stmt *st, struct ofs_index_frame *f)
{
	f->id = column_u64(st, 0);
	f->pack = column_u32(st, 1);
	f->off = column_u64(st, 2);
	f->stored = column_u32(st, 3);
	f->raw = column_u32(st, 4);
	f->live = column_u32(st, 5);
	f->held = column_u32(st, 6);
	f->class = column_u32(st, 7);
	f->dense = sqlite3_column_int(st, 8) != 0;
	f->bad = sqlite3_column_int(st, 9) != 0;
}

/* Hands the chunks that a statement finds to `fn`, each with the number that follows it. */
static int list_chunks_of(struct ofs_index *ix, enum ofs_stmt id, const int64_t *args, size_t n,
			  int (*fn)(void *arg, uint64_t number, const struct ofs_index_chunk *c),
			  void *arg)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_start(ix, id, args, n, &st);

	if (r < 0)
		return r;
	while ((r = ofs_stmt_step(ix, st)) > 0) {
		struct ofs_index_chunk c;

		/* The chunk or its frame is missing: this must not be taken for a hole. */
		if (sqlite3_column_type(st, 2) == SQLITE_NULL)
			return -EUCLEAN;
		r = ofs_index_read_chunk(st, &c);
		if (r == 0)
			r = fn(arg, column_u64(st, 13), &c);
		if (r)
			return r;
	}
	return r;
}

struct first_block {
	int (*fn)(void *arg, uint64_t block, const struct ofs_index_chunk *c);
	void *arg;
};

static int first_block(void *arg, uint64_t ino, const struct ofs_index_chunk *c)
{
	const struct first_block *f = arg;

	(void)ino;
	return f->fn(f->arg, 0, c);
}

int ofs_index_list_blocks(struct ofs_index *ix, uint64_t ino,
			  int (*fn)(void *arg, uint64_t block, const struct ofs_index_chunk *c),
			  void *arg)
{
	struct first_block first = { fn, arg };
	OFS_INDEX_LOCKED(ix);
	int r = list_chunks_of(ix, OFS_STMT_FIRST_LIST, OFS_ARGS(ino, ino), first_block, &first);

	return r ? r : list_chunks_of(ix, OFS_STMT_BLOCK_LIST, OFS_ARGS(ino), fn, arg);
}

int ofs_index_list_firsts(struct ofs_index *ix, uint64_t first, uint64_t last,
			  int (*fn)(void *arg, uint64_t ino, const struct ofs_index_chunk *c),
			  void *arg)
{
	OFS_INDEX_LOCKED(ix);

	return list_chunks_of(ix, OFS_STMT_FIRST_LIST, OFS_ARGS(first, last), fn, arg);
}

int ofs_index_list_drafts(struct ofs_index *ix,
			  int (*fn)(void *arg, const struct ofs_index_draft *d), void *arg)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_start(ix, OFS_STMT_DRAFT_LIST, OFS_NO_ARGS, &st);

	if (r < 0)
		return r;
	while ((r = ofs_stmt_step(ix, st)) > 0) {
		struct ofs_index_draft d = {
			.ino = column_u64(st, 0),
			.off = column_u64(st, 1),
			.len = column_u64(st, 2),
			.data_pos = column_u64(st, 3),
			.data_len = column_u32(st, 4),
			.data_off = column_u32(st, 5),
		};

		r = fn(arg, &d);
		if (r)
			return r;
	}
	return r;
}

int ofs_index_get_xattrs(struct ofs_index *ix, uint64_t ino, struct ofs_buf *ret)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	const void *list;
	size_t len;
	int r = ofs_stmt_first(ix, OFS_STMT_XATTR_GET, OFS_ARGS(ino), &st);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	list = sqlite3_column_blob(st, 0);
	len = (size_t)sqlite3_column_bytes(st, 0);
	if (!list || !ofs_xattr_is_list(list, len))
		return -EUCLEAN;
	ofs_buf_append(ret, list, len);
	return 0;
}

int ofs_index_list_labelled(struct ofs_index *ix, uint64_t after,
			    int (*fn)(void *arg, uint64_t ino), void *arg)
{
	return list_numbers(ix, OFS_STMT_XATTR_LABELLED, OFS_ARGS(after), fn, arg);
}

int ofs_index_list_orphans(struct ofs_index *ix, int (*fn)(void *arg, uint64_t ino), void *arg)
{
	return list_numbers(ix, OFS_STMT_INODE_ORPHANS, OFS_NO_ARGS, fn, arg);
}

int ofs_index_find_chunk(struct ofs_index *ix, const uint8_t sha[32], struct ofs_index_chunk *ret)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	struct ofs_index_chunk c;
	int r = ofs_stmt_start(ix, OFS_STMT_CHUNK_FIND, OFS_NO_ARGS, &st);

	if (r == 0)
		r = ofs_stmt_bind_blob(ix, st, 1, sha, 32);
	if (r == 0)
		r = ofs_stmt_step(ix, st);
	if (r < 0)
		return r;
	if (r == 0)
		return -ENOENT;
	r = ofs_index_read_chunk(st, &c);
	if (r == 0)
		*ret = c;
	return r;
}

int ofs_index_get_chunk(struct ofs_index *ix, uint64_t id, struct ofs_index_chunk *ret)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	struct ofs_index_chunk c;
	int r = ofs_stmt_first(ix, OFS_STMT_CHUNK_GET, OFS_ARGS(id), &st);

	if (r == 0)
		r = ofs_index_read_chunk(st, &c);
	if (r == 0)
		*ret = c;
	return r;
}

int ofs_index_list_chunks(struct ofs_index *ix, uint64_t frame,
			  int (*fn)(void *arg, const struct ofs_index_chunk *c), void *arg)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_start(ix, OFS_STMT_CHUNK_OF_FRAME, OFS_ARGS(frame), &st);

	if (r < 0)
		return r;
	while ((r = ofs_stmt_step(ix, st)) > 0) {
		struct ofs_index_chunk c;

		r = ofs_index_read_chunk(st, &c);
		if (r == 0)
			r = fn(arg, &c);
		if (r)
			return r;
	}
	return r;
}

int ofs_index_list_holders(struct ofs_index *ix, uint64_t chunk, int (*fn)(void *arg, uint64_t ino),
			   void *arg)
{
	return list_numbers(ix, OFS_STMT_BLOCK_HOLDERS, OFS_ARGS(chunk), fn, arg);
}

int ofs_index_next_long(struct ofs_index *ix, uint64_t after, uint64_t *ret_ino)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, OFS_STMT_BLOCK_NEXT_LONG, OFS_ARGS(after), &st);

	if (r == 0)
		*ret_ino = column_u64(st, 0);
	return r;
}

int ofs_index_totals(struct ofs_index *ix, uint64_t block, uint64_t *ret_frames, uint64_t *ret_long)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, OFS_STMT_TOTALS, OFS_ARGS(block), &st);

	if (r < 0)
		return r;
	*ret_frames = column_u64(st, 0);
	*ret_long = column_u64(st, 1);
	return 0;
}

int ofs_index_get_frame(struct ofs_index *ix, uint64_t id, struct ofs_index_frame *ret)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, OFS_STMT_FRAME_GET, OFS_ARGS(id), &st);

	if (r == 0)
		ofs_index_read_frame(st, ret);
	return r;
}

int ofs_index_next_frame(struct ofs_index *ix, uint64_t after, struct ofs_index_frame *ret)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, OFS_STMT_FRAME_NEXT, OFS_ARGS(after), &st);

	if (r == 0)
		ofs_index_read_frame(st, ret);
	return r;
}

static int list_frames(struct ofs_index *ix, enum ofs_stmt id,
		       int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_start(ix, id, OFS_NO_ARGS, &st);

	if (r < 0)
		return r;
	while ((r = ofs_stmt_step(ix, st)) > 0) {
		struct ofs_index_frame f;

		ofs_index_read_frame(st, &f);
		r = fn(arg, &f);
		if (r)
			return r;
	}
	return r;
}

int ofs_index_list_due(struct ofs_index *ix, int (*fn)(void *arg, const struct ofs_index_frame *f),
		       void *arg)
{
	return list_frames(ix, OFS_STMT_FRAME_DUE, fn, arg);
}

int ofs_index_list_bad(struct ofs_index *ix, int (*fn)(void *arg, const struct ofs_index_frame *f),
		       void *arg)
{
	return list_frames(ix, OFS_STMT_FRAME_BAD, fn, arg);
}

int ofs_index_list_marks(struct ofs_index *ix, size_t max, int (*fn)(void *arg, uint64_t ino),
			 void *arg)
{
	return list_numbers(ix, OFS_STMT_MARK_LIST, OFS_ARGS((int64_t)max), fn, arg);
}

int ofs_index_count(struct ofs_index *ix, uint64_t *ret_inodes, uint64_t *ret_bytes)
{
	OFS_INDEX_LOCKED(ix);
	OFS_STMT sqlite3_stmt *st = NULL;
	uint64_t high, low, bytes;
	int r = ofs_stmt_first(ix, OFS_STMT_INODE_COUNT, OFS_NO_ARGS, &st);

	if (r < 0)
		return r;
	/* Sparse files can be huge: the two halves of the sizes are added up apart. */
	high = column_u64(st, 1);
	low = column_u64(st, 2);
	if (high > UINT32_MAX || __builtin_add_overflow(high << 32, low, &bytes))
		bytes = UINT64_MAX;
	*ret_inodes = column_u64(st, 0);
	*ret_bytes = bytes;
	return 0;
}
