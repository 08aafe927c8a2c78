/* SPDX-License-Identifier: MIT */
#include "index/index.h"

#include "index/internal.h"

struct dead_frame {
	uint32_t pack;
	uint64_t off;
	int64_t id;
};

/* The first dead frame at or after a place, over all packs. Under the lock. */
static int dead_next(struct ofs_index *ix, uint32_t pack, uint64_t off, struct dead_frame *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, OFS_STMT_FRAME_DEAD, OFS_ARGS(pack, off), &st);

	if (r < 0)
		return r;
	ret->pack = (uint32_t)sqlite3_column_int64(st, 0);
	ret->off = (uint64_t)sqlite3_column_int64(st, 1);
	ret->id = sqlite3_column_int64(st, 2);
	return 0;
}

/* One offset out of a pack; -ENOENT when no frame fits the statement. */
static int place_get(struct ofs_index *ix, enum ofs_stmt id, const int64_t *args, size_t n,
		     uint64_t *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_stmt_first(ix, id, args, n, &st);

	if (r == 0)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	return r;
}

/* The next dead range at or after a place. -ENOENT: there is none. */
static int dead_range(struct ofs_index *ix, uint64_t header, uint32_t pack, uint64_t off,
		      struct ofs_index_dead *ret)
{
	OFS_INDEX_LOCKED(ix);
	struct dead_frame f;
	uint64_t begin = header, end = 0;
	int before, after;
	int r = dead_next(ix, pack, off, &f);

	if (r < 0)
		return r;
	before = place_get(ix, OFS_STMT_FRAME_LIVE_BEFORE, OFS_ARGS(f.pack, f.off), &begin);
	if (before < 0 && before != -ENOENT)
		return before;
	after = place_get(ix, OFS_STMT_FRAME_LIVE_AFTER, OFS_ARGS(f.pack, f.off), &end);
	if (after == -ENOENT)
		r = place_get(ix, OFS_STMT_FRAME_END, OFS_ARGS(f.pack), &end);
	else
		r = after;
	if (r < 0)
		return r;
	if (begin > f.off || end <= f.off)
		return -EUCLEAN;
	*ret = (struct ofs_index_dead){
		.pack = f.pack,
		.off = begin,
		.len = end - begin,
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

/*
 * Forgets the first dead frame of a range; 1 when there was one. Holds the lock for that one only.
 */
static int dead_delete_next(struct ofs_index *ix, const struct ofs_index_dead *d)
{
	OFS_INDEX_LOCKED(ix);
	struct dead_frame f;
	int r = ofs_index_writable(ix);

	if (r < 0)
		return r;
	r = dead_next(ix, d->pack, d->off, &f);
	if (r == -ENOENT || (r == 0 && (f.pack != d->pack || f.off - d->off >= d->len)))
		return 0;
	if (r == 0)
		r = ofs_stmt_run(ix, OFS_STMT_FRAME_DELETE, OFS_ARGS(f.id));
	return r < 0 ? ofs_index_written(ix, r) : 1;
}

int ofs_index_delete_dead(struct ofs_index *ix, const struct ofs_index_dead *d)
{
	int r;

	do {
		r = dead_delete_next(ix, d);
	} while (r > 0);
	return r;
}
