/* SPDX-License-Identifier: MIT */
/* References, charges, hashes and dead frames, against a plain model that recounts everything. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/util.h"
#include "index/index.h"

static char dir[] = "/tmp/ofs-test-XXXXXX";
static char path[64];
static struct ofs_index *ix;

static void setup(void)
{
	struct ofs_index_meta fresh = { .next_ino = 2 };

	cr_assert_not_null(mkdtemp(dir));
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

/* One frame with chunks `id`, `id` + 1, ... of these lengths. */
static void put_frame(uint32_t pack, uint64_t off, uint32_t stored, uint64_t id,
		      const uint32_t *lens, size_t n)
{
	struct ofs_index_chunk c[16] = { 0 };
	uint32_t raw = 0;

	for (size_t i = 0; i < n; i++) {
		c[i] = (struct ofs_index_chunk){
			.id = id + i,
			.pack = pack,
			.frame_off = off,
			.frame_stored = stored,
			.off = raw,
			.len = lens[i],
			.lines = (uint32_t)i,
		};
		make_sha(id + i, c[i].sha);
		raw += lens[i];
	}
	for (size_t i = 0; i < n; i++)
		c[i].frame_raw = raw;
	cr_assert_eq(ofs_index_put_frame(ix, c, n), 0);
}

static void put_frame1(uint32_t pack, uint64_t off, uint32_t stored, uint64_t id)
{
	uint32_t len = 1000;

	put_frame(pack, off, stored, id, &len, 1);
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
	put_frame1(1, 64, 500, 1);
	put_file(2);
	for (uint64_t b = 0; b < 4; b++)
		cr_assert_eq(ofs_index_set_block(ix, 2, b, 1), 0);
	cr_assert_eq(stored_of(2), 500);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), 0);
	cr_assert_eq(ofs_index_truncate_blocks(ix, 2, 2), 0);
	cr_assert_eq(stored_of(2), 500);
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
	struct ofs_index_chunk c = { .id = 2,
				     .pack = 1,
				     .frame_off = 1000,
				     .frame_stored = 88,
				     .frame_raw = 1000,
				     .len = 1000 };
	struct ofs_index_chunk found;

	put_frame1(1, 64, 500, 1);
	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), 0);
	make_sha(1, c.sha);
	cr_assert_eq(ofs_index_put_frame(ix, &c, 1), 0);
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

Test(index_blocks, unsound_frames_are_refused)
{
	struct ofs_index_chunk c[2] = {
		{ .id = 1,
		  .pack = 1,
		  .frame_off = 64,
		  .frame_stored = 9,
		  .frame_raw = 20,
		  .len = 10 },
		{ .id = 2,
		  .pack = 1,
		  .frame_off = 64,
		  .frame_stored = 9,
		  .frame_raw = 20,
		  .off = 11,
		  .len = 9 },
	};

	cr_assert_eq(ofs_index_put_frame(ix, c, 2), -EINVAL);
	ofs_index_rollback(ix);
	cr_assert_eq(ofs_index_begin(ix), 0);
	c[1].off = 10;
	cr_assert_eq(ofs_index_put_frame(ix, c, 2), -EINVAL);
	ofs_index_rollback(ix);
	cr_assert_eq(ofs_index_begin(ix), 0);
	c[1].len = 10;
	cr_assert_eq(ofs_index_put_frame(ix, c, 2), 0);
	cr_assert_eq(ofs_index_put_frame(ix, c, 2), -EEXIST);
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

/* Frames 1 to n of 100 bytes each from 64 on, in one pack; frame i holds chunk `base` + i. */
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
	 * Pack 1: 0 dead, 1 alive, 2 3 4 dead, 5 alive, 6 alive, 7 dead. Pack 2 dead, pack 3 but
	 * its middle.
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

	/* What was deleted before counts as a gap: the next range takes it in. */
	cr_assert_eq(ofs_index_set_block(ix, 2, 5, 0), 0);
	cr_assert_eq(list_dead(d, 8), 6);
	expect_dead(&d[1], 1, 64 + 104 + 100, 64 + 104 * 6, false);
	for (size_t i = 0; i < 6; i++)
		cr_assert_eq(ofs_index_delete_dead(ix, &d[i]), 0);
	cr_assert_eq(list_dead(d, 8), 0);
	cr_assert(chunk_found(101));
	cr_assert(chunk_found(106));
	cr_assert(chunk_found(301));

	/* Chunk rows went with their frames: their ids are free. */
	put_frame1(1, 64, 100, 100);
	put_frame1(2, 64, 100, 200);
}

Test(index_blocks, interleaved_ids_stay_with_their_frames)
{
	struct ofs_index_chunk a[2] = { 0 }, b = { .id = 2, .pack = 1, .frame_off = 200 };
	struct ofs_index_dead d[4];

	for (int i = 0; i < 2; i++) {
		a[i] = (struct ofs_index_chunk){ .id = 1 + 2 * (uint64_t)i,
						 .pack = 1,
						 .frame_off = 64,
						 .frame_stored = 80,
						 .frame_raw = 20,
						 .off = 10 * (uint32_t)i,
						 .len = 10 };
		make_sha(a[i].id, a[i].sha);
	}
	b.frame_stored = 80;
	b.frame_raw = b.len = 10;
	make_sha(2, b.sha);
	cr_assert_eq(ofs_index_put_frame(ix, a, 2), 0);
	cr_assert_eq(ofs_index_put_frame(ix, &b, 1), 0);
	put_file(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 2), 0);
	cr_assert_eq(list_dead(d, 4), 1);
	expect_dead(&d[0], 1, 64, 200, false);
	cr_assert_eq(ofs_index_delete_dead(ix, &d[0]), 0);
	cr_assert(chunk_found(2));
	cr_assert_eq(stored_of(2), 80);
}

/* The model: plain arrays, everything recounted after each step. */
#define FILES 5
#define BLOCKS 6
#define FRAMES 7
#define PER_FRAME 3
#define CHUNKS (FRAMES * PER_FRAME)

static struct model {
	bool exists[FILES];
	unsigned int chunk[FILES][BLOCKS]; /* 0: a hole, else id */
	uint32_t len[CHUNKS + 1];
} model;

static uint64_t rng_state = 0x243f6a8885a308d3;

static unsigned int rng(unsigned int below)
{
	rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(rng_state >> 33) % below;
}

static uint64_t model_stored(unsigned int frame)
{
	return 1000 + 37 * frame;
}

static uint64_t model_share(unsigned int id)
{
	unsigned int first = (id - 1) / PER_FRAME * PER_FRAME + 1;
	uint64_t raw = 0, before = 0, stored = model_stored((id - 1) / PER_FRAME);

	for (unsigned int i = first; i < first + PER_FRAME; i++) {
		if (i < id)
			before += model.len[i];
		raw += model.len[i];
	}
	return stored * (before + model.len[id]) / raw - stored * before / raw;
}

static int check_block(void *arg, uint64_t block, const struct ofs_index_chunk *c)
{
	unsigned int *seen = arg;

	cr_assert_lt(block, BLOCKS);
	cr_assert_eq(c->len, model.len[c->id]);
	seen[block] = (unsigned int)c->id;
	return 0;
}

/* Each living chunk is paid for by exactly one of its holders: sums and bounds must fit. */
static void check_charges(void)
{
	uint64_t total = 0, wanted = 0;
	bool live[CHUNKS + 1] = { false };

	for (unsigned int f = 0; f < FILES; f++) {
		bool mine[CHUNKS + 1] = { false };
		uint64_t most = 0, least = 0;

		if (!model.exists[f])
			continue;
		for (unsigned int b = 0; b < BLOCKS; b++)
			mine[model.chunk[f][b]] = true;
		for (unsigned int id = 1; id <= CHUNKS; id++) {
			bool shared = false;

			if (!mine[id])
				continue;
			live[id] = true;
			for (unsigned int g = 0; g < FILES; g++)
				for (unsigned int b = 0; b < BLOCKS; b++)
					shared |= g != f && model.exists[g] &&
						  model.chunk[g][b] == id;
			most += model_share(id);
			least += shared ? 0 : model_share(id);
		}
		cr_assert_leq(stored_of(2 + f), most);
		cr_assert_geq(stored_of(2 + f), least);
		total += stored_of(2 + f);
	}
	for (unsigned int id = 1; id <= CHUNKS; id++) {
		wanted += live[id] ? model_share(id) : 0;
		cr_assert_eq(chunk_found(id), live[id]);
	}
	cr_assert_eq(total, wanted);
}

static void check_dead(void)
{
	struct ofs_index_dead d[FRAMES + 1];
	size_t n = list_dead(d, FRAMES + 1);
	size_t i = 0;

	for (unsigned int frame = 0; frame < FRAMES; frame++) {
		bool alive = false, reported = false;

		for (unsigned int f = 0; f < FILES; f++)
			for (unsigned int b = 0; b < BLOCKS; b++)
				alive |= model.exists[f] && model.chunk[f][b] &&
					 (model.chunk[f][b] - 1) / PER_FRAME == frame;
		for (i = 0; i < n; i++)
			reported |= d[i].off <= 64 + 2000 * frame &&
				    64 + 2000 * frame < d[i].off + d[i].len;
		cr_assert_eq(reported, !alive, "frame %u", frame);
	}
}

static void check_model(void)
{
	for (unsigned int f = 0; f < FILES; f++) {
		unsigned int seen[BLOCKS] = { 0 };

		cr_assert_eq(ofs_index_list_blocks(ix, 2 + f, check_block, seen), 0);
		if (model.exists[f])
			cr_assert_arr_eq(seen, model.chunk[f], sizeof(seen));
	}
	check_charges();
	check_dead();
}

static void model_step(void)
{
	unsigned int f = rng(FILES), b = rng(BLOCKS), id = rng(3) ? 1 + rng(CHUNKS) : 0;

	if (!model.exists[f]) {
		put_file(2 + f);
		model.exists[f] = true;
		memset(model.chunk[f], 0, sizeof(model.chunk[f]));
	}
	switch (rng(12)) {
	case 0:
		cr_assert_eq(ofs_index_delete_inode(ix, 2 + f), 0);
		model.exists[f] = false;
		memset(model.chunk[f], 0, sizeof(model.chunk[f]));
		break;
	case 1:
		cr_assert_eq(ofs_index_truncate_blocks(ix, 2 + f, b), 0);
		memset(&model.chunk[f][b], 0, (BLOCKS - b) * sizeof(model.chunk[f][0]));
		break;
	case 2:
		put_file(2 + f); /* must leave the charge alone */
		break;
	default:
		cr_assert_eq(ofs_index_set_block(ix, 2 + f, b, id), 0);
		model.chunk[f][b] = id;
	}
}

Test(index_blocks, random_changes_against_a_model, .timeout = 120)
{
	for (unsigned int frame = 0; frame < FRAMES; frame++) {
		uint32_t lens[PER_FRAME];

		for (unsigned int i = 0; i < PER_FRAME; i++) {
			lens[i] = 1 + rng(5000);
			model.len[1 + frame * PER_FRAME + i] = lens[i];
		}
		put_frame(1, 64 + 2000 * frame, (uint32_t)model_stored(frame),
			  1 + frame * PER_FRAME, lens, PER_FRAME);
	}
	for (int step = 0; step < 1500; step++) {
		struct model before = model;

		if (step % 10 == 0) {
			cr_assert_eq(ofs_index_commit(ix), 0);
			cr_assert_eq(ofs_index_begin(ix), 0);
		}
		if (step % 10 == 9) {
			/* A transaction that is rolled back leaves the model as it was. */
			cr_assert_eq(ofs_index_commit(ix), 0);
			cr_assert_eq(ofs_index_begin(ix), 0);
			model_step();
			ofs_index_rollback(ix);
			model = before;
			cr_assert_eq(ofs_index_begin(ix), 0);
		} else {
			model_step();
		}
		check_model();
	}
}
