/* SPDX-License-Identifier: MIT */
/* Reading ahead: what starts it, where it ends, and that only speed reveals it. */
#include "test_pack_fixture.h"

#include "pack/ahead.h"

#define FRAMES 12

static struct ofs_frame_loc loc[FRAMES];

/* ---- recognizing streams: every frame is 64 bytes, those of pack 2 cannot be located */

static struct ofs_ahead *ahead;
static uint64_t loaded; /* a bit for each frame of pack 1 */

static int fake_locate(void *arg, uint32_t pack, uint64_t off, struct ofs_frame_loc *ret)
{
	*ret = (struct ofs_frame_loc){ pack, off, 64, 64 };
	return pack == 1 && off < 64 * 64 ? 0 : -EIO;
}

static void fake_load(void *arg, const struct ofs_frame_loc *at)
{
	__atomic_fetch_or(&loaded, UINT64_C(1) << at->off / 64, __ATOMIC_RELAXED);
}

static const struct ofs_ahead_ops fake_ops = { fake_locate, fake_load };

static void setup_fake(void)
{
	ahead = ofs_ahead_create(&fake_ops, NULL);
	cr_assert_not_null(ahead);
}

static void teardown_fake(void)
{
	ofs_ahead_destroy(ahead);
}

TestSuite(pack_streams, .init = setup_fake, .fini = teardown_fake);

static void used(uint32_t pack, unsigned int n, bool by_ahead)
{
	struct ofs_frame_loc at = { pack, 64 * n, 64, 64 };

	ofs_ahead_used(ahead, &at, by_ahead);
}

/* Waits for the frames after number `n` to be loaded. */
static void wait_behind(unsigned int n)
{
	uint64_t wanted = ((UINT64_C(1) << OFS_AHEAD_FRAMES) - 1) << (n + 1);

	while ((__atomic_load_n(&loaded, __ATOMIC_RELAXED) & wanted) != wanted)
		usleep(1000);
	cr_assert_eq(__atomic_load_n(&loaded, __ATOMIC_RELAXED) >> (n + 1 + OFS_AHEAD_FRAMES), 0);
}

Test(pack_streams, the_second_frame_makes_a_stream)
{
	used(1, 1, false);
	used(1, 9, false);
	used(1, 5, false);
	used(1, 6, false);
	wait_behind(6);
	cr_assert_eq(loaded & 0x3f, 0);
}

Test(pack_streams, one_that_was_read_ahead_goes_on)
{
	used(1, 20, true);
	wait_behind(20);
	used(1, 22, true);
	wait_behind(22);
}

Test(pack_streams, several_at_once)
{
	for (unsigned int i = 0; i < 2; i++) {
		used(1, 5 + i, false);
		used(1, 30 + i, false);
		used(2, 9 + i, false);
	}
	wait_behind(31);
	while ((__atomic_load_n(&loaded, __ATOMIC_RELAXED) & 0xff) != 0x80)
		usleep(1000);
}

Test(pack_streams, ending_at_once)
{
	for (unsigned int i = 1; i < 60; i++)
		used(1, i, false);
}

/* ---- packs */

TestSuite(pack_ahead, .init = setup, .fini = teardown);

static void append_all(uint32_t len)
{
	for (unsigned int i = 0; i < FRAMES; i++)
		loc[i] = append(2 * i + 1, len);
}

/* Closes the set and opens another in which the first `n` frames are committed. */
static void reopen_with(size_t cache, unsigned int n)
{
	cr_assert_eq(ofs_packset_sync(ps), 0);
	ofs_packset_close(ps);
	open_set(cache);
	cr_assert_eq(ofs_packset_resume(ps, loc[n - 1].pack, loc[n - 1].off + loc[n - 1].stored,
					&err),
		     0);
}

/* Tells whether a frame can be read although it is damaged on disk, and so was read ahead. */
static bool is_cached(unsigned int n)
{
	int r;

	flip(loc[n].pack, loc[n].off + 100);
	r = read_back(&loc[n], 2 * n + 1);
	flip(loc[n].pack, loc[n].off + 100);
	cr_assert(r == 0 || r == -EIO);
	return r == 0;
}

/*
 * Reads frames 0 and 1 of a new set until that also loads frame `n` ahead. Each try needs a new
 * set, since looking for the frame loads it.
 */
static void wait_ahead(size_t cache, unsigned int n)
{
	unsigned int patience = 1;

	do {
		reopen_with(cache, FRAMES);
		cr_assert_eq(read_back(&loc[0], 1), 0);
		cr_assert_eq(read_back(&loc[1], 3), 0);
		usleep(1000 * patience);
		patience *= 2;
	} while (!is_cached(n));
}

Test(pack_ahead, the_next_frames_are_there)
{
	append_all(5000);
	for (unsigned int n = 2; n < 2 + OFS_AHEAD_FRAMES; n++)
		wait_ahead(1 << 20, n);
}

Test(pack_ahead, a_tiny_cache_has_the_next_frame)
{
	append_all(5000);
	wait_ahead(20000, 2);
	for (unsigned int i = 0; i < FRAMES; i++)
		cr_assert_eq(read_back(&loc[i], 2 * i + 1), 0);
	reopen_with(100, FRAMES);
	for (unsigned int i = 0; i < FRAMES; i++)
		cr_assert_eq(read_back(&loc[i], 2 * i + 1), 0);
}

Test(pack_ahead, a_frame_alone_has_no_successor)
{
	append_all(5000);
	reopen_with(1 << 20, FRAMES);
	cr_assert_eq(read_back(&loc[4], 9), 0);
	cr_assert_eq(read_back(&loc[6], 13), 0);
	usleep(20000);
	cr_assert_not(is_cached(7)); /* before 5, since a read of 5 after 4 would load it ahead */
	cr_assert_not(is_cached(5));
}

Test(pack_ahead, loading_past_the_cache_starts_nothing)
{
	struct ofs_frame_content fc;

	append_all(5000);
	reopen_with(1 << 20, FRAMES);
	for (unsigned int i = 0; i < 3; i++) {
		cr_assert_eq(ofs_packset_load(ps, &loc[i], &fc), 0);
		ofs_frame_content_finish(&fc);
	}
	usleep(20000);
	cr_assert_not(is_cached(3));
}

Test(pack_ahead, what_is_not_committed_is_left_alone)
{
	append_all(5000);
	reopen_with(1 << 20, 3);
	for (unsigned int i = 3; i < FRAMES; i++)
		loc[i] = append(2 * i + 1, 5000);
	for (unsigned int i = 0; i < 3; i++)
		cr_assert_eq(read_back(&loc[i], 2 * i + 1), 0);
	usleep(20000);
	cr_assert_not(is_cached(3));
	cr_assert_eq(ofs_packset_sync(ps), 0);
	ofs_packset_committed(ps);
	for (unsigned int i = 3; i < 5; i++)
		cr_assert_eq(read_back(&loc[i], 2 * i + 1), 0);
	for (unsigned int patience = 1; !is_cached(5); patience *= 2) {
		for (unsigned int i = 0; i < 5; i++) {
			ofs_packset_forget(ps, &loc[i]);
			cr_assert_eq(read_back(&loc[i], 2 * i + 1), 0);
		}
		usleep(1000 * patience);
	}
}

/* Damage to a frame read ahead is reported to its reader, and only until it is repaired. */
Test(pack_ahead, damage_is_for_who_asks)
{
	append_all(5000);
	for (unsigned int at = 0; at < loc[2].stored; at += 31) {
		reopen_with(1 << 20, FRAMES);
		flip(1, loc[2].off + at);
		cr_assert_eq(read_back(&loc[0], 1), 0);
		cr_assert_eq(read_back(&loc[1], 3), 0);
		cr_assert_eq(read_back(&loc[2], 5), -EIO);
		cr_assert_eq(read_back(&loc[3], 7), 0);
		flip(1, loc[2].off + at);
		cr_assert_eq(read_back(&loc[2], 5), 0);
	}
}

Test(pack_ahead, a_head_that_is_too_long_ends_the_walk)
{
	struct ofs_frame_chunk *c = malloc(sizeof(*c) * 9000);
	struct ofs_frame *f;

	for (unsigned int i = 0; i < 9000; i++)
		c[i] = (struct ofs_frame_chunk){ "x", 1 };
	loc[0] = append(1, 5000);
	loc[1] = append(3, 5000);
	cr_assert_eq(ofs_packset_append(ps, comp, 3, c, 9000, &loc[2]), 0);
	reopen_with(1 << 20, 3);
	cr_assert_eq(read_back(&loc[0], 1), 0);
	cr_assert_eq(read_back(&loc[1], 3), 0);
	cr_assert_eq(ofs_packset_read(ps, &loc[2], false, &f), 0);
	cr_assert_eq(ofs_frame_size(f), 9000);
	ofs_frame_unref(f);
	free(c);
}

/* ---- races */

static int stop;

/* Reads the first frames in order, again and again. Wrong content fails the test. */
static void *read_on(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (unsigned int i = 0; i < FRAMES / 2; i++) {
			if (read_back(&loc[i], 2 * i + 1) < 0)
				return (void *)1;
			ofs_packset_forget(ps, &loc[i]);
		}
	}
	return NULL;
}

static void end_readers(pthread_t *thread, int n)
{
	void *failed;

	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < n; i++) {
		cr_assert_eq(pthread_join(thread[i], &failed), 0);
		cr_assert_null(failed);
	}
}

/* Frames after those being read are punched, cut off and rewritten with other content. */
Test(pack_ahead, no_stale_frame_stays)
{
	struct ofs_frame_loc tail[3];
	pthread_t thread[2];

	append_all(3000);
	reopen_with(1 << 20, FRAMES / 2);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, read_on, NULL), 0);
	for (unsigned int i = 0; i < 300; i++) {
		unsigned int n = 1000 + 6 * i + 1;
		struct ofs_frame_loc *last = &loc[FRAMES / 2 - 1];

		for (unsigned int k = 0; k < 3; k++)
			tail[k] = append(n + 2 * k, 3000);
		cr_assert_eq(tail[0].off, last->off + last->stored);
		for (unsigned int k = 0; k < 3; k++)
			cr_assert_eq(read_back(&tail[k], n + 2 * k), 0);
		cr_assert_eq(ofs_packset_resume(ps, last->pack, last->off + last->stored, &err), 0);
	}
	for (unsigned int i = 0; i < 300; i++) {
		unsigned int n = 5001 + 2 * i;

		tail[0] = append(n, 3000);
		ofs_packset_committed(ps);
		cr_assert_eq(read_back(&tail[0], n), 0);
		cr_assert_eq(ofs_packset_punch(ps, tail[0].pack, tail[0].off, tail[0].stored), 0);
		cr_assert_eq(read_back(&tail[0], n), -EIO);
	}
	end_readers(thread, 2);
}

/* Frames are punched while they are read ahead. Then the pack is removed. */
Test(pack_ahead, punched_and_removed_meanwhile)
{
	for (unsigned int round = 0; round < 60; round++) {
		struct ofs_frame *f;

		ofs_packset_set_pack_size(ps, 1 << 20);
		append_all(3000);
		ofs_packset_set_pack_size(ps, 100);
		append(1, 10);
		ofs_packset_committed(ps);
		cr_assert_eq(read_back(&loc[0], 1), 0);
		cr_assert_eq(read_back(&loc[1], 3), 0);
		for (volatile unsigned int i = 0; i < round * 300; i++)
			;
		cr_assert_eq(ofs_packset_punch(ps, loc[3].pack, loc[3].off, loc[3].stored), 0);
		cr_assert_eq(read_back(&loc[3], 7), -EIO);
		cr_assert_eq(read_back(&loc[4], 9), 0);
		cr_assert_eq(ofs_packset_remove(ps, loc[0].pack), 0);
		for (unsigned int i = 0; i < FRAMES; i++)
			cr_assert_eq(ofs_packset_read(ps, &loc[i], false, &f), -EIO);
	}
}

Test(pack_ahead, closing_waits_for_what_is_on_its_way)
{
	append_all(60000);
	for (unsigned int round = 0; round < 60; round++) {
		reopen_with(1 << 20, FRAMES);
		for (unsigned int i = 0; i < 3; i++)
			cr_assert_eq(read_back(&loc[i], 2 * i + 1), 0);
		for (volatile unsigned int i = 0; i < round * 300; i++)
			;
	}
}
