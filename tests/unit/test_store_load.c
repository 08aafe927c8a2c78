/* SPDX-License-Identifier: MIT */
/* What is loaded from the index, and what is loaded with it. */
#include <offloadfs/tree.h>

#include "test_store_fixture.h"

#define FILES 100u

TestSuite(store_load, .init = setup, .fini = teardown);

static uint64_t first;

/* Every seventh is empty, every tenth of two blocks, every eleventh a hole and a byte. */
static size_t length(uint64_t i)
{
	return i % 7 == 0 ? 0 : i % 10 == 0 ? BLOCK + 100 : 1000 + i;
}

static void make_files(void)
{
	char name[16];

	open_store();
	for (uint64_t i = 0; i < FILES; i++) {
		uint64_t ino;

		snprintf(name, sizeof(name), "%lu", i);
		ino = make_noise(OFS_ROOT_INO, name, length(i), i);
		if (i % 11 == 5)
			put_noise(ino, 2 * BLOCK, 1, i);
		ofs_store_forget(s, ino, 1);
		first = i ? first : ino;
		cr_assert_eq(ino, first + i, "numbers are given one after the other");
	}
	seal();
	reopen_store();
}

static struct ofs_inode *in_memory(uint64_t i)
{
	return ofs_map_get(&s->inodes, first + i);
}

static void expect_file(uint64_t i)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_getattr(s, first + i, &attr), 0, "%lu", i);
	cr_assert_eq(attr.size, i % 11 == 5 ? 2 * BLOCK + 1 : length(i), "%lu", i);
	expect_noise(first + i, 0, length(i), i);
	if (i % 11 == 5)
		expect_noise(first + i, 2 * BLOCK, 1, i);
}

Test(store_load, one_is_loaded_alone_and_two_with_those_behind)
{
	struct ofs_attr attr;

	make_files();
	cr_assert_eq(ofs_store_getattr(s, first + 20, &attr), 0);
	cr_expect_null(in_memory(21));
	cr_assert_eq(ofs_store_getattr(s, first + 21, &attr), 0);
	cr_expect_not_null(in_memory(22));
	cr_expect_not_null(in_memory(60));
	cr_expect_null(in_memory(19));
	cr_expect_not(in_memory(22)->content.loaded);
	expect_noise(first + 22, 0, length(22), 22);
	cr_expect_not(in_memory(23)->content.loaded);
	expect_noise(first + 23, 0, length(23), 23);
	cr_expect(in_memory(24)->content.loaded);
	cr_expect_not(in_memory(30)->content.loaded, "it has two blocks");
}

Test(store_load, in_any_order)
{
	make_files();
	for (uint64_t i = 0; i < FILES; i++)
		expect_file(i);
	reopen_store();
	for (uint64_t i = FILES; i-- > 0;)
		expect_file(i);
	reopen_store();
	for (uint64_t i = 0; i < FILES; i++)
		expect_file(i * 37 % FILES);
}

Test(store_load, what_is_in_memory_is_newer)
{
	struct ofs_setattr chmod = { .set = OFS_SET_MODE, .mode = 0640 };
	struct ofs_attr attr;

	make_files();
	cr_assert_eq(ofs_store_setattr(s, first + 25, &chmod, &attr), 0);
	put_noise(first + 26, 0, 5000, 77);
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "27", NULL), 0);
	for (uint64_t i = 20; i < 25; i++)
		expect_file(i);
	cr_assert_eq(ofs_store_getattr(s, first + 25, &attr), 0);
	cr_expect_eq(attr.mode & 0777, 0640);
	expect_noise(first + 26, 0, 5000, 77);
	cr_expect_eq(ofs_store_getattr(s, first + 27, &attr), -ENOENT);
}

Test(store_load, damage_to_a_neighbour_is_its_own)
{
	char sql[100], byte;
	struct ofs_attr attr;

	make_files();
	close_store();
	snprintf(sql, sizeof(sql),
		 "UPDATE inode SET chunk = 99999 WHERE ino = %lu;"
		 "UPDATE inode SET sha = x'00' WHERE ino = %lu",
		 first + 24, first + 33);
	run_sql(sql);
	open_store();
	for (uint64_t i = 20; i < 40; i++)
		if (i != 24 && i != 33)
			expect_file(i);
	cr_expect_eq(ofs_store_read(s, first + 24, &byte, 1, 0), -EUCLEAN);
	cr_expect_eq(ofs_store_getattr(s, first + 33, &attr), -EUCLEAN);
}
