/* SPDX-License-Identifier: MIT */
/* Holes: made, found, kept over sealing and restarts, and stored at no cost. */
#include <offloadfs/tree.h>

#include "test_store_fixture.h"

#define TIB (UINT64_C(1) << 40)

TestSuite(store_holes, .init = setup, .fini = teardown);

static void zero(uint64_t ino, uint64_t off, uint64_t len, bool grow)
{
	cr_assert_eq(ofs_store_zero(s, ino, off, len, grow), 0);
}

static void truncate_to(uint64_t ino, uint64_t size)
{
	struct ofs_setattr attr = { .set = OFS_SET_SIZE, .size = size };

	cr_assert_eq(ofs_store_setattr(s, ino, &attr, NULL), 0);
}

static struct ofs_attr attr_of(uint64_t ino)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
	return attr;
}

static void expect_zeros(uint64_t ino, uint64_t off, size_t len)
{
	OFS_FREE uint8_t *got = ofs_alloc(len + 1);

	memset(got, 1, len);
	cr_assert_eq(ofs_store_read(s, ino, got, len, off), (ssize_t)len);
	for (size_t i = 0; i < len; i++)
		cr_assert_eq(got[i], 0, "byte %lu", off + i);
}

static void expect_seek(uint64_t ino, uint64_t off, int whence, int64_t want)
{
	int64_t got = ofs_store_seek(s, ino, off, whence);

	cr_assert_eq(got, want, "from %lu: %ld instead of %ld", off, got, want);
}

/* Punches [from, to) in a file of four blocks and a bit, sealed or not. */
static void punch(uint64_t ino, uint64_t from, uint64_t to)
{
	uint64_t size = attr_of(ino).size;

	zero(ino, from, to - from, false);
	cr_assert_eq(attr_of(ino).size, size);
	to = OFS_MIN(to, size);
	expect_noise(ino, 0, from, 1);
	expect_zeros(ino, from, to - from);
}

static const struct {
	uint64_t from, to;
} ranges[] = {
	{ 0, 10 },
	{ 5, BLOCK },
	{ 0, BLOCK },
	{ BLOCK - 1, BLOCK + 1 },
	{ 7, 3 * BLOCK + 9 },
	{ BLOCK, 3 * BLOCK },
	{ 3 * BLOCK + 5, 5 * BLOCK },
	{ 4 * BLOCK, 4 * BLOCK + 1000 },
	{ 4 * BLOCK + 500, TIB },
	{ 0, TIB },
};

/* Each range is punched in a draft and in a sealed file, with and without a restart after it. */
Test(store_holes, what_is_punched_is_zeros_and_the_rest_stays)
{
	size_t size = 4 * BLOCK + 1000;
	char name[16];

	open_store();
	for (size_t i = 0; i < 4 * OFS_ARRAY_SIZE(ranges); i++) {
		uint64_t from = ranges[i / 4].from, to = OFS_MIN(ranges[i / 4].to, size), ino;
		OFS_FREE uint8_t *want = ofs_alloc(size);
		OFS_FREE uint8_t *got = ofs_alloc(size);

		snprintf(name, sizeof(name), "%zu", i);
		ino = make_noise(OFS_ROOT_INO, name, size, 1);
		if (i & 1)
			seal();
		punch(ino, from, ranges[i / 4].to);
		if (i & 2)
			reopen_store();
		fill_noise(want, size, 1);
		memset(want + from, 0, to - from);
		cr_assert_eq(ofs_store_read(s, ino, got, size, 0), (ssize_t)size);
		cr_assert_eq(memcmp(got, want, size), 0, "range %zu", i);
		/* Old content does not come back when the file is cut and grows again. */
		truncate_to(ino, from);
		truncate_to(ino, size);
		seal();
		expect_zeros(ino, from, size - from);
	}
}

Test(store_holes, times_version_and_hash_follow)
{
	struct ofs_attr before, after;
	uint64_t ino;

	open_store();
	ino = make_noise(OFS_ROOT_INO, "f", 2 * BLOCK, 1);
	seal();
	before = attr_of(ino);
	zero(ino, 2 * BLOCK, TIB, false);
	zero(ino, 100, 0, false);
	after = attr_of(ino);
	cr_assert_eq(after.version, before.version, "nothing was to be done");
	zero(ino, 0, BLOCK, false);
	after = attr_of(ino);
	cr_assert_neq(after.version, before.version);
	cr_assert_gt(after.mtime, before.mtime);
	cr_assert_eq(after.mtime, after.ctime);
	cr_assert(!has_sha(ino) && !after.sealed);
	reopen_store();
	seal();
	after = attr_of(ino);
	cr_assert(has_sha(ino) && after.sealed);
	cr_assert_lt(after.occupied, before.occupied);
}

Test(store_holes, what_is_shown_leaves_them_out)
{
	OFS_FREE uint8_t *zeros = ofs_alloc(BLOCK);
	uint64_t ino;

	memset(zeros, 0, BLOCK);
	usual.blocks_data = true;
	open_store();
	ino = make_noise(OFS_ROOT_INO, "f", 4 * BLOCK, 1);
	cr_assert_eq(attr_of(ino).shown, 4 * BLOCK);
	zero(ino, 0, BLOCK + 10, false);
	cr_assert_eq(attr_of(ino).shown, 3 * BLOCK - 10);
	cr_assert_eq(ofs_store_write(s, ino, zeros, BLOCK, 2 * BLOCK), BLOCK);
	cr_assert_eq(attr_of(ino).shown, 3 * BLOCK - 10);
	seal();
	cr_assert_eq(attr_of(ino).shown, 2 * BLOCK, "zeros that were written become a hole");
	truncate_to(ino, 3 * BLOCK + 10);
	cr_assert_eq(attr_of(ino).shown, BLOCK + 10);
	truncate_to(ino, 8 * BLOCK);
	put_noise(ino, 7 * BLOCK, 100, 2);
	cr_assert_eq(attr_of(ino).shown, BLOCK + 110);
	for (int round = 0; round < 2; round++) {
		seal();
		cr_assert_eq(attr_of(ino).shown, 3 * BLOCK, "blocks that have anything are whole");
		reopen_store();
	}
}

Test(store_holes, a_range_behind_the_end_grows_the_file)
{
	uint64_t ino;

	open_store();
	ino = make_noise(OFS_ROOT_INO, "f", 1000, 1);
	zero(ino, 500, 100, true);
	cr_assert_eq(attr_of(ino).size, 1000);
	zero(ino, 900, TIB, true);
	cr_assert_eq(attr_of(ino).size, 900 + TIB);
	cr_assert_eq(ofs_store_zero(s, ino, 1, OFS_SIZE_MAX, true), -EFBIG);
	cr_assert_eq(ofs_store_zero(s, ino, 2, UINT64_MAX, true), -EFBIG);
	reopen_store();
	cr_assert_eq(attr_of(ino).size, 900 + TIB);
	expect_noise(ino, 0, 500, 1);
	expect_zeros(ino, 500, 100);
	expect_zeros(ino, 899 + TIB, 1);
	cr_assert_eq(ofs_store_zero(s, OFS_ROOT_INO, 0, 1, false), -EISDIR);
}

Test(store_holes, a_punched_block_gives_its_space_back)
{
	uint64_t ino, before;

	open_store();
	ino = make_noise(OFS_ROOT_INO, "f", 4 * MIB, 1);
	seal();
	before = disk_usage("packs");
	zero(ino, 0, 3 * MIB, false);
	seal();
	cr_assert_lt(disk_usage("packs"), before / 2);
	expect_noise(ino, 0, 0, 1);
	reopen_store();
	expect_zeros(ino, 0, 3 * MIB);
}

Test(store_holes, a_file_that_was_punched_is_as_if_it_had_never_been_written)
{
	struct ofs_inode *n;
	uint64_t ino;

	open_store();
	ino = make_noise(OFS_ROOT_INO, "f", 40 * BLOCK, 1);
	seal();
	zero(ino, 0, 39 * BLOCK, false);
	seal();
	n = ofs_map_get(&s->inodes, ino);
	cr_assert_eq(n->content.nblocks, 1);
	put_noise(ino, 7 * BLOCK, 100, 2);
	seal();
	reopen_store();
	expect_zeros(ino, 0, 7 * BLOCK);
	expect_noise(ino, 7 * BLOCK, 100, 2);
	expect_zeros(ino, 7 * BLOCK + 100, 32 * BLOCK - 100);
}

Test(store_holes, a_block_of_zeros_is_sealed_as_a_hole)
{
	OFS_FREE uint8_t *zeros = ofs_alloc(3 * BLOCK);
	uint64_t ino;

	open_store();
	ino = make_in(OFS_ROOT_INO, "f");
	zeros[2 * BLOCK] = 1;
	cr_assert_eq(ofs_store_write(s, ino, zeros, 3 * BLOCK, 0), 3 * BLOCK);
	expect_seek(ino, 0, SEEK_DATA, 0);
	seal();
	expect_seek(ino, 0, SEEK_DATA, 2 * BLOCK);
	expect_seek(ino, 0, SEEK_HOLE, 0);
}

Test(store_holes, data_and_holes_are_found)
{
	uint64_t ino;

	open_store();
	ino = make_in(OFS_ROOT_INO, "f");
	expect_seek(ino, 0, SEEK_HOLE, -ENXIO);
	expect_seek(ino, 0, SEEK_DATA, -ENXIO);
	put_noise(ino, 100, 50, 1);
	put_noise(ino, BLOCK, 2 * BLOCK, 1);
	put_noise(ino, TIB, 10, 1);
	truncate_to(ino, 2 * TIB);
	for (int sealed = 0; sealed < 3; sealed++) {
		/* A sealed block counts as data from its start to its end or that of the file. */
		expect_seek(ino, 0, SEEK_DATA, sealed ? 0 : 100);
		expect_seek(ino, 120, SEEK_DATA, 120);
		expect_seek(ino, 0, SEEK_HOLE, sealed ? 3 * BLOCK : 0);
		expect_seek(ino, BLOCK, SEEK_HOLE, 3 * BLOCK);
		expect_seek(ino, 3 * BLOCK, SEEK_DATA, TIB);
		expect_seek(ino, TIB + BLOCK, SEEK_DATA, -ENXIO);
		expect_seek(ino, TIB + BLOCK, SEEK_HOLE, TIB + BLOCK);
		expect_seek(ino, 2 * TIB - 1, SEEK_HOLE, 2 * TIB - 1);
		expect_seek(ino, 2 * TIB, SEEK_HOLE, -ENXIO);
		if (sealed == 0)
			seal();
		else
			reopen_store();
	}
	expect_seek(ino, 0, SEEK_CUR, -EINVAL);
	expect_seek(OFS_ROOT_INO, 0, SEEK_DATA, -EISDIR);
}

/* Content is punched between the sealer's reading and its commit. */
Test(store_holes, the_sealer_does_not_bring_content_back)
{
	struct ofs_seal_when when = { .now = INT64_MAX };
	struct ofs_seal_batch *batch;
	uint64_t whole, part;

	open_store();
	whole = make_noise(OFS_ROOT_INO, "whole", BLOCK, 1);
	part = make_noise(OFS_ROOT_INO, "part", BLOCK, 2);
	seal();
	put_noise(whole, 10, 10, 3);
	put_noise(part, 10, 10, 3);
	pthread_mutex_lock(&s->cycle);
	cr_assert_eq(ofs_seal_collect(s, &when, &batch), 2);
	zero(whole, 0, BLOCK, false);
	zero(part, 100, 200, false);
	cr_assert_eq(ofs_store_checkpoint(s, batch), 0);
	ofs_seal_batch_destroy(batch);
	pthread_mutex_unlock(&s->cycle);
	for (int i = 0; i < 3; i++) {
		expect_zeros(whole, 0, BLOCK);
		expect_zeros(part, 100, 200);
		expect_noise(part, 10, 10, 3);
		if (i == 0)
			seal();
		else
			reopen_store();
	}
}

Test(store_holes, allocation_grows_and_asks_the_disk)
{
	uint64_t ino;

	open_store();
	ino = make_noise(OFS_ROOT_INO, "f", 1000, 1);
	cr_assert_eq(ofs_store_allocate(s, ino, 0, 500, false), 0);
	cr_assert_eq(attr_of(ino).size, 1000);
	cr_assert_eq(ofs_store_allocate(s, ino, 1000, 500, true), 0);
	cr_assert_eq(attr_of(ino).size, 1000);
	cr_assert_eq(ofs_store_allocate(s, ino, 1000, 500, false), 0);
	cr_assert_eq(attr_of(ino).size, 1500);
	cr_assert_eq(ofs_store_allocate(s, ino, 0, OFS_SIZE_MAX, false), -ENOSPC);
	cr_assert_eq(ofs_store_allocate(s, ino, 1, OFS_SIZE_MAX, false), -EFBIG);
	cr_assert_eq(ofs_store_allocate(s, OFS_ROOT_INO, 0, 1, false), -EISDIR);
	reopen_store();
	cr_assert_eq(attr_of(ino).size, 1500);
	expect_zeros(ino, 1000, 500);
}
