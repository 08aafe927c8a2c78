/* SPDX-License-Identifier: MIT */
/* Statistics are right at any moment and after any start. */
#include <offloadfs/tree.h>

#include "test_store_fixture.h"

static void teardown_faults(void)
{
	fault_for = NULL;
	teardown();
}

TestSuite(store_stats, .init = setup, .fini = teardown_faults);

static struct ofs_store_stats stats(void)
{
	struct ofs_store_stats st;

	cr_assert_eq(ofs_store_stats(s, &st), 0);
	return st;
}

static void expect_counts(uint64_t files, uint64_t dirs, uint64_t others, uint64_t bytes)
{
	struct ofs_store_stats st = stats();

	cr_assert_eq(st.files, files, "%lu files", st.files);
	cr_assert_eq(st.dirs, dirs, "%lu directories", st.dirs);
	cr_assert_eq(st.others, others, "%lu others", st.others);
	cr_assert_eq(st.bytes, bytes, "%lu bytes", st.bytes);
}

/* The counts survive a kill, a checkpoint and a clean end. */
static void expect_lasting(uint64_t files, uint64_t dirs, uint64_t others, uint64_t bytes)
{
	expect_counts(files, dirs, others, bytes);
	crash_store();
	expect_counts(files, dirs, others, bytes);
	seal();
	expect_counts(files, dirs, others, bytes);
	reopen_store();
	expect_counts(files, dirs, others, bytes);
}

Test(store_stats, counts_follow_every_change)
{
	struct ofs_setattr cut = { .set = OFS_SET_SIZE, .size = 10 };
	uint64_t d, a, b;
	struct ofs_attr attr;

	open_store();
	expect_counts(0, 1, 0, 0);
	d = make_dir(OFS_ROOT_INO, "d");
	a = make_noise(d, "a", 1000, 1);
	b = make_noise(d, "b", 300000, 2);
	make_node(d, "fifo", S_IFIFO | 0600);
	expect_lasting(2, 2, 1, 301000);
	cr_assert_eq(ofs_store_link(s, a, OFS_ROOT_INO, "a2", &attr), 0);
	cr_assert_eq(ofs_store_setattr(s, b, &cut, NULL), 0);
	expect_lasting(2, 2, 1, 1010);
	cr_assert_eq(ofs_store_unlink(s, d, "a", NULL), 0);
	cr_assert_eq(ofs_store_rename(s, OFS_ROOT_INO, "a2", d, "b", 0, NULL), 0);
	expect_lasting(1, 2, 1, 1000);
	/* An unlinked file no longer counts, even while it is held and changes its size. */
	cr_assert_eq(ofs_store_hold(s, a, &attr), 0);
	cr_assert_eq(ofs_store_unlink(s, d, "b", NULL), 0);
	put_noise(a, 5000, 100, 1);
	expect_lasting(0, 2, 1, 0);
	cr_assert_eq(ofs_store_unlink(s, d, "fifo", NULL), 0);
	cr_assert_eq(ofs_store_rmdir(s, OFS_ROOT_INO, "d"), 0);
	expect_lasting(0, 1, 0, 0);
}

Test(store_stats, what_lies_where)
{
	struct ofs_store_stats st;
	uint64_t a;

	open_store();
	a = make_noise(OFS_ROOT_INO, "a", 300000, 1);
	make_noise(OFS_ROOT_INO, "b", 1000, 2);
	st = stats();
	cr_assert_eq(st.draft_files, 2);
	cr_assert_eq(st.draft_bytes, 301000);
	cr_assert_eq(st.packs, 0);
	cr_assert_geq(st.journal, 301000);
	cr_assert_gt(st.index, 0);
	cr_assert_eq(st.held, 2);
	cr_assert_eq(st.cached, 3);
	cr_assert(!st.tight && !st.broken && !st.error);
	seal();
	ofs_store_forget(s, a, 1);
	st = stats();
	cr_assert_eq(st.draft_files, 0);
	cr_assert_eq(st.draft_bytes, 0);
	cr_assert_geq(st.packs, 301000);
	cr_assert_eq(st.held, 1);
}

static void ignore_problem(void *arg, uint64_t ino, const char *what, bool repaired)
{
}

Test(store_stats, a_repair_counts_anew)
{
	struct ofs_verify verify = { .repair = true, .problem = ignore_problem };
	struct ofs_verify_counts counts;

	open_store();
	make_noise(OFS_ROOT_INO, "a", 1000, 1);
	make_noise(OFS_ROOT_INO, "b", 1000, 1);
	close_store();
	run_sql("DELETE FROM inode WHERE ino = 2");
	open_store();
	cr_assert_eq(ofs_store_verify(s, &verify, &counts), 0);
	cr_assert_gt(counts.repaired, 0);
	expect_lasting(1, 1, 0, 1000);
}

static int no_room(const char *name)
{
	return strcmp(name, "io.allocate") == 0 ? -ENOSPC : 0;
}

/* The reserve cannot be filled, so only changes that free space are accepted. */
Test(store_stats, a_full_disk_shows_and_leaves_what_frees_space)
{
	struct statvfs disk, st;
	uint64_t a, b;

	open_store();
	a = make_noise(OFS_ROOT_INO, "a", 300000, 1);
	b = make_in(OFS_ROOT_INO, "b");
	cr_assert_eq(ofs_store_setxattr(s, a, "n", "v", 1, 0), 0);
	fault_for = no_room;
	ofs_reserve_fill(s);
	cr_assert(stats().tight);
	/* The missing reserve is not available to users. Others may use the disk meanwhile. */
	cr_assert_eq(statvfs(path, &disk), 0);
	cr_assert_eq(ofs_store_statfs(s, &st), 0);
	cr_assert_lt(st.f_bavail, disk.f_bavail * disk.f_frsize / 4096 - 4 * MIB / 4096);
	cr_assert_eq(ofs_store_setxattr(s, a, "m", "v", 1, 0), -ENOSPC);
	cr_assert_eq(ofs_store_copy(s, a, 0, b, 0, 300000), -ENOSPC);
	cr_assert_eq(ofs_store_allocate(s, b, 0, 1, false), -ENOSPC);
	cr_assert_eq(ofs_store_removexattr(s, a, "n"), 0);
	cr_assert_eq(ofs_store_zero(s, a, 0, 300000, false), 0);
	fault_for = NULL;
	ofs_reserve_fill(s);
	cr_assert_not(stats().tight);
	cr_assert_eq(ofs_store_setxattr(s, a, "m", "v", 1, 0), 0);
}

static int no_sync(const char *name)
{
	return strcmp(name, "io.datasync") == 0 ? -EIO : 0;
}

Test(store_stats, a_sync_that_failed_shows)
{
	open_store();
	make_noise(OFS_ROOT_INO, "a", 1000, 1);
	cr_assert_eq(stats().error, 0);
	fault_for = no_sync;
	cr_assert_lt(ofs_store_sync(s), 0);
	fault_for = NULL;
	cr_assert_eq(stats().error, -EIO);
}

Test(store_stats, the_filesystem_adds_up)
{
	struct statvfs st, disk;

	open_store();
	make_noise(OFS_ROOT_INO, "a", 1000, 1);
	cr_assert_eq(ofs_store_statfs(s, &st), 0);
	cr_assert_eq(statvfs(path, &disk), 0);
	cr_assert_eq(st.f_frsize, 4096);
	cr_assert_eq(st.f_bsize, 4096);
	cr_assert_eq(st.f_blocks, disk.f_blocks * disk.f_frsize / 4096);
	cr_assert_leq(st.f_bavail, st.f_bfree);
	cr_assert_eq(st.f_files - st.f_ffree, 2);
	cr_assert_eq(st.f_favail, st.f_ffree);
	cr_assert_gt(st.f_ffree, 0);
}
