/* SPDX-License-Identifier: MIT */
/*
 * The blocks of files: which chunk each one holds, which chunks and frames are therefore alive, and
 * which file is charged for them. Invariants between any two calls:
 *
 *   - a chunk is live exactly when some block holds it; then exactly one of those blocks is not a
 *     guest, and chunk.bearer is its inode;
 *   - frame.live is the number of live chunks in it, frame.held the sum of their lengths;
 *   - inode.stored is the sum of the shares of the chunks whose bearer it is;
 *   - inode.sha is the integer 0 only while block 0 holds the chunk with that hash.
 */
#include "index/index_state.h"

struct chunk_row {
	uint64_t bearer;
	int64_t frame;
	uint32_t len;
	int64_t share; /* bytes of its frame that are charged to its bearer */
	uint8_t sha[32];
};

/* See schema.h. */
static int64_t frame_share(uint64_t stored, uint64_t raw, uint64_t off, uint64_t len)
{
	return (int64_t)(stored * (off + len) / raw - stored * off / raw);
}

static int chunk_get(struct ofs_index *ix, uint64_t id, struct chunk_row *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	uint64_t off, stored, raw;
	int r = ofs_db_first(&ix->db, OFS_STMT_CHUNK_REFERENCE, OFS_ARGS(id), &st);

	if (r < 0)
		return r;
	ret->bearer = ofs_column_u64(st, 0);
	ret->frame = sqlite3_column_int64(st, 1);
	off = ofs_column_u32(st, 2);
	ret->len = ofs_column_u32(st, 3);
	stored = ofs_column_u32(st, 4);
	raw = ofs_column_u32(st, 5);
	if (raw == 0 || off + ret->len > raw)
		return -EUCLEAN;
	ret->share = frame_share(stored, raw, off, ret->len);
	return ofs_column_bytes(st, 6, ret->sha, sizeof(ret->sha));
}

/* Skips immediate repetitions, since a long file has many chunks. */
static void heirs_add(struct ofs_index *ix, uint64_t ino)
{
	struct ofs_u64_list *l = &ix->heirs;

	/* Compares with entries of this transaction only: a rollback keeps the earlier ones. */
	if (l->n == ix->heirs_kept || l->at[l->n - 1] != ino)
		ofs_u64_list_add(l, ino);
}

/* Sets the bearer of a chunk, which becomes live with its first bearer and dead without one. */
static int chunk_set_bearer(struct ofs_index *ix, uint64_t id, const struct chunk_row *c,
			    uint64_t bearer)
{
	int r = ofs_db_run(&ix->db, OFS_STMT_CHUNK_BEARER, OFS_ARGS(id, bearer));

	if (r < 0 || !bearer == !c->bearer)
		return r;
	r = bearer ? ofs_db_run(&ix->db, OFS_STMT_FRAME_HOLD, OFS_ARGS(c->frame, 1, c->len))
		   : ofs_db_run(&ix->db, OFS_STMT_FRAME_HOLD,
				OFS_ARGS(c->frame, -1, -(int64_t)c->len));
	if (r == 0 && !bearer)
		ofs_u64_list_add(&ix->dropped, id);
	return r;
}

/*
 * Deletes one dropped chunk, unless it has a reference again. 1: there was one. Holds the lock only
 * for this chunk.
 */
static int dropped_delete_next(struct ofs_index *ix)
{
	OFS_DB_LOCKED(&ix->db);
	int r = ofs_db_writable(&ix->db);

	if (r < 0 || ix->dropped.n == 0)
		return r;
	r = ofs_db_run(&ix->db, OFS_STMT_CHUNK_DELETE, OFS_ARGS(ix->dropped.at[--ix->dropped.n]));
	return r < 0 ? ofs_db_written(&ix->db, r) : 1;
}

void ofs_index_delete_dropped(struct ofs_index *ix)
{
	int r;

	do {
		r = dropped_delete_next(ix);
	} while (r > 0);
}

/* Finds a guest that can become the bearer, in the same file if possible. -ENOENT: none. */
static int block_find_guest(struct ofs_index *ix, uint64_t chunk, uint64_t ino, uint64_t *ret_ino,
			    uint64_t *ret_block)
{
	OFS_STMT sqlite3_stmt *own = NULL;
	OFS_STMT sqlite3_stmt *any = NULL;
	sqlite3_stmt *st;
	int r = ofs_db_first(&ix->db, OFS_STMT_BLOCK_GUEST_OF, OFS_ARGS(chunk, ino), &own);

	st = own;
	if (r == -ENOENT) {
		r = ofs_db_first(&ix->db, OFS_STMT_BLOCK_GUEST, OFS_ARGS(chunk), &any);
		st = any;
	}
	if (r < 0)
		return r;
	*ret_ino = ofs_column_u64(st, 0);
	*ret_block = ofs_column_u64(st, 1);
	return 0;
}

static int block_put(struct ofs_index *ix, uint64_t ino, uint64_t block, uint64_t chunk, bool guest)
{
	if (block == 0)
		return ofs_db_run(&ix->db, OFS_STMT_FIRST_PUT, OFS_ARGS(ino, chunk, guest));
	if (chunk)
		return ofs_db_run(&ix->db, OFS_STMT_BLOCK_PUT, OFS_ARGS(ino, block, chunk, guest));
	return ofs_db_run(&ix->db, OFS_STMT_BLOCK_DELETE, OFS_ARGS(ino, block));
}

/* `ino` releases a chunk. Its block row is already gone or holds another chunk. */
static int chunk_drop(struct ofs_index *ix, uint64_t ino, uint64_t chunk, bool guest)
{
	uint64_t heir = 0, block;
	struct chunk_row c;
	int r, found;

	if (guest)
		return 0;
	found = block_find_guest(ix, chunk, ino, &heir, &block);
	if (found < 0 && found != -ENOENT)
		return found;
	if (found == 0) {
		r = block_put(ix, heir, block, chunk, false);
		if (r < 0 || heir == ino)
			return r;
	}
	r = chunk_get(ix, chunk, &c);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	r = ofs_db_run(&ix->db, OFS_STMT_INODE_CHARGE, OFS_ARGS(ino, -c.share));
	if (r == 0)
		r = chunk_set_bearer(ix, chunk, &c, heir);
	if (r < 0 || !heir)
		return r;
	r = ofs_db_run(&ix->db, OFS_STMT_INODE_CHARGE, OFS_ARGS(heir, c.share));
	if (r == 0)
		heirs_add(ix, heir);
	return r;
}

/* Puts `chunk` into a block, which becomes its bearer if no other block holds it. */
static int chunk_take(struct ofs_index *ix, uint64_t ino, uint64_t block, uint64_t chunk,
		      const struct chunk_row *c)
{
	int r = block_put(ix, ino, block, chunk, c->bearer != 0);

	if (r < 0 || c->bearer)
		return r;
	r = chunk_set_bearer(ix, chunk, c, ino);
	return r < 0 ? r : ofs_db_run(&ix->db, OFS_STMT_INODE_CHARGE, OFS_ARGS(ino, c->share));
}

static int chunk_move(struct ofs_index *ix, uint64_t id, uint64_t frame, uint32_t off)
{
	struct chunk_row before, after;
	int r = chunk_get(ix, id, &before);

	if (r == 0 && !before.bearer)
		r = -ENOENT;
	if (r == 0)
		r = ofs_db_run(&ix->db, OFS_STMT_CHUNK_MOVE, OFS_ARGS(id, frame, off));
	if (r == 0)
		r = ofs_db_run(&ix->db, OFS_STMT_FRAME_HOLD,
			       OFS_ARGS(before.frame, -1, -(int64_t)before.len));
	if (r == 0)
		r = ofs_db_run(&ix->db, OFS_STMT_FRAME_HOLD, OFS_ARGS(frame, 1, before.len));
	if (r == 0)
		r = chunk_get(ix, id, &after);
	if (r == 0 && after.share != before.share)
		r = ofs_db_run(&ix->db, OFS_STMT_INODE_CHARGE,
			       OFS_ARGS(before.bearer, after.share - before.share));
	if (r == 0)
		heirs_add(ix, before.bearer);
	return r;
}

int ofs_index_move_chunk(struct ofs_index *ix, uint64_t id, uint64_t frame, uint32_t off)
{
	OFS_DB_LOCKED(&ix->db);
	int r = ofs_db_writable(&ix->db);

	return r < 0 ? r : ofs_db_written(&ix->db, chunk_move(ix, id, frame, off));
}

int ofs_index_block_sha(struct ofs_index *ix, uint64_t ino, uint8_t ret[32])
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, OFS_STMT_FIRST_SHA, OFS_ARGS(ino), &st);

	return r < 0 ? r : ofs_column_bytes(st, 0, ret, 32);
}

static int inode_set_sha(struct ofs_index *ix, uint64_t ino, const uint8_t sha[32])
{
	return ofs_db_run_blob(&ix->db, OFS_STMT_INODE_SET_SHA, OFS_ARGS(ino), sha, 32);
}

/*
 * Preserves the recorded hash of the whole content when block 0 is about to hold the chunk with the
 * hash `now` (NULL: none): stores it in full, or as 0 if it equals `now`. -ENOENT: no such inode.
 */
static int inode_keep_sha(struct ofs_index *ix, uint64_t ino, const uint8_t *now)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	uint8_t sha[32];
	int type;
	int r = ofs_db_first(&ix->db, OFS_STMT_INODE_SHA, OFS_ARGS(ino), &st);

	if (r < 0)
		return r;
	type = sqlite3_column_type(st, 0);
	if (type == SQLITE_NULL)
		return 0;
	if (type == SQLITE_BLOB)
		r = ofs_column_bytes(st, 0, sha, sizeof(sha));
	else
		r = ofs_index_block_sha(ix, ino, sha);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	ofs_stmt_reset(&st);
	if (now && memcmp(sha, now, sizeof(sha)) == 0) {
		if (type == SQLITE_BLOB)
			r = ofs_db_run(&ix->db, OFS_STMT_INODE_SET_SHA, OFS_ARGS(ino, 0));
		return r;
	}
	return type == SQLITE_BLOB ? 0 : inode_set_sha(ix, ino, sha);
}

static int inode_exists(struct ofs_index *ix, uint64_t ino)
{
	OFS_STMT sqlite3_stmt *st = NULL;

	return ofs_db_first(&ix->db, OFS_STMT_INODE_STORED, OFS_ARGS(ino), &st);
}

/* The chunk in a block; 0: a hole. */
static int block_get(struct ofs_index *ix, uint64_t ino, uint64_t block, uint64_t *ret_chunk,
		     bool *ret_guest)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = block == 0 ? ofs_db_first(&ix->db, OFS_STMT_FIRST_GET, OFS_ARGS(ino), &st)
			   : ofs_db_first(&ix->db, OFS_STMT_BLOCK_GET, OFS_ARGS(ino, block), &st);

	if (r < 0 && r != -ENOENT)
		return r;
	*ret_chunk = r < 0 ? 0 : ofs_column_u64(st, 0);
	*ret_guest = r == 0 && sqlite3_column_int(st, 1) != 0;
	return 0;
}

static int block_set(struct ofs_index *ix, uint64_t ino, uint64_t block, uint64_t chunk)
{
	struct chunk_row c;
	uint64_t old;
	bool guest;
	int r = block_get(ix, ino, block, &old, &guest);

	if (r < 0 || old == chunk)
		return r;
	if (chunk) {
		r = chunk_get(ix, chunk, &c);
		if (r < 0)
			return r;
	}
	r = block == 0 ? inode_keep_sha(ix, ino, chunk ? c.sha : NULL) : inode_exists(ix, ino);
	if (r < 0)
		return r;
	if (chunk)
		r = chunk_take(ix, ino, block, chunk, &c);
	else
		r = block_put(ix, ino, block, 0, false);
	if (r < 0 || !old)
		return r;
	return chunk_drop(ix, ino, old, guest);
}

int ofs_index_set_block(struct ofs_index *ix, uint64_t ino, uint64_t block, uint64_t chunk)
{
	OFS_DB_LOCKED(&ix->db);
	int r = ofs_db_writable(&ix->db);

	return r < 0 ? r : ofs_db_written(&ix->db, block_set(ix, ino, block, chunk));
}

/* The first block at or after `block`. -ENOENT: none. */
static int block_next(struct ofs_index *ix, uint64_t ino, uint64_t block, uint64_t *ret_block,
		      uint64_t *ret_chunk, bool *ret_guest)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r;

	if (block == 0) {
		r = block_get(ix, ino, 0, ret_chunk, ret_guest);
		*ret_block = 0;
		if (r < 0 || *ret_chunk)
			return r;
	}
	r = ofs_db_first(&ix->db, OFS_STMT_BLOCK_NEXT, OFS_ARGS(ino, block), &st);
	if (r < 0)
		return r;
	*ret_chunk = ofs_column_u64(st, 0);
	*ret_guest = sqlite3_column_int(st, 1) != 0;
	*ret_block = ofs_column_u64(st, 2);
	return 0;
}

/*
 * Drops the first block at or after `block`. 1: there was one. Holds the lock only for this block.
 */
static int block_drop_next(struct ofs_index *ix, uint64_t ino, uint64_t block)
{
	OFS_DB_LOCKED(&ix->db);
	uint64_t chunk, at;
	bool guest;
	int r = ofs_db_writable(&ix->db);

	if (r < 0)
		return r;
	r = block_next(ix, ino, block, &at, &chunk, &guest);
	if (r < 0)
		return r == -ENOENT ? 0 : ofs_db_written(&ix->db, r);
	if (at == 0)
		r = inode_keep_sha(ix, ino, NULL);
	if (r == 0)
		r = block_put(ix, ino, at, 0, false);
	if (r == 0)
		r = chunk_drop(ix, ino, chunk, guest);
	return r < 0 ? ofs_db_written(&ix->db, r) : 1;
}

int ofs_index_truncate_blocks(struct ofs_index *ix, uint64_t ino, uint64_t block)
{
	int r;

	do {
		r = block_drop_next(ix, ino, block);
	} while (r > 0);
	return r;
}

/* Empties the list; the caller frees what it held. */
static struct ofs_u64_list heirs_take(struct ofs_index *ix)
{
	OFS_DB_LOCKED(&ix->db);
	struct ofs_u64_list heirs = ix->heirs;

	ix->heirs = (struct ofs_u64_list){ 0 };
	ix->heirs_kept = 0;
	return heirs;
}

int ofs_index_take_recharged(struct ofs_index *ix, int (*fn)(void *arg, uint64_t ino), void *arg)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list heirs = heirs_take(ix);
	int r = 0;

	ofs_u64_list_sort_unique(&heirs);
	for (size_t i = 0; i < heirs.n && r == 0; i++)
		r = fn(arg, heirs.at[i]);
	return r;
}

int ofs_index_list_holders(struct ofs_index *ix, uint64_t chunk, int (*fn)(void *arg, uint64_t ino),
			   void *arg)
{
	return ofs_db_list_numbers(&ix->db, OFS_STMT_BLOCK_HOLDERS, OFS_ARGS(chunk), fn, arg);
}

int ofs_index_next_long(struct ofs_index *ix, uint64_t after, uint64_t *ret_ino)
{
	OFS_DB_LOCKED(&ix->db);
	return ofs_db_get_number(&ix->db, OFS_STMT_BLOCK_NEXT_LONG, OFS_ARGS(after), ret_ino);
}
