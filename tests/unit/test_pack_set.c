/* SPDX-License-Identifier: MIT */
/*
 * Packs on disk: appending, reading back, damage, punching, resuming, rolling over, and concurrent
 * readers.
 */
#include "test_pack_fixture.h"

TestSuite(pack_set, .init = setup, .fini = teardown);

Test(pack_set, frames_come_back)
{
	struct ofs_frame_loc loc[20];
	uint32_t pack;
	uint64_t size;

	for (unsigned int i = 0; i < 20; i++)
		loc[i] = append(i, 1 + i * 777);
	for (unsigned int i = 0; i < 20; i++)
		cr_assert_eq(read_back(&loc[i], i), 0);
	cr_assert_eq(ofs_packset_sync(ps), 0);
	ofs_packset_tail(ps, &pack, &size);
	cr_assert_eq(pack, 1);
	cr_assert_eq(size, (uint64_t)pack_stat(1).st_size);
	cr_assert_eq(size, loc[19].off + loc[19].stored);
	cr_assert_eq(loc[0].off, OFS_PACK_HEADER);
	cr_assert_eq(pack_stat(1).st_mode & 0777, 0600);
	reopen();
	for (unsigned int i = 0; i < 20; i++)
		cr_assert_eq(read_back(&loc[i], i), 0);
	loc[0] = append(50, 100);
	cr_assert_eq(loc[0].off, size);
	cr_assert_eq(read_back(&loc[0], 50), 0);
}

Test(pack_set, refused_frames_change_nothing)
{
	struct ofs_frame_chunk c = { .data = "", .len = 0 };
	struct ofs_frame_loc loc;
	uint32_t pack;
	uint64_t size;

	cr_assert_eq(ofs_packset_append(ps, comp, 3, &c, 1, &loc), -EINVAL);
	cr_assert_eq(ofs_packset_append(ps, comp, 3, &c, 0, &loc), -EINVAL);
	ofs_packset_tail(ps, &pack, &size);
	cr_assert_eq(pack, 0);
}

Test(pack_set, every_flipped_byte_of_a_pack)
{
	struct ofs_frame_loc loc[3];
	unsigned int bad = 0;
	uint64_t end;

	cr_assert_not_null(freopen("/dev/null", "w", stderr)); /* each damaged header is logged */
	for (unsigned int i = 0; i < 3; i++)
		loc[i] = append(i, 100 + i);
	end = loc[2].off + loc[2].stored;
	for (uint64_t at = 0; at < end; at++) {
		flip(1, at);
		ofs_packset_close(ps);
		open_set(1 << 20);
		for (unsigned int i = 0; i < 3; i++) {
			int r = read_back(&loc[i], i);
			bool inside = at >= loc[i].off && at < loc[i].off + loc[i].stored;

			cr_assert(r == 0 || (r == -EIO && inside), "byte %lu, frame %u: %d",
				  (unsigned long)at, i, r);
			bad += r == -EIO;
		}
		flip(1, at);
	}
	cr_assert_geq(bad, end - OFS_PACK_HEADER - 3 * 7);
}

static void expect_tail(uint32_t pack, uint64_t size)
{
	uint64_t is_size;
	uint32_t is_pack;

	ofs_packset_tail(ps, &is_pack, &is_size);
	cr_assert_eq(is_pack, pack);
	cr_assert_eq(is_size, size);
}

Test(pack_set, truncated_pack)
{
	struct ofs_frame_loc a = append(1, 1000), b = append(3, 1000);

	cr_assert_eq(ofs_packset_sync(ps), 0);
	for (uint64_t size = b.off + b.stored - 1; size >= 8; size -= OFS_MIN(size, 97u)) {
		int fd = pack_fd(1, O_RDWR);

		cr_assert_eq(ftruncate(fd, (off_t)size), 0);
		close(fd);
		ofs_packset_close(ps);
		open_set(1 << 20);
		cr_assert_eq(read_back(&b, 3), -EIO);
		cr_assert_eq(read_back(&a, 1), size >= a.off + a.stored ? 0 : -EIO);
		cr_assert_eq(ofs_packset_resume(ps, 1, b.off + b.stored, &err), 0);
		expect_tail(2, OFS_PACK_HEADER);
	}
	cr_assert_eq(append(5, 1000).pack, 2);
}

Test(pack_set, wrong_places_are_refused)
{
	struct ofs_frame_loc a = append(1, 1000), b = append(3, 1000), bad;

	cr_assert_eq(read_back(&a, 1), 0);
	bad = a;
	bad.stored -= 8;
	cr_assert_eq(read_back(&bad, 1), -EIO, "cached under other dimensions");
	bad = b;
	bad.raw++;
	cr_assert_eq(read_back(&bad, 3), -EIO);
	bad = b;
	bad.stored += 8;
	cr_assert_eq(read_back(&bad, 3), -EIO);
	bad = b;
	bad.off += 8;
	cr_assert_eq(read_back(&bad, 3), -EIO);
	bad = b;
	bad.off = UINT64_MAX - 7;
	cr_assert_eq(read_back(&bad, 3), -EIO);
	bad = b;
	bad.stored = UINT32_MAX;
	cr_assert_eq(read_back(&bad, 3), -EIO);
	bad = b;
	bad.raw = UINT32_MAX;
	cr_assert_eq(read_back(&bad, 3), -EIO);
	bad = b;
	bad.pack = 77;
	cr_assert_eq(read_back(&bad, 3), -EIO);
	bad.pack = 0;
	cr_assert_eq(read_back(&bad, 3), -EIO);
	cr_assert_eq(read_back(&b, 3), 0);
}

Test(pack_set, pack_of_another_store)
{
	struct ofs_frame_loc a = append(1, 1000);
	uint8_t other[16] = { 1 };

	ofs_packset_close(ps);
	ps = ofs_packset_open(dirfd_, other, 1 << 20);
	cr_assert_eq(read_back(&a, 1), -EIO);
	cr_assert_eq(ofs_packset_resume(ps, 1, a.off + a.stored, &err), 0);
	cr_assert_eq(append(5, 1000).pack, 2);
}

Test(pack_set, punching_frees_and_spares_the_neighbours)
{
	struct ofs_frame_loc loc[5];
	uint64_t before, after;

	for (unsigned int i = 0; i < 5; i++)
		loc[i] = append(2 * i + 1, 100001);
	cr_assert_eq(ofs_packset_sync(ps), 0);
	for (unsigned int i = 0; i < 5; i++)
		cr_assert_eq(read_back(&loc[i], 2 * i + 1), 0);
	cr_assert_eq(ofs_packset_disk_usage(ps, &before), 0);
	cr_assert_geq(before, 500000);
	cr_assert_eq(ofs_packset_punch(ps, 1, loc[1].off, loc[3].off - loc[1].off), 0);
	cr_assert_eq(ofs_packset_disk_usage(ps, &after), 0);
	cr_assert_leq(after, before - 190000);
	for (unsigned int i = 0; i < 5; i++)
		cr_assert_eq(read_back(&loc[i], 2 * i + 1), i == 1 || i == 2 ? -EIO : 0);
	reopen();
	for (unsigned int i = 0; i < 5; i++)
		cr_assert_eq(read_back(&loc[i], 2 * i + 1), i == 1 || i == 2 ? -EIO : 0);
}

Test(pack_set, punching_up_to_the_tail)
{
	struct ofs_frame_loc a = append(1, 50000), b = append(3, 50000), c;
	uint64_t end = b.off + b.stored;

	cr_assert_eq(ofs_packset_punch(ps, 1, 0, UINT64_MAX), 0);
	cr_assert_eq(pack_stat(1).st_size, (off_t)end);
	cr_assert_eq(read_back(&a, 1), -EIO);
	c = append(5, 50000);
	cr_assert_eq(c.off, end);
	reopen();
	cr_assert_eq(read_back(&c, 5), 0);
	cr_assert_eq(read_back(&b, 3), -EIO);
	cr_assert_eq(ofs_packset_punch(ps, 99, 64, 100), 0, "a pack that is gone is no error");
}

Test(pack_set, resume_cuts_what_was_not_committed)
{
	struct ofs_frame_loc a = append(1, 5000), b = append(3, 5000), c;

	ofs_packset_set_pack_size(ps, 1000);
	append(5, 5000);
	append(7, 5000);
	cr_assert_eq(read_back(&b, 3), 0);
	cr_assert_geq(pack_fd(3, O_RDONLY), 0);
	cr_assert_eq(ofs_packset_resume(ps, 1, b.off, &err), 0);
	cr_assert_eq(pack_stat(1).st_size, (off_t)b.off);
	cr_assert_lt(pack_fd(2, O_RDONLY), 0);
	cr_assert_lt(pack_fd(3, O_RDONLY), 0);
	ofs_packset_set_pack_size(ps, 1 << 20);
	c = append(9, 5000);
	cr_assert_eq(c.pack, 1);
	cr_assert_eq(c.off, b.off);
	cr_assert_eq(read_back(&c, 9), 0, "what was cached of the cut frame came back");
	cr_assert_eq(read_back(&a, 1), 0);
	cr_assert_eq(ofs_packset_resume(ps, 0, 0, &err), 0);
	cr_assert_lt(pack_fd(1, O_RDONLY), 0);
	c = append(11, 100);
	cr_assert_eq(c.pack, 1);
	cr_assert_eq(c.off, OFS_PACK_HEADER);
}

Test(pack_set, resume_goes_on_behind_what_is_missing)
{
	cr_assert_eq(ofs_packset_resume(ps, 4, 1000, &err), 0);
	expect_tail(5, OFS_PACK_HEADER);
	cr_assert_eq(ofs_packset_resume(ps, 4, 1001, &err), -EUCLEAN);
	cr_assert_eq(ofs_packset_resume(ps, 4, 0, &err), -EUCLEAN);
}

/* A power failure may lose a pack of which only the header was committed. */
Test(pack_set, resume_recreates_an_empty_pack)
{
	struct ofs_frame_loc a;
	int fd;

	cr_assert_eq(ofs_packset_resume(ps, 4, OFS_PACK_HEADER, &err), 0, "%s", err.text);
	a = append(1, 100);
	cr_assert_eq(a.pack, 4);
	fd = pack_fd(4, O_RDWR);
	cr_assert_eq(ftruncate(fd, 10), 0);
	close(fd);
	cr_assert_eq(ofs_packset_resume(ps, 4, OFS_PACK_HEADER, &err), 0, "%s", err.text);
	a = append(1, 100);
	reopen();
	cr_assert_eq(read_back(&a, 1), 0);
}

Test(pack_set, foreign_names_are_left_alone)
{
	static const char *const names[] = { "notes.txt", "0000002.pack", "0000000G.pack",
					     "00000002.pack.tmp" };

	for (size_t i = 0; i < 4; i++)
		close(openat(dirfd_, names[i], O_CREAT | O_WRONLY, 0600));
	cr_assert_eq(ofs_packset_resume(ps, 0, 0, &err), 0);
	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(faccessat(dirfd_, names[i], F_OK, 0), 0, "%s", names[i]);
}

Test(pack_set, packs_roll_over)
{
	struct ofs_frame_loc loc[100];

	ofs_packset_set_pack_size(ps, 8192);
	for (unsigned int i = 0; i < 100; i++) {
		loc[i] = append(2 * i + 1, 3000);
		cr_assert_leq(loc[i].off + loc[i].stored, 8192);
	}
	cr_assert_eq(loc[99].pack, 50);
	reopen();
	ofs_packset_set_pack_size(ps, 8192);
	for (unsigned int i = 0; i < 100; i++)
		cr_assert_eq(read_back(&loc[i], 2 * i + 1), 0);
	loc[0] = append(999, 20000);
	cr_assert_eq(loc[0].pack, 51, "one larger than a pack gets its own");
	loc[1] = append(997, 10);
	cr_assert_eq(loc[1].pack, 52);
	cr_assert_eq(read_back(&loc[0], 999), 0);
}

Test(pack_set, removing_packs)
{
	struct ofs_frame_loc a = append(1, 1000), b;
	struct ofs_frame *f;
	uint64_t before, after;

	ofs_packset_set_pack_size(ps, 100);
	b = append(3, 1000);
	cr_assert_eq(b.pack, 2);
	cr_assert_eq(ofs_packset_read(ps, &a, false, &f), 0);
	cr_assert_eq(ofs_packset_disk_usage(ps, &before), 0);
	cr_assert_eq(ofs_packset_remove(ps, 2), -EBUSY);
	cr_assert_eq(ofs_packset_remove(ps, 1), 0);
	cr_assert_eq(ofs_packset_remove(ps, 1), 0);
	cr_assert_eq(ofs_packset_disk_usage(ps, &after), 0);
	cr_assert_lt(after, before);
	cr_assert_eq(ofs_frame_size(f), 1000, "who holds a frame keeps it");
	ofs_frame_unref(f);
	cr_assert_eq(read_back(&a, 1), -EIO);
	cr_assert_eq(read_back(&b, 3), 0);
}

/* Appends chunks of these lengths, with contents numbered from `n`. */
static struct ofs_frame_loc append_many(unsigned int n, const uint32_t *len, size_t count)
{
	struct ofs_frame_chunk c[16];
	struct ofs_frame_loc loc;

	for (size_t i = 0; i < count; i++) {
		uint8_t *data = malloc(len[i]);

		make_content(n + (unsigned int)i, data, len[i]);
		c[i] = (struct ofs_frame_chunk){ data, len[i] };
	}
	cr_assert_eq(ofs_packset_append(ps, comp, 3, c, count, &loc), 0);
	for (size_t i = 0; i < count; i++)
		free((void *)c[i].data);
	return loc;
}

static void expect_load(const struct ofs_frame_loc *loc, unsigned int n, const uint32_t *len,
			size_t count)
{
	struct ofs_frame_content fc;
	uint32_t at = 0;

	cr_assert_eq(ofs_packset_load(ps, loc, &fc), 0);
	cr_assert_eq(fc.raw, loc->raw);
	cr_assert_eq(fc.chunks, count);
	for (size_t i = 0; i < count; i++) {
		uint8_t *wanted = malloc(len[i]);

		cr_assert_eq(fc.len[i], len[i]);
		make_content(n + (unsigned int)i, wanted, len[i]);
		cr_assert_arr_eq(fc.data + at, wanted, len[i]);
		at += len[i];
		free(wanted);
	}
	cr_assert_eq(at, fc.raw);
	ofs_frame_content_finish(&fc);
	cr_assert_null(fc.data);
	cr_assert_null(fc.len);
	ofs_frame_content_finish(&fc);
}

Test(pack_set, loading_gives_the_chunks_lengths)
{
	static const uint32_t len[] = { 127, 1, 128, 16383, 70000, 16384 };
	struct ofs_frame_loc many = append_many(1, len, 6), one = append_many(20, len, 1);

	expect_load(&many, 1, len, 6);
	expect_load(&one, 20, len, 1);
	reopen();
	expect_load(&many, 1, len, 6);
	expect_load(&one, 20, len, 1);
}

static int load(const struct ofs_frame_loc *loc)
{
	struct ofs_frame_content fc = { 0 };
	int r = ofs_packset_load(ps, loc, &fc);

	if (r < 0) {
		cr_assert_null(fc.data);
		cr_assert_null(fc.len);
	}
	ofs_frame_content_finish(&fc);
	return r;
}

Test(pack_set, loading_looks_at_the_disk)
{
	struct ofs_frame_loc a = append(1, 1000), b = append(3, 1000), bad;

	cr_assert_eq(read_back(&a, 1), 0);
	flip(1, a.off + 200);
	cr_assert_eq(read_back(&a, 1), 0, "it is cached");
	cr_assert_eq(load(&a), -EIO);
	cr_assert_eq(read_back(&a, 1), 0, "loading left the cache alone");
	ofs_packset_forget(ps, &a);
	cr_assert_eq(read_back(&a, 1), -EIO);
	cr_assert_eq(read_back(&b, 3), 0);
	flip(1, a.off + 200);
	cr_assert_eq(load(&a), 0);
	cr_assert_eq(read_back(&a, 1), 0);

	bad = b;
	bad.stored -= 8;
	cr_assert_eq(load(&bad), -EIO);
	bad = b;
	bad.raw--;
	cr_assert_eq(load(&bad), -EIO);
	bad = b;
	bad.off = UINT64_MAX - 7;
	cr_assert_eq(load(&bad), -EIO);
	bad = b;
	bad.stored = UINT32_MAX;
	cr_assert_eq(load(&bad), -EIO);
	bad = b;
	bad.pack = 77;
	cr_assert_eq(load(&bad), -EIO);
	bad.pack = 0;
	cr_assert_eq(load(&bad), -EIO);
}

Test(pack_set, forgetting_is_for_one_frame)
{
	struct ofs_frame_loc loc[3];

	for (unsigned int i = 0; i < 3; i++) {
		loc[i] = append(2 * i + 1, 1000);
		cr_assert_eq(read_back(&loc[i], 2 * i + 1), 0);
		flip(1, loc[i].off + 100);
	}
	ofs_packset_forget(ps, &loc[1]);
	ofs_packset_forget(ps, &loc[1]);
	cr_assert_eq(read_back(&loc[0], 1), 0);
	cr_assert_eq(read_back(&loc[1], 3), -EIO);
	cr_assert_eq(read_back(&loc[2], 5), 0);
}

/* A frame stays valid for those who hold it. */
Test(pack_set, forgetting_what_is_in_use)
{
	struct ofs_frame_loc a = append(1, 1000);
	struct ofs_frame *f;

	cr_assert_eq(ofs_packset_read(ps, &a, false, &f), 0);
	ofs_packset_forget(ps, &a);
	cr_assert_eq(ofs_frame_size(f), 1000);
	ofs_frame_unref(f);
	cr_assert_eq(read_back(&a, 1), 0);
}

Test(pack_set, copies_are_what_lies_there)
{
	struct ofs_frame_loc a = append(1, 1000), b = append(3, 1000), loc;
	struct ofs_frame_info info;
	uint8_t *copy, *content;
	size_t len = 0;

	cr_assert_eq(ofs_packset_copy(ps, &a, &copy, &len), 0);
	cr_assert_eq(len, a.stored);
	cr_assert_eq(ofs_frame_decode(copy, len, a.pack, a.off, &info, &content), 0);
	cr_assert_eq(info.stored, a.stored);
	free(content);
	free(copy);

	flip(1, a.off);
	cr_assert_eq(ofs_packset_copy(ps, &a, &copy, &len), 0, "damaged ones too");
	cr_assert_eq(len, a.stored);
	cr_assert_eq(copy[0], (OFS_FRAME_MAGIC & 0xff) ^ 0x41);
	free(copy);

	loc = b;
	loc.stored += 100;
	cr_assert_eq(ofs_packset_copy(ps, &loc, &copy, &len), 0);
	cr_assert_eq(len, b.stored, "the pack ends there");
	free(copy);
	loc.off = b.off + b.stored;
	cr_assert_eq(ofs_packset_copy(ps, &loc, &copy, &len), 0);
	cr_assert_eq(len, 0);
	free(copy);
	loc = b;
	loc.pack = 77;
	cr_assert_eq(ofs_packset_copy(ps, &loc, &copy, &len), -ENOENT);
}

/* Failpoints are read at their first hit, which setup() causes, so they are set before it. */
static void setup_failing_sync(void)
{
	setenv("OFS_FAILPOINT", "io.datasync=eio@2", 1);
	setup();
}

TestSuite(pack_sync, .init = setup_failing_sync, .fini = teardown);

Test(pack_sync, failed_sync_is_never_forgotten)
{
	struct ofs_frame_loc a = append(1, 1000), loc;
	struct ofs_frame_chunk c = { .data = "x", .len = 1 };

	cr_assert_eq(ofs_packset_sync(ps), 0);
	append(3, 1000);
	cr_assert_eq(ofs_packset_sync(ps), -EIO);
	cr_assert_eq(ofs_packset_sync(ps), -EIO);
	cr_assert_eq(ofs_packset_append(ps, comp, 3, &c, 1, &loc), -EIO);
	cr_assert_eq(read_back(&a, 1), 0);
}

static void setup_full_disk(void)
{
	setenv("OFS_FAILPOINT", "io.pwrite=enospc@3", 1);
	setup();
}

TestSuite(pack_full, .init = setup_full_disk, .fini = teardown);

Test(pack_full, failed_append_leaves_the_pack_as_it_was)
{
	struct ofs_frame_chunk c = { .data = "x", .len = 1 };
	struct ofs_frame_loc a = append(1, 1000), b, loc; /* hits 1 and 2 */
	uint32_t pack;
	uint64_t size;

	cr_assert_eq(ofs_packset_append(ps, comp, 3, &c, 1, &loc), -ENOSPC);
	ofs_packset_tail(ps, &pack, &size);
	cr_assert_eq(size, a.off + a.stored);
	cr_assert_eq(pack_stat(1).st_size, (off_t)size);
	b = append(3, 1000);
	cr_assert_eq(b.off, size);
	reopen();
	cr_assert_eq(read_back(&a, 1), 0);
	cr_assert_eq(read_back(&b, 3), 0);
}

Test(pack_full, failed_header_leaves_no_pack)
{
	struct ofs_frame_chunk c = { .data = "x", .len = 1 };
	struct ofs_frame_loc a = append(1, 1000), loc;

	ofs_packset_set_pack_size(ps, 100);
	cr_assert_eq(ofs_packset_append(ps, comp, 3, &c, 1, &loc), -ENOSPC);
	cr_assert_lt(pack_fd(2, O_RDONLY), 0);
	cr_assert_eq(ofs_packset_append(ps, comp, 3, &c, 1, &loc), 0);
	cr_assert_eq(loc.pack, 2);
	reopen();
	cr_assert_eq(read_back(&a, 1), 0);
}

#define CROWD_FRAMES 60

static struct crowd {
	struct ofs_frame_loc loc[CROWD_FRAMES];
	int stop;
} crowd;

/* Reads frames that are always live, in an order of its own. */
static void *crowd_read(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	while (!__atomic_load_n(&crowd.stop, __ATOMIC_RELAXED)) {
		unsigned int i;

		state = state * 6364136223846793005u + 1442695040888963407u;
		i = (unsigned int)(state >> 33) % CROWD_FRAMES;
		if (read_back(&crowd.loc[i], i) < 0)
			return (void *)1;
	}
	return NULL;
}

Test(pack_set, many_readers_one_writer)
{
	pthread_t thread[4];
	void *failed;

	ofs_packset_close(ps);
	open_set(20000);
	cr_assert_eq(ofs_packset_resume(ps, 0, 0, &err), 0);
	ofs_packset_set_pack_size(ps, 6000);
	for (unsigned int i = 0; i < CROWD_FRAMES; i++)
		crowd.loc[i] = append(i, 3000);
	for (uintptr_t i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, crowd_read, (void *)(i + 1)), 0);
	for (unsigned int i = 0; i < 300; i++) {
		struct ofs_frame_loc loc = append(1000 + i, 2500);
		uint64_t used;

		if (i % 10 == 0)
			cr_assert_eq(ofs_packset_sync(ps), 0);
		cr_assert_eq(read_back(&loc, 1000 + i), 0);
		cr_assert_eq(ofs_packset_punch(ps, loc.pack, loc.off, loc.stored), 0);
		cr_assert_eq(read_back(&loc, 1000 + i), -EIO);
		if (loc.pack > crowd.loc[CROWD_FRAMES - 1].pack + 1)
			cr_assert_eq(ofs_packset_remove(ps, loc.pack - 1), 0);
		if (i % 50 == 0)
			cr_assert_eq(ofs_packset_disk_usage(ps, &used), 0);
	}
	__atomic_store_n(&crowd.stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(pthread_join(thread[i], &failed), 0);
		cr_assert_null(failed);
	}
}
