/* SPDX-License-Identifier: MIT */
/*
 * References, charges, hashes, moved chunks, and dead or due frames, compared with a plain model
 * that recounts everything.
 */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/util.h"
#include "index/index.h"
#include "index/index_state.h"
#include "scratch.h"

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_index *ix;

static void setup(void)
{
	struct ofs_index_meta fresh = { .next_ino = 2 };

	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/index", dir);
	cr_assert_eq(ofs_index_open(path, &fresh, NULL, &ix), 0);
	cr_assert_eq(ofs_index_begin(ix), 0);
}

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static void teardown(void)
{
	ofs_index_close(ix);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(index_blocks, .init = setup, .fini = teardown);

static void make_sha(uint64_t n, uint8_t sha[32])
{
	memset(sha, 0x5a, 32);
	memcpy(sha + 24, &n, sizeof(n)); /* all share the indexed prefix */
}

static uint64_t put_empty_frame(struct ofs_index_frame f)
{
	uint64_t frame = 0;

	cr_assert_eq(ofs_index_put_frame(ix, &f, &frame), 0);
	cr_assert_neq(frame, 0);
	return frame;
}

static int put_chunk(uint64_t frame, uint64_t id, uint32_t off, uint32_t len)
{
	struct ofs_index_chunk c = { .id = id, .off = off, .len = len, .lines = (uint32_t)id };

	make_sha(id, c.sha);
	return ofs_index_put_chunk(ix, frame, &c);
}

/* Adds a frame with chunks `id`, `id` + 1, ... of these lengths. */
static uint64_t put_frame(uint32_t pack, uint64_t off, uint32_t stored, uint64_t id,
			  const uint32_t *lens, size_t n)
{
	struct ofs_index_frame f = { .pack = pack, .off = off, .stored = stored };
	uint64_t frame;
	uint32_t at = 0;

	for (size_t i = 0; i < n; i++)
		f.raw += lens[i];
	frame = put_empty_frame(f);
	for (size_t i = 0; i < n; at += lens[i++])
		cr_assert_eq(put_chunk(frame, id + i, at, lens[i]), 0);
	return frame;
}

static uint64_t put_frame1(uint32_t pack, uint64_t off, uint32_t stored, uint64_t id)
{
	uint32_t len = 1000;

	return put_frame(pack, off, stored, id, &len, 1);
}

static void next_transaction(void)
{
	cr_assert_eq(ofs_index_commit(ix), 0);
	cr_assert_eq(ofs_index_begin(ix), 0);
}

static void undo_transaction(void)
{
	ofs_index_rollback(ix);
	cr_assert_eq(ofs_index_begin(ix), 0);
}

static bool chunk_exists(uint64_t id)
{
	struct ofs_index_chunk c;
	int r = ofs_index_get_chunk(ix, id, &c);

	cr_assert(r == 0 || r == -ENOENT);
	if (r == 0)
		cr_assert_eq(c.id, id);
	return r == 0;
}

static struct ofs_index_chunk get_chunk(uint64_t id)
{
	struct ofs_index_chunk c;

	cr_assert_eq(ofs_index_get_chunk(ix, id, &c), 0);
	return c;
}

static struct ofs_index_frame get_frame(uint64_t id)
{
	struct ofs_index_frame f;

	cr_assert_eq(ofs_index_next_frame(ix, id - 1, &f), 0);
	cr_assert_eq(f.id, id);
	return f;
}

static void expect_frame(uint64_t id, uint32_t live, uint32_t held)
{
	struct ofs_index_frame f = get_frame(id);

	cr_assert_eq(f.live, live, "frame %lu: %u live, not %u", (unsigned long)id, f.live, live);
	cr_assert_eq(f.held, held, "frame %lu: %u held, not %u", (unsigned long)id, f.held, held);
}

/* The invariants between any two calls (see block.c), each as a query for violations. */
static const char *const broken[] = {
	"SELECT id FROM chunk c WHERE (bearer > 0) != (id IN (SELECT chunk FROM blocks))",
	"SELECT id FROM chunk c WHERE bearer > 0 AND"
	" (SELECT count(*) FROM blocks WHERE chunk = c.id AND guest = 0) != 1",
	"SELECT id FROM chunk c WHERE bearer > 0 AND NOT EXISTS"
	" (SELECT 1 FROM blocks WHERE chunk = c.id AND guest = 0 AND ino = c.bearer)",
	"SELECT ino FROM blocks WHERE chunk NOT IN (SELECT id FROM chunk)",
	"SELECT id FROM chunk WHERE bearer > 0 AND frame NOT IN (SELECT id FROM frame)",
	"SELECT id FROM frame f WHERE live !="
	" (SELECT count(*) FROM chunk WHERE frame = f.id AND bearer > 0)",
	"SELECT id FROM frame f WHERE held !="
	" (SELECT total(len) FROM chunk WHERE frame = f.id AND bearer > 0)",
	"SELECT ino FROM inode i WHERE stored != (SELECT total("
	"f.stored * (c.off + c.len) / f.raw - f.stored * c.off / f.raw)"
	" FROM chunk c JOIN frame f ON f.id = c.frame WHERE c.bearer = i.ino)",
	"SELECT ino FROM inode i WHERE typeof(sha) = 'integer' AND (sha != 0 OR NOT EXISTS"
	" (SELECT 1 FROM blocks WHERE ino = i.ino AND block = 0))",
};

static const char blocks_view[] =
	"CREATE TEMP VIEW IF NOT EXISTS blocks AS"
	" SELECT ino, 0 AS block, abs(chunk) AS chunk, chunk < 0 AS guest FROM inode"
	" WHERE chunk <> 0 UNION ALL SELECT ino, block, chunk, guest FROM block";

static void check_invariants(void)
{
	cr_assert_eq(sqlite3_exec(ix->db.conn, blocks_view, NULL, NULL, NULL), SQLITE_OK);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(broken); i++) {
		sqlite3_stmt *st;

		cr_assert_eq(sqlite3_prepare_v2(ix->db.conn, broken[i], -1, &st, NULL), SQLITE_OK);
		cr_assert_eq(sqlite3_step(st), SQLITE_DONE, "%lld: %s",
			     (long long)sqlite3_column_int64(st, 0), broken[i]);
		sqlite3_finalize(st);
	}
}

static void put_file(uint64_t ino)
{
	struct ofs_index_inode in = { .ino = ino, .mode = S_IFREG | 0600, .nlink = 1, .lines = -1 };

	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
}

static uint64_t stored_of(uint64_t ino)
{
	uint64_t stored;

	cr_assert_eq(ofs_index_get_stored(ix, ino, &stored), 0);
	return stored;
}

static bool chunk_found(uint64_t id)
{
	struct ofs_index_chunk c;
	uint8_t sha[32];
	int r;

	make_sha(id, sha);
	r = ofs_index_find_chunk(ix, sha, &c);
	cr_assert(r == 0 || r == -ENOENT);
	if (r == 0)
		cr_assert_eq(c.id, id);
	return r == 0;
}

static int collect_ino(void *arg, uint64_t ino)
{
	uint64_t **next = arg;
	uint64_t stored;

	cr_assert_eq(ofs_index_get_stored(ix, ino, &stored), 0, "the callback may call the index");
	*(*next)++ = ino;
	return 0;
}

Test(index_blocks, one_chunk_frame_costs_exactly_its_size)
{
	put_frame1(1, 64, 777, 1);
	put_file(2);
	cr_assert_not(chunk_found(1));
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(stored_of(2), 777);
	cr_assert(chunk_found(1));
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), 0);
	cr_assert_eq(stored_of(2), 0);
	cr_assert_not(chunk_found(1));
}

Test(index_blocks, shares_of_a_frame_add_up)
{
	uint32_t lens[] = { 1, 333, 77, 1000, 5 };
	uint64_t sum = 0;

	put_frame(1, 64, 501, 10, lens, 5);
	for (uint64_t i = 0; i < 5; i++) {
		put_file(2 + i);
		cr_assert_eq(ofs_index_set_block(ix, 2 + i, 0, 10 + i), 0);
		sum += stored_of(2 + i);
		cr_assert_leq(stored_of(2 + i), 501u * lens[i] / 1416 + 1);
	}
	cr_assert_eq(sum, 501);
}

Test(index_blocks, same_chunk_twice_in_a_file_is_charged_once)
{
	uint64_t heirs[8], *next = heirs;

	put_frame1(1, 64, 500, 1);
	put_file(2);
	for (uint64_t b = 0; b < 4; b++)
		cr_assert_eq(ofs_index_set_block(ix, 2, b, 1), 0);
	cr_assert_eq(stored_of(2), 500);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), 0);
	cr_assert_eq(ofs_index_truncate_blocks(ix, 2, 2), 0);
	cr_assert_eq(stored_of(2), 500);
	cr_assert_eq(ofs_index_take_recharged(ix, collect_ino, &next), 0);
	cr_assert_eq(next, heirs, "it inherited from itself");
	cr_assert(chunk_found(1));
	cr_assert_eq(ofs_index_truncate_blocks(ix, 2, 0), 0);
	cr_assert_eq(stored_of(2), 0);
	cr_assert_not(chunk_found(1));
}

Test(index_blocks, heir_pays_and_is_named)
{
	uint64_t heirs[8], *next = heirs;

	put_frame1(1, 64, 500, 1);
	put_file(2);
	put_file(3);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 3, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 3, 1, 1), 0);
	cr_assert_eq(stored_of(3), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);

	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_eq(ofs_index_delete_inode(ix, 2), 0);
	cr_assert_eq(stored_of(3), 500);
	ofs_index_rollback(ix);
	cr_assert_eq(ofs_index_take_recharged(ix, collect_ino, &next), 0);
	cr_assert_eq(next, heirs, "a rolled back charge was reported");

	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_eq(ofs_index_delete_inode(ix, 2), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);
	cr_assert_eq(ofs_index_take_recharged(ix, collect_ino, &next), 0);
	cr_assert_eq(next - heirs, 1);
	cr_assert_eq(heirs[0], 3);
	cr_assert_eq(ofs_index_take_recharged(ix, collect_ino, &next), 0);
	cr_assert_eq(next - heirs, 1, "reported twice");
	cr_assert_eq(stored_of(3), 500);
}

Test(index_blocks, same_content_again_after_the_first_died)
{
	struct ofs_index_chunk c = { .id = 2, .len = 1000 };
	struct ofs_index_frame f = { .pack = 1, .off = 1000, .stored = 88, .raw = 1000 };
	struct ofs_index_chunk found;

	put_frame1(1, 64, 500, 1);
	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), 0);
	make_sha(1, c.sha);
	cr_assert_eq(ofs_index_put_chunk(ix, put_empty_frame(f), &c), 0);
	cr_assert_eq(ofs_index_find_chunk(ix, c.sha, &found), -ENOENT);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 2), 0);
	cr_assert_eq(ofs_index_find_chunk(ix, c.sha, &found), 0);
	cr_assert_eq(found.id, 2);
	cr_assert_eq(found.frame_off, 1000);
	cr_assert_eq(stored_of(2), 88);
}

static void expect_sha(uint64_t ino, uint64_t n)
{
	struct ofs_index_inode in;
	uint8_t sha[32];

	make_sha(n, sha);
	cr_assert_eq(ofs_index_get_inode(ix, ino, &in), 0);
	cr_assert(in.has_sha);
	cr_assert_arr_eq(in.sha, sha, 32);
}

Test(index_blocks, file_hash_stays_what_was_put)
{
	struct ofs_index_inode in = { .ino = 2, .mode = S_IFREG, .nlink = 1, .has_sha = true };
	struct ofs_index_inode got;

	for (uint64_t id = 1; id <= 2; id++)
		put_frame1(1, 64 + id * 1000, 500, id);
	make_sha(1, in.sha);
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	expect_sha(2, 1);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	expect_sha(2, 1);
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	expect_sha(2, 1);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 2), 0);
	expect_sha(2, 1);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), 0);
	expect_sha(2, 1);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(ofs_index_truncate_blocks(ix, 2, 0), 0);
	expect_sha(2, 1);
	in.has_sha = false;
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(ofs_index_get_inode(ix, 2, &got), 0);
	cr_assert_not(got.has_sha);
}

Test(index_blocks, unknown_names_are_errors_that_stick)
{
	put_frame1(1, 64, 500, 1);
	cr_assert_eq(ofs_index_set_block(ix, 99, 0, 1), -ENOENT);
	cr_assert_eq(ofs_index_set_block(ix, 99, 0, 0), -ENOENT, "the transaction has failed");
	cr_assert_eq(ofs_index_commit(ix), -ENOENT);
	cr_assert_eq(ofs_index_begin(ix), 0);
	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), -ENOENT, "chunk 1 was rolled back");
	ofs_index_rollback(ix);
	cr_assert_eq(ofs_index_begin(ix), 0);
}

Test(index_blocks, unsound_chunks_are_refused)
{
	struct ofs_index_frame f = { .pack = 1, .off = 64, .stored = 9, .raw = 20 };
	uint64_t frame = put_empty_frame(f), again;

	next_transaction();
	cr_assert_eq(ofs_index_put_frame(ix, &f, &again), -EEXIST);
	undo_transaction();
	cr_assert_eq(put_chunk(frame, 1, 0, 0), -EINVAL);
	undo_transaction();
	cr_assert_eq(put_chunk(frame, 1, 11, 10), -EINVAL);
	undo_transaction();
	cr_assert_eq(put_chunk(frame, 1, UINT32_MAX, 10), -EINVAL);
	undo_transaction();
	cr_assert_eq(put_chunk(frame + 1, 1, 0, 10), -ENOENT);
	undo_transaction();
	cr_assert_eq(put_chunk(frame, 1, 0, 10), 0);
	cr_assert_eq(put_chunk(frame, 2, 10, 10), 0);
	next_transaction();
	cr_assert_eq(put_chunk(frame, 2, 10, 10), -EEXIST);
	undo_transaction();
	expect_frame(frame, 0, 0);
}

Test(index_blocks, rows_come_back_whole)
{
	struct ofs_index_frame f = { .pack = UINT32_MAX,
				     .off = UINT64_C(1) << 40,
				     .stored = 4 << 20,
				     .raw = 4 << 20,
				     .class = 77,
				     .dense = true };
	uint64_t frame = put_empty_frame(f);
	struct ofs_index_chunk c;
	uint8_t sha[32];

	cr_assert_eq(put_chunk(frame, 1000, 3 << 20, 1 << 20), 0);
	next_transaction();
	f = get_frame(frame);
	cr_assert_eq(f.pack, UINT32_MAX);
	cr_assert_eq(f.off, UINT64_C(1) << 40);
	cr_assert_eq(f.stored, 4 << 20);
	cr_assert_eq(f.raw, 4 << 20);
	cr_assert_eq(f.class, 77);
	cr_assert(f.dense);
	cr_assert_not(f.bad);
	c = get_chunk(1000);
	make_sha(1000, sha);
	cr_assert_arr_eq(c.sha, sha, 32);
	cr_assert_eq(c.pack, UINT32_MAX);
	cr_assert_eq(c.frame_off, UINT64_C(1) << 40);
	cr_assert_eq(c.frame_stored, 4 << 20);
	cr_assert_eq(c.frame_raw, 4 << 20);
	cr_assert_eq(c.off, 3 << 20);
	cr_assert_eq(c.len, 1 << 20);
	cr_assert_eq(c.lines, 1000);
	cr_assert_eq(c.bearer, 0);
	cr_assert_eq(c.class, 77);
	cr_assert(c.dense);
	cr_assert_not(c.bad);
	cr_assert_eq(ofs_index_get_chunk(ix, 999, &c), -ENOENT);
	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1000), 0);
	cr_assert_eq(get_chunk(1000).bearer, 2);
	expect_frame(frame, 1, 1 << 20);
}

Test(index_blocks, frames_one_after_the_other)
{
	struct ofs_index_frame f;
	uint64_t id[3];

	cr_assert_eq(ofs_index_next_frame(ix, 0, &f), -ENOENT);
	put_file(2);
	for (uint64_t i = 0; i < 3; i++) {
		id[i] = put_frame1(1, 10000 - 1000 * i, 100, 1 + i);
		if (i != 1)
			cr_assert_eq(ofs_index_set_block(ix, 2, i, 1 + i), 0);
	}
	cr_assert_eq(ofs_index_delete_dead(ix, &(struct ofs_index_dead){ 1, 64, 100000, false }),
		     0);
	cr_assert_eq(ofs_index_next_frame(ix, 0, &f), 0);
	cr_assert_eq(f.id, id[0]);
	cr_assert_eq(ofs_index_next_frame(ix, id[0], &f), 0);
	cr_assert_eq(f.id, id[2]);
	cr_assert_eq(f.off, 8000);
	cr_assert_eq(ofs_index_next_frame(ix, id[2], &f), -ENOENT);
}

struct holders {
	size_t n;
	uint64_t ino[64];
};

static int collect_holder(void *arg, uint64_t ino)
{
	struct holders *h = arg;

	cr_assert_lt(h->n, 64);
	h->ino[h->n++] = ino;
	return h->n == 64 ? 7 : 0;
}

Test(index_blocks, holders)
{
	struct holders h = { 0 }, stopped = { .n = 63 };

	put_frame1(1, 64, 100, 1);
	put_frame1(1, 264, 100, 2);
	put_file(2);
	put_file(3);
	cr_assert_eq(ofs_index_set_block(ix, 3, 5, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 2), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 7, 1), 0);
	cr_assert_eq(ofs_index_list_holders(ix, 1, collect_holder, &h), 0);
	cr_assert_eq(h.n, 2);
	cr_assert_eq(h.ino[0] + h.ino[1], 5);
	cr_assert_eq(ofs_index_list_holders(ix, 1, collect_holder, &stopped), 7);
	h.n = 0;
	cr_assert_eq(ofs_index_list_holders(ix, 9, collect_holder, &h), 0);
	cr_assert_eq(h.n, 0);
}

Test(index_blocks, chunk_goes_with_the_commit_that_took_its_last_reference)
{
	uint64_t frame = put_frame1(1, 64, 500, 1);

	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 1, 1), 0);
	next_transaction();
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), 0);
	next_transaction();
	cr_assert(chunk_found(1));
	cr_assert_eq(ofs_index_set_block(ix, 2, 1, 0), 0);
	cr_assert_eq(get_chunk(1).bearer, 0);
	expect_frame(frame, 0, 0);
	undo_transaction();
	cr_assert(chunk_found(1));
	expect_frame(frame, 1, 1000);
	next_transaction();
	cr_assert(chunk_found(1), "a rolled back transaction had dropped it");
	cr_assert_eq(ofs_index_delete_inode(ix, 2), 0);
	cr_assert(chunk_exists(1));
	next_transaction();
	cr_assert_not(chunk_exists(1));
	expect_frame(frame, 0, 0);
	cr_assert_eq(put_chunk(frame, 1, 0, 1000), 0, "its id is free");
}

Test(index_blocks, chunk_revived_in_the_same_transaction)
{
	uint64_t frame = put_frame1(1, 64, 500, 1);

	put_file(2);
	put_file(3);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	next_transaction();
	cr_assert_eq(ofs_index_delete_inode(ix, 2), 0);
	cr_assert_eq(ofs_index_set_block(ix, 3, 4, 1), 0);
	next_transaction();
	cr_assert_eq(get_chunk(1).bearer, 3);
	cr_assert_eq(stored_of(3), 500);
	expect_frame(frame, 1, 1000);

	/* Dropped, revived, dropped. */
	cr_assert_eq(ofs_index_set_block(ix, 3, 4, 0), 0);
	cr_assert_eq(ofs_index_set_block(ix, 3, 5, 1), 0);
	cr_assert_eq(ofs_index_truncate_blocks(ix, 3, 0), 0);
	next_transaction();
	cr_assert_not(chunk_exists(1));
	cr_assert_eq(stored_of(3), 0);
	check_invariants();
}

/* Drops in a transaction that was rolled back do not affect later ones. */
Test(index_blocks, unused_chunk_survives_a_rolled_back_use)
{
	put_frame1(1, 64, 500, 1);
	put_file(2);
	next_transaction();
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), 0);
	undo_transaction();
	next_transaction();
	cr_assert(chunk_exists(1));
}

Test(index_blocks, unused_chunks)
{
	uint32_t lens[] = { 10, 20, 30, 40, 50 };
	uint64_t frame = put_frame(1, 64, 100, 10, lens, 5);

	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 11), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 1, 13), 0);
	next_transaction();
	next_transaction();
	for (uint64_t id = 10; id < 15; id++)
		cr_assert(chunk_exists(id), "chunk %lu", (unsigned long)id);
	cr_assert_eq(ofs_index_delete_unused(ix, 12), 0);
	for (uint64_t id = 10; id < 15; id++)
		cr_assert_eq(chunk_exists(id), id != 12 && id != 14);
	undo_transaction();
	cr_assert(chunk_exists(14));
	cr_assert_eq(ofs_index_set_block(ix, 2, 2, 14), 0, "it is used after all");
	cr_assert_eq(ofs_index_delete_unused(ix, 12), 0);
	next_transaction();
	for (uint64_t id = 10; id < 15; id++)
		cr_assert_eq(chunk_exists(id), id != 12);
	cr_assert_eq(ofs_index_delete_unused(ix, 0), 0);
	next_transaction();
	for (uint64_t id = 10; id < 15; id++)
		cr_assert_eq(chunk_exists(id), id != 10 && id != 12);
	expect_frame(frame, 3, 110);
	check_invariants();
}

struct chunks {
	size_t n;
	struct ofs_index_chunk c[64];
};

static int collect_chunk(void *arg, const struct ofs_index_chunk *c)
{
	struct chunks *chunks = arg;

	cr_assert_lt(chunks->n, 64);
	chunks->c[chunks->n++] = *c;
	return chunks->n == 64 ? 9 : 0;
}

Test(index_blocks, chunks_of_a_frame)
{
	uint32_t lens[] = { 10, 20, 30 };
	uint64_t a = put_frame(1, 64, 100, 1, lens, 3), b = put_frame(1, 264, 100, 4, lens, 3);
	struct chunks got = { 0 };

	put_file(2);
	cr_assert_eq(ofs_index_list_chunks(ix, a, collect_chunk, &got), 0);
	cr_assert_eq(got.n, 0, "none is alive");
	for (uint64_t id = 2; id <= 4; id++)
		cr_assert_eq(ofs_index_set_block(ix, 2, id, id), 0);
	cr_assert_eq(ofs_index_list_chunks(ix, a, collect_chunk, &got), 0);
	cr_assert_eq(got.n, 2);
	cr_assert_eq(got.c[0].id + got.c[1].id, 5);
	cr_assert_eq(got.c[0].frame_off, 64);
	got.n = 0;
	cr_assert_eq(ofs_index_list_chunks(ix, b, collect_chunk, &got), 0);
	cr_assert_eq(got.n, 1);
	cr_assert_eq(got.c[0].id, 4);
	got.n = 63;
	cr_assert_eq(ofs_index_list_chunks(ix, b, collect_chunk, &got), 9);
}

Test(index_blocks, moving_takes_the_charge_along)
{
	uint32_t lens[] = { 1000, 500 }, lens2[] = { 100, 1000, 900 };
	uint64_t a = put_frame(1, 64, 600, 1, lens, 2), b = put_frame(1, 1064, 1000, 11, lens2, 3);
	uint64_t heirs[8], *next = heirs;
	struct ofs_index_chunk c;

	for (uint64_t ino = 2; ino < 5; ino++)
		put_file(ino);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 3, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 4, 0, 2), 0);
	cr_assert_eq(stored_of(2), 400);
	next_transaction();

	cr_assert_eq(ofs_index_move_chunk(ix, 1, b, 100), 0);
	cr_assert_eq(stored_of(2), 500);
	ofs_index_rollback(ix);
	cr_assert_eq(stored_of(2), 400);
	cr_assert_eq(ofs_index_take_recharged(ix, collect_ino, &next), 0);
	cr_assert_eq(next, heirs);

	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_eq(ofs_index_move_chunk(ix, 1, b, 100), 0);
	next_transaction();
	cr_assert_eq(ofs_index_take_recharged(ix, collect_ino, &next), 0);
	cr_assert_eq(next - heirs, 1);
	cr_assert_eq(heirs[0], 2);
	c = get_chunk(1);
	cr_assert_eq(c.bearer, 2);
	cr_assert_eq(c.frame_off, 1064);
	cr_assert_eq(c.off, 100);
	cr_assert_eq(c.len, 1000);
	cr_assert_eq(c.lines, 1);
	cr_assert(chunk_found(1));
	expect_frame(a, 1, 500);
	expect_frame(b, 1, 1000);
	cr_assert_eq(stored_of(2), 500);
	cr_assert_eq(stored_of(3), 0);
	cr_assert_eq(stored_of(4), 200);
	check_invariants();

	/* The heir of a moved chunk is charged for its new place. */
	cr_assert_eq(ofs_index_delete_inode(ix, 2), 0);
	cr_assert_eq(stored_of(3), 500);
	cr_assert_eq(ofs_index_set_block(ix, 3, 0, 0), 0);
	cr_assert_eq(stored_of(3), 0);
	expect_frame(a, 1, 500);
	expect_frame(b, 0, 0);
	next_transaction();
	cr_assert_not(chunk_exists(1));
	check_invariants();
}

Test(index_blocks, moving_within_a_frame_and_back)
{
	uint32_t lens[] = { 7, 7, 7 };
	uint64_t a = put_frame(1, 64, 10, 1, lens, 3), b = put_frame(1, 164, 100, 11, lens, 3);

	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(stored_of(2), 3);
	cr_assert_eq(ofs_index_move_chunk(ix, 1, a, 14), 0);
	cr_assert_eq(stored_of(2), 4);
	expect_frame(a, 1, 7);
	cr_assert_eq(ofs_index_move_chunk(ix, 1, b, 0), 0);
	cr_assert_eq(ofs_index_move_chunk(ix, 1, a, 0), 0);
	cr_assert_eq(ofs_index_move_chunk(ix, 1, a, 0), 0);
	cr_assert_eq(stored_of(2), 3);
	expect_frame(a, 1, 7);
	expect_frame(b, 0, 0);
	next_transaction();
	check_invariants();
}

Test(index_blocks, moving_what_is_dead_or_unknown)
{
	uint64_t a = put_frame1(1, 64, 500, 1), b = put_frame1(1, 664, 500, 2);

	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	next_transaction();
	cr_assert_eq(ofs_index_move_chunk(ix, 2, a, 0), -ENOENT, "it was never used");
	cr_assert_eq(ofs_index_commit(ix), -ENOENT);
	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_eq(ofs_index_move_chunk(ix, 77, a, 0), -ENOENT);
	undo_transaction();
	cr_assert_eq(ofs_index_move_chunk(ix, 1, b + 1, 0), -ENOENT);
	cr_assert_eq(ofs_index_commit(ix), -ENOENT);
	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_lt(ofs_index_move_chunk(ix, 1, b, 1), 0, "it does not lie in the frame");
	undo_transaction();
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), 0);
	cr_assert_eq(ofs_index_move_chunk(ix, 1, b, 0), -ENOENT, "it has died just now");
	undo_transaction();
	expect_frame(a, 1, 1000);
	expect_frame(b, 0, 0);
	cr_assert_eq(stored_of(2), 500);
	check_invariants();
}

struct frames {
	size_t n;
	struct ofs_index_frame f[64];
	size_t stop;
};

static int collect_frame(void *arg, const struct ofs_index_frame *f)
{
	struct frames *frames = arg;

	cr_assert_lt(frames->n, 64);
	frames->f[frames->n++] = *f;
	return frames->n == frames->stop ? 5 : 0;
}

Test(index_blocks, bad_frames)
{
	uint64_t a = put_frame1(1, 64, 500, 1), b = put_frame1(1, 664, 500, 2);

	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_not(get_frame(a).bad);
	cr_assert_eq(ofs_index_set_frame_bad(ix, a, true), 0);
	cr_assert_eq(ofs_index_set_frame_bad(ix, a, true), 0);
	cr_assert_eq(ofs_index_set_frame_bad(ix, b, true), 0);
	cr_assert_eq(ofs_index_set_frame_bad(ix, b, false), 0);
	next_transaction();
	cr_assert(get_frame(a).bad);
	cr_assert_not(get_frame(b).bad);
	cr_assert_eq(get_frame(a).live, 1);
	cr_assert(get_chunk(1).bad);
	cr_assert_not(get_chunk(2).bad);
	cr_assert(chunk_found(1));
	cr_assert_eq(ofs_index_set_frame_bad(ix, b + 1, true), -ENOENT);
	cr_assert_eq(ofs_index_commit(ix), -ENOENT);
	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_eq(ofs_index_set_frame_bad(ix, a, false), 0);
	cr_assert_not(get_frame(a).bad);
}

/* Adds a frame of this class and density with one live chunk `id` of `held` bytes. */
static uint64_t put_held(uint32_t class, bool dense, uint32_t held, uint64_t id)
{
	uint64_t frame = put_empty_frame((struct ofs_index_frame){ .pack = 1,
								   .off = id * 1000,
								   .stored = 100,
								   .raw = 4 << 20,
								   .class = class,
								   .dense = dense });

	cr_assert_eq(put_chunk(frame, id, 0, held), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, id, id), 0);
	return frame;
}

static void expect_due(const uint64_t *frame, size_t n)
{
	struct frames got = { 0 };

	cr_assert_eq(ofs_index_list_due(ix, collect_frame, &got), 0);
	for (size_t i = 0; i < n && i < got.n; i++)
		cr_assert_eq(got.f[i].id, frame[i], "place %zu: frame %lu, not %lu", i,
			     (unsigned long)got.f[i].id, (unsigned long)frame[i]);
	cr_assert_eq(got.n, n, "%zu due, not %zu", got.n, n);
}

Test(index_blocks, frames_that_are_due)
{
	const uint32_t loose = OFS_FRAME_LOOSE, dense = OFS_FRAME_LOOSE_DENSE;
	uint64_t due[8], empty, full, last;
	struct frames got = { .stop = 3 };

	put_file(2);
	due[3] = put_held(OFS_CLASS_DENSE, false, 4 << 20, 1);
	full = put_held(OFS_CLASS_DENSE, true, dense, 2);
	due[4] = put_held(OFS_CLASS_DENSE, true, dense - 1, 3);
	put_held(0, false, loose, 4);
	due[0] = put_held(0, false, loose - 1, 5);
	put_held(OFS_CLASS_DENSE - 1, false, loose, 6);
	due[2] = put_held(OFS_CLASS_DENSE - 1, false, 1, 7);
	due[7] = put_held(OFS_CLASS_DENSE + 1, false, dense, 8);
	put_held(0, true, dense, 9);
	due[1] = put_held(0, true, loose, 10);
	due[5] = put_held(OFS_CLASS_DENSE, true, 1, 11);
	due[6] = put_held(OFS_CLASS_DENSE, false, 1, 12);
	empty = put_empty_frame((struct ofs_index_frame){ .pack = 2, .raw = 4 << 20 });
	expect_due(due, 8);
	next_transaction();
	expect_due(due, 8);
	cr_assert_eq(ofs_index_list_due(ix, collect_frame, &got), 5);
	cr_assert_eq(got.n, 3);

	/* Bad frames are not due. */
	cr_assert_eq(ofs_index_set_frame_bad(ix, due[7], true), 0);
	expect_due(due, 7);
	cr_assert_eq(ofs_index_set_frame_bad(ix, due[7], false), 0);
	expect_due(due, 8);

	/* Nor are dead ones. */
	cr_assert_eq(ofs_index_set_block(ix, 2, 8, 0), 0);
	expect_due(due, 7);
	undo_transaction();
	cr_assert_eq(ofs_index_move_chunk(ix, 5, empty, 0), 0);
	last = due[0];
	due[0] = due[1];
	due[1] = empty;
	expect_due(due, 8);
	undo_transaction();
	due[1] = due[0];
	due[0] = last;

	/* A frame becomes due by losing content, and ceases to be due by gaining some. */
	cr_assert_eq(put_chunk(full, 20, dense, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 20, 20), 0);
	cr_assert_eq(ofs_index_move_chunk(ix, 2, due[4], 0), 0);
	due[4] = full;
	expect_due(due, 8);
	cr_assert_eq(ofs_index_set_block(ix, 2, 20, 0), 0);
	memmove(&due[4], &due[5], 3 * sizeof(due[0]));
	expect_due(due, 7);
}

static int collect_dead(void *arg, const struct ofs_index_dead *d)
{
	struct ofs_index_dead **next = arg;

	*(*next)++ = *d;
	return 0;
}

static size_t list_dead(struct ofs_index_dead *ret, size_t max)
{
	struct ofs_index_dead *next = ret;

	cr_assert_eq(ofs_index_list_dead(ix, 64, max, collect_dead, &next), 0);
	return (size_t)(next - ret);
}

static void expect_dead(const struct ofs_index_dead *d, uint32_t pack, uint64_t from, uint64_t to,
			bool whole)
{
	cr_assert_eq(d->pack, pack);
	cr_assert_eq(d->off, from);
	cr_assert_eq(d->off + d->len, to);
	cr_assert_eq(d->whole, whole);
}

/*
 * Adds `n` frames of 100 bytes to a pack, from offset 64. Frame i, from 0, holds chunk `base` + i.
 */
static void put_row(uint32_t pack, uint64_t base, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		put_frame1(pack, 64 + 104 * i, 100, base + i);
}

Test(index_blocks, dead_frames_merge_up_to_their_living_neighbours)
{
	struct ofs_index_dead d[8];

	put_file(2);
	put_row(1, 100, 8);
	put_row(2, 200, 3);
	put_row(3, 300, 3);
	for (uint64_t i = 0; i < 8; i++)
		cr_assert_eq(ofs_index_set_block(ix, 2, i, 100 + i), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 20, 301), 0);

	/*
	 * Pack 1: frames 0, 2, 3, 4 and 7 dead; 1, 5 and 6 live. Pack 2: all dead. Pack 3: all dead
	 * but the middle one.
	 */
	uint64_t gone[] = { 0, 2, 3, 4, 7 };

	for (size_t i = 0; i < 5; i++)
		cr_assert_eq(ofs_index_set_block(ix, 2, gone[i], 0), 0);
	cr_assert_eq(list_dead(d, 8), 6);
	expect_dead(&d[0], 1, 64, 64 + 104, false);
	expect_dead(&d[1], 1, 64 + 104 + 100, 64 + 104 * 5, false);
	expect_dead(&d[2], 1, 64 + 104 * 6 + 100, 64 + 104 * 7 + 100, false);
	expect_dead(&d[3], 2, 64, 64 + 104 * 2 + 100, true);
	expect_dead(&d[4], 3, 64, 64 + 104, false);
	expect_dead(&d[5], 3, 64 + 104 + 100, 64 + 104 * 2 + 100, false);
	cr_assert_eq(list_dead(d, 2), 2);

	cr_assert_eq(ofs_index_delete_dead(ix, &d[1]), 0);
	cr_assert_eq(list_dead(d, 8), 5);
	expect_dead(&d[1], 1, 64 + 104 * 6 + 100, 64 + 104 * 7 + 100, false);

	/* A frame deleted earlier counts as a gap, which the next range includes. */
	cr_assert_eq(ofs_index_set_block(ix, 2, 5, 0), 0);
	cr_assert_eq(list_dead(d, 8), 6);
	expect_dead(&d[1], 1, 64 + 104 + 100, 64 + 104 * 6, false);
	for (size_t i = 0; i < 6; i++)
		cr_assert_eq(ofs_index_delete_dead(ix, &d[i]), 0);
	cr_assert_eq(list_dead(d, 8), 0);
	cr_assert(chunk_found(101));
	cr_assert(chunk_found(106));
	cr_assert(chunk_found(301));

	/* A used chunk goes with the commit; one that never was used is deleted as unused. */
	cr_assert_not(chunk_exists(200));
	next_transaction();
	cr_assert_eq(ofs_index_delete_unused(ix, 200), 0);
	put_frame1(1, 64, 100, 100);
	put_frame1(2, 64, 100, 200);
}

Test(index_blocks, interleaved_ids_stay_with_their_frames)
{
	struct ofs_index_frame f = { .pack = 1, .off = 64, .stored = 80, .raw = 20 };
	uint64_t a = put_empty_frame(f), b;
	struct ofs_index_dead d[4];

	f.off = 200;
	f.raw = 10;
	b = put_empty_frame(f);
	cr_assert_eq(put_chunk(a, 1, 0, 10), 0);
	cr_assert_eq(put_chunk(b, 2, 0, 10), 0);
	cr_assert_eq(put_chunk(a, 3, 10, 10), 0);
	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 2), 0);
	cr_assert_eq(list_dead(d, 4), 1);
	expect_dead(&d[0], 1, 64, 200, false);
	cr_assert_eq(ofs_index_delete_dead(ix, &d[0]), 0);
	cr_assert(chunk_found(2));
	cr_assert_eq(stored_of(2), 80);
}

/* Rewriting gathers the live chunks of two frames in a third. Then the two are dead. */
Test(index_blocks, frames_die_when_their_chunks_are_moved)
{
	uint32_t lens[] = { 10, 20, 30 };
	uint64_t a = put_frame(1, 64, 60, 1, lens, 3), b = put_frame(1, 124, 60, 4, lens, 3), c;
	struct ofs_index_dead d[4];

	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 2), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 1, 3), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 2, 6), 0);
	cr_assert_eq(list_dead(d, 4), 0);
	next_transaction();
	c = put_empty_frame(
		(struct ofs_index_frame){ .pack = 1, .off = 184, .stored = 40, .raw = 80 });
	cr_assert_eq(list_dead(d, 4), 1, "it holds nothing yet");
	cr_assert_eq(ofs_index_move_chunk(ix, 2, c, 0), 0);
	cr_assert_eq(list_dead(d, 4), 0);
	cr_assert_eq(ofs_index_move_chunk(ix, 3, c, 20), 0);
	cr_assert_eq(ofs_index_move_chunk(ix, 6, c, 50), 0);
	next_transaction();
	expect_frame(a, 0, 0);
	expect_frame(b, 0, 0);
	expect_frame(c, 3, 80);
	cr_assert_eq(stored_of(2), 40);
	cr_assert_eq(list_dead(d, 4), 1);
	expect_dead(&d[0], 1, 64, 184, false);
	cr_assert_eq(ofs_index_delete_dead(ix, &d[0]), 0);
	cr_assert_eq(ofs_index_delete_unused(ix, 1), 0);
	next_transaction();
	check_invariants();
	for (uint64_t id = 1; id <= 6; id++)
		cr_assert_eq(chunk_exists(id), id == 2 || id == 3 || id == 6);
}

/* The model: plain arrays, with everything recounted after each step. */
#define FILES 5
#define BLOCKS 6
#define FRAMES 10
#define CHUNKS 40

struct model_chunk {
	uint64_t id; /* 0: unused slot */
	size_t frame;
	uint32_t off;
	uint32_t len;
	bool dropped; /* lost its last reference in this transaction */
};

static struct model {
	bool exists[FILES];
	uint64_t sha[FILES]; /* 0: unknown */
	uint64_t chunk[FILES][BLOCKS]; /* ids; 0: a hole */
	struct ofs_index_frame frame[FRAMES]; /* id 0: unused slot */
	struct model_chunk c[CHUNKS];
	uint64_t stored[FILES]; /* after the previous step */
	bool recharged[FILES]; /* must be reported */
	uint64_t next_id;
	uint64_t next_off;
} model, committed;

static uint64_t rng_state = 0x243f6a8885a308d3;

static unsigned int rng(unsigned int below)
{
	rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(rng_state >> 33) % below;
}

static struct model_chunk *model_find(uint64_t id)
{
	for (size_t i = 0; i < CHUNKS; i++)
		if (model.c[i].id == id)
			return &model.c[i];
	return NULL;
}

static size_t model_holders(uint64_t id)
{
	size_t n = 0;

	for (size_t f = 0; f < FILES; f++)
		for (size_t b = 0; b < BLOCKS; b++)
			n += model.exists[f] && model.chunk[f][b] == id;
	return n;
}

static bool model_holds(uint64_t ino, uint64_t id)
{
	for (size_t b = 0; b < BLOCKS; b++)
		if (model.exists[ino - 2] && model.chunk[ino - 2][b] == id)
			return true;
	return false;
}

static uint64_t model_share(const struct model_chunk *c)
{
	const struct ofs_index_frame *f = &model.frame[c->frame];

	return (uint64_t)f->stored * (c->off + c->len) / f->raw -
	       (uint64_t)f->stored * c->off / f->raw;
}

static void expect_chunk(const struct ofs_index_chunk *got, const struct model_chunk *c)
{
	const struct ofs_index_frame *f = &model.frame[c->frame];
	uint8_t sha[32];

	make_sha(c->id, sha);
	cr_assert_arr_eq(got->sha, sha, 32);
	cr_assert_eq(got->off, c->off);
	cr_assert_eq(got->len, c->len);
	cr_assert_eq(got->lines, (uint32_t)c->id);
	cr_assert_eq(got->pack, f->pack);
	cr_assert_eq(got->frame_off, f->off);
	cr_assert_eq(got->frame_stored, f->stored);
	cr_assert_eq(got->frame_raw, f->raw);
	cr_assert_eq(got->class, f->class);
	cr_assert_eq(got->dense, f->dense);
	cr_assert_eq(got->bad, f->bad);
}

static int check_block(void *arg, uint64_t block, const struct ofs_index_chunk *c)
{
	uint64_t *seen = arg;

	cr_assert_lt(block, BLOCKS);
	cr_assert_not_null(model_find(c->id));
	expect_chunk(c, model_find(c->id));
	seen[block] = c->id;
	return 0;
}

static void check_files(void)
{
	for (size_t f = 0; f < FILES; f++) {
		uint64_t seen[BLOCKS] = { 0 };
		struct ofs_index_inode in;

		cr_assert_eq(ofs_index_list_blocks(ix, 2 + f, check_block, seen), 0);
		cr_assert_arr_eq(seen, model.chunk[f], sizeof(seen));
		cr_assert_eq(ofs_index_get_inode(ix, 2 + f, &in), model.exists[f] ? 0 : -ENOENT);
		if (!model.exists[f])
			continue;
		cr_assert_eq(in.has_sha, model.sha[f] != 0);
		if (model.sha[f])
			expect_sha(2 + f, model.sha[f]);
	}
}

/* Each live chunk must be charged to one of its holders, and nothing else charged. */
static void check_chunks(void)
{
	uint64_t charge[FILES] = { 0 };

	for (size_t i = 0; i < CHUNKS; i++) {
		const struct model_chunk *c = &model.c[i];
		struct ofs_index_chunk got;
		struct holders h = { 0 };
		bool bears = false;

		if (!c->id)
			continue;
		got = get_chunk(c->id);
		expect_chunk(&got, c);
		cr_assert_eq(ofs_index_list_holders(ix, c->id, collect_holder, &h), 0);
		cr_assert_eq(h.n, model_holders(c->id));
		for (size_t j = 0; j < h.n; j++) {
			cr_assert(model_holds(h.ino[j], c->id));
			bears |= h.ino[j] == got.bearer;
		}
		cr_assert_eq(bears, h.n > 0);
		cr_assert_eq(got.bearer != 0, h.n > 0);
		cr_assert_eq(chunk_found(c->id), h.n > 0);
		if (bears)
			charge[got.bearer - 2] += model_share(c);
	}
	for (size_t f = 0; f < FILES; f++)
		if (model.exists[f])
			cr_assert_eq(stored_of(2 + f), charge[f]);
}

static bool model_is_due(const struct ofs_index_frame *f)
{
	if (!f->live || f->bad)
		return false;
	if (f->held < (f->dense ? OFS_FRAME_LOOSE_DENSE : OFS_FRAME_LOOSE))
		return true;
	return !f->dense && f->class >= OFS_CLASS_DENSE;
}

static int frame_compare(const void *a, const void *b)
{
	const struct ofs_index_frame *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

static void expect_frames(const struct frames *got, const struct ofs_index_frame *wanted, size_t n)
{
	cr_assert_eq(got->n, n);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(got->f[i].id, wanted[i].id);
		cr_assert_eq(got->f[i].pack, wanted[i].pack);
		cr_assert_eq(got->f[i].off, wanted[i].off);
		cr_assert_eq(got->f[i].stored, wanted[i].stored);
		cr_assert_eq(got->f[i].raw, wanted[i].raw);
		cr_assert_eq(got->f[i].live, wanted[i].live);
		cr_assert_eq(got->f[i].held, wanted[i].held);
		cr_assert_eq(got->f[i].class, wanted[i].class);
		cr_assert_eq(got->f[i].dense, wanted[i].dense);
		cr_assert_eq(got->f[i].bad, wanted[i].bad);
	}
}

static void check_frames(void)
{
	struct ofs_index_frame due[FRAMES];
	struct frames got_due = { 0 };
	size_t n_due = 0, n = 0;

	for (size_t i = 0; i < FRAMES; i++) {
		struct ofs_index_frame *f = &model.frame[i];
		struct chunks chunks = { 0 };
		struct frames got = { 0 };

		if (!f->id)
			continue;
		f->live = f->held = 0;
		for (size_t j = 0; j < CHUNKS; j++)
			if (model.c[j].id && model.c[j].frame == i &&
			    model_holders(model.c[j].id)) {
				f->live++;
				f->held += model.c[j].len;
			}
		got.f[got.n++] = get_frame(f->id);
		expect_frames(&got, f, 1);
		cr_assert_eq(ofs_index_list_chunks(ix, f->id, collect_chunk, &chunks), 0);
		cr_assert_eq(chunks.n, f->live);
		for (size_t j = 0; j < chunks.n; j++)
			cr_assert_eq(model_find(chunks.c[j].id)->frame, i);
		if (model_is_due(f))
			due[n_due++] = *f;
		n++;
	}
	qsort(due, n_due, sizeof(*due), frame_compare);
	cr_assert_eq(ofs_index_list_due(ix, collect_frame, &got_due), 0);
	expect_frames(&got_due, due, n_due);
	for (uint64_t after = 0;; n--) {
		struct ofs_index_frame f;

		if (ofs_index_next_frame(ix, after, &f) < 0)
			break;
		cr_assert_gt(f.id, after);
		after = f.id;
	}
	cr_assert_eq(n, 0, "there are other frames");
}

static void check_dead(void)
{
	struct ofs_index_dead d[FRAMES + 1];
	size_t n = list_dead(d, FRAMES + 1);

	for (size_t i = 0; i < FRAMES; i++) {
		const struct ofs_index_frame *f = &model.frame[i];
		bool reported = false;

		for (size_t j = 0; j < n; j++)
			reported |= d[j].off <= f->off && f->off < d[j].off + d[j].len;
		if (f->id)
			cr_assert_eq(reported, f->live == 0, "frame %zu", i);
	}
}

/*
 * Notes as recharged every file but `actor` (FILES: none), which changed its own blocks, whose
 * charge has changed.
 */
static void check_recharged(size_t actor)
{
	for (size_t f = 0; f < FILES; f++) {
		uint64_t stored = model.exists[f] ? stored_of(2 + f) : 0;

		if (f != actor && stored != model.stored[f])
			model.recharged[f] = true;
		model.stored[f] = stored;
	}
}

static void check_model(size_t actor)
{
	check_invariants();
	check_files();
	check_chunks();
	check_frames();
	check_dead();
	check_recharged(actor);
}

static void model_set(size_t f, size_t b, uint64_t id)
{
	uint64_t old = model.chunk[f][b];

	model.chunk[f][b] = id;
	if (old && !model_holders(old))
		model_find(old)->dropped = true;
}

static void model_put_file(size_t f)
{
	struct ofs_index_inode in = { .ino = 2 + f, .mode = S_IFREG | 0600, .nlink = 1 };
	uint64_t sha[] = { 0, model.chunk[f][0], 1 + rng(100) };

	model.exists[f] = true;
	model.sha[f] = sha[rng(3)];
	in.has_sha = model.sha[f] != 0;
	make_sha(model.sha[f], in.sha);
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
}

static size_t model_free_frame(void)
{
	size_t i = 0;

	while (i < FRAMES && model.frame[i].id)
		i++;
	return i;
}

/* Adds a frame of `raw` bytes in a free slot. Returns the slot, or FRAMES if there is none. */
static size_t model_put_frame(uint32_t raw)
{
	static const uint32_t class[] = { 0, 1, OFS_CLASS_DENSE - 1, OFS_CLASS_DENSE, 90 };
	size_t i = model_free_frame();

	if (i == FRAMES)
		return i;
	model.frame[i] = (struct ofs_index_frame){
		.pack = 1,
		.off = model.next_off,
		.stored = 1 + rng(raw + 10),
		.raw = raw,
		.class = class[rng(5)],
		.dense = rng(2),
	};
	model.frame[i].id = put_empty_frame(model.frame[i]);
	model.next_off += model.frame[i].stored;
	return i;
}

static uint32_t model_len(void)
{
	return 1 + rng(rng(2) ? 5000 : 400000);
}

static void step_new_frame(void)
{
	uint32_t len[6], raw = rng(3) ? 0 : rng(1000), at = 0;
	size_t n = 1 + rng(6), frame;

	for (size_t i = 0; i < n; i++)
		raw += len[i] = model_len();
	frame = model_put_frame(raw);
	for (size_t i = 0; frame < FRAMES && i < n; at += len[i++]) {
		struct model_chunk *c = model_find(0);

		if (!c)
			return;
		*c = (struct model_chunk){ model.next_id++, frame, at, len[i], false };
		cr_assert_eq(put_chunk(model.frame[frame].id, c->id, at, len[i]), 0);
	}
}

enum pick {
	PICK_ANY,
	PICK_LIVE,
	PICK_UNUSED,
	PICK_DROPPED,
	PICKS
};

static bool pick_fits(const struct model_chunk *c, enum pick pick)
{
	bool live = c->id && model_holders(c->id);

	return c->id && (pick == PICK_ANY || live == (pick == PICK_LIVE)) &&
	       (pick != PICK_DROPPED || c->dropped);
}

static struct model_chunk *model_pick(enum pick pick)
{
	size_t first = rng(CHUNKS);

	for (size_t i = 0; i < CHUNKS; i++) {
		struct model_chunk *c = &model.c[(first + i) % CHUNKS];

		if (pick_fits(c, pick))
			return c;
	}
	return NULL;
}

static void model_move(struct model_chunk *c, size_t frame, uint32_t off)
{
	cr_assert_eq(ofs_index_move_chunk(ix, c->id, model.frame[frame].id, off), 0);
	c->frame = frame;
	c->off = off;
}

static void step_move_one(void)
{
	struct model_chunk *c = model_pick(PICK_LIVE);
	size_t i = rng(FRAMES);

	if (c && model.frame[i].id && model.frame[i].raw >= c->len)
		model_move(c, i, rng(model.frame[i].raw - c->len + 1));
}

/* Moves all live chunks of a frame, and some others, to a new frame. */
static void step_rewrite(void)
{
	struct model_chunk *moved[CHUNKS];
	size_t n = 0, from = rng(FRAMES), to;
	uint32_t raw = 0, at = 0;

	for (size_t i = 0; i < CHUNKS; i++) {
		struct model_chunk *c = &model.c[i];

		if (!c->id || !model_holders(c->id) || (c->frame != from && rng(6)))
			continue;
		moved[n++] = c;
		raw += c->len;
	}
	to = n ? model_put_frame(raw) : FRAMES;
	for (size_t i = 0; to < FRAMES && i < n; at += moved[i++]->len)
		model_move(moved[i], to, at);
}

static void step_delete_unused(void)
{
	uint64_t from = rng((unsigned int)model.next_id + 1);

	cr_assert_eq(ofs_index_delete_unused(ix, from), 0);
	for (size_t i = 0; i < CHUNKS; i++)
		if (model.c[i].id >= from && !model_holders(model.c[i].id))
			model.c[i] = (struct model_chunk){ 0 };
}

static void step_bad(void)
{
	struct ofs_index_frame *f = &model.frame[rng(FRAMES)];

	if (!f->id)
		return;
	f->bad = rng(2);
	cr_assert_eq(ofs_index_set_frame_bad(ix, f->id, f->bad), 0);
}

static void step_block(size_t f, size_t b)
{
	struct model_chunk *c = rng(8) ? model_pick(rng(PICKS)) : NULL;
	uint64_t id = c ? c->id : 0;

	cr_assert_eq(ofs_index_set_block(ix, 2 + f, b, id), 0);
	model_set(f, b, id);
}

/* Returns the file that changed its own blocks, or FILES if none did. */
static size_t model_step(void)
{
	size_t f = rng(FILES), b = rng(BLOCKS), end = 0;

	if (!model.exists[f])
		model_put_file(f);
	switch (rng(36)) {
	case 0:
		cr_assert_eq(ofs_index_delete_inode(ix, 2 + f), 0);
		for (size_t i = 0; i < BLOCKS; i++)
			model_set(f, i, 0);
		model.exists[f] = false;
		return f;
	case 1:
		cr_assert_eq(ofs_index_truncate_blocks(ix, 2 + f, b), 0);
		for (end = b; end < BLOCKS; end++)
			model_set(f, end, 0);
		return f;
	case 3:
		model_put_file(f); /* must not change the charge */
		return FILES;
	case 4:
	case 5:
		step_new_frame();
		return FILES;
	case 6:
	case 7:
	case 8:
		step_move_one();
		return FILES;
	case 9:
	case 10:
		step_rewrite();
		return FILES;
	case 2:
		if (rng(2))
			step_delete_unused();
		return FILES;
	case 11:
		step_bad();
		return FILES;
	default:
		step_block(f, b);
		return f;
	}
}

static int strike_out(void *arg, uint64_t ino)
{
	unsigned int *times = arg;

	cr_assert_geq(ino, 2);
	cr_assert_lt(ino, 2 + FILES);
	times[ino - 2]++;
	return 0;
}

/* Deletes dead frames in a transaction of its own, when no chunk awaits its first use. */
static void model_reclaim(void)
{
	struct ofs_index_dead d[FRAMES + 1];
	size_t n;

	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_eq(ofs_index_delete_unused(ix, 0), 0);
	n = list_dead(d, FRAMES + 1);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(ofs_index_delete_dead(ix, &d[i]), 0);
	cr_assert_eq(list_dead(d, 1), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);
	for (size_t i = 0; i < CHUNKS; i++)
		if (model.c[i].id && !model_holders(model.c[i].id))
			model.c[i] = (struct model_chunk){ 0 };
	for (size_t i = 0; i < FRAMES; i++)
		if (!model.frame[i].live)
			model.frame[i] = (struct ofs_index_frame){ 0 };
}

static void model_commit(bool reclaim)
{
	unsigned int times[FILES] = { 0 };
	struct ofs_index_chunk c;

	cr_assert_eq(ofs_index_commit(ix), 0);
	for (size_t i = 0; i < CHUNKS; i++) {
		if (model.c[i].dropped && !model_holders(model.c[i].id)) {
			cr_assert_eq(ofs_index_get_chunk(ix, model.c[i].id, &c), -ENOENT);
			model.c[i] = (struct model_chunk){ 0 };
		}
		model.c[i].dropped = false;
	}
	cr_assert_eq(ofs_index_take_recharged(ix, strike_out, times), 0);
	for (size_t f = 0; f < FILES; f++) {
		cr_assert_leq(times[f], 1);
		if (model.recharged[f] && model.exists[f])
			cr_assert_eq(times[f], 1, "file %zu was recharged and not reported", f);
		model.recharged[f] = false;
	}
	if (reclaim)
		model_reclaim();
	cr_assert_eq(ofs_index_begin(ix), 0);
	committed = model;
}

static void model_rollback(void)
{
	unsigned int times[FILES] = { 0 };

	ofs_index_rollback(ix);
	cr_assert_eq(ofs_index_take_recharged(ix, strike_out, times), 0);
	for (size_t f = 0; f < FILES; f++)
		cr_assert_eq(times[f], 0, "what was rolled back was reported");
	cr_assert_eq(ofs_index_begin(ix), 0);
	model = committed;
}

Test(index_blocks, random_changes_against_a_model)
{
	unsigned int revived = 0, deleted = 0, due = 0;

	model.next_id = 1;
	model.next_off = 64;
	committed = model;
	for (int step = 0; step < 4000; step++) {
		size_t actor;

		if (rng(8) == 0) {
			if (rng(4) == 0)
				model_rollback();
			else
				model_commit(model_free_frame() == FRAMES || rng(8) == 0);
			check_model(FILES);
		}
		actor = model_step();
		check_model(actor);
		for (size_t i = 0; i < CHUNKS; i++) {
			bool live = model_holders(model.c[i].id) > 0;

			revived += model.c[i].id && model.c[i].dropped && live;
			deleted += model.c[i].id && model.c[i].dropped && !live;
		}
		for (size_t i = 0; i < FRAMES; i++)
			due += model.frame[i].id && model_is_due(&model.frame[i]);
	}
	cr_assert_gt(revived, 50, "%u", revived);
	cr_assert_gt(deleted, 50, "%u", deleted);
	cr_assert_gt(due, 1000, "%u", due);
}
