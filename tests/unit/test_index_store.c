/* SPDX-License-Identifier: MIT */
/* The index as a file: rows in and out, transactions, who may open it, and what a crash leaves. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/util.h"
#include "index/index.h"
#include "index/vfs.h"
#include "scratch.h"

/* SQL that turns the current format into older ones by removing what later formats added. */
#define FORMAT_5 "DROP TABLE object; DROP TABLE extent; ALTER TABLE inode DROP COLUMN tokens;"
#define FORMAT_3                                                                      \
	FORMAT_5                                                                      \
	"DROP TABLE ledger; ALTER TABLE meta DROP COLUMN ref_seed;"                   \
	"DROP TABLE tombstone; ALTER TABLE meta DROP COLUMN tombstones;"              \
	"ALTER TABLE meta DROP COLUMN age; ALTER TABLE meta DROP COLUMN age_wall;"    \
	"ALTER TABLE meta DROP COLUMN wall_high; ALTER TABLE inode DROP COLUMN used;" \
	"PRAGMA user_version = 3;"
#define FORMAT_2                                                                           \
	FORMAT_3 "DROP TABLE xattr; ALTER TABLE meta DROP COLUMN files;"                   \
		 "ALTER TABLE meta DROP COLUMN dirs; ALTER TABLE meta DROP COLUMN others;" \
		 "ALTER TABLE meta DROP COLUMN bytes; PRAGMA user_version = 2"

/* Without this, SQLite needs shared memory to open a WAL. */
#define INDEX_EXCLUSIVE "PRAGMA locking_mode = EXCLUSIVE;"

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_index *ix;
static struct ofs_error err;

static const struct ofs_index_meta fresh = {
	.uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.checkpoint = 8,
	.next_ino = 2,
	.next_chunk = 1,
};

static void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/index", dir);
	cr_assert_eq(ofs_index_open(path, &fresh, &err, &ix), 0, "%s", err.text);
}

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static void teardown(void)
{
	ofs_index_close(ix);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(index_store, .init = setup, .fini = teardown);

static void reopen(void)
{
	ofs_index_close(ix);
	ix = NULL;
	cr_assert_eq(ofs_index_open(path, NULL, &err, &ix), 0, "%s", err.text);
}

static void begin(void)
{
	cr_assert_eq(ofs_index_begin(ix), 0);
}

static void commit(void)
{
	cr_assert_eq(ofs_index_commit(ix), 0);
}

static void put_inode(uint64_t ino)
{
	struct ofs_index_inode in = { .ino = ino, .mode = S_IFREG | 0600, .nlink = 1 };

	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
}

static bool has_inode(uint64_t ino)
{
	struct ofs_index_inode in;
	int r = ofs_index_get_inode(ix, ino, &in);

	cr_assert(r == 0 || r == -ENOENT);
	return r == 0;
}

Test(index_store, file_is_private)
{
	struct stat st;
	char wal[80];

	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	cr_assert_eq(stat(wal, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	snprintf(wal, sizeof(wal), "%s-shm", path);
	cr_assert_eq(stat(wal, &st), -1, "the WAL's index should live in memory");
}

Test(index_store, meta_survives_reopening)
{
	struct ofs_index_meta meta = fresh, got;

	meta.checkpoint = UINT64_MAX - 7;
	meta.pack = UINT32_MAX;
	meta.pack_size = UINT64_C(1) << 40;
	meta.unused_from = UINT64_MAX - 1;
	meta.scrubbed = 77;
	meta.counts.tombstones = 5;
	meta.age = -1;
	meta.age_wall = INT64_MAX;
	meta.wall_high = INT64_MIN;
	cr_assert_eq(ofs_index_get_meta(ix, &got), 0);
	cr_assert_arr_eq(got.uuid, fresh.uuid, 16);
	cr_assert_eq(got.next_ino, 2);
	cr_assert_eq(got.unused_from, 0);
	cr_assert_eq(got.scrubbed, 0);
	begin();
	cr_assert_eq(ofs_index_put_meta(ix, &meta), 0);
	commit();
	reopen();
	cr_assert_eq(ofs_index_get_meta(ix, &got), 0);
	cr_assert_arr_eq(got.uuid, fresh.uuid, 16);
	cr_assert_eq(got.checkpoint, UINT64_MAX - 7);
	cr_assert_eq(got.pack, UINT32_MAX);
	cr_assert_eq(got.pack_size, UINT64_C(1) << 40);
	cr_assert_eq(got.next_chunk, 1);
	cr_assert_eq(got.unused_from, UINT64_MAX - 1);
	cr_assert_eq(got.scrubbed, 77);
	cr_assert_eq(got.counts.tombstones, 5);
	cr_assert_eq(got.age, -1);
	cr_assert_eq(got.age_wall, INT64_MAX);
	cr_assert_eq(got.wall_high, INT64_MIN);
}

Test(index_store, opening_what_exists_ignores_fresh)
{
	struct ofs_index_meta other = { .next_ino = 99 }, got;

	ofs_index_close(ix);
	cr_assert_eq(ofs_index_open(path, &other, &err, &ix), 0);
	cr_assert_eq(ofs_index_get_meta(ix, &got), 0);
	cr_assert_eq(got.next_ino, 2);
}

static void expect_inode(const struct ofs_index_inode *a)
{
	struct ofs_index_inode b;

	cr_assert_eq(ofs_index_get_inode(ix, a->ino, &b), 0);
	cr_assert_eq(a->parent, b.parent);
	cr_assert_eq(a->mode, b.mode);
	cr_assert_eq(a->uid, b.uid);
	cr_assert_eq(a->gid, b.gid);
	cr_assert_eq(a->nlink, b.nlink);
	cr_assert_eq(a->rdev, b.rdev);
	cr_assert_eq(a->size, b.size);
	cr_assert_eq(a->atime, b.atime);
	cr_assert_eq(a->mtime, b.mtime);
	cr_assert_eq(a->ctime, b.ctime);
	cr_assert_eq(a->btime, b.btime);
	cr_assert_eq(a->lines, b.lines);
	cr_assert_eq(a->has_sha, b.has_sha);
	if (a->has_sha)
		cr_assert_arr_eq(a->sha, b.sha, 32);
	cr_assert_eq(!a->target, !b.target);
	if (a->target)
		cr_assert_str_eq(a->target, b.target);
	free(b.target);
}

Test(index_store, inode_rows_come_back_whole)
{
	struct ofs_index_inode plain = { .ino = 2, .lines = -1 };
	struct ofs_index_inode full = {
		.ino = INT64_MAX,
		.parent = 1,
		.mode = S_IFLNK | 0777,
		.uid = UINT32_MAX,
		.gid = 1000,
		.nlink = 3,
		.rdev = UINT64_MAX,
		.size = UINT64_C(1) << 62,
		.atime = INT64_MIN,
		.mtime = INT64_MAX,
		.ctime = -1,
		.btime = 0,
		.stored = 4711,
		.lines = 12,
		.has_sha = true,
		.sha = { 0xff, 0, 1 },
		.target = (char[]){ "../a \xff b" },
	};
	uint64_t stored;

	begin();
	cr_assert_eq(ofs_index_put_inode(ix, &plain), 0);
	cr_assert_eq(ofs_index_put_inode(ix, &full), 0);
	commit();
	reopen();
	expect_inode(&plain);
	expect_inode(&full);
	cr_assert_eq(ofs_index_get_stored(ix, full.ino, &stored), 0);
	cr_assert_eq(stored, 4711);

	full.stored = 1;
	full.has_sha = false;
	full.target = NULL;
	full.mtime = 5;
	begin();
	cr_assert_eq(ofs_index_put_inode(ix, &full), 0);
	commit();
	expect_inode(&full);
	cr_assert_eq(ofs_index_get_stored(ix, full.ino, &stored), 0);
	cr_assert_eq(stored, 4711, "only new rows take `stored`");
	cr_assert_eq(ofs_index_get_stored(ix, 77, &stored), -ENOENT);
	begin();
	cr_assert_eq(ofs_index_delete_inode(ix, full.ino), 0);
	cr_assert_eq(ofs_index_delete_inode(ix, full.ino), 0);
	commit();
	cr_assert_not(has_inode(full.ino));
	cr_assert(has_inode(2));
}

struct names {
	size_t n;
	char name[8][300];
	struct ofs_index_dirent e[8];
	size_t stop;
};

static int collect_name(void *arg, const struct ofs_index_dirent *e)
{
	struct names *names = arg;

	snprintf(names->name[names->n], sizeof(names->name[0]), "%s", e->name);
	names->e[names->n++] = *e;
	return names->n == names->stop ? 42 : 0;
}

static int note_inode(void *arg, const struct ofs_index_inode *in)
{
	uint64_t *at = *(uint64_t **)arg;

	*at = in->ino;
	*(uint64_t **)arg = at + 1;
	return in->ino == 15 ? 7 : 0;
}

static int note_first(void *arg, uint64_t ino, const struct ofs_index_chunk *c)
{
	uint64_t *at = *(uint64_t **)arg;

	at[0] = ino;
	at[1] = c->id;
	*(uint64_t **)arg = at + 2;
	return 0;
}

Test(index_store, runs_of_inodes)
{
	static const uint64_t all[] = { 20, 12, 15, 11, 30 };
	uint64_t seen[8] = { 0 }, *at = seen;

	begin();
	for (size_t i = 0; i < OFS_ARRAY_SIZE(all); i++)
		put_inode(all[i]);
	commit();
	cr_expect_eq(ofs_index_list_inodes(ix, 16, 29, note_inode, &at), 0);
	cr_expect_eq(at - seen, 1);
	cr_expect_eq(seen[0], 20);
	at = seen;
	cr_expect_eq(ofs_index_list_inodes(ix, 12, 30, note_inode, &at), 7, "fn may end it");
	cr_expect_eq(at - seen, 2);
	cr_expect_eq(seen[0], 12);
	at = seen;
	cr_expect_eq(ofs_index_list_inodes(ix, 1, 10, note_inode, &at), 0);
	cr_expect_eq(at, seen);
}

Test(index_store, first_blocks_of_a_run)
{
	struct ofs_index_frame f = { .pack = 1, .off = 64, .stored = 100, .raw = 50 };
	struct ofs_index_chunk c = { .len = 10 };
	uint64_t seen[8] = { 0 }, *at = seen, frame;

	begin();
	cr_assert_eq(ofs_index_put_frame(ix, &f, &frame), 0);
	for (c.id = 1; c.id <= 3; c.id++) {
		c.sha[0] = (uint8_t)c.id;
		cr_assert_eq(ofs_index_put_chunk(ix, frame, &c), 0);
	}
	for (uint64_t ino = 11; ino <= 15; ino++)
		put_inode(ino);
	cr_assert_eq(ofs_index_set_block(ix, 12, 0, 1), 0);
	cr_assert_eq(ofs_index_set_block(ix, 13, 1, 2), 0);
	cr_assert_eq(ofs_index_set_block(ix, 14, 0, 3), 0);
	cr_assert_eq(ofs_index_set_block(ix, 14, 1, 3), 0);
	commit();
	cr_expect_eq(ofs_index_list_firsts(ix, 11, 14, note_first, &at), 0);
	cr_expect_eq(at - seen, 4, "13 begins with a hole");
	cr_expect_eq(seen[0], 12);
	cr_expect_eq(seen[1], 1);
	cr_expect_eq(seen[2], 14);
	cr_expect_eq(seen[3], 3);
}

Test(index_store, directories)
{
	struct ofs_index_dirent a = { "a", 10, DT_REG, 1 }, b = { "\xff\xfe", 11, DT_DIR, 2 };
	struct ofs_index_dirent again = { "a", 12, DT_LNK, UINT64_C(1) << 50 };
	struct names names = { 0 };

	begin();
	cr_assert_eq(ofs_index_put_dirent(ix, 1, &a), 0);
	cr_assert_eq(ofs_index_put_dirent(ix, 1, &b), 0);
	cr_assert_eq(ofs_index_put_dirent(ix, 2, &a), 0);
	cr_assert_eq(ofs_index_put_dirent(ix, 1, &again), 0);
	cr_assert_eq(ofs_index_delete_dirent(ix, 2, "nothing"), 0);
	commit();
	reopen();
	cr_assert_eq(ofs_index_list_dir(ix, 1, collect_name, &names), 0);
	cr_assert_eq(names.n, 2);
	size_t i = strcmp(names.name[0], "a") == 0 ? 0 : 1;

	cr_assert_eq(names.e[i].ino, 12);
	cr_assert_eq(names.e[i].type, DT_LNK);
	cr_assert_eq(names.e[i].cookie, UINT64_C(1) << 50);
	cr_assert_str_eq(names.name[1 - i], "\xff\xfe");
	names = (struct names){ .stop = 1 };
	cr_assert_eq(ofs_index_list_dir(ix, 1, collect_name, &names), 42);
	begin();
	cr_assert_eq(ofs_index_delete_dirent(ix, 1, "a"), 0);
	cr_assert_eq(ofs_index_delete_dirent(ix, 1, "\xff\xfe"), 0);
	commit();
	names = (struct names){ 0 };
	cr_assert_eq(ofs_index_list_dir(ix, 1, collect_name, &names), 0);
	cr_assert_eq(names.n, 0);
	cr_assert_eq(ofs_index_list_dir(ix, 2, collect_name, &names), 0);
	cr_assert_eq(names.n, 1);
}

struct drafts {
	size_t n;
	struct ofs_index_draft d[8];
};

static int collect_draft(void *arg, const struct ofs_index_draft *d)
{
	struct drafts *drafts = arg;

	drafts->d[drafts->n++] = *d;
	return 0;
}

Test(index_store, drafts_are_replaced_as_a_whole)
{
	struct ofs_index_draft two[] = { { 5, 100, 50, 4096, 80, 30 }, { 5, 0, 100, 0, 0, 0 } };
	struct ofs_index_draft one = { 3, 7, UINT64_C(1) << 40, 8, UINT32_MAX, 0 };
	struct drafts got = { 0 };

	begin();
	put_inode(5);
	cr_assert_eq(ofs_index_set_drafts(ix, 5, two, 2), 0);
	cr_assert_eq(ofs_index_set_drafts(ix, 3, &one, 1), 0);
	commit();
	reopen();
	cr_assert_eq(ofs_index_list_drafts(ix, collect_draft, &got), 0);
	cr_assert_eq(got.n, 3);
	cr_assert_eq(got.d[0].ino, 3);
	cr_assert_eq(got.d[0].len, UINT64_C(1) << 40);
	cr_assert_eq(got.d[0].data_len, UINT32_MAX);
	cr_assert_eq(got.d[1].off, 0);
	cr_assert_eq(got.d[2].off, 100);
	cr_assert_eq(got.d[2].data_pos, 4096);
	cr_assert_eq(got.d[2].data_off, 30);
	begin();
	cr_assert_eq(ofs_index_set_drafts(ix, 3, NULL, 0), 0);
	cr_assert_eq(ofs_index_set_drafts(ix, 5, two, 1), 0);
	commit();
	got.n = 0;
	cr_assert_eq(ofs_index_list_drafts(ix, collect_draft, &got), 0);
	cr_assert_eq(got.n, 1);
	begin();
	cr_assert_eq(ofs_index_delete_inode(ix, 5), 0);
	commit();
	got.n = 0;
	cr_assert_eq(ofs_index_list_drafts(ix, collect_draft, &got), 0);
	cr_assert_eq(got.n, 0);
}

static int collect_ino(void *arg, uint64_t ino)
{
	uint64_t **next = arg;

	*(*next)++ = ino;
	return 0;
}

static int collect_and_stop(void *arg, uint64_t ino)
{
	collect_ino(arg, ino);
	return 3;
}

Test(index_store, marks)
{
	uint64_t got[8], *next = got;

	cr_assert_eq(ofs_index_put_mark(ix, 2), -EINVAL);
	cr_assert_eq(ofs_index_delete_mark(ix, 2), -EINVAL);
	cr_assert_eq(ofs_index_list_marks(ix, 8, collect_ino, &next), 0);
	cr_assert_eq(next, got);
	begin();
	cr_assert_eq(ofs_index_put_mark(ix, 9), 0);
	cr_assert_eq(ofs_index_put_mark(ix, 2), 0);
	cr_assert_eq(ofs_index_put_mark(ix, INT64_MAX), 0);
	cr_assert_eq(ofs_index_put_mark(ix, 5), 0);
	cr_assert_eq(ofs_index_put_mark(ix, 9), 0, "twice is once");
	cr_assert_eq(ofs_index_delete_mark(ix, 77), 0);
	commit();
	reopen();
	cr_assert_eq(ofs_index_list_marks(ix, 8, collect_ino, &next), 0);
	cr_assert_eq(next - got, 4);
	cr_assert_eq(got[0], 2);
	cr_assert_eq(got[1], 5);
	cr_assert_eq(got[2], 9);
	cr_assert_eq(got[3], INT64_MAX);
	next = got;
	cr_assert_eq(ofs_index_list_marks(ix, 2, collect_ino, &next), 0);
	cr_assert_eq(next - got, 2);
	next = got;
	cr_assert_eq(ofs_index_list_marks(ix, 0, collect_ino, &next), 0);
	cr_assert_eq(next, got);
	cr_assert_eq(ofs_index_list_marks(ix, SIZE_MAX, collect_ino, &next), 0);
	cr_assert_eq(next - got, 4);
	next = got;
	cr_assert_eq(ofs_index_list_marks(ix, 8, collect_and_stop, &next), 3);
	cr_assert_eq(next - got, 1);
	begin();
	cr_assert_eq(ofs_index_delete_mark(ix, 2), 0);
	ofs_index_rollback(ix);
	begin();
	cr_assert_eq(ofs_index_delete_mark(ix, 9), 0);
	commit();
	next = got;
	cr_assert_eq(ofs_index_list_marks(ix, 8, collect_ino, &next), 0);
	cr_assert_eq(next - got, 3);
	cr_assert_eq(got[0], 2);
	cr_assert_eq(got[2], INT64_MAX);
}

/* The conditions of partial indexes must still work after the schema was read again. */
Test(index_store, frames_and_chunks_survive_reopening)
{
	struct ofs_index_frame f = { .pack = 3, .off = 64, .stored = 100, .raw = 50, .class = 70 };
	struct ofs_index_chunk c = { .id = 9, .sha = { 1 }, .off = 10, .len = 40, .lines = 3 };
	struct ofs_index_frame got;
	uint64_t frame;

	begin();
	cr_assert_eq(ofs_index_put_frame(ix, &f, &frame), 0);
	cr_assert_eq(ofs_index_put_chunk(ix, frame, &c), 0);
	put_inode(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 9), 0);
	cr_assert_eq(ofs_index_set_frame_bad(ix, frame, true), 0);
	commit();
	reopen();
	cr_assert_eq(ofs_index_next_frame(ix, 0, &got), 0);
	cr_assert_eq(got.id, frame);
	cr_assert_eq(got.live, 1);
	cr_assert_eq(got.held, 40);
	cr_assert_eq(got.class, 70);
	cr_assert(got.bad);
	cr_assert_eq(ofs_index_find_chunk(ix, c.sha, &c), 0);
	cr_assert_eq(c.bearer, 2);
	cr_assert_eq(c.frame_off, 64);
	cr_assert_eq(c.class, 70);
	cr_assert(c.bad);
}

Test(index_store, orphans_and_counts)
{
	struct ofs_index_inode in = { .ino = 2, .mode = S_IFREG, .size = UINT64_C(5) << 40 };
	uint64_t orphans[4], *next = orphans, files, bytes;

	cr_assert_eq(ofs_index_count(ix, &files, &bytes), 0);
	cr_assert_eq(files, 0);
	cr_assert_eq(bytes, 0);
	begin();
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	in.ino = 3;
	in.nlink = 1;
	in.size = 7;
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	in.ino = 4;
	in.mode = S_IFDIR;
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	cr_assert_eq(ofs_index_list_orphans(ix, collect_ino, &next), 0);
	cr_assert_eq(next - orphans, 1);
	cr_assert_eq(orphans[0], 2);
	cr_assert_eq(ofs_index_count(ix, &files, &bytes), 0);
	cr_assert_eq(files, 2);
	cr_assert_eq(bytes, (UINT64_C(5) << 40) + 7);
	in.mode = S_IFREG;
	in.size = INT64_MAX;
	for (in.ino = 10; in.ino < 13; in.ino++)
		cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	cr_assert_eq(ofs_index_count(ix, &files, &bytes), 0);
	cr_assert_eq(files, 5);
	cr_assert_eq(bytes, UINT64_MAX, "huge sparse files must not wrap the sum");
}

Test(index_store, rollback_leaves_nothing)
{
	struct ofs_index_dirent e = { "x", 10, DT_REG, 1 };
	struct names names = { 0 };

	begin();
	put_inode(10);
	cr_assert_eq(ofs_index_put_dirent(ix, 1, &e), 0);
	cr_assert(has_inode(10), "a read sees what the transaction has written");
	ofs_index_rollback(ix);
	cr_assert_not(has_inode(10));
	cr_assert_eq(ofs_index_list_dir(ix, 1, collect_name, &names), 0);
	cr_assert_eq(names.n, 0);
	ofs_index_rollback(ix);
	begin();
	put_inode(11);
	reopen();
	cr_assert_not(has_inode(11), "closing commits nothing");
}

Test(index_store, writes_need_a_transaction)
{
	struct ofs_index_frame f = { .pack = 1, .off = 64, .stored = 8, .raw = 8 };
	struct ofs_index_chunk c = { .id = 1, .len = 8 };
	struct ofs_index_inode in = { .ino = 2 };
	uint64_t frame;

	cr_assert_eq(ofs_index_put_inode(ix, &in), -EINVAL);
	cr_assert_eq(ofs_index_delete_inode(ix, 2), -EINVAL);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 0), -EINVAL);
	cr_assert_eq(ofs_index_put_frame(ix, &f, &frame), -EINVAL);
	cr_assert_eq(ofs_index_put_chunk(ix, 1, &c), -EINVAL);
	cr_assert_eq(ofs_index_move_chunk(ix, 1, 1, 0), -EINVAL);
	cr_assert_eq(ofs_index_delete_unused(ix, 0), -EINVAL);
	cr_assert_eq(ofs_index_set_frame_bad(ix, 1, true), -EINVAL);
	cr_assert_eq(ofs_index_commit(ix), -EINVAL);
	begin();
	cr_assert_eq(ofs_index_begin(ix), -EINVAL);
	cr_assert_eq(ofs_index_checkpoint(ix), -EINVAL);
	commit();
	cr_assert_eq(ofs_index_checkpoint(ix), 0);
}

Test(index_store, missing_and_empty_files)
{
	struct ofs_index *other = NULL;
	char name[80];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%s/none", dir);
	cr_assert_eq(ofs_index_open(name, NULL, &err, &other), -ENOENT);
	cr_assert_eq(stat(name, &st), -1);
	fd = creat(name, 0600);
	close(fd);
	cr_assert_eq(ofs_index_open(name, NULL, &err, &other), -ENOENT);
	cr_assert_eq(ofs_index_open(name, &fresh, &err, &other), 0, "%s", err.text);
	ofs_index_close(other);
	cr_assert_eq(ofs_index_open("/proc/none/index", &fresh, &err, &other), -ENOENT);
}

Test(index_store, names_are_never_uris)
{
	struct ofs_index *other = NULL;
	struct stat st;

	cr_assert_eq(chdir(dir), 0);
	cr_assert_eq(ofs_index_open(":memory:", &fresh, &err, &other), 0, "%s", err.text);
	ofs_index_close(other);
	cr_assert_eq(stat(":memory:", &st), 0);
	cr_assert_eq(ofs_index_open("file:x?mode=memory", &fresh, &err, &other), 0, "%s", err.text);
	ofs_index_close(other);
	cr_assert_eq(stat("file:x?mode=memory", &st), 0);
}

static void sql(const char *vfs, const char *file, const char *text)
{
	sqlite3 *db;

	cr_assert_eq(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs),
		     SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void expect_refused(const char *format)
{
	char text[128];

	snprintf(text, sizeof(text), INDEX_EXCLUSIVE "PRAGMA user_version = %s", format);
	sql(OFS_INDEX_VFS, path, text);
	cr_assert_eq(ofs_index_open(path, &fresh, &err, &ix), -EINVAL);
	snprintf(text, sizeof(text), "format %s, this program understands %d to %d", format,
		 OFS_INDEX_FORMAT_OLD, OFS_INDEX_FORMAT);
	cr_assert(strstr(err.text, text), "%s", err.text);
}

Test(index_store, other_formats_are_refused)
{
	ofs_index_close(ix);
	ix = NULL;
	expect_refused("8");
	expect_refused("1");
	expect_refused("0");
	expect_refused("-1");
	sql(OFS_INDEX_VFS, path, INDEX_EXCLUSIVE FORMAT_2);
	reopen();
}

/* Fractions of a second are not kept. */
static void expect_used(int64_t ctime, int64_t used, int64_t want)
{
	struct ofs_index_inode in = { .ino = 2, .ctime = ctime, .used = used };

	begin();
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	commit();
	cr_assert_eq(ofs_index_get_inode(ix, 2, &in), 0);
	cr_assert_eq(in.ctime, ctime);
	cr_assert_eq(in.used, want, "%ld", in.used);
}

Test(index_store, the_last_use_is_kept_to_the_second)
{
	const int64_t s = OFS_NS_PER_S, year = 365 * 86400 * OFS_NS_PER_S;

	expect_used(50 * year + 5, 50 * year, 50 * year);
	expect_used(50 * year + s - 1, 50 * year + s - 1, 50 * year);
	expect_used(50 * year, 51 * year + 7 * s + 1, 51 * year + 7 * s);
	expect_used(50 * year, year, year);
	expect_used(-1, -1, -s);
	expect_used(-s, s, s);
	expect_used(INT64_MIN, INT64_MAX, INT64_MAX / s * s);
}

static void expect_tombstone(uint64_t ino, int64_t removed, const char *want, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf what = OFS_BUF_INIT;
	int64_t when = 0;
	int r = ofs_index_get_tombstone(ix, ino, &what, &when);

	cr_assert_eq(r, want ? 0 : -ENOENT, "%lu: %d", ino, r);
	cr_assert_eq(when, want ? removed : 0);
	cr_assert(what.len == len && (!len || memcmp(what.data, want, len) == 0));
}

Test(index_store, tombstones_stay_until_they_are_old)
{
	uint64_t n = 77;

	cr_assert_eq(ofs_index_put_tombstone(ix, 5, 1, "x", 1), -EINVAL);
	begin();
	cr_assert_eq(ofs_index_put_tombstone(ix, 5, 1000, "a\0b", 3), 0);
	cr_assert_eq(ofs_index_put_tombstone(ix, 6, -1, NULL, 0), 0);
	for (uint64_t ino = 100; ino < 5000; ino++)
		cr_assert_eq(ofs_index_put_tombstone(ix, ino, (int64_t)ino, "many", 4), 0);
	commit();
	reopen();
	expect_tombstone(5, 1000, "a\0b", 3);
	expect_tombstone(6, -1, "", 0);
	expect_tombstone(7, 0, NULL, 0);
	cr_assert_eq(ofs_index_delete_tombstones(ix, 1000, &n), -EINVAL);
	begin();
	cr_assert_eq(ofs_index_delete_tombstones(ix, 1000, &n), 0);
	cr_assert_eq(n, 901);
	commit();
	expect_tombstone(5, 1000, "a\0b", 3);
	expect_tombstone(6, 0, NULL, 0);
	expect_tombstone(999, 0, NULL, 0);
	expect_tombstone(1000, 1000, "many", 4);
	begin();
	cr_assert_eq(ofs_index_delete_tombstones(ix, INT64_MAX, &n), 0);
	cr_assert_eq(n, 4001);
	cr_assert_eq(ofs_index_delete_tombstones(ix, INT64_MAX, &n), 0);
	cr_assert_eq(n, 0);
	commit();
}

static int note_name(void *arg, uint64_t parent, const char *name)
{
	uint64_t *sum = arg;
	struct ofs_index_meta meta;

	/* Called without the index's lock, so the index can be used. */
	cr_assert_eq(ofs_index_get_meta(ix, &meta), 0);
	sum[0]++;
	sum[1] += parent;
	sum[2] += strlen(name);
	return sum[0] == sum[3] ? 99 : 0;
}

Test(index_store, names_are_found_among_all_entries)
{
	uint64_t sum[4] = { 0 };
	char name[300];

	begin();
	for (uint64_t i = 0; i < 5000; i++) {
		struct ofs_index_dirent e = { name, i % 1000 == 7 ? 42 : 1000 + i, 8, 100 + i };

		snprintf(name, sizeof(name), "%lu", i);
		cr_assert_eq(ofs_index_put_dirent(ix, 1 + i / 900, &e), 0);
	}
	memset(name, 'n', 255);
	name[255] = '\0';
	cr_assert_eq(ofs_index_put_dirent(ix, UINT64_C(1) << 61,
					  &(struct ofs_index_dirent){ name, 42, 8, 100 }),
		     0);
	commit();
	cr_assert_eq(ofs_index_list_names(ix, 42, note_name, sum), 0);
	cr_assert_eq(sum[0], 6);
	cr_assert_eq(sum[1], (UINT64_C(1) << 61) + 1 + 2 + 3 + 4 + 5);
	cr_assert_eq(sum[2], 1 + 4 * 4 + 255);
	memset(sum, 0, sizeof(sum));
	sum[3] = 2;
	cr_assert_eq(ofs_index_list_names(ix, 42, note_name, sum), 99);
	cr_assert_eq(sum[0], 2);
	memset(sum, 0, sizeof(sum));
	cr_assert_eq(ofs_index_list_names(ix, 41, note_name, sum), 0);
	cr_assert_eq(sum[0], 0);
}

Test(index_store, format_4_is_upgraded_and_has_no_seed)
{
	struct ofs_index_meta meta;

	cr_assert_eq(ofs_index_get_meta(ix, &meta), 0);
	begin();
	meta.ref_seed = 77;
	cr_assert_eq(ofs_index_put_meta(ix, &meta), 0);
	commit();
	reopen();
	cr_assert_eq(ofs_index_get_meta(ix, &meta), 0);
	cr_assert_eq(meta.ref_seed, 77);
	ofs_index_close(ix);
	ix = NULL;
	sql(OFS_INDEX_VFS, path,
	    INDEX_EXCLUSIVE FORMAT_5 "DROP TABLE ledger; ALTER TABLE meta DROP COLUMN ref_seed;"
				     " PRAGMA user_version = 4");
	reopen();
	cr_assert_eq(ofs_index_get_meta(ix, &meta), 0);
	cr_assert_eq(meta.ref_seed, 0);
	reopen();
}

Test(index_store, format_3_is_upgraded)
{
	struct ofs_index_inode in = { .ino = 2,
				      .mode = S_IFREG,
				      .nlink = 1,
				      .size = 9,
				      .ctime = 1700000000123456789,
				      .used = 5 };
	struct ofs_index_meta meta;

	begin();
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	commit();
	ofs_index_close(ix);
	ix = NULL;
	sql(OFS_INDEX_VFS, path, INDEX_EXCLUSIVE FORMAT_3);
	reopen();
	cr_assert_eq(ofs_index_get_inode(ix, 2, &in), 0);
	cr_assert_eq(in.used, 1700000000 * OFS_NS_PER_S, "as old as its last change");
	cr_assert_eq(ofs_index_get_meta(ix, &meta), 0);
	cr_assert_eq(meta.counts.files, 1);
	cr_assert_eq(meta.counts.bytes, 9);
	cr_assert_eq(meta.counts.tombstones, 0);
	cr_assert_eq(meta.wall_high, 0);
	expect_tombstone(2, 0, NULL, 0);
	reopen();
}

static uint64_t file_sum(const char *file)
{
	static char content[1 << 20];
	int fd = open(file, O_RDONLY);
	ssize_t n = read(fd, content, sizeof(content));
	uint64_t sum = (uint64_t)n;

	cr_assert_geq(n, 0);
	close(fd);
	for (ssize_t i = 0; i < n; i++)
		sum = sum * 31 + (uint8_t)content[i];
	return sum;
}

static void expect_foreign(const char *file)
{
	struct ofs_index *other = NULL;
	uint64_t before = file_sum(file);

	cr_assert_eq(ofs_index_open(file, &fresh, &err, &other), -EINVAL);
	cr_assert(strstr(err.text, "not an offloadfs index"), "%s", err.text);
	cr_assert_eq(file_sum(file), before, "a foreign file was changed");
}

Test(index_store, foreign_files_are_refused_and_left_alone)
{
	char name[80];
	FILE *f;

	snprintf(name, sizeof(name), "%s/text", dir);
	f = fopen(name, "w");
	for (int i = 0; i < 1000; i++)
		fputs("this is not a database\n", f);
	fclose(f);
	expect_foreign(name);
	snprintf(name, sizeof(name), "%s/db", dir);
	sql(NULL, name, "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
	expect_foreign(name);
	snprintf(name, sizeof(name), "%s/wal", dir);
	sql(NULL, name, "PRAGMA journal_mode = WAL; PRAGMA application_id = 5; CREATE TABLE t(x)");
	expect_foreign(name);
}

Test(index_store, second_opener_is_busy)
{
	struct ofs_index *other = NULL;
	int status;
	pid_t pid;

	cr_assert_eq(ofs_index_open(path, NULL, &err, &other), -EBUSY);
	cr_assert(strstr(err.text, "in use"), "%s", err.text);
	pid = fork();
	if (pid == 0)
		_exit(ofs_index_open(path, &fresh, NULL, &other) == -EBUSY ? 0 : 1);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	begin();
	put_inode(2);
	commit();
	cr_assert(has_inode(2), "the first one was disturbed");
}

/* Commits inode 2, then dies with inode 3 and many others written but not committed. */
static void die_in_transaction(void)
{
	struct ofs_index_inode in = { .ino = 2, .mode = S_IFREG, .nlink = 1 };

	if (ofs_index_open(path, NULL, NULL, &ix) < 0 || ofs_index_begin(ix) < 0 ||
	    ofs_index_put_inode(ix, &in) < 0 || ofs_index_commit(ix) < 0 || ofs_index_begin(ix) < 0)
		_exit(1);
	for (in.ino = 3; in.ino < 600000; in.ino++)
		if (ofs_index_put_inode(ix, &in) < 0)
			_exit(2);
	kill(getpid(), SIGKILL);
}

Test(index_store, killed_process_leaves_the_last_commit)
{
	struct stat st;
	char wal[80];
	int status;
	pid_t pid;

	ofs_index_close(ix);
	ix = NULL;
	pid = fork();
	if (pid == 0)
		die_in_transaction();
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status), "exit status %d", WEXITSTATUS(status));
	snprintf(wal, sizeof(wal), "%s-wal", path);
	cr_assert_eq(stat(wal, &st), 0);
	cr_assert_gt(st.st_size, 8 << 20, "nothing of the transaction had reached the WAL");
	reopen();
	cr_assert(has_inode(2));
	cr_assert_not(has_inode(3));
	cr_assert_not(has_inode(599999));
}

Test(index_store, damage_is_an_error)
{
	char junk[4096];
	struct stat st;
	int fd, r;

	begin();
	for (uint64_t ino = 2; ino < 2000; ino++)
		put_inode(ino);
	commit();
	ofs_index_close(ix);
	ix = NULL;
	memset(junk, 0xa5, sizeof(junk));
	fd = open(path, O_WRONLY);
	cr_assert_eq(fstat(fd, &st), 0);
	for (off_t off = 4096; off < st.st_size; off += 4096)
		cr_assert_eq(pwrite(fd, junk, sizeof(junk), off), 4096);
	close(fd);
	r = ofs_index_open(path, NULL, &err, &ix);
	cr_assert(r == 0 || r == -EUCLEAN, "%d", r);
	for (uint64_t ino = 2; r == 0 && ino < 2000; ino += 100) {
		struct ofs_index_inode in;

		cr_assert_eq(ofs_index_get_inode(ix, ino, &in), -EUCLEAN);
	}
}

Test(index_store, checkpoint_gives_space_back)
{
	uint64_t full, less;

	begin();
	for (uint64_t ino = 2; ino < 20000; ino++)
		put_inode(ino);
	commit();
	cr_assert_eq(ofs_index_checkpoint(ix), 0);
	cr_assert_eq(ofs_index_disk_usage(ix, &full), 0);
	cr_assert_gt(full, 300 << 10);
	begin();
	for (uint64_t ino = 2; ino < 20000; ino++)
		cr_assert_eq(ofs_index_delete_inode(ix, ino), 0);
	commit();
	cr_assert_eq(ofs_index_checkpoint(ix), 0);
	cr_assert_eq(ofs_index_disk_usage(ix, &less), 0);
	cr_assert_lt(less, full / 4);
}

/* The failpoint is read at the first commit, which creates the index. */
static void setup_full_disk(void)
{
	setenv("OFS_FAILPOINT", "index.commit=enospc@3", 1);
	setup();
}

TestSuite(index_full, .init = setup_full_disk, .fini = teardown);

Test(index_full, commit_rolls_back)
{
	begin();
	put_inode(2);
	commit();
	begin();
	put_inode(3);
	cr_assert_eq(ofs_index_commit(ix), -ENOSPC);
	cr_assert_not(has_inode(3));
	cr_assert(has_inode(2));
	begin();
	put_inode(4);
	commit();
	reopen();
	cr_assert(has_inode(4));
	cr_assert_not(has_inode(3));
}

Test(index_full, failed_commit_keeps_dropped_chunks)
{
	struct ofs_index_frame f = { .pack = 3, .off = 64, .stored = 100, .raw = 50 };
	struct ofs_index_chunk c = { .id = 9, .sha = { 1 }, .len = 50 };
	uint64_t frame;

	begin();
	cr_assert_eq(ofs_index_put_frame(ix, &f, &frame), 0);
	cr_assert_eq(ofs_index_put_chunk(ix, frame, &c), 0);
	put_inode(2);
	cr_assert_eq(ofs_index_set_block(ix, 2, 0, 9), 0);
	commit();
	begin();
	cr_assert_eq(ofs_index_delete_inode(ix, 2), 0);
	cr_assert_eq(ofs_index_commit(ix), -ENOSPC);
	cr_assert_eq(ofs_index_find_chunk(ix, c.sha, &c), 0);
	begin();
	commit();
	cr_assert_eq(ofs_index_find_chunk(ix, c.sha, &c), 0);
	cr_assert_eq(c.bearer, 2);
	begin();
	cr_assert_eq(ofs_index_delete_inode(ix, 2), 0);
	commit();
	cr_assert_eq(ofs_index_get_chunk(ix, 9, &c), -ENOENT);
}

/* The kernel refuses to let the WAL grow in the middle of a large transaction. */
Test(index_store, failed_write_rolls_back)
{
	struct ofs_index_inode in = { .mode = S_IFREG, .nlink = 1 };
	struct rlimit limit, small;
	int r = 0;

	signal(SIGXFSZ, SIG_IGN);
	begin();
	put_inode(2);
	commit();
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = (struct rlimit){ 1 << 20, limit.rlim_max };
	begin();
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (in.ino = 3; r == 0 && in.ino < 100000; in.ino++)
		r = ofs_index_put_inode(ix, &in);
	if (r == 0)
		r = ofs_index_commit(ix);
	else
		ofs_index_rollback(ix);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_lt(r, 0);
	cr_assert(has_inode(2));
	cr_assert_not(has_inode(3));
	begin();
	put_inode(4);
	commit();
	reopen();
	cr_assert(has_inode(2));
	cr_assert_not(has_inode(3));
	cr_assert(has_inode(4));
}

static struct {
	int stop;
	unsigned int reads;
	unsigned int errors;
} crowd;

static void *read_all_the_time(void *arg)
{
	while (!__atomic_load_n(&crowd.stop, __ATOMIC_RELAXED)) {
		struct names names = { 0 };
		uint64_t files, bytes;

		if (ofs_index_count(ix, &files, &bytes) < 0 || bytes != files * 1000 ||
		    ofs_index_list_dir(ix, 1, collect_name, &names) < 0)
			__atomic_fetch_add(&crowd.errors, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&crowd.reads, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Writes without pause in one transaction, until others have read `reads` times. */
static void write_while_others_read(uint64_t first, unsigned int reads)
{
	struct ofs_index_inode in = { .mode = S_IFREG, .nlink = 1, .size = 1000 };
	unsigned int before = __atomic_load_n(&crowd.reads, __ATOMIC_RELAXED);

	for (uint64_t i = 0; __atomic_load_n(&crowd.reads, __ATOMIC_RELAXED) - before < reads;
	     i++) {
		in.ino = first + i % 500;
		cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	}
}

Test(index_store, reads_go_on_during_a_transaction)
{
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, read_all_the_time, NULL), 0);
	for (uint64_t round = 0; round < 6; round++) {
		begin();
		write_while_others_read(2 + round * 500, 30);
		if (round % 2)
			ofs_index_rollback(ix);
		else
			commit();
	}
	__atomic_store_n(&crowd.stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_join(thread[i], NULL), 0);
	cr_assert_eq(crowd.errors, 0);
}
