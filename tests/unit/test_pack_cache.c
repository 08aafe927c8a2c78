/* SPDX-License-Identifier: MIT */
/* The cache of decompressed frames: its limit, its order, and who loads a frame. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <unistd.h>

#include "base/util.h"
#include "pack/frame_cache.h"

static struct ofs_frame_cache *fc;
static unsigned int loads;

static void setup(void)
{
	fc = ofs_frame_cache_create(10000);
	cr_assert_not_null(fc);
}

static void teardown(void)
{
	ofs_frame_cache_destroy(fc);
}

TestSuite(pack_cache, .init = setup, .fini = teardown);

static struct ofs_frame_loc place(uint32_t pack, uint64_t off, uint32_t raw)
{
	return (struct ofs_frame_loc){ pack, off, 64, raw };
}

/* Gives content that depends on the frame's place. */
static int load(void *arg, const struct ofs_frame_loc *loc, uint8_t **ret)
{
	__atomic_fetch_add(&loads, 1, __ATOMIC_RELAXED);
	*ret = malloc(loc->raw);
	memset(*ret, (int)(loc->pack * 16 + loc->off / 64), loc->raw);
	return 0;
}

static int load_error(void *arg, const struct ofs_frame_loc *loc, uint8_t **ret)
{
	loads++;
	return -EIO;
}

static struct ofs_frame *get(const struct ofs_frame_loc *loc)
{
	struct ofs_frame *f = NULL;

	cr_assert_geq(ofs_frame_cache_get(fc, loc, false, load, NULL, &f), 0);
	cr_assert_eq(ofs_frame_size(f), loc->raw);
	cr_assert_eq(ofs_frame_data(f)[loc->raw - 1], (uint8_t)(loc->pack * 16 + loc->off / 64));
	return f;
}

/* Tells whether getting the frame loads it. It is cached afterwards. */
static bool misses(struct ofs_frame_loc loc)
{
	unsigned int before = loads;

	ofs_frame_unref(get(&loc));
	return loads != before;
}

Test(pack_cache, hits_do_not_load)
{
	cr_assert(misses(place(1, 64, 100)));
	cr_assert_not(misses(place(1, 64, 100)));
	cr_assert(misses(place(1, 128, 100)));
	cr_assert(misses(place(2, 64, 100)));
	cr_assert_eq(ofs_frame_cache_size(fc), 300);
}

Test(pack_cache, stays_within_its_bound)
{
	for (uint64_t i = 1; i < 1000; i++) {
		misses(place(1, i * 64, (uint32_t)(i * 37 % 3000 + 1)));
		cr_assert_leq(ofs_frame_cache_size(fc), 10000);
	}
}

Test(pack_cache, least_recently_used_goes_first)
{
	for (uint64_t i = 1; i <= 4; i++)
		cr_assert(misses(place(1, i * 64, 2500)));
	cr_assert_not(misses(place(1, 64, 2500)));
	cr_assert(misses(place(1, 5 * 64, 2500)));
	cr_assert_not(misses(place(1, 64, 2500)));
	cr_assert(misses(place(1, 2 * 64, 2500)));
}

Test(pack_cache, one_that_is_too_large_displaces_nobody)
{
	cr_assert(misses(place(1, 64, 9000)));
	cr_assert(misses(place(1, 128, 10001)));
	cr_assert(misses(place(1, 128, 10001)));
	cr_assert_not(misses(place(1, 64, 9000)));
}

Test(pack_cache, held_frames_outlive_their_eviction)
{
	struct ofs_frame_loc loc = place(1, 64, 6000);
	struct ofs_frame *f = get(&loc);

	cr_assert(misses(place(1, 128, 6000)));
	cr_assert_eq(ofs_frame_cache_size(fc), 6000);
	cr_assert_eq(ofs_frame_data(f)[5999], 17);
	ofs_frame_unref(f);
	ofs_frame_unref(NULL);
	cr_assert(misses(loc));
}

Test(pack_cache, errors_are_not_kept)
{
	struct ofs_frame_loc loc = place(1, 64, 100);
	struct ofs_frame *f = NULL;

	cr_assert_eq(ofs_frame_cache_get(fc, &loc, false, load_error, NULL, &f), -EIO);
	cr_assert_null(f);
	cr_assert(misses(loc));
}

Test(pack_cache, dropping)
{
	for (uint64_t i = 1; i <= 4; i++)
		cr_assert(misses(place(1, i * 64, 100)));
	cr_assert(misses(place(2, 128, 100)));
	ofs_frame_cache_drop(fc, 1, 128, 192);
	cr_assert_eq(ofs_frame_cache_size(fc), 400);
	cr_assert_not(misses(place(1, 64, 100)));
	cr_assert_not(misses(place(1, 192, 100)));
	cr_assert_not(misses(place(2, 128, 100)));
	cr_assert(misses(place(1, 128, 100)));
	ofs_frame_cache_drop_from(fc, 1, 193);
	cr_assert_not(misses(place(1, 64, 100)));
	cr_assert_not(misses(place(1, 128, 100)));
	cr_assert(misses(place(1, 192, 100)));
	cr_assert(misses(place(2, 128, 100)));
}

static int get_origin(struct ofs_frame_loc loc)
{
	struct ofs_frame *f;
	int r = ofs_frame_cache_get(fc, &loc, false, load, NULL, &f);

	ofs_frame_unref(f);
	return r;
}

static void ahead(struct ofs_frame_loc loc)
{
	ofs_frame_cache_ahead(fc, &loc, load, NULL);
}

Test(pack_cache, frames_read_ahead_tell_their_first_use)
{
	struct ofs_frame_loc found;

	cr_assert_not(ofs_frame_cache_find(fc, 1, 64, &found));
	ahead(place(1, 64, 100));
	ahead(place(1, 64, 100));
	cr_assert_eq(loads, 1);
	cr_assert(ofs_frame_cache_find(fc, 1, 64, &found));
	cr_assert_eq(found.raw, 100);
	cr_assert_eq(get_origin(place(1, 64, 100)), OFS_FRAME_AHEAD);
	cr_assert_eq(get_origin(place(1, 64, 100)), OFS_FRAME_KEPT);
	cr_assert_eq(loads, 1);
	cr_assert_eq(get_origin(place(1, 128, 100)), OFS_FRAME_LOADED);
	cr_assert_eq(get_origin(place(1, 128, 100)), OFS_FRAME_KEPT);
}

Test(pack_cache, frames_read_ahead_fill_half_of_it)
{
	struct ofs_frame_loc found;

	ahead(place(1, 64, 3000));
	ahead(place(1, 128, 2000));
	cr_assert(ofs_frame_cache_has_room(fc, 0));
	cr_assert_not(ofs_frame_cache_has_room(fc, 1));
	ahead(place(1, 192, 1));
	cr_assert_not(ofs_frame_cache_find(fc, 1, 192, &found));
	cr_assert_eq(get_origin(place(1, 64, 3000)), OFS_FRAME_AHEAD);
	ahead(place(1, 192, 3000));
	cr_assert(ofs_frame_cache_find(fc, 1, 192, &found));
	ofs_frame_cache_drop(fc, 1, 0, UINT64_MAX);
	ahead(place(1, 256, 5000));
	cr_assert(ofs_frame_cache_find(fc, 1, 256, &found), "what was dropped counts no more");
	ahead(place(1, 320, 20000));
	cr_assert_not(ofs_frame_cache_find(fc, 1, 320, &found));
}

static int fail_slowly(void *arg, const struct ofs_frame_loc *loc, uint8_t **ret)
{
	usleep(100000);
	return -EIO;
}

static void *fail_ahead(void *arg)
{
	struct ofs_frame_loc loc = place(1, 64, 100);

	ofs_frame_cache_ahead(fc, &loc, fail_slowly, NULL);
	return NULL;
}

Test(pack_cache, errors_of_reading_ahead_are_nobodys)
{
	struct ofs_frame_loc found;
	pthread_t thread;

	fail_ahead(NULL);
	cr_assert_not(ofs_frame_cache_find(fc, 1, 64, &found));
	cr_assert_eq(pthread_create(&thread, NULL, fail_ahead, NULL), 0);
	while (!ofs_frame_cache_find(fc, 1, 64, &found))
		usleep(1000);
	cr_assert_eq(get_origin(place(1, 64, 100)), OFS_FRAME_LOADED, "who waits tries himself");
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(ofs_frame_cache_size(fc), 100);
}

static int load_slowly(void *arg, const struct ofs_frame_loc *loc, uint8_t **ret)
{
	usleep(100000);
	return load(arg, loc, ret);
}

static void *get_slowly(void *arg)
{
	struct ofs_frame_loc loc = place(1, 64, 100);
	struct ofs_frame *f;

	if (ofs_frame_cache_get(fc, &loc, false, load_slowly, NULL, &f) < 0)
		return (void *)1;
	ofs_frame_unref(f);
	return NULL;
}

static void run_four(void *(*fn)(void *))
{
	pthread_t thread[4];
	void *failed;

	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, fn, NULL), 0);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(pthread_join(thread[i], &failed), 0);
		cr_assert_null(failed);
	}
}

Test(pack_cache, readers_of_one_missing_frame_load_it_once)
{
	run_four(get_slowly);
	cr_assert_eq(loads, 1);
}

/* A frame whose place is punched while it loads is given to those who asked, but not kept. */
Test(pack_cache, drop_during_a_load)
{
	struct ofs_frame_loc found;
	pthread_t thread;
	void *failed;

	cr_assert_eq(pthread_create(&thread, NULL, get_slowly, NULL), 0);
	while (!ofs_frame_cache_find(fc, 1, 64, &found))
		usleep(1000);
	ofs_frame_cache_drop(fc, 1, 0, UINT64_MAX);
	cr_assert_eq(pthread_join(thread, &failed), 0);
	cr_assert_null(failed);
	cr_assert_eq(ofs_frame_cache_size(fc), 0);
	cr_assert(misses(place(1, 64, 100)));
}

/* ---- frames in passing: a scan must not push out what others read */

static int pass_origin(struct ofs_frame_loc loc)
{
	struct ofs_frame *f = NULL;
	int r = ofs_frame_cache_get(fc, &loc, true, load, NULL, &f);

	cr_assert_eq(ofs_frame_data(f)[loc.raw - 1], (uint8_t)(loc.pack * 16 + loc.off / 64));
	ofs_frame_unref(f);
	return r;
}

/* Reads many frames of pack 9 once, in passing. */
static void pass_many(void)
{
	static uint64_t next = 1;

	for (int i = 0; i < 100; i++)
		cr_assert_eq(pass_origin(place(9, next++ * 64, 100)), OFS_FRAME_LOADED);
}

static bool is_kept(uint32_t pack, uint64_t off)
{
	struct ofs_frame_loc found;

	return ofs_frame_cache_find(fc, pack, off, &found);
}

Test(pack_cache, who_passes_evicts_nothing_of_others)
{
	for (uint64_t i = 1; i <= 9; i++)
		cr_assert(misses(place(1, i * 64, 1000)));
	pass_many();
	cr_assert_leq(ofs_frame_cache_size(fc), 10000);
	for (uint64_t i = 1; i <= 9; i++)
		cr_assert_not(misses(place(1, i * 64, 1000)), "%d", (int)i);
}

Test(pack_cache, the_last_frames_of_who_passes_are_kept)
{
	for (uint64_t i = 1; i <= 20; i++)
		cr_assert_eq(pass_origin(place(1, i * 64, 100)), OFS_FRAME_LOADED);
	cr_assert_eq(pass_origin(place(1, 20 * 64, 100)), OFS_FRAME_KEPT);
	cr_assert_eq(pass_origin(place(1, 19 * 64, 100)), OFS_FRAME_KEPT);
	cr_assert_not(is_kept(1, 64));
	cr_assert_lt(ofs_frame_cache_size(fc), 2000);
}

Test(pack_cache, a_passing_frame_that_another_reads_stays)
{
	cr_assert_eq(pass_origin(place(1, 64, 100)), OFS_FRAME_LOADED);
	cr_assert_eq(pass_origin(place(1, 128, 100)), OFS_FRAME_LOADED);
	cr_assert_not(misses(place(1, 64, 100)));
	pass_many();
	cr_assert_not(misses(place(1, 64, 100)));
	cr_assert_not(is_kept(1, 128));
}

Test(pack_cache, a_frame_of_others_stays_theirs)
{
	for (uint64_t i = 1; i <= 4; i++)
		cr_assert(misses(place(1, i * 64, 2300)));
	cr_assert_eq(pass_origin(place(1, 128, 2300)), OFS_FRAME_KEPT);
	cr_assert_eq(pass_origin(place(1, 64, 2300)), OFS_FRAME_KEPT);
	pass_many();
	cr_assert(is_kept(1, 128));
	/* Passing is not a use: the first frame is still the oldest. */
	cr_assert(misses(place(1, 5 * 64, 2300)));
	cr_assert_not(is_kept(1, 64));
	cr_assert(is_kept(1, 128));
}

Test(pack_cache, frames_read_ahead_for_who_passes)
{
	ahead(place(1, 64, 2500));
	ahead(place(1, 128, 2500));
	cr_assert_not(ofs_frame_cache_has_room(fc, 1));
	cr_assert_eq(pass_origin(place(1, 64, 2500)), OFS_FRAME_AHEAD);
	cr_assert(ofs_frame_cache_has_room(fc, 2500));
	cr_assert_eq(pass_origin(place(1, 64, 2500)), OFS_FRAME_KEPT);
	cr_assert_eq(pass_origin(place(1, 128, 2500)), OFS_FRAME_AHEAD);
	cr_assert_not(misses(place(1, 128, 2500)));
	/* The frame read in passing goes. The last one stays, since nobody has asked for it yet. */
	ahead(place(1, 192, 2500));
	pass_many();
	cr_assert_not(is_kept(1, 64));
	cr_assert(is_kept(1, 128));
	cr_assert(is_kept(1, 192));
	cr_assert_eq(get_origin(place(1, 192, 2500)), OFS_FRAME_AHEAD);
}

Test(pack_cache, passing_frames_can_be_dropped_and_fail)
{
	struct ofs_frame_loc loc = place(2, 64, 100), large = place(2, 128, 10001);
	struct ofs_frame *f = NULL;

	for (uint64_t i = 1; i <= 8; i++)
		pass_origin(place(1, i * 64, 100));
	ofs_frame_cache_drop(fc, 1, 0, UINT64_MAX);
	cr_assert_eq(ofs_frame_cache_size(fc), 0);
	cr_assert_eq(ofs_frame_cache_get(fc, &loc, true, load_error, NULL, &f), -EIO);
	cr_assert_eq(pass_origin(large), OFS_FRAME_LOADED);
	cr_assert_not(is_kept(2, 128));
	pass_many();
	cr_assert_leq(ofs_frame_cache_size(fc), 1000);
}

static void *pass_slowly(void *arg)
{
	struct ofs_frame_loc loc = place(1, 64, 100);
	struct ofs_frame *f;

	if (ofs_frame_cache_get(fc, &loc, true, load_slowly, NULL, &f) < 0 ||
	    ofs_frame_data(f)[99] != 17)
		return (void *)1;
	ofs_frame_unref(f);
	return NULL;
}

/* Reads many frames in passing while another passing frame loads, which a reader may wait for. */
static void pass_during_a_load(bool another)
{
	pthread_t threads[2];
	void *failed;
	int n = 1 + another;

	cr_assert_eq(pthread_create(&threads[0], NULL, pass_slowly, NULL), 0);
	while (!is_kept(1, 64))
		usleep(1000);
	if (another) {
		cr_assert_eq(pthread_create(&threads[1], NULL, get_slowly, NULL), 0);
		usleep(30000);
	}
	pass_many();
	for (int i = 0; i < n; i++) {
		cr_assert_eq(pthread_join(threads[i], &failed), 0);
		cr_assert_null(failed);
	}
}

Test(pack_cache, who_passes_gets_a_frame_that_is_forgotten_meanwhile)
{
	pass_during_a_load(false);
	cr_assert_not(is_kept(1, 64));
}

Test(pack_cache, a_passing_frame_that_another_waits_for_stays)
{
	pass_during_a_load(true);
	cr_assert_not(misses(place(1, 64, 100)));
	pass_many();
	cr_assert_not(misses(place(1, 64, 100)));
}

static void *churn(void *arg)
{
	uint64_t state = (uintptr_t)&state;

	for (int i = 0; i < 20000; i++) {
		struct ofs_frame_loc loc;
		struct ofs_frame *f;

		state = state * 6364136223846793005u + 1442695040888963407u;
		loc = place(1 + (state >> 40) % 2, 64 * (1 + (state >> 50) % 12), 900);
		if (i % 100 == 0) {
			ofs_frame_cache_drop(fc, loc.pack, loc.off, loc.off + 64);
			continue;
		}
		if (i % 7 == 0)
			ahead(loc);
		if (ofs_frame_cache_get(fc, &loc, (state >> 60) % 2, load, NULL, &f) < 0 ||
		    ofs_frame_data(f)[899] != (uint8_t)(loc.pack * 16 + loc.off / 64))
			return (void *)1;
		ofs_frame_unref(f);
	}
	return NULL;
}

Test(pack_cache, churn_of_four_threads)
{
	run_four(churn);
	cr_assert_leq(ofs_frame_cache_size(fc), 10000);
}
