/* SPDX-License-Identifier: MIT */
/* Compression by several threads: the order of frames, errors, and the end of the threads. */
#include "test_store_fixture.h"

#include "pack/frame.h"
#include "store/compress_pool.h"

#define LEVEL 3
#define FRAMES 200

TestSuite(store_compress_pool, .init = setup, .fini = teardown);

static size_t count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	size_t n = 0;

	cr_assert_not_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Waits, because a thread that was joined may still be listed for a moment. */
static void wait_for_threads(size_t n)
{
	while (count_threads() != n)
		usleep(1000);
}

/* Frame `i`: half noise, half zeros, in two chunks. Some take much longer than others. */
struct sample {
	uint8_t *data;
	struct ofs_frame_chunk chunks[2];
};

static struct sample sample(uint64_t i)
{
	size_t len = i % 7 ? 2000 + i : 200 * KIB;
	struct sample x = { .data = ofs_alloc(len) };

	fill_noise(x.data, len / 2, i);
	x.chunks[0] = (struct ofs_frame_chunk){ x.data, 1000 };
	x.chunks[1] = (struct ofs_frame_chunk){ x.data + 1000, (uint32_t)len - 1000 };
	return x;
}

static void give(struct ofs_compress_pool *p, uint64_t i)
{
	struct sample x = sample(i);

	ofs_compress_pool_give(p, LEVEL, x.chunks, 2);
	memset(x.data, 0xff, 1000);
	free(x.data);
}

static void take(struct ofs_compress_pool *p, struct ofs_compressor *c, uint64_t i)
{
	struct ofs_frame_build want = { 0 }, *got;
	struct sample x = sample(i);

	cr_assert_eq(ofs_frame_build(&want, c, LEVEL, x.chunks, 2), 0);
	cr_assert_eq(ofs_compress_pool_take(p, &got), 0);
	cr_assert_eq(got->bytes.len, want.bytes.len, "frame %lu", i);
	cr_assert_eq(memcmp(got->bytes.data, want.bytes.data, want.bytes.len), 0, "frame %lu", i);
	cr_assert_eq(memcmp(got->raw.data, want.raw.data, want.raw.len), 0, "frame %lu", i);
	ofs_frame_build_finish(&want);
	free(x.data);
}

Test(store_compress_pool, frames_come_back_in_order)
{
	struct ofs_compressor *c = ofs_compressor_create();

	for (unsigned int threads = 0; threads <= OFS_COMPRESS_THREADS_MAX + 1; threads++) {
		struct ofs_compress_pool *p = ofs_compress_pool_create(c, threads);
		uint64_t given = 0, taken = 0, room = 0;

		cr_assert(ofs_compress_pool_is_empty(p));
		while (taken < FRAMES) {
			while (given < FRAMES && !ofs_compress_pool_is_full(p))
				give(p, given++);
			room = OFS_MAX(room, given - taken);
			take(p, c, taken++);
		}
		cr_assert(ofs_compress_pool_is_empty(p));
		cr_assert_eq(room, 2 * OFS_MAX(1u, OFS_MIN(threads, OFS_COMPRESS_THREADS_MAX)));
		ofs_compress_pool_destroy(p);
	}
	ofs_compressor_destroy(c);
}

Test(store_compress_pool, threads_are_started_for_a_second_frame_and_end)
{
	struct ofs_compressor *c = ofs_compressor_create();
	size_t before = count_threads();
	struct ofs_compress_pool *p = ofs_compress_pool_create(c, 3);

	for (uint64_t i = 0; i < 5; i++) {
		give(p, i);
		take(p, c, i);
	}
	cr_assert_eq(count_threads(), before, "one frame at a time needs no other thread");
	give(p, 0);
	give(p, 1);
	cr_assert_eq(count_threads(), before + 1);
	for (uint64_t i = 2; !ofs_compress_pool_is_full(p); i++)
		give(p, i);
	cr_assert_leq(count_threads(), before + 2);
	ofs_compress_pool_destroy(p);
	wait_for_threads(before);
	ofs_compress_pool_destroy(NULL);
	ofs_compressor_destroy(c);
}

Test(store_compress_pool, a_single_thread_starts_none)
{
	struct ofs_compressor *c = ofs_compressor_create();
	struct ofs_compress_pool *p = ofs_compress_pool_create(c, 1);
	size_t before = count_threads();

	for (uint64_t i = 0; !ofs_compress_pool_is_full(p); i++)
		give(p, i);
	cr_assert_eq(count_threads(), before);
	take(p, c, 0);
	ofs_compress_pool_destroy(p);
	ofs_compressor_destroy(c);
}

Test(store_compress_pool, an_error_comes_in_its_turn)
{
	struct ofs_compressor *c = ofs_compressor_create();

	for (unsigned int threads = 1; threads <= 2; threads++) {
		struct ofs_compress_pool *p = ofs_compress_pool_create(c, threads);
		struct ofs_frame_build *got;

		for (uint64_t i = 0; i < FRAMES; i++) {
			give(p, 2 * i);
			ofs_compress_pool_give(p, LEVEL, NULL, 0);
			take(p, c, 2 * i);
			cr_assert_eq(ofs_compress_pool_take(p, &got), -EINVAL);
		}
		ofs_compress_pool_destroy(p);
	}
	ofs_compressor_destroy(c);
}

Test(store_compress_pool, what_was_not_taken_is_dropped)
{
	struct ofs_compressor *c = ofs_compressor_create();
	size_t before = count_threads();

	for (uint64_t round = 0; round < 50; round++) {
		struct ofs_compress_pool *p = ofs_compress_pool_create(c, OFS_COMPRESS_THREADS_MAX);

		for (uint64_t i = 0; i < round % 8 + 1; i++)
			give(p, 7 * i);
		if (round % 3 == 0)
			take(p, c, 0);
		ofs_compress_pool_destroy(p);
	}
	wait_for_threads(before);
	ofs_compressor_destroy(c);
}

/* ---- in the packer */

#define BLOCKS 40

Test(store_compress_pool, frames_lie_in_the_order_of_their_chunks)
{
	struct chunk_list l;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", BLOCKS * BLOCK, 1);
	seal();
	list_chunks(f, &l);
	cr_assert_eq(l.n, BLOCKS);
	cr_assert_eq(count_frames(), BLOCKS);
	for (size_t i = 1; i < l.n; i++) {
		cr_assert_eq(l.list[i].id, l.list[i - 1].id + 1);
		cr_assert_eq(l.list[i].frame_off,
			     l.list[i - 1].frame_off + l.list[i - 1].frame_stored);
	}
	reopen_store();
	expect_noise(f, 0, BLOCKS * BLOCK, 1);
}

static const char *faulty;
static atomic_int until_fault;

static int fault_once(const char *name)
{
	return strcmp(name, faulty) == 0 && atomic_fetch_sub(&until_fault, 1) == 0 ? -EIO : 0;
}

/* Fails early, while frames are still being added, and late, while waiting for the last ones. */
Test(store_compress_pool, a_frame_that_cannot_be_appended_costs_nothing)
{
	static const int when[] = { 1, BLOCKS / 2, BLOCKS - 1 };
	uint64_t f, held;

	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	faulty = "io.pwrite";
	for (size_t i = 0; i < OFS_ARRAY_SIZE(when); i++) {
		put_noise(f, 0, BLOCKS * BLOCK, i);
		held = disk_usage("packs");
		until_fault = when[i];
		fault_for = fault_once;
		cr_assert_eq(ofs_store_seal(s), -EIO);
		cr_assert_lt(until_fault, 0);
		fault_for = NULL;
		expect_noise(f, 0, BLOCKS * BLOCK, i);
		cr_assert_leq(disk_usage("packs"), held, "what failed is cut off");
		crash_store();
		expect_noise(f, 0, BLOCKS * BLOCK, i);
		seal();
		cr_assert(has_sha(f));
		reopen_store();
		expect_noise(f, 0, BLOCKS * BLOCK, i);
	}
}
