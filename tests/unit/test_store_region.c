/* SPDX-License-Identifier: MIT */
/* Regions: the counts of each are right at any moment, whatever moves between them. */
#include <pthread.h>

#include <offloadfs/tree.h>

#include "store/region.h"

#include "test_store_fixture.h"

TestSuite(store_region, .init = setup, .fini = teardown);

/* ---- helpers */

static uint64_t a, b, inner; /* regions: `a` and `b` in the root, `inner` in `a` */

static struct ofs_region_counts counts_of(uint64_t region)
{
	struct ofs_region_counts c;
	int r = ofs_store_count_region(s, region, &c);

	cr_assert_eq(r, 0, "%d", r);
	return c;
}

static void expect(uint64_t region, uint64_t files, uint64_t dirs, uint64_t others, uint64_t bytes)
{
	struct ofs_region_counts c = counts_of(region);

	cr_expect(c.files == files && c.dirs == dirs && c.others == others && c.bytes == bytes,
		  "%lu has %lu files, %lu directories, %lu others, %lu bytes", region, c.files,
		  c.dirs, c.others, c.bytes);
}

static void begin_regions(void)
{
	open_store();
	a = make_dir(OFS_ROOT_INO, "a");
	b = make_dir(OFS_ROOT_INO, "b");
	inner = make_dir(a, "inner");
	ofs_store_add_region(s, a);
	ofs_store_add_region(s, b);
	ofs_store_add_region(s, inner);
	expect(a, 0, 1, 0, 0);
	expect(b, 0, 0, 0, 0);
	expect(inner, 0, 0, 0, 0);
}

/* The counts that were kept up to date equal those of a new count. */
static void expect_kept_up(void)
{
	const uint64_t regions[] = { a, b, inner };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(regions); i++) {
		struct ofs_region_counts kept = counts_of(regions[i]), anew;

		ofs_store_add_region(s, regions[i]);
		anew = counts_of(regions[i]);
		cr_expect_eq(memcmp(&kept, &anew, sizeof(kept)), 0,
			     "%lu: %lu files, %lu bytes, and not %lu, %lu", regions[i], kept.files,
			     kept.bytes, anew.files, anew.bytes);
	}
}

static void link_at(uint64_t ino, uint64_t where, const char *name)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_link(s, ino, where, name, &attr), 0, "%s", name);
}

static void rename_to(uint64_t olddir, const char *name, uint64_t newdir, const char *newname,
		      unsigned int flags)
{
	int r = ofs_store_rename(s, olddir, name, newdir, newname, flags, NULL);

	cr_assert_eq(r, 0, "%s: %d", name, r);
}

static uint64_t region_of(uint64_t ino)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
	return attr.region;
}

/* ---- the effect of each change */

Test(store_region, each_has_its_own_and_what_lies_in_it)
{
	uint64_t file, fifo;

	begin_regions();
	file = make_noise(inner, "file", 1000, 1);
	fifo = make_node(b, "fifo", S_IFIFO | 0600);
	expect(inner, 1, 0, 0, 1000);
	expect(a, 1, 1, 0, 1000);
	expect(b, 0, 0, 1, 0);
	cr_expect_eq(region_of(file), inner);
	cr_expect_eq(region_of(inner), inner);
	cr_expect_eq(region_of(fifo), b);
	cr_expect_eq(region_of(OFS_ROOT_INO), OFS_ROOT_INO);
	remove_file(inner, "file", file);
	remove_file(b, "fifo", fifo);
	expect(a, 0, 1, 0, 0);
	expect(b, 0, 0, 0, 0);
	expect_kept_up();
}

Test(store_region, sizes_are_followed)
{
	struct ofs_setattr cut = { .set = OFS_SET_SIZE, .size = 10 };
	uint64_t file;

	begin_regions();
	file = make_noise(inner, "file", 300000, 1);
	cr_assert_eq(ofs_store_setattr(s, file, &cut, NULL), 0);
	expect(a, 1, 1, 0, 10);
	put_noise(file, 5000, 100, 1);
	expect(inner, 1, 0, 0, 5100);
	seal();
	expect(inner, 1, 0, 0, 5100);
	cr_assert_eq(ofs_store_zero(s, file, 0, 9000, true), 0);
	expect_kept_up();
}

Test(store_region, an_unlinked_file_counts_no_more)
{
	uint64_t file;
	struct ofs_attr attr;

	begin_regions();
	file = make_noise(a, "file", 1000, 1);
	cr_assert_eq(ofs_store_hold(s, file, &attr), 0);
	cr_assert_eq(ofs_store_unlink(s, a, "file", NULL), 0);
	put_noise(file, 5000, 100, 1);
	expect(a, 0, 1, 0, 0);
	expect_kept_up();
}

Test(store_region, a_file_of_several_names_counts_once)
{
	uint64_t d, e, file;

	begin_regions();
	d = make_dir(a, "d");
	e = make_dir(a, "e");
	file = make_noise(d, "x", 1000, 1);
	link_at(file, e, "y");
	link_at(file, d, "z");
	expect(a, 1, 3, 0, 1000);
	expect_kept_up();
	cr_assert_eq(ofs_store_unlink(s, d, "z", NULL), 0);
	cr_assert_eq(ofs_store_unlink(s, d, "x", NULL), 0);
	expect(a, 1, 3, 0, 1000);
	rename_to(e, "y", d, "y", 0);
	expect(a, 1, 3, 0, 1000);
	remove_file(d, "y", file);
	expect(a, 0, 3, 0, 0);
	expect_kept_up();
}

Test(store_region, files_move)
{
	uint64_t file, other;

	begin_regions();
	file = make_noise(a, "file", 1000, 1);
	other = make_noise(b, "other", 30, 2);
	rename_to(a, "file", b, "file", 0);
	expect(a, 0, 1, 0, 0);
	expect(b, 2, 0, 0, 1030);
	cr_expect_eq(region_of(file), b);
	rename_to(b, "file", inner, "file", 0);
	expect(a, 1, 1, 0, 1000);
	rename_to(inner, "file", a, "file", 0);
	expect(inner, 0, 0, 0, 0);
	expect(a, 1, 1, 0, 1000);
	rename_to(a, "file", b, "other", RENAME_EXCHANGE);
	expect(a, 1, 1, 0, 30);
	expect(b, 1, 0, 0, 1000);
	expect_kept_up();
	/* Over an existing file. */
	rename_to(a, "file", b, "other", 0);
	expect(a, 0, 1, 0, 0);
	expect(b, 1, 0, 0, 30);
	cr_expect_eq(region_of(other), b);
	expect_kept_up();
}

Test(store_region, directories_move_with_what_is_in_them)
{
	uint64_t d, e, file;

	begin_regions();
	d = make_dir(a, "d");
	e = make_dir(d, "e");
	file = make_noise(e, "file", 1000, 1);
	cr_expect_eq(region_of(file), a);
	rename_to(a, "d", b, "d", 0);
	cr_expect_eq(region_of(file), b);
	cr_expect_eq(region_of(e), b);
	expect(a, 0, 1, 0, 0);
	expect(b, 1, 2, 0, 1000);
	put_noise(file, 1000, 500, 1);
	expect(b, 1, 2, 0, 1500);
	rename_to(b, "d", OFS_ROOT_INO, "d", 0);
	cr_expect_eq(region_of(file), OFS_ROOT_INO);
	expect(b, 0, 0, 0, 0);
	/* A directory that contains a region. */
	rename_to(OFS_ROOT_INO, "a", b, "a", 0);
	cr_expect_eq(region_of(inner), inner);
	make_noise(inner, "more", 7, 1);
	expect(b, 1, 2, 0, 7);
	expect_kept_up();
}

/* Makes a file called "x" in two new directories of `a`. */
static uint64_t file_of_two_names(uint64_t *ret_d, uint64_t *ret_e)
{
	uint64_t file;

	begin_regions();
	*ret_d = make_dir(a, "d");
	*ret_e = make_dir(a, "e");
	file = make_noise(*ret_e, "x", 1000, 1);
	link_at(file, *ret_d, "x");
	return file;
}

/* The directory remembered for a file may have lost it, changed its region, or be gone. */
Test(store_region, a_file_is_where_its_names_are)
{
	uint64_t d, e, file = file_of_two_names(&d, &e);

	cr_assert_eq(ofs_store_unlink(s, d, "x", NULL), 0);
	rename_to(a, "d", b, "d", 0);
	cr_expect_eq(region_of(file), a);
	expect(a, 1, 2, 0, 1000);
	expect(b, 0, 1, 0, 0);
	put_noise(file, 1000, 1000, 1);
	expect(a, 1, 2, 0, 2000);
	expect(b, 0, 1, 0, 0);
	cr_assert_eq(ofs_store_rmdir(s, b, "d"), 0);
	remove_file(e, "x", file);
	expect(a, 0, 2, 0, 0);
	expect(b, 0, 0, 0, 0);
	expect_kept_up();
}

Test(store_region, a_file_is_where_its_names_are_after_one_was_replaced)
{
	uint64_t d, e, file = file_of_two_names(&d, &e);

	make_noise(d, "new", 10, 2);
	rename_to(d, "new", d, "x", 0);
	rename_to(a, "d", b, "d", 0);
	cr_expect_eq(region_of(file), a);
	expect(a, 1, 2, 0, 1000);
	remove_file(e, "x", file);
	expect(a, 0, 2, 0, 0);
	expect(b, 1, 1, 0, 10);
	expect_kept_up();
}

Test(store_region, it_may_be_removed)
{
	struct ofs_region_counts c;

	begin_regions();
	make_noise(inner, "file", 1000, 1);
	ofs_store_remove_region(s, inner);
	cr_expect_eq(ofs_store_count_region(s, inner, &c), -ENOENT);
	cr_expect_eq(region_of(inner), a);
	expect(a, 1, 1, 0, 1000);
	make_noise(inner, "more", 10, 2);
	expect(a, 2, 1, 0, 1010);
	ofs_store_add_region(s, inner);
	expect(inner, 2, 0, 0, 1010);
	expect_kept_up();
}

Test(store_region, an_entry_without_an_inode_hides_no_other)
{
	char sql[64];

	begin_regions();
	snprintf(sql, sizeof(sql), "DELETE FROM inode WHERE ino = %lu",
		 make_noise(inner, "lost", 1000, 1));
	make_noise(inner, "file", 10, 2);
	close_store();
	run_sql(sql);
	open_store();
	ofs_store_add_region(s, inner);
	expect(inner, 1, 0, 0, 10);
}

/* ---- concurrent changes */

#define ROUNDS 300

static void *change(void *arg)
{
	char name[32];

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t file = make_noise(a, "new", 100, (uint64_t)i);

		snprintf(name, sizeof(name), "%d", i);
		rename_to(a, "new", i % 2 ? inner : b, name, 0);
		if (i % 3 == 0)
			remove_file(i % 2 ? inner : b, name, file);
		if (i % 50 == 0) {
			make_dir(a, "d");
			rename_to(a, "d", b, "d", 0);
			cr_assert_eq(ofs_store_rmdir(s, b, "d"), 0);
		}
	}
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

Test(store_region, counts_are_right_while_it_changes)
{
	atomic_bool done = false;
	pthread_t thread;

	begin_regions();
	cr_assert_eq(pthread_create(&thread, NULL, change, &done), 0);
	while (!atomic_load(&done)) {
		struct ofs_region_counts c;

		ofs_store_add_region(s, a);
		c = counts_of(a);
		cr_expect(c.files <= ROUNDS && c.bytes <= ROUNDS * 100 && c.dirs <= 2);
	}
	pthread_join(thread, NULL);
	expect(b, ROUNDS / 3, 0, 0, ROUNDS / 3 * 100);
	expect(inner, ROUNDS / 3, 0, 0, ROUNDS / 3 * 100);
	expect_kept_up();
}
