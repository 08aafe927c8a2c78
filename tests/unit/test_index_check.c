/* SPDX-License-Identifier: MIT */
/* Problems in an index are found, and repaired where possible without touching anything else. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/util.h"
#include "index/index_state.h"
#include "index/rules.h"
#include "index/schema.h"
#include "index/vfs.h"
#include "scratch.h"

enum {
	ROOT = 1,
	LOST = 2,
	DIR_A = 3,
	DIR_B = 4, /* in DIR_A */
	SMALL = 10, /* has the hash of its only block */
	LINKED = 11, /* in DIR_A and DIR_B */
	SHARES = 12, /* the chunk of SMALL, and another one twice */
	DRAFT = 13,
	ORPHAN = 14,
	SYMLINK = 15,
	BIG = 16, /* four blocks, some under drafts */
	LAST = 17,
};

#define BLOCK 262144

static char dir[SCRATCH_SIZE];
static char path[64], sound[64];
static struct ofs_index *ix;
static char *sound_dump;

/* ---- a sound index */

static void make_sha(uint64_t n, uint8_t sha[32])
{
	memset(sha, 0x5a, 32);
	memcpy(sha + 24, &n, sizeof(n));
}

static void put_inode(uint64_t ino, uint64_t parent, uint32_t mode, uint32_t nlink, uint64_t size)
{
	struct ofs_index_inode in = { .tokens = -1,
				      .ino = ino,
				      .parent = parent,
				      .mode = mode | 0700,
				      .nlink = nlink,
				      .size = size,
				      .mtime = 1000,
				      .lines = -1 };

	if (S_ISLNK(mode))
		in.target = (char *)"elsewhere";
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
}

static void put_entry(uint64_t parent, const char *name, uint64_t ino, uint32_t mode)
{
	static uint64_t cookie = 100;
	struct ofs_index_dirent e = { name, ino, (uint8_t)(mode >> 12), cookie++ };

	cr_assert_eq(ofs_index_put_dirent(ix, parent, &e), 0);
}

static void put_frame(uint32_t pack, uint64_t off, uint64_t id, const uint32_t *lens, size_t n)
{
	struct ofs_index_frame f = { .pack = pack, .off = off, .stored = 501, .class = 1 };
	struct ofs_index_chunk c = { .id = id };

	for (size_t i = 0; i < n; i++)
		f.raw += lens[i];
	cr_assert_eq(ofs_index_put_frame(ix, &f, &f.id), 0);
	for (size_t i = 0; i < n; i++, c.id++) {
		make_sha(c.id, c.sha);
		c.len = lens[i];
		cr_assert_eq(ofs_index_put_chunk(ix, f.id, &c), 0);
		c.off += lens[i];
	}
}

static void put_block(uint64_t ino, uint64_t block, uint64_t chunk)
{
	cr_assert_eq(ofs_index_set_block(ix, ino, block, chunk), 0);
}

static void put_names(void)
{
	put_inode(ROOT, 0, S_IFDIR, 4, 0);
	put_inode(LOST, ROOT, S_IFDIR, 2, 0);
	put_inode(DIR_A, ROOT, S_IFDIR, 3, 0);
	put_inode(DIR_B, DIR_A, S_IFDIR, 2, 0);
	put_inode(SMALL, DIR_A, S_IFREG, 1, 1000);
	put_inode(LINKED, DIR_B, S_IFREG, 2, BLOCK + 7);
	put_inode(SHARES, DIR_A, S_IFREG, 1, 3 * BLOCK);
	put_inode(DRAFT, ROOT, S_IFREG, 1, 5000);
	put_inode(ORPHAN, 0, S_IFREG, 0, 1000);
	put_inode(SYMLINK, DIR_B, S_IFLNK, 1, 9);
	put_inode(BIG, ROOT, S_IFREG, 1, 3 * BLOCK + 100000);
	put_entry(ROOT, "lost+found", LOST, S_IFDIR);
	put_entry(ROOT, "a", DIR_A, S_IFDIR);
	put_entry(DIR_A, "b", DIR_B, S_IFDIR);
	put_entry(DIR_A, "small", SMALL, S_IFREG);
	put_entry(DIR_A, "linked", LINKED, S_IFREG);
	put_entry(DIR_B, "linked too", LINKED, S_IFREG);
	put_entry(DIR_A, "shares", SHARES, S_IFREG);
	put_entry(ROOT, "draft", DRAFT, S_IFREG);
	put_entry(DIR_B, "symlink", SYMLINK, S_IFLNK);
	put_entry(ROOT, "big", BIG, S_IFREG);
}

/* Adds chunks 1-5, 10, 20 and 21. No block holds 21 any more. */
static void put_content(void)
{
	static const uint32_t five[] = { 1000, 333, BLOCK, 7, BLOCK }, one[] = { BLOCK },
			      two[] = { 100, 200 };
	struct ofs_index_draft drafts[] = {
		{ DRAFT, 0, 4000, 4096, 4000, 0 },
		{ DRAFT, UINT64_C(1) << 44, 1, 0, 1, 0 },
		{ BIG, BLOCK - 10, 20, 9000, 50, 30 },
		{ BIG, BLOCK + 1000, 500, 0, 0, 0 },
	};
	struct ofs_index_inode in;

	put_frame(1, 64, 1, five, 5);
	put_frame(1, 800, 10, one, 1);
	put_frame(2, 64, 20, two, 2);
	put_block(SMALL, 0, 1);
	put_block(LINKED, 0, 3);
	put_block(LINKED, 1, 4);
	put_block(SHARES, 0, 1);
	put_block(SHARES, 1, 5);
	put_block(SHARES, 2, 5);
	put_block(ORPHAN, 0, 2);
	for (uint64_t i = 0; i < 4; i++)
		put_block(BIG, i, i == 2 ? 5 : 10);
	put_block(DRAFT, 0, 20);
	put_block(DRAFT, 1, 21);
	put_block(DRAFT, 1, 0);
	cr_assert_eq(ofs_index_set_drafts(ix, DRAFT, drafts, 2), 0);
	cr_assert_eq(ofs_index_set_drafts(ix, BIG, drafts + 2, 2), 0);
	cr_assert_eq(ofs_index_put_mark(ix, DIR_A), 0);
	cr_assert_eq(ofs_index_set_xattrs(ix, DIR_A, "\1\2\0\0\0avv\2\0\0\0\0ab", 15), 0);
	cr_assert_eq(ofs_index_get_inode(ix, SMALL, &in), 0);
	in.has_sha = true;
	make_sha(1, in.sha);
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
}

static void put_unused(void)
{
	struct ofs_index_meta meta;
	const struct ofs_index_object object = { .epoch = 1, .number = 1, .size = 501 };
	const struct ofs_index_extent extent = { 2, 64, 501, 0 };
	uint32_t len = 50;

	put_frame(2, 1000, 30, &len, 1);
	cr_assert_eq(ofs_index_put_object(ix, &object, &extent, 1), 0);
	cr_assert_eq(ofs_index_get_meta(ix, &meta), 0);
	meta.next_ino = LAST;
	meta.next_chunk = 31;
	meta.unused_from = 30;
	meta.pack = 2;
	meta.pack_size = 1501;
	cr_assert_eq(ofs_index_put_meta(ix, &meta), 0);
}

/* ---- files and dumps */

static sqlite3 *open_database(void)
{
	sqlite3 *db;

	cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, OFS_INDEX_VFS), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
	return db;
}

static void close_database(sqlite3 **db)
{
	cr_assert_eq(sqlite3_close(*db), SQLITE_OK);
}

static void run_sql(const char *sql)
{
	OFS_CLEANUP(close_database) sqlite3 *db = open_database();
	char *why = NULL;

	sqlite3_exec(db, sql, NULL, NULL, &why);
	cr_assert_null(why, "%s: %s", sql, why);
}

#define FILE_MAX (1 << 20)

static void copy_file(const char *from, const char *to)
{
	static char buf[FILE_MAX];
	OFS_CLOSE int in = open(from, O_RDONLY);
	OFS_CLOSE int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n = read(in, buf, sizeof(buf));

	cr_assert(n > 0 && n < (ssize_t)sizeof(buf));
	cr_assert_eq(write(out, buf, (size_t)n), n);
}

/* Returns the index file, padded to FILE_MAX bytes, to be freed. */
static char *read_file(void)
{
	OFS_CLOSE int fd = open(path, O_RDONLY);
	char *buf = calloc(1, FILE_MAX);

	cr_assert_gt(read(fd, buf, FILE_MAX), 0);
	return buf;
}

static void dump_row(FILE *f, sqlite3_stmt *st)
{
	for (int i = 0; i < sqlite3_column_count(st); i++) {
		const unsigned char *p = sqlite3_column_blob(st, i);
		int n = sqlite3_column_bytes(st, i);

		fprintf(f, " %d:", sqlite3_column_type(st, i));
		for (int k = 0; k < n; k++)
			fprintf(f, p[k] > ' ' && p[k] < 127 ? "%c" : "\\%02x", p[k]);
	}
	fputc('\n', f);
}

/* Returns the content of all tables as text, to be freed. */
static char *dump(void)
{
	static const char *const tables[] = { "meta",  "inode", "dirent", "frame",     "chunk",
					      "block", "draft", "xattr",  "tombstone", "mark" };
	char *text = NULL, sql[64];
	size_t len;
	FILE *f = open_memstream(&text, &len);
	sqlite3_stmt *st;
	OFS_CLEANUP(close_database) sqlite3 *db = open_database();

	for (size_t i = 0; i < OFS_ARRAY_SIZE(tables); i++) {
		snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY 1, 2", tables[i]);
		if (strcmp(tables[i], "mark") == 0)
			*strstr(sql, ", 2") = '\0';
		cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
		fprintf(f, "%s\n", tables[i]);
		while (sqlite3_step(st) == SQLITE_ROW)
			dump_row(f, st);
		sqlite3_finalize(st);
	}
	fclose(f);
	return text;
}

static void setup(void)
{
	struct ofs_index_meta fresh = { .next_ino = 2, .next_chunk = 1 };

	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/index", dir);
	snprintf(sound, sizeof(sound), "%s/sound", dir);
	cr_assert_eq(ofs_index_open(path, &fresh, NULL, &ix), 0);
	cr_assert_eq(ofs_index_begin(ix), 0);
	put_names();
	put_content();
	put_unused();
	cr_assert_eq(ofs_index_commit(ix), 0);
	ofs_index_close(ix);
	copy_file(path, sound);
	sound_dump = dump();
}

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static void teardown(void)
{
	free(sound_dump);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(index_check, .init = setup, .fini = teardown);

/* ---- checking */

struct told {
	FILE *f;
	size_t n, unrepaired;
};

static void note_problem(void *arg, uint64_t ino, const char *what, bool repaired)
{
	struct told *t = arg;

	cr_assert_null(strchr(what, '\n'));
	fprintf(t->f, "%s\n", what);
	t->n++;
	t->unrepaired += !repaired;
}

/* Checks the index at `path`. Returns the problems found, one a line, to be freed. */
static char *check(bool repair, int expect, struct told *t)
{
	char *text = NULL;
	size_t len;
	int r;

	*t = (struct told){ .f = open_memstream(&text, &len) };
	cr_assert_eq(ofs_index_open(path, NULL, NULL, &ix), 0);
	if (repair)
		cr_assert_eq(ofs_index_begin(ix), 0);
	r = ofs_index_check(ix, repair, LOST, note_problem, t);
	if (repair)
		cr_assert_eq(ofs_index_end(ix, r), r);
	ofs_index_close(ix);
	fclose(t->f);
	cr_assert_eq(r, expect, "%d: %s", r, text);
	return text;
}

static void expect_dump(const char *expect, const char *why)
{
	OFS_FREE char *now = dump();
	const char *a = now, *b = expect;

	while (*a && *a == *b)
		a++, b++;
	while (a > now && a[-1] != '\n')
		a--, b--;
	cr_assert_str_eq(now, expect, "%s: '%.*s' instead of '%.*s'", why, (int)strcspn(a, "\n"), a,
			 (int)strcspn(b, "\n"), b);
}

/*
 * A check must find `found`. A repair must restore the sound index, changed by `after` (or NULL).
 */
struct damage {
	const char *sql;
	const char *found;
	const char *after;
};

static void expect_clean(const char *why)
{
	struct told t;
	OFS_FREE char *lines = check(false, 0, &t);

	cr_assert_eq(t.n, 0, "after '%s': %s", why, lines);
}

static void try_damage(const struct damage *d)
{
	OFS_FREE char *damaged = NULL;
	OFS_FREE char *lines = NULL;
	OFS_FREE char *repaired = NULL;
	OFS_FREE char *expect = NULL;
	struct told t;

	copy_file(sound, path);
	if (d->after)
		run_sql(d->after);
	expect = dump();
	copy_file(sound, path);
	run_sql(d->sql);
	damaged = dump();
	lines = check(false, 0, &t);
	cr_expect_str_eq(lines, d->found, "%s:\n%s", d->sql, lines);
	cr_assert_eq(t.unrepaired, t.n);
	expect_dump(damaged, d->sql);
	repaired = check(true, 0, &t);
	cr_assert_eq(t.unrepaired, 0, "%s: %s", d->sql, repaired);
	expect_clean(d->sql);
	expect_dump(expect, d->sql);
}

Test(index_check, a_sound_index_has_no_problem)
{
	struct told t;
	OFS_FREE char *lines = check(false, 0, &t);
	OFS_FREE char *again = NULL;

	cr_assert_eq(t.n, 0, "%s", lines);
	again = check(true, 0, &t);
	cr_assert_eq(t.n, 0, "%s", again);
	expect_dump(sound_dump, "nothing");
}

#define CIRCLE(ino)                                                                \
	"directory " ino                                                           \
	" cannot be reached from the root: it lies in a circle of directories, or" \
	" below one\n"

static const struct damage names[] = {
	{ "UPDATE inode SET nlink = 5 WHERE ino = 10", "inode 10 has 5 links but 1 names\n", NULL },
	{ "UPDATE inode SET nlink = 0 WHERE ino = 11", "inode 11 has 0 links but 2 names\n", NULL },
	{ "UPDATE inode SET nlink = 0 WHERE ino = 4", "directory 4 has 0 links instead of 2\n",
	  NULL },
	{ "UPDATE inode SET nlink = 9 WHERE ino = 1", "directory 1 has 9 links instead of 4\n",
	  NULL },
	{ "UPDATE inode SET parent = 1 WHERE ino = 4",
	  "directory 4 says that it lies in 1, but it lies in 3\n", NULL },
	{ "UPDATE inode SET parent = 0 WHERE ino = 10", "inode 10 has a name but no parent\n",
	  NULL },
	{ "UPDATE meta SET next_ino = 3", "the next inode number is 3, but 3 exists\n", NULL },
	{ "INSERT INTO tombstone VALUES(40, 5, x'')",
	  "the next inode number is 17, but 40 exists\n",
	  "INSERT INTO tombstone VALUES(40, 5, x''); UPDATE meta SET next_ino = 41" },
	{ "INSERT INTO tombstone VALUES(8, 5, 'text'), (9, NULL, x'41')",
	  "the tombstone of inode 8 is damaged\nthe tombstone of inode 9 is damaged\n", NULL },
	{ "UPDATE meta SET age = 6, age_wall = 7, wall_high = 5",
	  "the wall clock was at 7, above its highest value 5\n",
	  "UPDATE meta SET age = 6, age_wall = 7, wall_high = 7" },
	{ "UPDATE meta SET next_chunk = 30", "the next chunk number is 30, but 30 exists\n", NULL },
	{ "UPDATE dirent SET type = 4 WHERE name = x'736d616c6c'",
	  "'small' in directory 3 says type 4, inode 10 is of type 8\n"
	  "directory 3 has 3 links instead of 4\n",
	  NULL },
	{ "UPDATE dirent SET type = 10 WHERE name = x'736d616c6c'",
	  "'small' in directory 3 says type 10, inode 10 is of type 8\n", NULL },
	{ "INSERT INTO dirent VALUES(3, x'6e6f0a6e65', 99, 8, 500)",
	  "'no?ne' in directory 3 names inode 99, which does not exist\n", NULL },
	{ "INSERT INTO dirent VALUES(3, x'2e2e', 10, 8, 500);"
	  "UPDATE inode SET nlink = 2 WHERE ino = 10",
	  "'..' in directory 3, for inode 10: not a valid name\n", NULL },
	{ "INSERT INTO dirent VALUES(99, x'78', 10, 8, 500);"
	  "UPDATE inode SET nlink = 2 WHERE ino = 10",
	  "'x', for inode 10, is an entry of inode 99, which is not a directory\n", NULL },
	{ "INSERT INTO dirent VALUES(13, x'78', 10, 8, 500);"
	  "UPDATE inode SET nlink = 2 WHERE ino = 10",
	  "'x', for inode 10, is an entry of inode 13, which is not a directory\n", NULL },
	{ "INSERT INTO dirent VALUES(1, x'78', 4, 4, 500);"
	  "UPDATE inode SET nlink = 5 WHERE ino = 1",
	  "'x' in directory 1 is one name too many for directory 4\n", NULL },
	{ "UPDATE inode SET mode = 33216 WHERE ino = 3",
	  "inode 3 has entries and is named as a directory, but its mode is 100700\n"
	  "'b', for inode 4, is an entry of inode 3, which is not a directory\n"
	  "'linked', for inode 11, is an entry of inode 3, which is not a directory\n"
	  "'shares', for inode 12, is an entry of inode 3, which is not a directory\n"
	  "'small', for inode 10, is an entry of inode 3, which is not a directory\n"
	  "'a' in directory 1 says type 4, inode 3 is of type 8\n"
	  "inode 3 has 3 links but 1 names\n",
	  NULL },
	{ "UPDATE inode SET mode = 16832 WHERE ino = 16",
	  "inode 16 has content and is named as a file, but its mode is 40700\n"
	  "a draft of 20 bytes at 262134 of inode 16, which is not a file\n"
	  "a draft of 500 bytes at 263144 of inode 16, which is not a file\n"
	  "3 blocks of inode 16, which is not a file\n"
	  "1 blocks of inode 16, which is not a file\n"
	  "'big' in directory 1 says type 8, inode 16 is of type 4\n"
	  "directory 16 has 1 links instead of 2\n",
	  NULL },
	{ "DELETE FROM inode WHERE ino = 1",
	  "the root directory does not exist\n"
	  "'a', for inode 3, is an entry of inode 1, which is not a directory\n"
	  "'big', for inode 16, is an entry of inode 1, which is not a directory\n"
	  "'draft', for inode 13, is an entry of inode 1, which is not a directory\n"
	  "'lost+found', for inode 2, is an entry of inode 1, "
	  "which is not a directory\n" CIRCLE("2") CIRCLE("3") CIRCLE("4"),
	  "UPDATE inode SET mode = 16877, atime = 0, ctime = 0, btime = 0 WHERE ino = 1" },
	{ "INSERT INTO xattr VALUES(99, x'010000000061')",
	  "extended attributes of inode 99, which does not exist\n", NULL },
	{ "INSERT INTO xattr VALUES(13, x'010100000061')",
	  "the extended attributes of inode 13 are damaged\n", NULL },
	{ "INSERT INTO xattr VALUES(13, x'010000000062010000000061')",
	  "the extended attributes of inode 13 are damaged\n", NULL },
	{ "INSERT INTO xattr VALUES(13, x''), (10, NULL)",
	  "the extended attributes of inode 10 are damaged\n"
	  "the extended attributes of inode 13 are damaged\n",
	  NULL },
	{ "INSERT INTO mark VALUES(12), (5)", "a mark on inode 5, which does not exist\n",
	  "INSERT INTO mark VALUES(12)" },
	{ "INSERT INTO draft VALUES(5, 0, 10, 4096, 10, 0)",
	  "a draft of 10 bytes at 0 of inode 5, which is not a file\n", NULL },
	{ "INSERT INTO draft VALUES(4, 0, 10, 4096, 10, 0)",
	  "a draft of 10 bytes at 0 of inode 4, which is not a file\n", NULL },
	{ "INSERT INTO block VALUES(5, 1, 1, 1)", "1 blocks of inode 5, which is not a file\n",
	  NULL },
	{ "UPDATE inode SET chunk = -1 WHERE ino = 4", "1 blocks of inode 4, which is not a file\n",
	  NULL },
	{ "INSERT INTO block VALUES(10, 0, 1, 1)",
	  "block 0 of inode 10 is stored in the wrong place\n", NULL },
};

/* A repair may find more than a check, since what it removes is missed elsewhere. */
static const struct damage rescues[] = {
	{ "DELETE FROM dirent WHERE ino = 10", "inode 10 has 1 links but no name\n",
	  "UPDATE dirent SET parent = 2, name = x'3130', cookie = 1 WHERE ino = 10;"
	  "UPDATE inode SET parent = 2 WHERE ino = 10" },
	{ "DELETE FROM dirent WHERE ino = 4; UPDATE inode SET nlink = 2 WHERE ino = 3;"
	  "INSERT INTO dirent VALUES(2, x'78', 13, 8, 400); "
	  "UPDATE inode SET nlink = 2 WHERE ino = 13",
	  "inode 4 has 2 links but no name\n",
	  "UPDATE inode SET nlink = 2 WHERE ino IN (3, 13);"
	  "UPDATE inode SET nlink = 3 WHERE ino = 2; UPDATE inode SET parent = 2 WHERE ino = 4;"
	  "INSERT INTO dirent VALUES(2, x'78', 13, 8, 400);"
	  "UPDATE dirent SET parent = 2, name = x'34', cookie = 401 WHERE ino = 4" },
	{ "UPDATE dirent SET parent = 77 WHERE ino = 10",
	  "'small', for inode 10, is an entry of inode 77, which is not a directory\n",
	  "UPDATE dirent SET parent = 2, name = x'3130', cookie = 1 WHERE ino = 10;"
	  "UPDATE inode SET parent = 2 WHERE ino = 10" },
	{ "UPDATE dirent SET parent = 4 WHERE ino = 3;"
	  "UPDATE inode SET nlink = 3 WHERE ino IN (1, 4); "
	  "UPDATE inode SET parent = 4 WHERE ino = 3",
	  CIRCLE("3") CIRCLE("4"),
	  "UPDATE dirent SET parent = 2, name = x'33', cookie = 1 WHERE ino = 3;"
	  "UPDATE inode SET parent = 2 WHERE ino = 3;"
	  "UPDATE inode SET nlink = 3 WHERE ino IN (1, 2)" },
};

static const struct damage content[] = {
	{ "UPDATE inode SET chunk = 1 WHERE ino = 12",
	  "chunk 1 is borne by inode 10; of its 2 blocks 2 bear it (of inode 12) and 0 are"
	  " guests\n",
	  NULL },
	{ "UPDATE inode SET chunk = -1 WHERE ino = 10",
	  "chunk 1 is borne by inode 10; of its 2 blocks 0 bear it (of inode 0) and 2 are"
	  " guests\n",
	  NULL },
	{ "UPDATE block SET guest = 3 WHERE ino = 12 AND block = 2",
	  "chunk 5 is borne by inode 12; "
	  "of its 3 blocks 1 bear it (of inode 12) and 1 are guests\n",
	  NULL },
	{ "UPDATE chunk SET bearer = 11 WHERE id = 2",
	  "chunk 2 is borne by inode 11; of its 1 blocks 1 bear it (of inode 14) and 0 are guests\n"
	  "inode 11 is charged 250 bytes instead of 251\n"
	  "inode 14 is charged 1 bytes instead of none\n",
	  NULL },
	{ "UPDATE frame SET live = 7 WHERE id = 1",
	  "frame 1 counts 7 chunks of 525628 bytes; it holds 5 of 525628\n", NULL },
	{ "UPDATE frame SET held = 7 WHERE id = 4",
	  "frame 4 counts 0 chunks of 7 bytes; it holds none\n", NULL },
	{ "UPDATE inode SET stored = 7 WHERE ino = 15",
	  "inode 15 is charged 7 bytes instead of none\n", NULL },
	{ "UPDATE inode SET stored = -7 WHERE ino = 16",
	  "inode 16 is charged -7 bytes instead of 501\n", NULL },
	{ "UPDATE inode SET sha = 0 WHERE ino = 15",
	  "the hash of inode 15 is invalid, or is that of a first block that it lacks\n", NULL },
	{ "UPDATE inode SET sha = x'01' WHERE ino = 16",
	  "the hash of inode 16 is invalid, or is that of a first block that it lacks\n", NULL },
	{ "INSERT INTO chunk SELECT 25, sha, frame, 200, 50, 0, 0 FROM chunk WHERE id = 20",
	  "chunk 25 is borne by inode 0, but no block holds it\n", NULL },
	{ "INSERT INTO chunk SELECT 25, sha, frame, 200, 50, 0, 12 FROM chunk WHERE id = 20;"
	  "UPDATE frame SET live = live + 1, held = held + 50 WHERE id = 3;"
	  "UPDATE inode SET stored = stored + 83 WHERE ino = 12",
	  "chunk 25 is borne by inode 12, but no block holds it\n", NULL },
	/* Block 1 has a draft over its first 10 bytes and one in its middle. Block 3 is partial. */
	{ "DELETE FROM frame WHERE id = 2",
	  "block 0 of inode 16 is lost: chunk 10 lies in frame 2, which does not exist\n"
	  "block 1 of inode 16 is lost: chunk 10 lies in frame 2, which does not exist\n"
	  "block 3 of inode 16 is lost: chunk 10 lies in frame 2, which does not exist\n",
	  "DELETE FROM frame WHERE id = 2; DELETE FROM chunk WHERE id = 10;"
	  "DELETE FROM block WHERE ino = 16 AND block <> 2;"
	  "UPDATE inode SET stored = 0, chunk = 0 WHERE ino = 16;"
	  "INSERT INTO draft VALUES(16, 0, 262134, 1, 262134, 0),"
	  "(16, 262154, 990, 1, 990, 0), (16, 263644, 260644, 1, 260644, 0),"
	  "(16, 786432, 100000, 1, 100000, 0)" },
	{ "UPDATE inode SET chunk = 99 WHERE ino = 14",
	  "block 0 of inode 14 is lost: there is no chunk 99\n"
	  "chunk 2 is borne by inode 14, but no block holds it\n",
	  "UPDATE inode SET chunk = 0 WHERE ino = 14; DELETE FROM chunk WHERE id = 2;"
	  "UPDATE inode SET stored = 0 WHERE ino = 14;"
	  "UPDATE frame SET live = 4, held = held - 333 WHERE id = 1;"
	  "INSERT INTO draft VALUES(14, 0, 1000, 1, 1000, 0)" },
	{ "UPDATE inode SET chunk = -99 WHERE ino = 10",
	  "block 0 of inode 10 is lost: there is no chunk 99\n"
	  "chunk 1 is borne by inode 10; of its 1 blocks 0 bear it (of inode 0) and 1 are"
	  " guests\n",
	  "UPDATE inode SET chunk = 0 WHERE ino = 10; UPDATE inode SET chunk = 1 WHERE ino = 12;"
	  "UPDATE chunk SET bearer = 12 WHERE id = 1;"
	  "UPDATE inode SET stored = 0, sha = NULL WHERE ino = 10;"
	  "UPDATE inode SET stored = stored + 0 WHERE ino = 12;"
	  "INSERT INTO draft VALUES(10, 0, 1000, 1, 1000, 0)" },
};

Test(index_check, names_are_put_right)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		try_damage(&names[i]);
}

Test(index_check, lost_names_are_found_again)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(rescues); i++)
		try_damage(&rescues[i]);
}

Test(index_check, content_and_references_are_put_right)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(content); i++)
		try_damage(&content[i]);
}

/* Problems that are only reported. */
static const struct damage places[] = {
	{ "UPDATE chunk SET off = 290 WHERE id = 20",
	  "chunk 20 takes 100 bytes at 290 of frame 3, which has 300\n", NULL },
	{ "UPDATE chunk SET off = 262150 WHERE id = 4", "chunks 3 and 4 overlap in frame 1\n",
	  NULL },
	{ "UPDATE frame SET off = 564 WHERE id = 2", "frames 1 and 2 overlap in pack 1\n", NULL },
	{ "UPDATE frame SET off = 1001 WHERE id = 4",
	  "frame 4 takes 501 bytes at 1001 of pack 2, but the packs end at 1501 of 2\n", NULL },
	{ "INSERT INTO extent VALUES(1, 2000, 10, 1, 0), (1, 2009, 10, 1, 0)",
	  "extents overlap at 2009 of pack 1\n", NULL },
	{ "UPDATE extent SET len = 500", "frame 3 at 64 of pack 2 lies only partly in an extent\n",
	  NULL },
	{ "UPDATE frame SET pack = 3 WHERE id = 4",
	  "frame 4 takes 501 bytes at 1000 of pack 3, but the packs end at 1501 of 2\n", NULL },
};

Test(index_check, wrong_places_are_told)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(places); i++) {
		OFS_FREE char *damaged = NULL;
		OFS_FREE char *lines = NULL;
		struct told t;

		copy_file(sound, path);
		run_sql(places[i].sql);
		damaged = dump();
		lines = check(false, 0, &t);
		cr_expect(strstr(lines, places[i].found), "%s:\n%s", places[i].sql, lines);
		/* A chunk that moved changes a share, too. */
		cr_expect_leq(t.n, 2, "%s:\n%s", places[i].sql, lines);
		expect_dump(damaged, places[i].sql);
		free(lines);
		lines = check(true, 0, &t);
		cr_expect_eq(t.unrepaired, 1);
	}
}

Test(index_check, a_name_that_is_taken_is_not_overwritten)
{
	struct told t;
	OFS_FREE char *lines = NULL;
	OFS_FREE char *text = NULL;

	run_sql("DELETE FROM dirent WHERE ino = 10;"
		"UPDATE dirent SET parent = 2, name = x'3130' WHERE ino = 13");
	lines = check(true, 0, &t);
	cr_assert_eq(t.n, 1, "%s", lines);
	cr_assert_eq(t.unrepaired, 0, "%s", lines);
	expect_clean("a name that is taken");
	text = dump();
	cr_assert(strstr(text, "1:2 4:10 1:13 "));
	cr_assert(strstr(text, "1:2 4:10."));
}

Test(index_check, without_a_directory_for_them_lost_names_stay_lost)
{
	static const char *const no_lost[] = {
		"DELETE FROM dirent WHERE ino IN (2, 10); UPDATE inode SET nlink = 3 WHERE ino = 1",
		"UPDATE dirent SET parent = 2 WHERE ino = 2; UPDATE inode SET parent = 2, nlink = 3"
		" WHERE ino = 2; UPDATE inode SET nlink = 3 WHERE ino = 1;"
		"DELETE FROM dirent WHERE ino = 10",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(no_lost); i++) {
		OFS_FREE char *lines = NULL;
		OFS_FREE char *damaged = NULL;
		struct told t;

		copy_file(sound, path);
		run_sql(no_lost[i]);
		damaged = dump();
		lines = check(true, 0, &t);
		cr_assert_eq(t.n, 2, "%s", lines);
		cr_assert_eq(t.unrepaired, 2, "%s", lines);
		expect_dump(damaged, no_lost[i]);
	}
}

Test(index_check, many_findings_are_counted)
{
	struct told t;
	OFS_FREE char *lines = NULL;

	run_sql("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
		" INSERT INTO dirent SELECT 3, CAST('n' || i AS BLOB), 1000 + i, 8, i FROM n");
	lines = check(true, 0, &t);
	cr_assert_eq(t.n, 1001, "%zu", t.n);
	cr_assert_eq(t.unrepaired, 0);
	cr_assert(strstr(lines, "and 4000 more like these\n"));
	expect_dump(sound_dump, "many");
}

static void keep_lock(void *arg, uint64_t ino, const char *what, bool repaired)
{
	pthread_mutex_t **lock = arg;

	if (!*lock)
		*lock = ofs_db_lock(&ix->db);
}

/* Else a check of millions of files would hold up every request that needs the index. */
Test(index_check, a_check_does_not_wait_for_those_who_use_the_index)
{
	pthread_mutex_t *lock = NULL;

	run_sql("DELETE FROM inode WHERE ino = 1");
	cr_assert_eq(ofs_index_open(path, NULL, NULL, &ix), 0);
	cr_assert_eq(ofs_index_check(ix, false, 0, keep_lock, &lock), 0);
	cr_assert(lock);
	ofs_db_unlock(&lock);
	ofs_index_close(ix);
}

Test(index_check, a_repair_needs_a_transaction)
{
	struct told t = { 0 };

	cr_assert_eq(ofs_index_open(path, NULL, NULL, &ix), 0);
	cr_assert_eq(ofs_index_check(ix, true, LOST, note_problem, &t), -EINVAL);
	ofs_index_close(ix);
}

/* Takes an SQL index out of the schema while a row is changed, so that the index lacks the row. */
static const char hide_guests[] =
	"UPDATE block SET guest = 0 WHERE ino = 12 AND block = 2;"
	"PRAGMA writable_schema = ON;"
	"CREATE TABLE hidden AS SELECT * FROM sqlite_schema WHERE name = 'block_guest';"
	"DELETE FROM sqlite_schema WHERE name = 'block_guest'";
static const char show_guests[] =
	"UPDATE block SET guest = 1 WHERE ino = 12 AND block = 2;"
	"PRAGMA writable_schema = ON;"
	"INSERT INTO sqlite_schema SELECT * FROM hidden; DROP TABLE hidden";

Test(index_check, an_index_is_made_again)
{
	struct told t;
	OFS_FREE char *lines = NULL;
	OFS_FREE char *repaired = NULL;

	run_sql(hide_guests);
	run_sql(show_guests);
	lines = check(false, -EUCLEAN, &t);
	cr_assert(strstr(lines, "block_guest"), "%s", lines);
	repaired = check(true, 0, &t);
	cr_assert_str_eq(lines, repaired);
	cr_assert_eq(t.unrepaired, 0, "%s", repaired);
	expect_clean("an index");
	expect_dump(sound_dump, "an index");
}

/* Returns the offset in the file at which a table begins. */
static off_t table_page(const char *name)
{
	char sql[128];
	sqlite3_stmt *st;
	OFS_CLEANUP(close_database) sqlite3 *db = open_database();
	off_t page;

	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
	cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
	page = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return (page - 1) * OFS_INDEX_PAGE_SIZE;
}

Test(index_check, every_table_is_checked)
{
	/* The schema is a table, too. */
	static const char sql[] = "SELECT count(*) + 1 FROM sqlite_schema WHERE type = 'table'";
	sqlite3_stmt *st;
	OFS_CLEANUP(close_database) sqlite3 *db = open_database();
	int trees = 0;

	for (size_t i = 0; i < ofs_rules_count; i++)
		trees += ofs_rules[i].tree;
	cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
	cr_assert_eq(sqlite3_column_int(st, 0), trees);
	sqlite3_finalize(st);
}

static int count_block(void *arg, uint64_t block, const struct ofs_index_chunk *c)
{
	++*(int *)arg;
	return 0;
}

Test(index_check, of_a_damaged_table_nothing_is_concluded)
{
	static const char *const tables[] = { "inode", "dirent", "chunk", "block",
					      "frame", "object", "extent" };

	/* The log has a line for each damaged page. */
	cr_assert_not_null(freopen("/dev/null", "w", stderr));
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tables); i++) {
		OFS_FREE char *lines = NULL;
		OFS_FREE char *before = NULL;
		OFS_FREE char *after = NULL;
		struct told t;
		int fd;

		copy_file(sound, path);
		run_sql("UPDATE inode SET nlink = 7 WHERE ino = 10");
		fd = open(path, O_RDWR);
		cr_assert_eq(pwrite(fd, "\xff\xff\xff\xff", 4, table_page(tables[i])), 4);
		close(fd);
		before = read_file();
		lines = check(true, -EUCLEAN, &t);
		cr_assert(strstr(lines, tables[i]), "%s", lines);
		cr_assert_eq(t.unrepaired, t.n, "%s", lines);
		after = read_file();
		cr_assert_eq(memcmp(before, after, FILE_MAX), 0);
	}
}

Test(index_check, a_block_without_its_chunk_is_no_hole)
{
	static const char *const damages[] = { "DELETE FROM frame WHERE id = 2",
					       "DELETE FROM chunk WHERE id = 10" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(damages); i++) {
		int n = 0;

		copy_file(sound, path);
		run_sql(damages[i]);
		cr_assert_eq(ofs_index_open(path, NULL, NULL, &ix), 0);
		cr_assert_eq(ofs_index_list_blocks(ix, BIG, count_block, &n), -EUCLEAN);
		cr_assert_eq(ofs_index_list_blocks(ix, LINKED, count_block, &n), 0);
		cr_assert_eq(n, 2);
		ofs_index_close(ix);
	}
}

/* ---- random damage */

static uint32_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static void damage_something(char *sql, size_t size)
{
	static const char *const fields[] = {
		"inode SET parent", "inode SET nlink",	 "inode SET stored",  "inode SET sha",
		"inode SET mode",   "dirent SET parent", "dirent SET ino",    "dirent SET type",
		"chunk SET bearer", "chunk SET id",	 "block SET ino",     "block SET block",
		"block SET chunk",  "inode SET chunk",	 "block SET guest",   "frame SET live",
		"frame SET held",   "draft SET ino",	 "meta SET next_ino", "frame SET id",
	};
	static const char *const tables[] = { "inode", "dirent", "chunk", "block", "frame" };
	static const uint32_t modes[] = { 33216, 16832, 41408, 4480, 448 };
	const char *f = fields[any(OFS_ARRAY_SIZE(fields))], *t;
	uint32_t value = strcmp(f, "inode SET mode") ? any(32) : modes[any(5)];
	int len = (int)strcspn(f, " ");

	/* The LOST directory is spared: the caller of ofs_index_check() ensures that it exists. */
	if (any(4)) {
		snprintf(sql, size,
			 "UPDATE OR IGNORE %s = %u WHERE (SELECT count(*) FROM %.*s) > 0 AND %s", f,
			 value, len, f, "%s");
		t = f;
	} else {
		t = tables[any(OFS_ARRAY_SIZE(tables))];
		len = (int)strlen(t);
		snprintf(sql, size, "DELETE FROM %s WHERE %s", t, "%s");
	}
	char where[200], *hole = strstr(sql, "%s");

	if (strncmp(t, "inode", 5) == 0)
		snprintf(where, sizeof(where), "ino = %u AND ino <> %d", any(LAST + 1), LOST);
	else if (strncmp(t, "dirent", 6) == 0)
		snprintf(where, sizeof(where),
			 "name = (SELECT name FROM dirent LIMIT 1 OFFSET %u) AND ino <> %d",
			 any(12), LOST);
	else if (strncmp(t, "block", 5) == 0)
		snprintf(where, sizeof(where),
			 "(ino, block) = (SELECT ino, block FROM block LIMIT 1 OFFSET %u)",
			 any(14));
	else if (strncmp(t, "chunk", 5) == 0 || strncmp(t, "frame", 5) == 0)
		snprintf(where, sizeof(where), "id = (SELECT id FROM %.*s LIMIT 1 OFFSET %u)", len,
			 t, any(9));
	else
		snprintf(where, sizeof(where), "1");
	snprintf(hole, size - (size_t)(hole - sql), "%s", where);
}

static void try_at_random(uint32_t number)
{
	OFS_FREE char *lines = NULL;
	OFS_FREE char *all = NULL;
	char sql[500];
	size_t len;
	struct told t;
	FILE *f = open_memstream(&all, &len);

	seed = number;
	copy_file(sound, path);
	for (uint32_t n = 1 + any(4); n; n--) {
		damage_something(sql, sizeof(sql));
		fprintf(f, "%s; ", sql);
		run_sql(sql);
	}
	fclose(f);
	lines = check(true, 0, &t);
	free(lines);
	lines = check(false, 0, &t);
	cr_assert(t.n == 0 || strstr(lines, "overlap") || strstr(lines, "takes"), "%u: %s\n%s",
		  number, all, lines);
}

Test(index_check, at_random)
{
	for (uint32_t i = 0; i < 400; i++)
		try_at_random(i);
}
