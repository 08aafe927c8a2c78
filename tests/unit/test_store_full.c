/* SPDX-License-Identifier: MIT */
/* A full disk: removing works, writers get an error and succeed later, and nothing is lost. */
#include "store/replication.h"
#include "test_store_fixture.h"

static void setup_quick(void)
{
	setup();
	usual.seal_delay_ms = 20;
}

static void teardown_room(void)
{
	fault_for = NULL;
	teardown();
}

TestSuite(store_full, .init = setup_quick, .fini = teardown_room);

/* ---- a disk with no room but what is given back */

/* How many more writes find room. Truncating gives back room for ROOM_BACK of them. */
static atomic_long room;
static atomic_ulong refused;

#define ROOM_BACK 200

static bool takes_room(const char *name)
{
	static const char *const all[] = { "io.pwrite", "io.pwritev", "io.allocate",
					   "index.pwrite" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(all); i++)
		if (strcmp(name, all[i]) == 0)
			return true;
	return false;
}

static int on_full_disk(const char *name)
{
	if (strcmp(name, "io.truncate") == 0)
		room = ROOM_BACK;
	if (!takes_room(name))
		return 0;
	/* Allocating the reserve must fail, as it would cost less than giving it up gives back. */
	if (strcmp(name, "io.allocate") != 0 && atomic_fetch_sub(&room, 1) > 0)
		return 0;
	refused++;
	return -ENOSPC;
}

/* Holds `cycle`, since a running cycle would give room back by emptying the index's WAL. */
static void fill_disk(void)
{
	pthread_mutex_lock(&s->cycle);
	room = 0;
	refused = 0;
	fault_for = on_full_disk;
	pthread_mutex_unlock(&s->cycle);
}

static void empty_disk(void)
{
	fault_for = NULL;
}

/* Polls until `test` returns true, limited only by the timeout of the test. */
static void wait_until(bool (*test)(uint64_t arg), uint64_t arg)
{
	while (!test(arg))
		usleep(2000);
}

static bool is_sealed(uint64_t ino)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
	return attr.sealed && ofs_store_refs(s, ino);
}

static bool can_write(uint64_t ino)
{
	ssize_t n = ofs_store_write(s, ino, "later", 5, 0);

	cr_assert(n == 5 || n == -ENOSPC, "%zd", n);
	return n == 5;
}

static bool is_not_tight(uint64_t arg)
{
	return !s->reserve.tight;
}

static void start_store(void)
{
	open_store();
	cr_assert_eq(ofs_store_start(s), 0);
}

Test(store_full, the_reserve_is_set_aside_and_given_up)
{
	struct stat st;

	start_store();
	cr_assert_eq(stat(below("reserve"), &st), 0);
	cr_assert_geq(st.st_blocks * 512, 4 << 20);
	close_store();
	cr_assert_eq(stat(below("reserve"), &st), -1, "it is there only while the store is open");
}

Test(store_full, writers_are_told_and_removing_works)
{
	uint64_t kept, removed, late;
	struct ofs_attr attr;

	start_store();
	kept = make_noise(OFS_ROOT_INO, "kept", 50000, 1);
	removed = make_noise(OFS_ROOT_INO, "removed", 3 * BLOCK, 2);
	late = make_in(OFS_ROOT_INO, "late");
	wait_until(is_sealed, kept);
	wait_until(is_sealed, removed);
	fill_disk();
	cr_assert_eq(ofs_store_write(s, late, "now", 3, 0), -ENOSPC);
	cr_assert_gt(refused, 0);
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "removed", NULL), 0, "removing has room");
	ofs_store_forget(s, removed, 1);
	cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, "removed", &attr), -ENOENT);
	expect_noise(kept, 0, 50000, 1);
	cr_assert_eq(ofs_store_write(s, late, "now", 3, 0), -ENOSPC);
	empty_disk();
	wait_until(can_write, late);
	wait_until(is_not_tight, 0);
	for (int round = 0; round < 2; round++) {
		uint8_t buf[8];

		expect_noise(kept, 0, 50000, 1);
		cr_assert_eq(ofs_store_read(s, late, buf, 8, 0), 5);
		cr_assert_eq(memcmp(buf, "later", 5), 0);
		cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, "removed", &attr), -ENOENT);
		close_store();
		start_store();
	}
}

static int on_no_room(const char *name)
{
	return takes_room(name) ? -ENOSPC : 0;
}

Test(store_full, who_may_not_wait_is_told_and_has_changed_nothing)
{
	struct ofs_create file = { .mode = S_IFREG | 0600 };
	struct ofs_move marked = {
		.dir = OFS_ROOT_INO,
		.newdir = OFS_ROOT_INO,
		.name = "a",
		.newname = "b",
		.mark = "user.mark",
		.value = { .data = (uint8_t *)"x", .len = 1 },
	};
	uint64_t ino, other;
	struct ofs_attr attr;

	start_store();
	ino = make_noise(OFS_ROOT_INO, "a", 3 * BLOCK, 1);
	other = make_in(OFS_ROOT_INO, "other");
	fault_for = on_no_room;
	ofs_store_set_nonblocking(true);
	cr_expect_eq(ofs_store_create(s, OFS_ROOT_INO, "b", &file, &attr), -EAGAIN);
	cr_expect_eq(ofs_store_link(s, ino, OFS_ROOT_INO, "b", &attr), -EAGAIN);
	cr_expect_eq(ofs_store_move(s, &marked, NULL), -EAGAIN);
	cr_expect_eq(ofs_store_write(s, other, "now", 3, 0), -EAGAIN);
	cr_expect_eq(ofs_store_copy(s, ino, 0, other, 0, 3 * BLOCK), -EAGAIN);
	cr_expect_eq(ofs_store_setxattr(s, other, "user.a", "b", 1, 0), -EAGAIN);
	ofs_reserve_release(s);
	cr_expect_eq(ofs_store_allocate(s, ino, 0, 4 * BLOCK, false), -EAGAIN);
	ofs_store_set_nonblocking(false);
	empty_disk();
	cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, "b", &attr), -ENOENT);
	cr_assert_eq(ofs_store_getattr(s, other, &attr), 0);
	cr_assert_eq(attr.size, 0);
	cr_assert_eq(ofs_store_getxattr(s, other, "user.a", NULL, 0), -ENODATA);
	expect_noise(ino, 0, 3 * BLOCK, 1);
	wait_until(can_write, ino);
}

/* Refuses one record. */
static int on_one_append(const char *name)
{
	if (strcmp(name, "io.pwritev") != 0 || refused)
		return 0;
	refused++;
	return -ENOSPC;
}

Test(store_full, after_a_moment_without_room_nothing_is_refused)
{
	uint64_t ino;
	struct ofs_attr attr;

	start_store();
	ino = make_noise(OFS_ROOT_INO, "a", 1000, 1);
	make_in(OFS_ROOT_INO, "removed");
	refused = 0;
	fault_for = on_one_append;
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "removed", NULL), 0);
	cr_assert_eq(refused, 1);
	cr_expect_eq(ofs_store_link(s, ino, OFS_ROOT_INO, "b", &attr), 0);
	cr_expect_not(s->reserve.tight);
}

/* Fills and gives up the reserve, as when a cycle of the sealer has found the disk full. */
Test(store_full, whatever_takes_room_waits_for_the_sealer_to_make_some)
{
	uint64_t ino;
	struct ofs_attr attr;

	start_store();
	ino = make_noise(OFS_ROOT_INO, "a", 1000, 1);
	ofs_reserve_fill(s);
	ofs_reserve_release(s);
	cr_expect_eq(ofs_store_link(s, ino, OFS_ROOT_INO, "b", &attr), 0);
	ofs_reserve_fill(s);
	ofs_reserve_release(s);
	cr_expect_eq(ofs_store_allocate(s, ino, 0, 5000, false), 0);
	cr_expect_not(s->reserve.tight);
}

Test(store_full, what_waits_to_be_sealed_is_kept_and_sealed_later)
{
	uint64_t f[20];
	char name[8];

	start_store();
	for (uint64_t i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_noise(OFS_ROOT_INO, name, 20000, i);
	}
	fill_disk();
	while (!refused)
		usleep(2000);
	for (uint64_t i = 0; i < 20; i++)
		expect_noise(f[i], 0, 20000, i);
	empty_disk();
	cr_assert_eq(ofs_store_seal(s), 0);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 20; i++) {
			expect_noise(f[i], 0, 20000, i);
			cr_assert(!round || has_sha(f[i]));
		}
		close_store();
		start_store();
	}
}

Test(store_full, a_store_that_is_closed_while_the_disk_is_full_loses_nothing)
{
	uint64_t f, removed;
	struct ofs_attr attr;

	start_store();
	f = make_noise(OFS_ROOT_INO, "f", 100000, 1);
	removed = make_noise(OFS_ROOT_INO, "removed", 100000, 2);
	fill_disk();
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "removed", NULL), 0);
	ofs_store_forget(s, removed, 1);
	close_store();
	empty_disk();
	start_store();
	expect_noise(f, 0, 100000, 1);
	cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, "removed", &attr), -ENOENT);
}

static unsigned int commits_left;

static int one_commit_fails(const char *name)
{
	return strcmp(name, "index.commit") == 0 && commits_left && !--commits_left ? -EIO : 0;
}

/* Each commit in turn fails while the reserve is used. */
Test(store_full, another_error_is_not_taken_for_a_full_disk)
{
	unsigned int n = 0, failed = 0;
	uint64_t f;
	int r;

	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	do {
		put_noise(f, 0, 5000, ++n);
		ofs_reserve_fill(s);
		ofs_reserve_release(s);
		commits_left = n;
		fault_for = one_commit_fails;
		r = ofs_store_seal(s);
		fault_for = NULL;
		cr_assert(r == 0 || r == -EIO, "commit %u: %d", n, r);
		failed += r < 0;
	} while (!commits_left);
	cr_assert_gt(failed, 1);
	expect_noise(f, 0, 5000, n);
}

static int no_pack_is_written(const char *name)
{
	return strcmp(name, "io.pwrite") == 0 ? -ENOSPC : 0;
}

static uint64_t make_to_be_sealed(const char *name, size_t len, uint64_t seed,
				  int (*fault)(const char *))
{
	uint64_t ino = make_noise(OFS_ROOT_INO, name, len, seed);

	commits_left = 1;
	fault_for = fault;
	cr_assert_lt(ofs_store_seal(s), 0);
	fault_for = NULL;
	return ino;
}

/* After a failed commit, a pack that cannot be written: before or after the next commit. */
static void fail_twice(bool at_once)
{
	uint64_t gone, a, b;
	uint64_t before;

	open_store();
	gone = make_noise(OFS_ROOT_INO, "gone", 4 * MIB, 1);
	seal();
	a = make_to_be_sealed("a", BLOCK, 2, one_commit_fails);
	if (!at_once)
		seal();
	b = make_to_be_sealed("b", BLOCK, 3, no_pack_is_written);
	seal();
	before = disk_usage("packs");
	remove_file(OFS_ROOT_INO, "gone", gone);
	seal();
	/* Blocks at both ends hold something else as well. */
	cr_assert_leq(disk_usage("packs"), before - 4 * MIB + 8 * KIB);
	for (int round = 0; round < 2; round++) {
		expect_noise(a, 0, BLOCK, 2);
		expect_noise(b, 0, BLOCK, 3);
		reopen_store();
	}
}

Test(store_full, space_is_given_back_after_a_failed_commit_and_a_full_disk)
{
	fail_twice(false);
}

Test(store_full, space_is_given_back_after_a_failed_commit_on_a_full_disk)
{
	fail_twice(true);
}

static int no_commit_has_room(const char *name)
{
	return strcmp(name, "index.commit") == 0 ? -ENOSPC : 0;
}

Test(store_full, tries_to_commit_leave_nothing_in_the_packs)
{
	uint64_t a;

	open_store();
	a = make_noise(OFS_ROOT_INO, "a", MIB, 1);
	fault_for = no_commit_has_room;
	for (int i = 0; i < 4; i++)
		cr_assert_eq(ofs_store_seal(s), -ENOSPC);
	fault_for = NULL;
	cr_assert_leq(disk_usage("packs"), MIB + 16 * KIB);
	seal();
	cr_assert_leq(disk_usage("packs"), MIB + 16 * KIB);
	reopen_store();
	expect_noise(a, 0, MIB, 1);
}

static unsigned int syncs;
static bool is_last;

/*
 * The second sync of the index, that of the frames of its log, finds no room, and with `is_last` no
 * commit after it.
 */
static int the_sync_fails(const char *name)
{
	if (strcmp(name, "index.sync") == 0)
		return ++syncs == 2 ? -ENOSPC : 0;
	return strcmp(name, "index.commit") == 0 && syncs >= 2 && is_last ? -ENOSPC : 0;
}

/* Small frames are joined, and the commit cannot be synced. The next start may find it. */
static void join_without_room(bool last)
{
	uint64_t f[10], before;
	char name[8];

	open_store();
	for (uint64_t i = 0; i < OFS_ARRAY_SIZE(f); i++) {
		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_noise(OFS_ROOT_INO, name, 20000, i);
		seal();
	}
	before = disk_usage("packs");
	is_last = last;
	fault_for = the_sync_fails;
	pthread_mutex_lock(&s->cycle);
	cr_assert_eq(ofs_store_repack(s, true), -ENOSPC);
	pthread_mutex_unlock(&s->cycle);
	cr_assert_geq(syncs, 2);
	cr_assert_eq(disk_usage("packs") > before, last);
	kill_store();
	fault_for = NULL;
	open_store();
	cr_assert_eq(count_frames(), last ? 1 : OFS_ARRAY_SIZE(f));
	for (uint64_t i = 0; i < OFS_ARRAY_SIZE(f); i++)
		expect_noise(f[i], 0, 20000, i);
}

Test(store_full, a_commit_that_was_not_synced_may_be_in_effect)
{
	join_without_room(true);
}

Test(store_full, a_commit_that_was_not_synced_is_replaced_by_another)
{
	join_without_room(false);
}

static int one_write_to_the_index_fails(const char *name)
{
	return strcmp(name, "index.pwrite") == 0 && !refused++ ? -ENOSPC : 0;
}

Test(store_full, the_log_of_the_index_is_emptied_although_the_index_cannot_shrink)
{
	uint64_t f[2000];
	char name[200];
	struct stat st;

	open_store();
	/* Removing a segment of the log would empty that of the index. */
	ofs_store_hold_log(s, ofs_store_log_end(s), UINT64_MAX);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(f); i++) {
		snprintf(name, sizeof(name), "%0150zu", i);
		f[i] = make_in(OFS_ROOT_INO, name);
	}
	seal();
	for (size_t i = 0; i < OFS_ARRAY_SIZE(f); i++) {
		snprintf(name, sizeof(name), "%0150zu", i);
		remove_file(OFS_ROOT_INO, name, f[i]);
	}
	pthread_mutex_lock(&s->cycle);
	cr_assert_eq(ofs_store_checkpoint(s, NULL), 0);
	refused = 0;
	fault_for = one_write_to_the_index_fails;
	cr_expect_eq(ofs_index_checkpoint(s->index), 0);
	fault_for = NULL;
	pthread_mutex_unlock(&s->cycle);
	cr_expect_gt(refused, 1);
	cr_assert_eq(stat(below("index.db-wal"), &st), 0);
	cr_expect_eq(st.st_size, 0);
}

/* ---- giving back the space between drafts */

#define DRAFTS 200
#define DRAFT_LEN 20000

/* Refuses room for packs and the reserve. Writes to the journal still succeed. */
static int on_tight_disk(const char *name)
{
	if (strcmp(name, "io.pwrite") != 0 && strcmp(name, "io.allocate") != 0)
		return 0;
	refused++;
	return -ENOSPC;
}

static void expect_odd_drafts(const uint64_t *f)
{
	for (uint64_t i = 1; i < DRAFTS; i += 2)
		expect_noise(f[i], 0, DRAFT_LEN, i);
}

Test(store_full, the_journal_gives_back_what_lies_between_drafts)
{
	uint64_t f[DRAFTS], before, late;
	char name[8];

	usual.seal_delay_ms = 3600000;
	start_store();
	for (uint64_t i = 0; i < DRAFTS; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_noise(OFS_ROOT_INO, name, DRAFT_LEN, i);
	}
	late = make_in(OFS_ROOT_INO, "late");
	before = disk_usage("journal");
	cr_assert_geq(before, DRAFTS * DRAFT_LEN);
	for (uint64_t i = 0; i < DRAFTS; i += 2) {
		snprintf(name, sizeof(name), "%lu", i);
		remove_file(OFS_ROOT_INO, name, f[i]);
	}
	fault_for = on_tight_disk;
	cr_assert(ofs_store_make_room(s, &(int){ -ENOSPC }), "a writer that found the disk full");
	cr_assert_gt(refused, 0);
	cr_assert_leq(disk_usage("journal"), before - DRAFTS * DRAFT_LEN / 3);
	expect_odd_drafts(f);
	empty_disk();
	wait_until(can_write, late);
	cr_assert(is_not_tight(0));
	expect_odd_drafts(f);
	close_store();
	start_store();
	expect_odd_drafts(f);
	cr_assert_eq(ofs_store_seal(s), 0);
	expect_odd_drafts(f);
	close_store();
	start_store();
	expect_odd_drafts(f);
}

Test(store_full, drafts_are_sealed_to_make_room_for_a_writer)
{
	uint64_t f[DRAFTS];
	char name[8];

	usual.seal_delay_ms = 3600000;
	start_store();
	for (uint64_t i = 0; i < DRAFTS; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_in(OFS_ROOT_INO, name);
		put_noise(f[i], 0, DRAFT_LEN, i % 2);
	}
	cr_assert(ofs_store_make_room(s, &(int){ -ENOSPC }));
	wait_until(is_not_tight, 0);
	cr_assert_eq(count_frames(), 1, "all of it was one of two");
	for (uint64_t i = 0; i < DRAFTS; i++)
		expect_noise(f[i], 0, DRAFT_LEN, i % 2);
	cr_assert_leq(disk_usage("journal"), DRAFTS * DRAFT_LEN / 2);
	cr_assert(!ofs_store_make_room(s, &(int){ -ENOSPC }), "there is nothing more to be had");
}
