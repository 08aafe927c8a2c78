/* SPDX-License-Identifier: MIT */
/* The content map, compared with a plain array of bytes. */
#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/util.h"
#include "store/content_map.h"

/* Returns true if a draft covers a part of block `i`. */
static bool is_draft(const struct ofs_content_map *c, uint64_t i)
{
	return ofs_content_map_fingerprint(c, i * OFS_BLOCK_SIZE, (i + 1) * OFS_BLOCK_SIZE) != 0;
}

#define SPACE (3 * OFS_BLOCK_SIZE + 1000)
#define BLOCKS (SPACE / OFS_BLOCK_SIZE + 1)

static uint64_t seed;
static int step;

static uint64_t rnd(uint64_t below)
{
	static uint64_t state, seeded;

	if (seeded != seed) {
		seeded = seed;
		state = seed * UINT64_C(0x9e3779b97f4a7c15);
	}
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

/* What drafts and chunks point to: blob n has journal position n + 2 and chunk id n + 1. */
struct blob {
	uint8_t *data;
	uint32_t len;
};

static struct blob blobs[4096];
static size_t nblobs;

static size_t blob_add(const uint8_t *data, uint32_t len)
{
	cr_assert_lt(nblobs, OFS_ARRAY_SIZE(blobs));
	blobs[nblobs].data = ofs_alloc(len);
	blobs[nblobs].len = len;
	if (data)
		memcpy(blobs[nblobs].data, data, len);
	else
		for (uint32_t i = 0; i < len; i++)
			blobs[nblobs].data[i] = (uint8_t)(i * 7 + nblobs * 31 + 1);
	return ++nblobs;
}

struct world {
	struct ofs_content_map map;
	uint8_t *bytes; /* SPACE bytes, zero from `size` on */
	uint64_t size;
	uint64_t epoch;
};

static void world_init(struct world *w)
{
	ofs_content_map_init(&w->map);
	w->bytes = ofs_alloc(SPACE);
	w->size = 0;
	w->epoch = 1;
}

static void world_finish(struct world *w)
{
	ofs_content_map_finish(&w->map);
	free(w->bytes);
	while (nblobs)
		free(blobs[--nblobs].data);
}

static void render(const struct ofs_piece *p, uint8_t *to)
{
	const struct blob *b;

	switch (p->kind) {
	case OFS_PIECE_ZERO:
		memset(to, 0, p->len);
		return;
	case OFS_PIECE_DRAFT:
		b = &blobs[p->data.pos - 2];
		cr_assert_eq(p->data.len, b->len);
		cr_assert_leq(p->data_off + p->len, b->len, "seed %lu step %d", seed, step);
		memcpy(to, b->data + p->data_off, p->len);
		return;
	case OFS_PIECE_CHUNK:
		b = &blobs[p->chunk.id - 1];
		cr_assert_leq(p->chunk_off + p->len, b->len, "seed %lu step %d", seed, step);
		memcpy(to, b->data + p->chunk_off, p->len);
		return;
	}
	cr_assert_fail("a piece of no kind");
}

static void expect_bytes(const struct world *w, uint64_t off, uint64_t len)
{
	OFS_CLEANUP(ofs_pieces_finish) struct ofs_pieces pieces = { 0 };
	OFS_FREE uint8_t *got = ofs_alloc(len + 1);
	uint64_t at = 0;

	ofs_content_map_resolve(&w->map, off, len, &pieces);
	for (size_t i = 0; i < pieces.n; i++) {
		cr_assert_eq(pieces.list[i].at, at, "seed %lu step %d: a gap", seed, step);
		cr_assert_gt(pieces.list[i].len, 0);
		cr_assert_leq(at + pieces.list[i].len, len);
		render(&pieces.list[i], got + at);
		at += pieces.list[i].len;
	}
	cr_assert_eq(at, len, "seed %lu step %d: %lu of %lu bytes", seed, step, at, len);
	for (uint64_t i = 0; i < len && memcmp(got, w->bytes + off, len) != 0; i++)
		cr_assert_eq(got[i], w->bytes[off + i], "seed %lu step %d: byte %lu", seed, step,
			     off + i);
}

static bool covered(const struct ofs_content_map *c, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < c->nextents; i++)
		if (c->extents[i].off < to && c->extents[i].off + c->extents[i].len > from)
			return true;
	return false;
}

static void expect_sound(const struct world *w)
{
	const struct ofs_content_map *c = &w->map;
	uint64_t end = 0, oldest = UINT64_MAX, weight = 0;

	for (size_t i = 0; i < c->nextents; i++) {
		cr_assert_geq(c->extents[i].off, end, "seed %lu step %d: extents overlap", seed,
			      step);
		cr_assert_gt(c->extents[i].len, 0, "seed %lu step %d: an empty extent", seed, step);
		end = c->extents[i].off + c->extents[i].len;
		if (c->extents[i].data.pos) {
			oldest = OFS_MIN(oldest, c->extents[i].data.pos);
			weight += c->extents[i].len;
		}
	}
	cr_assert_eq(c->draft_bytes, weight, "seed %lu step %d", seed, step);
	cr_assert_eq(ofs_content_map_oldest(c), oldest, "seed %lu step %d", seed, step);
	for (uint64_t i = 0; i < BLOCKS; i++)
		cr_assert_eq(is_draft(c, i),
			     covered(c, i * OFS_BLOCK_SIZE, (i + 1) * OFS_BLOCK_SIZE),
			     "seed %lu step %d block %lu", seed, step, i);
}

static void draft(struct world *w, uint64_t off, uint32_t len)
{
	size_t pos = blob_add(NULL, len + 10);
	struct ofs_extent e = {
		.off = off, .len = len, .data = { pos + 1, len + 10 }, .data_off = 5
	};

	ofs_content_map_cover(&w->map, &e, ++w->epoch);
	memcpy(w->bytes + off, blobs[pos - 1].data + 5, len);
	w->size = OFS_MAX(w->size, off + len);
}

static void punch(struct world *w, uint64_t off, uint64_t len)
{
	struct ofs_extent e = { .off = off, .len = len };

	ofs_content_map_cover(&w->map, &e, ++w->epoch);
	memset(w->bytes + off, 0, len);
	w->size = OFS_MAX(w->size, off + len);
}

static void resize(struct world *w, uint64_t size)
{
	if (size < w->size) {
		ofs_content_map_truncate(&w->map, size, ++w->epoch);
		memset(w->bytes + size, 0, w->size - size);
	}
	w->size = size;
}

static void put_block(struct world *w, uint64_t i, uint32_t len)
{
	struct ofs_index_chunk chunk = { .len = len };
	uint64_t start = i * OFS_BLOCK_SIZE;

	chunk.id = blob_add(w->bytes + start, len);
	ofs_content_map_set_block(&w->map, i, &chunk, ++w->epoch);
}

static bool is_zeros(const uint8_t *p, uint64_t len)
{
	return !p[0] && memcmp(p, p + 1, len - 1) == 0;
}

/* Like the sealer, makes a chunk of every block that a draft touches, then drops the drafts. */
static void seal(struct world *w)
{
	static const struct ofs_index_chunk hole;

	for (uint64_t i = 0, start = 0; start < w->size; i++, start += OFS_BLOCK_SIZE) {
		if (!is_draft(&w->map, i))
			continue;
		if (is_zeros(w->bytes + start, OFS_MIN(OFS_BLOCK_SIZE, w->size - start)))
			ofs_content_map_set_block(&w->map, i, &hole, ++w->epoch);
		else
			put_block(w, i, (uint32_t)OFS_MIN(OFS_BLOCK_SIZE, w->size - start));
	}
	ofs_content_map_uncover(&w->map, 0, UINT64_MAX, ++w->epoch);
	cr_assert_eq(w->map.draft_bytes, 0);
	cr_assert_eq(ofs_content_map_oldest(&w->map), UINT64_MAX);
}

/* Returns an offset, usually near the border of a block. */
static uint64_t place(void)
{
	uint64_t at = rnd(3) ? rnd(BLOCKS) * OFS_BLOCK_SIZE + rnd(40) : rnd(SPACE);

	return rnd(2) && at >= 20 ? OFS_MIN(at - 20, SPACE) : OFS_MIN(at, SPACE);
}

static void act(struct world *w)
{
	uint64_t off = place(), len = 1 + rnd(rnd(4) ? 60 : 2 * OFS_BLOCK_SIZE);

	len = OFS_MIN(len, SPACE - off);
	switch (rnd(8)) {
	case 0:
		resize(w, place());
		break;
	case 1:
		if (len)
			punch(w, off, len);
		break;
	case 2:
		seal(w);
		break;
	default:
		if (len)
			draft(w, off, (uint32_t)len);
	}
}

Test(store_content, random_changes_read_as_the_model_says)
{
	for (seed = 1; seed <= 40; seed++) {
		struct world w;

		world_init(&w);
		for (step = 0; step < 60; step++) {
			uint64_t off;

			act(&w);
			expect_sound(&w);
			off = place();
			expect_bytes(&w, off, rnd(SPACE - off + 1));
			if (step % 10 == 9)
				expect_bytes(&w, 0, SPACE);
		}
		world_finish(&w);
	}
}

Test(store_content, an_empty_map_reads_as_zeros)
{
	struct world w;

	world_init(&w);
	expect_sound(&w);
	expect_bytes(&w, 0, SPACE);
	expect_bytes(&w, 77, 0);
	ofs_content_map_truncate(&w.map, 0, 1);
	ofs_content_map_uncover(&w.map, 0, UINT64_MAX, 1);
	expect_bytes(&w, 0, SPACE);
	cr_assert_eq(ofs_content_map_find(&w.map, 0), 0);
	world_finish(&w);
}

Test(store_content, a_draft_of_no_length_is_none)
{
	struct ofs_extent e = { .off = 10, .data = { 1, 1 } };
	struct world w;

	world_init(&w);
	ofs_content_map_cover(&w.map, &e, 5);
	cr_assert_eq(w.map.nextents, 0);
	cr_assert_eq(w.map.drafts_epoch, 0);
	world_finish(&w);
}

Test(store_content, find_gives_the_first_extent_that_ends_behind)
{
	static const struct {
		uint64_t off;
		size_t index;
	} cases[] = { { 0, 0 },	  { 99, 0 },  { 100, 0 }, { 149, 0 }, { 150, 1 },
		      { 199, 1 }, { 200, 1 }, { 249, 1 }, { 250, 2 }, { UINT64_MAX, 2 } };
	struct world w;

	world_init(&w);
	draft(&w, 200, 50);
	draft(&w, 100, 50);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++)
		cr_assert_eq(ofs_content_map_find(&w.map, cases[i].off), cases[i].index, "off %lu",
			     cases[i].off);
	world_finish(&w);
}

Test(store_content, a_draft_that_touches_a_border_is_in_one_block)
{
	struct world w;

	world_init(&w);
	draft(&w, OFS_BLOCK_SIZE - 10, 10);
	cr_assert(is_draft(&w.map, 0));
	cr_assert_not(is_draft(&w.map, 1));
	draft(&w, OFS_BLOCK_SIZE * 2, 1);
	cr_assert_not(is_draft(&w.map, 1));
	cr_assert(is_draft(&w.map, 2));
	world_finish(&w);
}

Test(store_content, oldest_follows_what_is_left)
{
	struct world w;

	world_init(&w);
	draft(&w, 0, 100);
	draft(&w, 200, 100);
	cr_assert_eq(ofs_content_map_oldest(&w.map), 2);
	draft(&w, 10, 50);
	cr_assert_eq(ofs_content_map_oldest(&w.map), 2);
	draft(&w, 0, 100);
	cr_assert_eq(ofs_content_map_oldest(&w.map), 3);
	resize(&w, 150);
	cr_assert_eq(ofs_content_map_oldest(&w.map), 5);
	punch(&w, 0, 100);
	cr_assert_eq(ofs_content_map_oldest(&w.map), UINT64_MAX);
	cr_assert_eq(w.map.draft_bytes, 0);
	world_finish(&w);
}

Test(store_content, what_was_cut_off_does_not_come_back)
{
	struct world w;

	world_init(&w);
	memset(w.bytes, 'x', 3000);
	w.size = 3000;
	put_block(&w, 0, 3000);
	resize(&w, 1000);
	resize(&w, 2000);
	expect_bytes(&w, 0, SPACE);
	resize(&w, 1500);
	resize(&w, 3000);
	expect_bytes(&w, 0, SPACE);
	seal(&w);
	expect_bytes(&w, 0, SPACE);
	world_finish(&w);
}

Test(store_content, the_cut_is_the_lowest_since_the_last_checkpoint)
{
	struct world w;

	world_init(&w);
	memset(w.bytes, 'x', 3 * OFS_BLOCK_SIZE);
	w.size = 3 * OFS_BLOCK_SIZE;
	for (uint64_t i = 0; i < 3; i++)
		put_block(&w, i, OFS_BLOCK_SIZE);
	cr_assert_eq(w.map.cut, UINT64_MAX);
	resize(&w, 2 * OFS_BLOCK_SIZE + 1);
	cr_assert_eq(w.map.cut, UINT64_MAX, "no block went");
	resize(&w, OFS_BLOCK_SIZE);
	cr_assert_eq(w.map.cut, 1);
	cr_assert_eq(w.map.cut_epoch, w.epoch);
	put_block(&w, 1, 5);
	put_block(&w, 2, 5);
	w.size = 2 * OFS_BLOCK_SIZE + 5;
	resize(&w, OFS_BLOCK_SIZE + 5);
	cr_assert_eq(w.map.cut, 1);
	world_finish(&w);
}

/* The list has one entry for each block that was set, however far apart they lie. */
Test(store_content, blocks_that_are_not_listed_are_holes)
{
	struct ofs_index_chunk chunk = { .len = 5 };
	struct world w;

	world_init(&w);
	memset(w.bytes + 2 * OFS_BLOCK_SIZE, 'y', 5);
	chunk.id = blob_add(w.bytes + 2 * OFS_BLOCK_SIZE, 5);
	ofs_content_map_set_block(&w.map, 2, &chunk, 9);
	cr_assert_eq(w.map.nblocks, 1);
	cr_assert_eq(w.map.blocks[0].index, 2);
	cr_assert_eq(w.map.blocks[0].epoch, 9);
	expect_bytes(&w, 0, SPACE);
	ofs_content_map_set_block(&w.map, UINT64_C(1) << 26, &chunk, 9);
	ofs_content_map_set_block(&w.map, 1000, &chunk, 9);
	cr_assert_eq(w.map.nblocks, 3);
	cr_assert_eq(w.map.blocks[1].index, 1000);
	world_finish(&w);
}

Test(store_content, dropped_drafts_show_the_blocks_again)
{
	struct world w;

	world_init(&w);
	memset(w.bytes, 'z', 100);
	w.size = 100;
	put_block(&w, 0, 100);
	draft(&w, 50, 100);
	ofs_content_map_uncover(&w.map, 0, UINT64_MAX, 7);
	cr_assert_eq(w.map.drafts_epoch, 7);
	memset(w.bytes, 0, 150);
	memset(w.bytes, 'z', 100);
	expect_bytes(&w, 0, SPACE);
	world_finish(&w);
}
