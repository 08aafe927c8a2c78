/* SPDX-License-Identifier: MIT */
/* Extended attributes: which may be set, and that they survive whatever happens to the store. */
#include <sys/xattr.h>

#include "test_store_fixture.h"

TestSuite(store_xattr, .init = setup, .fini = teardown);

static int set(uint64_t ino, const char *name, const char *value)
{
	return ofs_store_setxattr(s, ino, name, value, strlen(value), 0);
}

/* Returns the value as text in a static buffer, or "-" if there is none. */
static const char *get(uint64_t ino, const char *name)
{
	static char buf[256];
	ssize_t n = ofs_store_getxattr(s, ino, name, buf, sizeof(buf) - 1);

	if (n == -ENODATA)
		return "-";
	cr_assert_geq(n, 0, "%s: %zd", name, n);
	buf[n] = 0;
	return buf;
}

/* Returns the names separated by commas, in a static buffer. */
static const char *names(uint64_t ino)
{
	static char buf[256];
	ssize_t n = ofs_store_listxattr(s, ino, buf, sizeof(buf)), i;

	cr_assert_geq(n, 0);
	for (i = 0; i + 1 < n; i++)
		if (!buf[i])
			buf[i] = ',';
	if (!n)
		buf[0] = 0;
	return buf;
}

Test(store_xattr, they_are_set_replaced_listed_and_removed)
{
	uint64_t f;

	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	cr_assert_str_eq(names(f), "");
	cr_assert_eq(set(f, "user.b", "two"), 0);
	cr_assert_eq(set(f, "user.a", "one"), 0);
	cr_assert_eq(set(f, "user.ab", ""), 0);
	cr_assert_eq(set(f, "user.c", "three"), 0);
	cr_assert_str_eq(names(f), "user.a,user.ab,user.b,user.c");
	cr_assert_str_eq(get(f, "user.b"), "two");
	cr_assert_str_eq(get(f, "user.ab"), "");
	cr_assert_eq(set(f, "user.b", "a longer value"), 0);
	cr_assert_eq(set(f, "user.c", "3"), 0);
	cr_assert_str_eq(get(f, "user.b"), "a longer value");
	cr_assert_str_eq(get(f, "user.c"), "3");
	cr_assert_eq(ofs_store_removexattr(s, f, "user.ab"), 0);
	cr_assert_eq(ofs_store_removexattr(s, f, "user.ab"), -ENODATA);
	cr_assert_str_eq(names(f), "user.a,user.b,user.c");
	cr_assert_str_eq(get(f, "user"), "-");
}

Test(store_xattr, flags_and_sizes_are_those_of_setxattr)
{
	char name[258], value[16];
	uint64_t f;

	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	cr_assert_eq(ofs_store_setxattr(s, f, "n", "v", 1, XATTR_REPLACE), -ENODATA);
	cr_assert_eq(ofs_store_setxattr(s, f, "n", "v", 1, XATTR_CREATE), 0);
	cr_assert_eq(ofs_store_setxattr(s, f, "n", "w", 1, XATTR_CREATE), -EEXIST);
	cr_assert_eq(ofs_store_setxattr(s, f, "n", "w", 1, XATTR_CREATE | XATTR_REPLACE), -EINVAL);
	cr_assert_eq(ofs_store_setxattr(s, f, "n", "w", 1, 4), -EINVAL);
	cr_assert_str_eq(get(f, "n"), "v");
	cr_assert_eq(ofs_store_setxattr(s, f, "n", "wxyz", 4, XATTR_REPLACE), 0);
	cr_assert_eq(ofs_store_getxattr(s, f, "n", value, 3), -ERANGE);
	cr_assert_eq(ofs_store_getxattr(s, f, "n", NULL, 0), 4);
	cr_assert_eq(ofs_store_listxattr(s, f, value, 1), -ERANGE);
	cr_assert_eq(ofs_store_listxattr(s, f, NULL, 0), 2);
	memset(name, 'n', sizeof(name));
	name[256] = 0;
	cr_assert_eq(set(f, name, "v"), -ERANGE);
	cr_assert_eq(set(f, "", "v"), -ERANGE);
	name[255] = 0;
	cr_assert_eq(set(f, name, "long"), 0);
	cr_assert_str_eq(get(f, name), "long");
	cr_assert_eq(set(999, "n", "v"), -ENOENT);
}

Test(store_xattr, one_inode_holds_so_much_and_no_more)
{
	OFS_FREE uint8_t *big = ofs_alloc(OFS_XATTR_VALUE_MAX + 1);
	OFS_FREE uint8_t *got = ofs_alloc(OFS_XATTR_VALUE_MAX);
	uint64_t f;

	fill_noise(big, OFS_XATTR_VALUE_MAX, 1);
	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	cr_assert_eq(ofs_store_setxattr(s, f, "a", big, OFS_XATTR_VALUE_MAX + 1, 0), -E2BIG);
	cr_assert_eq(ofs_store_setxattr(s, f, "a", big, OFS_XATTR_VALUE_MAX, 0), 0);
	cr_assert_eq(ofs_store_setxattr(s, f, "b", big, OFS_XATTR_VALUE_MAX, 0), -ENOSPC);
	cr_assert_eq(ofs_store_setxattr(s, f, "b", big, OFS_XATTR_VALUE_MAX - 2, 0), 0);
	cr_assert_eq(set(f, "c", ""), -ENOSPC);
	cr_assert_eq(ofs_store_setxattr(s, f, "a", big, OFS_XATTR_VALUE_MAX, 0), 0);
	reopen_store();
	cr_assert_eq(ofs_store_getxattr(s, f, "a", got, OFS_XATTR_VALUE_MAX), OFS_XATTR_VALUE_MAX);
	cr_assert_eq(memcmp(big, got, OFS_XATTR_VALUE_MAX), 0);
	cr_assert_eq(ofs_store_removexattr(s, f, "a"), 0);
	cr_assert_eq(set(f, "c", ""), 0);
}

/* Linux limits the size of a list of names. More names could not be listed, and so not copied. */
Test(store_xattr, names_are_as_many_as_can_be_listed)
{
	char name[OFS_XATTR_NAME_MAX + 1];
	int r = 0, n = 0;
	uint64_t f;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	for (; r == 0 && n < 1000; n += r == 0) {
		snprintf(name, 5, "%04d", n);
		name[4] = 'n';
		r = set(f, name, "");
	}
	cr_assert_eq(r, -ENOSPC);
	cr_assert_leq(ofs_store_listxattr(s, f, NULL, 0), OFS_XATTR_NAMES_ROOM);
	cr_assert_gt(n, 200);
	cr_assert_eq(set(f, "0000", ""), -ENOSPC);
	cr_assert_eq(set(f, name, ""), -ENOSPC);
}

Test(store_xattr, the_ctime_tells_and_nothing_else)
{
	struct ofs_attr before, after;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 5000, 1);
	seal();
	cr_assert_eq(ofs_store_getattr(s, f, &before), 0);
	cr_assert_eq(set(f, "n", "v"), 0);
	cr_assert_eq(ofs_store_getattr(s, f, &after), 0);
	cr_assert_gt(after.ctime, before.ctime);
	cr_assert_eq(after.mtime, before.mtime);
	cr_assert_eq(after.version, before.version);
	cr_assert(after.sealed && has_sha(f));
}

static void expect_two(uint64_t d, uint64_t f)
{
	cr_assert_str_eq(names(d), "of.dir");
	cr_assert_str_eq(get(d, "of.dir"), "yes");
	cr_assert_str_eq(names(f), "a,c");
	cr_assert_str_eq(get(f, "a"), "new");
	cr_assert_str_eq(get(f, "c"), "kept");
}

Test(store_xattr, they_survive_the_journal_and_the_index)
{
	uint64_t d, f, link;
	struct ofs_create what = { .mode = S_IFLNK | 0777, .target = "nowhere" };
	struct ofs_attr attr;

	open_store();
	d = make_dir(OFS_ROOT_INO, "d");
	f = make_noise(d, "f", 100, 1);
	cr_assert_eq(ofs_store_create(s, d, "l", &what, &attr), 0);
	link = attr.ino;
	cr_assert_eq(set(d, "of.dir", "yes"), 0);
	cr_assert_eq(set(f, "a", "old"), 0);
	cr_assert_eq(set(f, "b", "goes"), 0);
	cr_assert_eq(set(link, "trusted.l", "of a link"), 0);
	seal();
	cr_assert_eq(set(f, "a", "new"), 0);
	cr_assert_eq(set(f, "c", "kept"), 0);
	cr_assert_eq(ofs_store_removexattr(s, f, "b"), 0);
	crash_store();
	expect_two(d, f);
	seal();
	expect_two(d, f);
	crash_store();
	expect_two(d, f);
	reopen_store();
	expect_two(d, f);
	cr_assert_str_eq(get(link, "trusted.l"), "of a link");
	cr_assert_eq(ofs_store_removexattr(s, f, "a"), 0);
	cr_assert_eq(ofs_store_removexattr(s, f, "c"), 0);
	reopen_store();
	cr_assert_str_eq(names(f), "");
}

/* Returns the number of rows in the table xattr of the closed store's index. */
static int count_rows(void)
{
	sqlite3_stmt *st;
	sqlite3 *db;
	int n;

	cr_assert_eq(sqlite3_open_v2(below("index.db"), &db, SQLITE_OPEN_READWRITE, OFS_INDEX_VFS),
		     SQLITE_OK);
	sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
	cr_assert_eq(sqlite3_prepare_v2(db, "SELECT count(*) FROM xattr", -1, &st, NULL),
		     SQLITE_OK);
	cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

Test(store_xattr, they_go_with_their_inode)
{
	uint64_t f, g;

	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	g = make_in(OFS_ROOT_INO, "g");
	cr_assert_eq(set(f, "a", "1"), 0);
	cr_assert_eq(set(g, "a", "1"), 0);
	seal();
	remove_file(OFS_ROOT_INO, "f", f);
	cr_assert_eq(ofs_store_removexattr(s, g, "a"), 0);
	close_store();
	cr_assert_eq(count_rows(), 0);
	open_store();
}

static void expect_labelled(uint64_t after, size_t max, const uint64_t *want, int n)
{
	uint64_t got[8];

	cr_assert_eq(ofs_store_list_labelled(s, after, got, max), n);
	for (int i = 0; i < n; i++)
		cr_assert_eq(got[i], want[i], "%d: %lu", i, got[i]);
}

Test(store_xattr, the_labelled_are_listed_from_index_and_memory)
{
	uint64_t f[6];
	char name[8];

	open_store();
	for (size_t i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		f[i] = make_in(OFS_ROOT_INO, name);
	}
	expect_labelled(0, 8, NULL, 0);
	cr_assert_eq(set(f[4], "a", ""), 0);
	cr_assert_eq(set(f[1], "a", ""), 0);
	cr_assert_eq(set(f[2], "a", ""), 0);
	expect_labelled(0, 8, (uint64_t[]){ f[1], f[2], f[4] }, 3);
	seal();
	expect_labelled(0, 8, (uint64_t[]){ f[1], f[2], f[4] }, 3);
	cr_assert_eq(set(f[3], "a", ""), 0);
	cr_assert_eq(set(f[4], "a", "again"), 0);
	cr_assert_eq(ofs_store_removexattr(s, f[1], "a"), 0);
	expect_labelled(0, 8, (uint64_t[]){ f[2], f[3], f[4] }, 3);
	expect_labelled(0, 2, (uint64_t[]){ f[2], f[3] }, 2);
	expect_labelled(f[3], 2, (uint64_t[]){ f[4] }, 1);
	expect_labelled(f[4], 2, NULL, 0);
	/* Nobody can ask for it without a name. */
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "2", NULL), 0);
	expect_labelled(0, 8, (uint64_t[]){ f[3], f[4] }, 2);
	reopen_store();
	expect_labelled(0, 8, (uint64_t[]){ f[3], f[4] }, 2);
}

/* Turns the index into format 2: without the table xattr, counts, and later additions. */
static const char format_2[] =
	"ALTER TABLE inode DROP COLUMN tokens;"
	"DROP TABLE object; DROP TABLE extent; DROP TABLE ledger; ALTER TABLE meta DROP COLUMN ref_seed;"
	"DROP TABLE tombstone; ALTER TABLE meta DROP COLUMN tombstones;"
	"ALTER TABLE meta DROP COLUMN age; ALTER TABLE meta DROP COLUMN age_wall;"
	"ALTER TABLE meta DROP COLUMN wall_high; ALTER TABLE inode DROP COLUMN used;"
	"DROP TABLE xattr; ALTER TABLE meta DROP COLUMN files; ALTER TABLE meta DROP COLUMN dirs;"
	"ALTER TABLE meta DROP COLUMN others; ALTER TABLE meta DROP COLUMN bytes;"
	"PRAGMA user_version = 2";

Test(store_xattr, a_store_of_format_2_is_upgraded)
{
	struct ofs_store_stats stats;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 300000, 1);
	seal();
	close_store();
	run_sql(format_2);
	open_store();
	cr_assert_eq(ofs_store_stats(s, &stats), 0);
	cr_assert_eq(stats.files, 1);
	cr_assert_eq(stats.dirs, 1);
	cr_assert_eq(stats.others, 0);
	cr_assert_eq(stats.bytes, 300000);
	expect_noise(f, 0, 300000, 1);
	cr_assert_str_eq(names(f), "");
	cr_assert_eq(set(f, "a", "now"), 0);
	reopen_store();
	cr_assert_str_eq(get(f, "a"), "now");
	close_store();
	run_sql("PRAGMA user_version = 1");
	{
		struct ofs_error err = { "" };

		cr_assert_eq(ofs_store_open(path, &usual, &err, &s), -EINVAL);
		cr_assert_str_eq(strstr(err.text, "has"),
				 "has format 1, this program understands 2 to 7");
	}
	s = NULL;
}
