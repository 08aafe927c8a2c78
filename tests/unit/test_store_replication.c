/* SPDX-License-Identifier: MIT */
/*
 * A store rebuilt elsewhere from exported parts is complete, and reads content that is not on its
 * disk from the objects that hold it.
 */
#include "io/file.h"
#include "test_store_fixture.h"
#include "test_replication_fixture.h"

static void setup_both(void)
{
	setup();
	open_store();
	make_other();
}

static void teardown_both(void)
{
	teardown();
	close_other();
}

TestSuite(store_replication, .init = setup_both, .fini = teardown_both);

/* Switches to the other store, and tells it the objects of the snapshot. */
static void take_other(uint32_t number)
{
	struct ofs_error err = { "" };
	OFS_FREE char *file = ofs_format("%s/index.db", other);
	struct ofs_index_meta meta;
	struct ofs_index *ix;

	close_store();
	cr_assert_eq(ofs_index_open(file, NULL, &err, &ix), 0, "%s", err.text);
	put_late(ix, number);
	cr_assert_eq(ofs_index_get_meta(ix, &meta), 0);
	meta.pack += 1000;
	meta.pack_size = OFS_PACK_HEADER;
	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_eq(ofs_index_put_meta(ix, &meta), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);
	ofs_index_close(ix);
	snprintf(path, sizeof(path), "%s", other);
	open_store();
	ofs_store_set_objects(s, get_object, NULL);
}

static uint64_t lookup(uint64_t parent, const char *name)
{
	struct ofs_attr attr;
	int r = ofs_store_lookup(s, parent, name, &attr);

	if (r < 0)
		return 0;
	ofs_store_forget(s, attr.ino, 1);
	return attr.ino;
}

/* ---- cases */

Test(store_replication, elsewhere)
{
	uint64_t d = make_dir(OFS_ROOT_INO, "d"), sealed, draft, later, gone, mixed;
	ofs_lsn from;

	sealed = make_noise(d, "sealed", 3 * MIB, 1);
	gone = make_noise(d, "gone", 1000, 2);
	mixed = make_noise(d, "mixed", 2 * BLOCK, 5);
	seal();
	draft = make_noise(d, "draft", 200000, 3);
	put_noise(mixed, 1000, 5000, 6);
	from = copy_snapshot(false, 1);
	put_late(NULL, 1);
	later = make_noise(OFS_ROOT_INO, "later", 300000, 4);
	put_noise(mixed, 100, 400, 7);
	remove_file(d, "gone", gone);
	copy_log(from);
	take_other(1);
	cr_assert_eq(lookup(d, "gone"), 0);
	cr_assert_eq(lookup(OFS_ROOT_INO, "later"), later);
	cr_assert_eq(gets, 0);
	expect_noise(later, 0, 300000, 4);
	expect_noise(draft, 0, 200000, 3);
	cr_assert_eq(gets, 0);
	expect_noise(sealed, 0, 3 * MIB, 1);
	expect_noise(mixed, 100, 400, 7);
	expect_noise(mixed, 1000, 5000, 6);
	cr_assert_gt(gets, 0);
	/* Neighbouring frames are fetched together. */
	cr_assert_lt(gets, 8);
	gets = 0;
	reopen_store();
	ofs_store_set_objects(s, get_object, NULL);
	expect_noise(sealed, 0, 3 * MIB, 1);
	cr_assert_eq(gets, 0, "what was brought is here");
	seal();
	expect_noise(mixed, 1000, 5000, 6);
}

Test(store_replication, what_changed)
{
	uint64_t a, b;
	uint32_t whole;
	ofs_lsn from;

	for (unsigned int i = 0; i < 2000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		make_in(OFS_ROOT_INO, name);
	}
	a = make_noise(OFS_ROOT_INO, "a", MIB, 1);
	seal();
	copy_snapshot(false, 1);
	whole = pages_copied;
	put_late(NULL, 1);
	b = make_noise(OFS_ROOT_INO, "b", MIB, 2);
	seal();
	from = copy_snapshot(true, 2);
	cr_assert_lt(pages_copied, whole / 2);
	cr_assert_gt(nlate, 0);
	copy_log(from);
	take_other(2);
	expect_noise(a, 0, MIB, 1);
	expect_noise(b, 0, MIB, 2);
}

Test(store_replication, leap)
{
	struct ofs_attr attr;
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 100000, 1), b;
	ofs_lsn from = copy_snapshot(false, 1), far;

	make_noise(OFS_ROOT_INO, "b", 1000, 2);
	copy_log(from);
	take_other(1);
	far = ofs_align_up(ofs_store_log_end(s), (uint64_t)1 << 40);
	cr_assert_eq(ofs_store_leap(s, far), 0);
	b = make_noise(OFS_ROOT_INO, "c", 1000, 3);
	cr_assert_gt(b, a + (1 << 24));
	cr_assert_gt(ofs_store_log_end(s), far);
	expect_noise(a, 0, 100000, 1);
	crash_store();
	expect_noise(a, 0, 100000, 1);
	expect_noise(b, 0, 1000, 3);
	cr_assert_eq(ofs_store_getattr(s, b, &attr), 0);
	seal();
	reopen_store();
	ofs_store_set_objects(s, get_object, NULL);
	expect_noise(a, 0, 100000, 1);
	expect_noise(b, 0, 1000, 3);
}

Test(store_replication, nobody_has_it)
{
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 100000, 1);
	uint8_t buf[100];
	ofs_lsn from;

	seal();
	from = copy_snapshot(false, 1);
	copy_log(from);
	take_other(1);
	failing = 1;
	cr_assert_eq(ofs_store_read(s, a, buf, sizeof(buf), 0), -EIO);
	cr_assert_eq(ofs_store_scan(s, a, buf, sizeof(buf), 0), -EIO);
	failing = 0;
	expect_noise(a, 0, 100000, 1);
}

/* Scrub, verification and repacking neither take it for damage nor fetch it. */
Test(store_replication, away_is_no_damage)
{
	struct ofs_verify how = { .problem = NULL };
	struct ofs_verify_counts counts;
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 2 * MIB, 1);
	uint64_t b = make_noise(OFS_ROOT_INO, "b", 50000, 2);
	ofs_lsn from;

	seal();
	from = copy_snapshot(false, 1);
	copy_log(from);
	take_other(1);
	for (unsigned int i = 0; i < 20; i++)
		cr_assert_geq(ofs_store_scrub(s), 0);
	cr_assert_eq(ofs_store_repack(s, true), 0);
	cr_assert_eq(ofs_store_verify(s, &how, &counts), 0);
	cr_assert_eq(counts.problems, 0);
	cr_assert_eq(gets, 0);
	expect_noise(a, 0, 2 * MIB, 1);
	expect_noise(b, 0, 50000, 2);
}

static void *read_all(void *arg)
{
	expect_noise(*(uint64_t *)arg, 0, 4 * MIB, 1);
	return NULL;
}

Test(store_replication, many_readers)
{
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 4 * MIB, 1);
	pthread_t thread[6];
	ofs_lsn from;

	seal();
	from = copy_snapshot(false, 1);
	copy_log(from);
	take_other(1);
	for (size_t i = 0; i < 6; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, read_all, &a), 0);
	for (size_t i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	cr_assert_lt(gets, 24);
}

Test(store_replication, the_log_is_held)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf log = OFS_BUF_INIT;
	ofs_lsn from = ofs_store_log_end(s), to, segment;

	ofs_store_hold_log(s, from, 4 * MIB);
	for (unsigned int i = 0; i < 4; i++) {
		make_noise(OFS_ROOT_INO, (char[]){ (char)('a' + i), 0 }, MIB / 2, i);
		seal();
		cr_assert_eq(ofs_store_trim(s, true), 0);
	}
	cr_assert_eq(ofs_store_export_log(s, from, UINT64_MAX, 100 * MIB, &log, &to, &segment), 0);
	cr_assert_eq(to, ofs_store_log_end(s));
	/* Log that is held only for replication does not count towards what makes writers wait. */
	cr_assert_lt(ofs_journal_size(s->journal, s->log_needed, NULL), MIB);
	for (unsigned int i = 4; i < 16; i++) {
		make_noise(OFS_ROOT_INO, (char[]){ (char)('a' + i), 0 }, MIB / 2, i);
		seal();
		cr_assert_eq(ofs_store_trim(s, true), 0);
	}
	cr_assert_lt(ofs_journal_size(s->journal, 0, NULL), 5 * MIB);
	cr_assert_eq(ofs_store_export_log(s, from, UINT64_MAX, MIB, &log, &to, &segment), -ESTALE);
}

/* However often the store is idle, since each is an open file. */
Test(store_replication, the_log_is_held_in_few_segments)
{
	ofs_store_hold_log(s, ofs_store_log_end(s), 64 * MIB);
	for (unsigned int i = 0; i < 20; i++) {
		make_noise(OFS_ROOT_INO, (char[]){ (char)('a' + i), 0 }, 100, i);
		seal();
		cr_assert_eq(ofs_store_trim(s, true), 0);
	}
	cr_expect_leq(ofs_journal_segments(s->journal), 2);
	ofs_store_hold_log(s, 0, 0);
	cr_assert_eq(ofs_store_trim(s, true), 0);
	cr_expect_eq(ofs_journal_segments(s->journal), 1);
}

static int count_changed(void *arg, uint64_t ino)
{
	++*(unsigned int *)arg;
	return 0;
}

/* On a full disk the log is punched where no draft needs it. */
Test(store_replication, a_gap_in_the_log_is_told)
{
	ofs_lsn from = ofs_store_log_end(s), to;
	unsigned int n = 0;

	make_noise(OFS_ROOT_INO, "a", 1000, 1);
	to = ofs_store_log_end(s);
	make_noise(OFS_ROOT_INO, "b", 1000, 2);
	cr_assert_eq(ofs_store_sync(s), 0);
	cr_assert_eq(ofs_store_list_changed(s, from, count_changed, &n), 0);
	cr_assert_eq(n, 4, "two were made and written");
	cr_assert_eq(ofs_journal_punch(s->journal, from, to), 0);
	cr_assert_eq(ofs_store_list_changed(s, from, count_changed, &n), -EUCLEAN);
}

static struct ofs_index_frame frames[64];
static size_t nframes;

static int note_frame(void *arg, const struct ofs_index_frame *f)
{
	frames[nframes++] = *f;
	return 0;
}

static size_t readable_frames(void)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;
	size_t n = 0;

	for (size_t i = 0; i < nframes; i++)
		n += ofs_store_copy_frame(s, &frames[i], &bytes) == 0;
	return n;
}

Test(store_replication, frames_are_pinned)
{
	struct ofs_snapshot snap = { .page_run = take_pages,
				     .draft = take_draft,
				     .frame = note_frame };
	uint64_t a = make_noise(OFS_ROOT_INO, "a", MIB, 1);

	make_noise(OFS_ROOT_INO, "b", 1000, 2);
	seal();
	cr_assert_eq(ofs_store_begin_snapshot(s, &snap), 0);
	cr_assert_eq(nframes, 5);
	remove_file(OFS_ROOT_INO, "a", a);
	seal();
	cr_assert_eq(readable_frames(), 5);
	ofs_store_end_snapshot(s, false);
	cr_assert_eq(readable_frames(), 5);
	make_noise(OFS_ROOT_INO, "c", 1000, 3);
	seal();
	cr_assert_eq(readable_frames(), 1);
}

/* Sends what is to be sent. Returns in how many extents. */
static size_t send_frames(uint32_t number)
{
	nlate = 0;
	cr_assert_eq(ofs_store_list_unsent(s, take_frame, &number), 0);
	put_late(NULL, number);
	return nlate;
}

static int commits;

static int second_commit_fails(const char *name)
{
	return strcmp(name, "index.commit") == 0 && ++commits == 2 ? -EIO : 0;
}

/* The frames of a batch whose checkpoint failed, and others that are made before the next one. */
Test(store_replication, frames_that_wait_for_a_checkpoint_are_sent)
{
	struct ofs_index_object object;
	struct ofs_index_extent e;
	struct frames all;
	char name[8];

	for (unsigned int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "%u", i);
		make_noise(OFS_ROOT_INO, name, 3000, i);
		seal();
	}
	cr_assert_gt(send_frames(1), 0);
	make_noise(OFS_ROOT_INO, "late", 2 * BLOCK, 20);
	fault_for = second_commit_fails;
	cr_assert_eq(ofs_store_seal(s), -EIO);
	fault_for = NULL;
	pthread_mutex_lock(&s->cycle);
	cr_assert_gt(ofs_store_repack(s, true), 0);
	pthread_mutex_unlock(&s->cycle);
	send_frames(2);
	seal();
	send_frames(3);
	list_frames(&all);
	for (size_t i = 0; i < all.n; i++)
		cr_assert_eq(ofs_index_find_extent(s->index, all.list[i].pack, all.list[i].off, &e,
						   &object),
			     0, "the frame at %lu", all.list[i].off);
}

static ofs_lsn waited_for;

static int wait_for(void *arg, ofs_lsn lsn)
{
	waited_for = lsn;
	return *(int *)arg;
}

Test(store_replication, a_sync_waits)
{
	int answer = 0;

	make_noise(OFS_ROOT_INO, "a", 1000, 1);
	ofs_store_set_sync_hook(s, wait_for, &answer);
	cr_assert_eq(ofs_store_sync(s), 0);
	cr_assert_eq(waited_for, ofs_store_log_end(s));
	answer = -EIO;
	cr_assert_eq(ofs_store_sync(s), -EIO);
	ofs_store_set_sync_hook(s, NULL, NULL);
	cr_assert_eq(ofs_store_sync(s), 0);
}

Test(store_replication, deposed)
{
	struct ofs_create what = { .mode = S_IFREG | 0600 };
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 1000, 1);
	struct ofs_attr attr;

	ofs_store_depose(s, "another host has taken over");
	cr_assert_eq(ofs_store_create(s, OFS_ROOT_INO, "b", &what, &attr), -EIO);
	cr_assert_eq(ofs_store_sync(s), -EIO);
	expect_noise(a, 0, 1000, 1);
}

/* ---- eviction */

static uint64_t disk_of_packs(void)
{
	struct ofs_store_stats stats;

	cr_assert_eq(ofs_store_stats(s, &stats), 0);
	return stats.packs;
}

static uint64_t evict(uint64_t keep, uint64_t durable)
{
	uint64_t left;

	cr_assert_eq(ofs_store_evict_frames(s, keep, durable, &left), 0);
	cr_assert_eq(left, disk_of_packs());
	return left;
}

Test(store_replication, eviction)
{
	uint64_t files[8], unsent, kept = 6 * MIB;

	ofs_store_set_objects(s, get_object, NULL);
	for (unsigned int i = 0; i < 8; i++) {
		files[i] = make_noise(OFS_ROOT_INO, (char[]){ (char)('a' + i), 0 }, MIB, i);
		seal();
	}
	copy_snapshot(false, 1);
	put_late(NULL, 1);
	unsent = make_noise(OFS_ROOT_INO, "unsent", MIB, 99);
	seal();
	cr_assert_gt(disk_of_packs(), 9 * MIB);
	/* Nothing is evicted before a checkpoint elsewhere covers it. */
	cr_assert_gt(evict(0, 0), 9 * MIB);
	/* Recently used frames stay, and those read ahead for them. */
	reopen_store();
	ofs_store_set_objects(s, get_object, NULL);
	expect_noise(files[2], 0, MIB, 2);
	cr_assert_leq(evict(kept, 1), kept);
	gets = 0;
	expect_noise(files[2], 0, MIB, 2);
	cr_assert_eq(gets, 0);
	for (unsigned int i = 0; i < 8; i++)
		expect_noise(files[i], 0, MIB, i);
	cr_assert_gt(gets, 0);
	cr_assert_lt(gets, 30, "%u", gets);
	/* Everything that an object holds is evicted and comes back. Nothing else is evicted. */
	cr_assert_lt(evict(0, 1), 2 * MIB);
	failing = 1;
	expect_noise(unsent, 0, MIB, 99);
	failing = 0;
	reopen_store();
	ofs_store_set_objects(s, get_object, NULL);
	for (unsigned int i = 0; i < 8; i++)
		expect_noise(files[i], 0, MIB, i);
}

struct endless {
	uint64_t ino[4];
	atomic_bool stop;
};

static void *read_endlessly(void *arg)
{
	struct endless *e = arg;

	for (unsigned int i = 0; !e->stop; i = (i + 1) % 4)
		expect_noise(e->ino[i], 0, MIB, i);
	return NULL;
}

/* Concurrent readers always get the right bytes. */
Test(store_replication, eviction_and_readers)
{
	struct endless e = { .stop = false };
	pthread_t thread[3];
	uint64_t left;

	ofs_store_set_objects(s, get_object, NULL);
	for (unsigned int i = 0; i < 4; i++)
		e.ino[i] = make_noise(OFS_ROOT_INO, (char[]){ (char)('a' + i), 0 }, MIB, i);
	seal();
	copy_snapshot(false, 1);
	put_late(NULL, 1);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, read_endlessly, &e), 0);
	for (unsigned int i = 0; i < 100; i++)
		cr_assert_eq(ofs_store_evict_frames(s, 0, 1, &left), 0);
	e.stop = true;
	for (size_t i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

/* Flips a bit in the middle of each local frame. */
static void damage_packs(void)
{
	for (size_t i = 0; i < nframes; i++) {
		char name[400];
		uint8_t byte;
		int fd;

		snprintf(name, sizeof(name), "%s/packs/%08x.pack", path, frames[i].pack);
		fd = open(name, O_RDWR);
		cr_assert_geq(fd, 0);
		cr_assert_eq(pread(fd, &byte, 1, (off_t)frames[i].off + frames[i].stored / 2), 1);
		byte ^= 1;
		cr_assert_eq(pwrite(fd, &byte, 1, (off_t)frames[i].off + frames[i].stored / 2), 1);
		close(fd);
	}
}

/* Seals all, enters an object that has the frames, and opens the store again. */
static void seal_and_copy(void)
{
	seal();
	cr_assert_eq(ofs_store_list_unsent(s, note_frame, NULL), 0);
	copy_snapshot(false, 1);
	put_late(NULL, 1);
	reopen_store();
	ofs_store_set_objects(s, get_object, NULL);
}

/* As when power fails while frames are given back. */
Test(store_replication, damage_here_is_mended)
{
	struct ofs_verify how = { .problem = NULL };
	struct ofs_verify_counts counts;
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 2 * MIB, 1);

	seal_and_copy();
	damage_packs();
	expect_noise(a, 0, 2 * MIB, 1);
	cr_assert_gt(gets, 0);
	reopen_store();
	ofs_store_set_objects(s, get_object, NULL);
	gets = 0;
	expect_noise(a, 0, 2 * MIB, 1);
	cr_assert_eq(gets, 0);
	damage_packs();
	cr_assert_eq(ofs_store_verify(s, &how, &counts), 0);
	cr_assert_eq(counts.problems, 0);
	cr_assert_eq(gets, nframes);
	reopen_store();
	ofs_store_set_objects(s, get_object, NULL);
	expect_noise(a, 0, 2 * MIB, 1);
	cr_assert_eq(gets, nframes);
}

static int unread; /* reads of files that fail */

static int fail_reads(const char *name)
{
	return strcmp(name, "io.pread") == 0 && unread && unread-- ? -EIO : 0;
}

Test(store_replication, what_the_disk_does_not_read_is_mended)
{
	uint64_t a = make_noise(OFS_ROOT_INO, "a", BLOCK, 1);
	uint8_t byte;

	seal_and_copy();
	fault_for = fail_reads;
	unread = 1;
	expect_noise(a, 0, BLOCK, 1);
	cr_assert_eq(unread, 0);
	cr_assert_eq(gets, 1);
	reopen_store();
	ofs_store_set_objects(s, get_object, NULL);
	unread = -1; /* all of them */
	cr_assert_eq(ofs_store_read(s, a, &byte, 1, 0), -EIO);
	cr_assert_eq(gets, 2);
	unread = 0;
	expect_noise(a, 0, BLOCK, 1);
	cr_assert_eq(gets, 2);
}

/* It may be the best copy that there is. */
Test(store_replication, damage_here_stays_if_the_object_is_no_better)
{
	uint64_t a = make_noise(OFS_ROOT_INO, "a", BLOCK, 1), chunks = 0;
	uint8_t byte;

	seal();
	cr_assert_eq(ofs_store_list_unsent(s, note_frame, NULL), 0);
	copy_snapshot(false, 1);
	put_late(NULL, 1);
	for (int round = 0; round < 3; round++) {
		reopen_store();
		ofs_store_set_objects(s, get_object, NULL);
		damage_packs();
		failing = round == 0;
		if (round == 1)
			objects[1].data[frames[0].stored / 2] ^= 1;
		if (round == 2)
			objects[1].len = 0;
		gets = 0;
		cr_assert_eq(ofs_store_read(s, a, &byte, 1, 0), -EIO, "round %d", round);
		cr_assert_eq(ofs_store_check_frame(s, &frames[0], &chunks), -EIO, "round %d",
			     round);
		cr_assert_eq(gets, 2, "round %d", round);
		damage_packs(); /* flips the same bits back */
		expect_noise(a, 0, BLOCK, 1);
		cr_assert_eq(gets, 2, "round %d", round);
	}
}

/* A draft over a part of its block, of which the rest is sealed with it. */
Test(store_replication, damage_here_costs_nothing_when_its_block_is_sealed)
{
	struct ofs_seal_when when = { 0 };
	uint64_t a = make_noise(OFS_ROOT_INO, "a", BLOCK / 2, 1);

	put_noise(a, BLOCK / 2, BLOCK / 2, 2);
	seal_and_copy();
	damage_packs();
	put_noise(a, 0, 1000, 3);
	/* While the remote cannot be reached, the draft waits. */
	failing = 1;
	seal();
	failing = 0;
	cr_assert_eq(gets, 1);
	cr_assert_not(has_sha(a));
	when.now = ofs_clock_monotonic() + 61 * OFS_NS_PER_S;
	cr_assert_eq(ofs_store_cycle(s, &when, true), 0);
	cr_assert_gt(gets, 1);
	cr_assert(has_sha(a));
	for (int round = 0; round < 2; round++) {
		expect_noise(a, 0, 1000, 3);
		expect_noise(a, BLOCK / 2, BLOCK / 2, 2);
		reopen_store();
	}
}

static unsigned int reads_left;

static int one_read_fails(const char *name)
{
	return strcmp(name, "index.pread") == 0 && reads_left && !--reads_left ? -EIO : 0;
}

Test(store_replication, an_index_that_cannot_be_read_is_no_damage)
{
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 100000, 1), chunks = 0;
	struct ofs_index_frame f;
	unsigned int n = 0;
	int r;

	seal();
	cr_assert_eq(ofs_store_list_unsent(s, note_frame, NULL), 0);
	copy_snapshot(false, 1);
	put_late(NULL, 1);
	do {
		reopen_store();
		ofs_store_set_objects(s, get_object, NULL);
		reads_left = ++n;
		fault_for = one_read_fails;
		r = ofs_store_check_frame(s, &frames[0], &chunks);
		fault_for = NULL;
		cr_assert_eq(r, reads_left ? 0 : -OFS_EREAD, "read %u: %d", n, r);
		cr_assert_eq(ofs_index_get_frame(s->index, frames[0].id, &f), 0);
		cr_assert_not(f.bad, "read %u", n);
		expect_noise(a, 0, 100000, 1);
		cr_assert_eq(gets, 0, "read %u", n);
	} while (!reads_left);
	cr_assert_gt(n, 2);
}

/* Enters an object with every `nth` frame from number `first` on, without reading content. */
static void put_every(const struct frames *f, size_t first, size_t nth, uint32_t number)
{
	struct ofs_index_object object = { .epoch = 1, .number = number };
	struct ofs_index_extent extents[OFS_ARRAY_SIZE(f->list)];
	size_t n = 0;

	for (size_t i = first; i < f->n; i += nth) {
		const struct ofs_index_frame *frame = &f->list[i];

		extents[n++] = (struct ofs_index_extent){ frame->pack, frame->off, frame->stored,
							  object.size };
		object.size += frame->stored;
	}
	cr_assert_eq(ofs_store_put_object(s, &object, extents, n), 0);
}

/* Some ranges have lost part of their frames before, and hold others that must stay. */
Test(store_replication, what_is_gone_is_not_given_back_again)
{
	struct frames f;
	uint64_t left, stays;
	size_t old;

	make_noise(OFS_ROOT_INO, "old", 12 * MIB, 1);
	seal();
	list_frames(&f);
	old = f.n;
	put_every(&f, 0, 2, 1);
	cr_assert_eq(ofs_store_evict_frames(s, 0, 1, &stays), 0);
	cr_assert_lt(stays, 7 * MIB);
	make_noise(OFS_ROOT_INO, "new", 4 * MIB, 2);
	seal();
	list_frames(&f);
	put_every(&f, old, 1, 2);
	cr_assert_eq(ofs_store_evict_frames(s, stays + 2 * MIB, 2, &left), 0);
	cr_assert_leq(left, stays + 2 * MIB);
}

/* Bringing a frame fetches its neighbours, too. */
Test(store_replication, what_was_removed_does_not_come_back)
{
	uint64_t ino[16], left;
	char name[8];

	for (unsigned int i = 0; i < OFS_ARRAY_SIZE(ino); i++) {
		snprintf(name, sizeof(name), "%u", i);
		ino[i] = make_noise(OFS_ROOT_INO, name, 20000, i);
		seal();
	}
	send_frames(1);
	ofs_store_set_objects(s, get_object, NULL);
	for (unsigned int i = 1; i + 1 < OFS_ARRAY_SIZE(ino); i++) {
		snprintf(name, sizeof(name), "%u", i);
		remove_file(OFS_ROOT_INO, name, ino[i]);
	}
	seal();
	left = evict(0, 1);
	expect_noise(ino[0], 0, 20000, 0);
	cr_assert_leq(disk_of_packs(), left + 28 * KIB);
	expect_noise(ino[15], 0, 20000, 15);
	cr_assert_eq(evict(0, 1), left);
}
