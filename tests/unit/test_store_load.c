/* SPDX-License-Identifier: MIT */
/* Loading from the index, including what is loaded along with something else. */
#include <offloadfs/tree.h>

#include "test_store_fixture.h"

#define FILES 100u

TestSuite(store_load, .init = setup, .fini = teardown);

static uint64_t first;

/* Every 7th file is empty, every 10th has two blocks. make_files() adds a hole to every 11th. */
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

static void look_at(uint64_t i)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_getattr(s, first + i, &attr), 0);
}

Test(store_load, the_further_one_goes_on_the_more_is_loaded_ahead)
{
	make_files();
	look_at(20);
	cr_expect_null(in_memory(21));
	look_at(21);
	cr_expect_not_null(in_memory(22));
	cr_expect_null(in_memory(23));
	look_at(23);
	cr_expect_not_null(in_memory(26));
	cr_expect_null(in_memory(27));
	for (uint64_t i = 27; i < 37; i++)
		look_at(i);
	cr_expect_not_null(in_memory(50));
	cr_expect_null(in_memory(19));
	cr_expect_not(in_memory(22)->content.loaded);
	for (uint64_t i = 22; i < 25; i++)
		expect_noise(first + i, 0, length(i), i);
	cr_expect_not(in_memory(25)->content.loaded);
	expect_noise(first + 25, 0, length(25), 25);
	cr_expect(in_memory(26)->content.loaded);
	cr_expect_not(in_memory(29)->content.loaded);
	expect_noise(first + 29, 0, length(29), 29);
	cr_expect(in_memory(31)->content.loaded);
	cr_expect_not(in_memory(30)->content.loaded, "it has two blocks");
}

Test(store_load, looking_here_and_there_loads_little)
{
	make_files();
	for (uint64_t i = 6; i < FILES; i += 6)
		look_at(i);
	for (uint64_t i = 6; i < FILES; i++)
		cr_expect_eq(in_memory(i) == NULL, i % 6 != 0, "%lu", i);
}

Test(store_load, a_name_is_known_without_its_directory)
{
	uint64_t d, ino;

	open_store();
	d = make_dir(OFS_ROOT_INO, "d");
	ino = make_noise(d, "f", 10, 1);
	seal();
	reopen_store();
	cr_expect_eq(ofs_store_is_name(s, ino, d, "f"), 1);
	cr_expect_eq(ofs_store_is_name(s, ino, d, "g"), 0);
	cr_expect_eq(ofs_store_is_name(s, d, d, "f"), 0);
	cr_expect_eq(ofs_store_is_name(s, ino, ino, "f"), 0, "in a file");
	cr_expect_eq(ofs_store_is_name(s, ino, ino + 99, "f"), 0, "nowhere");
	cr_expect_null(((struct ofs_inode *)ofs_map_get(&s->inodes, d))->dir);
	cr_assert_eq(ofs_store_rename(s, d, "f", d, "g", 0, NULL), 0);
	cr_expect_eq(ofs_store_is_name(s, ino, d, "f"), 0);
	cr_expect_eq(ofs_store_is_name(s, ino, d, "g"), 1);
}

Test(store_load, a_file_that_lost_its_last_name_is_known_where_it_is_found)
{
	uint64_t a, b, ino, in;
	struct ofs_attr attr;
	char name[256];

	open_store();
	a = make_dir(OFS_ROOT_INO, "a");
	b = make_dir(OFS_ROOT_INO, "b");
	ino = make_noise(a, "f", 10, 1);
	cr_assert_eq(ofs_store_link(s, ino, b, "g", &attr), 0);
	cr_assert_eq(ofs_store_unlink(s, b, "g", NULL), 0);
	cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
	cr_assert_neq(attr.parent, a);
	cr_assert_eq(ofs_store_getattr_in(s, b, ino, &attr), 0);
	cr_expect_neq(attr.parent, a);
	cr_assert_eq(ofs_store_getattr_in(s, a, ino, &attr), 0);
	cr_expect_eq(attr.parent, a);
	seal();
	reopen_store();
	cr_assert_eq(ofs_store_name_of(s, ino, &in, name), 0);
	cr_expect_eq(in, a);
	cr_expect_str_eq(name, "f");
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

/* ---- what was made by hand */

Test(store_load, entries_that_no_store_writes_are_damage)
{
	static const char *const sql[] = {
		"UPDATE dirent SET cookie = 0 WHERE name = x'61'",
		"UPDATE dirent SET cookie = -1 WHERE name = x'61'",
		"UPDATE dirent SET cookie = 100",
		"UPDATE dirent SET name = x'' WHERE name = x'61'",
		"UPDATE dirent SET name = x'2e2e' WHERE name = x'61'",
		"UPDATE dirent SET name = x'2e2e2f61' WHERE name = x'61'",
		"UPDATE dirent SET name = CAST(printf('%0256d', 1) AS BLOB) WHERE name = x'61'",
	};
	struct ofs_attr attr;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(sql); i++) {
		snprintf(path, sizeof(path), "%s/%zu", dir, i);
		open_store();
		make_in(OFS_ROOT_INO, "a");
		make_in(OFS_ROOT_INO, "b");
		close_store();
		run_sql(sql[i]);
		open_store();
		cr_expect_eq(ofs_store_lookup(s, OFS_ROOT_INO, "b", &attr), -EUCLEAN, "%s", sql[i]);
		close_store();
	}
}

Test(store_load, content_beyond_the_largest_file_is_damage)
{
	struct ofs_error err = { "" };
	uint64_t a;
	char sql[100], byte;

	open_store();
	a = make_noise(OFS_ROOT_INO, "a", BLOCK + 1, 1);
	close_store();
	run_sql("UPDATE block SET block = -1 WHERE block = 1");
	open_store();
	cr_assert_eq(ofs_store_read(s, a, &byte, 1, 0), -EUCLEAN);
	close_store();
	snprintf(sql, sizeof(sql), "INSERT INTO draft VALUES(%lu, 5, -5, 0, 0, 0)", a);
	run_sql("UPDATE block SET block = 1 WHERE block = -1");
	run_sql(sql);
	cr_assert_eq(ofs_store_open(path, &usual, &err, &s), -EUCLEAN);
	s = NULL;
}

Test(store_load, records_that_no_host_logs_are_refused)
{
	static char long_name[OFS_NAME_MAX + 2];
	const struct ofs_journal_data data = { 1000, 100 };
	struct ofs_record bad[] = {
		{ .type = OFS_RECORD_CREATE, .dir = OFS_ROOT_INO, .mode = S_IFREG },
		{ .type = OFS_RECORD_LINK, .dir = OFS_ROOT_INO, .name = "../x" },
		{ .type = OFS_RECORD_RENAME, .dir = OFS_ROOT_INO, .name = "a", .text = ".." },
		{ .type = OFS_RECORD_WRITE, .size = UINT64_MAX - 50 },
		{ .type = OFS_RECORD_ZERO, .size = 1, .len = UINT64_MAX },
		{ .type = OFS_RECORD_COPY, .from_off = UINT64_MAX - BLOCK + 1, .len = BLOCK },
		{ .type = OFS_RECORD_COPY, .size = 1, .len = 1 },
		{ .type = OFS_RECORD_SETATTR, .flags = OFS_SET_SIZE, .size = UINT64_MAX },
	};
	uint64_t a;

	memset(long_name, 'x', OFS_NAME_MAX + 1);
	bad[0].name = long_name;
	open_store();
	a = make_noise(OFS_ROOT_INO, "a", 1000, 1);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(bad); i++) {
		bad[i].ino = bad[i].from = a;
		bad[i].newdir = OFS_ROOT_INO;
		pthread_mutex_lock(&s->lock);
		cr_expect_eq(ofs_store_apply(s, 5000, &bad[i], &data), -EUCLEAN, "%zu", i);
		pthread_mutex_unlock(&s->lock);
	}
	expect_noise(a, 0, 1000, 1);
}
