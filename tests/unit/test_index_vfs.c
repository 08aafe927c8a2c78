/* SPDX-License-Identifier: MIT */
/* The VFS of the index: damage to any byte is detected, and failpoints reach SQLite's I/O. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/util.h"
#include "index/index.h"
#include "index/schema.h"
#include "index/vfs.h"
#include "scratch.h"

#define PAGE OFS_INDEX_PAGE_SIZE

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

/* Opens no index, since its first use reads OFS_FAILPOINT, which a test may set before. */
static void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/index", dir);
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

TestSuite(index_vfs, .init = setup, .fini = teardown);

/* The log would have a line for each damaged page. */
static void silence(void)
{
	cr_assert_not_null(freopen("/dev/null", "w", stderr));
}

static void open_index(void)
{
	cr_assert_eq(ofs_index_open(path, &fresh, &err, &ix), 0, "%s", err.text);
}

static void close_index(void)
{
	ofs_index_close(ix);
	ix = NULL;
}

static int put_file(uint64_t ino, uint64_t chunk)
{
	struct ofs_index_inode in = { .ino = ino, .mode = S_IFREG, .nlink = ino % 3, .size = ino };
	char name[32];
	struct ofs_index_dirent e = { name, ino, DT_REG, ino };
	struct ofs_index_draft d = { ino, 0, 10, 4096, 10, 0 };
	struct ofs_index_frame f = { .pack = 1, .off = chunk * 100, .stored = 100, .raw = 200 };
	struct ofs_index_chunk c = { .id = chunk, .len = 200, .lines = 3 };
	uint64_t frame;
	int r;

	snprintf(name, sizeof(name), "name of %llu", (unsigned long long)ino);
	memset(c.sha, (int)chunk, sizeof(c.sha));
	r = ofs_index_put_inode(ix, &in);
	if (r == 0)
		r = ofs_index_put_dirent(ix, 1, &e);
	if (r == 0)
		r = ofs_index_put_frame(ix, &f, &frame);
	if (r == 0)
		r = ofs_index_put_chunk(ix, frame, &c);
	if (r == 0 && ino % 2)
		r = ofs_index_set_block(ix, ino, 0, chunk);
	if (r == 0)
		r = ofs_index_set_xattrs(ix, ino, "\1\1\0\0\0ab", 7);
	return r == 0 ? ofs_index_set_drafts(ix, ino, &d, 1) : r;
}

static void put_files(uint64_t first, uint64_t end)
{
	cr_assert_eq(ofs_index_begin(ix), 0);
	for (uint64_t ino = first; ino < end; ino++)
		cr_assert_eq(put_file(ino, ino), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);
}

/* What all reads returned: the same sum for the same rows. */
struct census {
	uint64_t rows;
	uint64_t sum;
};

static void census_add(struct census *c, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		c->sum = c->sum * 31 + p[i];
	c->rows++;
}

static int note_entry(void *arg, const struct ofs_index_dirent *e)
{
	census_add(arg, e->name, strlen(e->name));
	census_add(arg, &e->ino, sizeof(e->ino));
	return 0;
}

static int note_block(void *arg, uint64_t block, const struct ofs_index_chunk *c)
{
	census_add(arg, c->sha, sizeof(c->sha));
	census_add(arg, &c->frame_off, sizeof(c->frame_off));
	return 0;
}

static int note_draft(void *arg, const struct ofs_index_draft *d)
{
	census_add(arg, &d->data_pos, sizeof(d->data_pos));
	return 0;
}

static int note_ino(void *arg, uint64_t ino)
{
	census_add(arg, &ino, sizeof(ino));
	return 0;
}

static int note_dead(void *arg, const struct ofs_index_dead *d)
{
	census_add(arg, &d->off, sizeof(d->off));
	return 0;
}

static int read_file(struct census *c, uint64_t ino)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf xattrs = OFS_BUF_INIT;
	struct ofs_index_inode in;
	struct ofs_index_chunk chunk;
	uint8_t sha[32];
	int r = ofs_index_get_inode(ix, ino, &in);

	if (r == 0) {
		census_add(c, &in.size, sizeof(in.size));
		r = ofs_index_list_blocks(ix, ino, note_block, c);
	}
	if (r == 0)
		r = ofs_index_get_xattrs(ix, ino, &xattrs);
	if (r < 0)
		return r;
	census_add(c, xattrs.data, xattrs.len);
	memset(sha, (int)ino, sizeof(sha));
	r = ofs_index_find_chunk(ix, sha, &chunk);
	if (r == 0)
		census_add(c, &chunk.id, sizeof(chunk.id));
	return r == -ENOENT ? 0 : r;
}

static int read_no_tombstone(void)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf what = OFS_BUF_INIT;
	int64_t removed;
	int r = ofs_index_get_tombstone(ix, 2, &what, &removed);

	return r == -ENOENT ? 0 : r < 0 ? r : -EUCLEAN;
}

static int note_object(void *arg, const struct ofs_index_object *o)
{
	return -EUCLEAN;
}

static int read_no_object(void)
{
	struct ofs_index_extent e;
	struct ofs_index_object o;
	int r = ofs_index_list_objects(ix, note_object, NULL);

	if (r == 0)
		r = ofs_index_find_extent(ix, 1, 64, &e, &o);
	return r == -ENOENT ? 0 : r < 0 ? r : -EUCLEAN;
}

/* Reads from every table and every SQL index. */
static int read_all(struct census *c, uint64_t end)
{
	struct ofs_index_meta meta;
	uint64_t files, bytes;
	int r = ofs_index_get_meta(ix, &meta);

	*c = (struct census){ 0 };
	if (r == 0)
		census_add(c, &meta.checkpoint, sizeof(meta.checkpoint));
	if (r == 0)
		r = ofs_index_count(ix, &files, &bytes);
	if (r == 0)
		census_add(c, &bytes, sizeof(bytes));
	if (r == 0)
		r = ofs_index_list_dir(ix, 1, note_entry, c);
	if (r == 0)
		r = ofs_index_list_drafts(ix, note_draft, c);
	if (r == 0)
		r = ofs_index_list_orphans(ix, note_ino, c);
	if (r == 0)
		r = ofs_index_list_dead(ix, 64, 100, note_dead, c);
	for (uint64_t ino = 2; r == 0 && ino < end; ino++)
		r = read_file(c, ino);
	if (r == 0)
		r = read_no_object();
	return r == 0 ? read_no_tombstone() : r;
}

static uint8_t *load(size_t *ret_len)
{
	struct stat st;
	uint8_t *content;
	int fd = open(path, O_RDONLY);

	cr_assert_eq(fstat(fd, &st), 0);
	content = malloc((size_t)st.st_size);
	cr_assert_eq(read(fd, content, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return content;
}

static void poke(const void *data, size_t len, size_t off)
{
	int fd = open(path, O_WRONLY);

	cr_assert_eq(pwrite(fd, data, len, (off_t)off), (ssize_t)len);
	close(fd);
}

/* Opens a damaged index, which must give the right rows or an error. Returns true for an error. */
static bool damage_is_seen(const struct census *right, uint64_t end, size_t off)
{
	struct census got;
	int r = ofs_index_open(path, NULL, &err, &ix);

	if (r < 0) {
		cr_assert(r == -EUCLEAN || r == -EINVAL, "byte %zu: %d %s", off, r, err.text);
		cr_assert_neq(err.text[0], '\0');
		return true;
	}
	r = read_all(&got, end);
	close_index();
	cr_assert(r == 0 || r == -EUCLEAN, "byte %zu: %d", off, r);
	if (r == 0)
		cr_assert(got.rows == right->rows && got.sum == right->sum, "byte %zu", off);
	return r < 0;
}

/* Selects all bytes that SQLite or the checksum has in a page, and one in eight of the rest. */
static bool is_flipped(size_t at)
{
	return at < 112 || at >= PAGE - 16 || at % 8 == 5;
}

Test(index_vfs, flipped_bytes_are_seen_or_harmless)
{
	OFS_FREE uint8_t *content = NULL, *after = NULL;
	struct census right;
	size_t len, harmless = 0;

	silence();
	open_index();
	put_files(2, 20);
	close_index();
	content = load(&len);
	cr_assert_eq(len % PAGE, 0);
	open_index();
	cr_assert_eq(read_all(&right, 20), 0);
	close_index();
	for (size_t page = 0; page < len; page += PAGE) {
		size_t flips = 0, seen = 0;

		for (size_t off = page; off < page + PAGE; off++) {
			uint8_t flipped = content[off] ^ (uint8_t)(1 << off / 8 % 8);

			if (!is_flipped(off - page))
				continue;
			poke(&flipped, 1, off);
			seen += damage_is_seen(&right, 20, off);
			flips++;
			poke(&content[off], 1, off);
		}
		cr_assert(seen == flips || seen == 0, "page %zu", page / PAGE);
		harmless += seen == 0;
	}
	/*
	 * Reading needs neither page 2 (the map for vacuuming), nor the marks, nor the ledger, nor
	 * the SQL indexes of guests and of due frames.
	 */
	cr_assert_leq(harmless, 6);
	after = load(&len);
	cr_assert_arr_eq(after, content, len, "reading changed the file");
}

Test(index_vfs, pages_in_each_others_place)
{
	OFS_FREE uint8_t *content = NULL;
	struct census right;
	size_t len;

	silence();
	open_index();
	put_files(2, 20);
	cr_assert_eq(read_all(&right, 20), 0);
	close_index();
	content = load(&len);
	for (size_t a = 2 * PAGE; a + PAGE < len; a += PAGE) {
		size_t b = a + PAGE;

		poke(content + a, PAGE, b);
		poke(content + b, PAGE, a);
		cr_assert(damage_is_seen(&right, 20, a));
		poke(content + a, PAGE, a);
		poke(content + b, PAGE, b);
	}
	cr_assert_not(damage_is_seen(&right, 20, 0));
	cr_assert_eq(truncate(path, (off_t)(len - PAGE)), 0);
	cr_assert(damage_is_seen(&right, 20, len));
}

/* Callback for PRAGMA integrity_check; ignores the results of other PRAGMAs. */
static int expect_ok(void *arg, int n, char **value, char **column)
{
	(void)arg;
	(void)n;
	if (strcmp(column[0], "integrity_check") == 0)
		cr_assert_str_eq(value[0], "ok");
	return 0;
}

static void sql(const char *vfs, const char *file, const char *text)
{
	sqlite3 *db;

	cr_assert_eq(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs),
		     SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, text, expect_ok, NULL, NULL), SQLITE_OK, "%s",
		     sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void check_whole(void)
{
	OFS_FREE uint8_t *content = NULL;
	size_t len;

	content = load(&len);
	cr_assert_eq(content[20], OFS_INDEX_PAGE_CHECK);
	cr_assert_eq(content[16] << 8 | content[17], PAGE);
	cr_assert_eq(len % PAGE, 0);
	sql(OFS_INDEX_VFS, path, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA integrity_check");
}

/* Leaves a commit in the WAL alone. */
static void die_after_commit(void)
{
	if (ofs_index_open(path, NULL, NULL, &ix) < 0 || ofs_index_begin(ix) < 0)
		_exit(1);
	for (uint64_t ino = 100; ino < 500; ino++)
		if (put_file(ino, ino) < 0)
			_exit(2);
	kill(ofs_index_commit(ix) < 0 ? 0 : getpid(), SIGKILL);
}

/*
 * The header is read before any page. Damage to it loses nothing while page 1 is sound in the WAL.
 */
static void check_header_behind_wal(const void *junk, size_t len, size_t off)
{
	struct ofs_index_inode in;
	int status;
	pid_t pid;

	open_index();
	put_files(2, 20);
	close_index();
	pid = fork();
	if (pid == 0)
		die_after_commit();
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status));
	poke(junk, len, off);
	open_index();
	cr_assert_eq(ofs_index_get_inode(ix, 499, &in), 0, "byte %zu", off);
	cr_assert_eq(ofs_index_get_inode(ix, 2, &in), 0, "byte %zu", off);
	cr_assert_eq(ofs_index_begin(ix), 0);
	for (uint64_t ino = 100; ino < 500; ino++)
		cr_assert_eq(ofs_index_delete_inode(ix, ino), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);
	close_index();
	check_whole();
	remove(path);
}

Test(index_vfs, header_behind_a_wal)
{
	static const uint8_t zeros[4];

	for (size_t off = 0; off < 100; off += 4)
		check_header_behind_wal(zeros, sizeof(zeros), off);
	for (unsigned int size = 512; size <= 32768; size *= 2)
		check_header_behind_wal((uint8_t[]){ (uint8_t)(size >> 8), 0 }, 2, 16);
	check_header_behind_wal((uint8_t[]){ 0, 1 }, 2, 16);
}

Test(index_vfs, header_with_another_page_size)
{
	struct census right = { 0 };

	silence();
	open_index();
	put_files(2, 20);
	close_index();
	for (unsigned int size = 1; size <= 32768; size *= 2) {
		uint8_t field[2] = { (uint8_t)(size >> 8), (uint8_t)size };

		if (size == PAGE)
			continue;
		poke(field, 2, 16);
		cr_assert(damage_is_seen(&right, 20, 16), "%u", size);
	}
}

Test(index_vfs, databases_without_checksums_are_refused)
{
	silence();
	sql(NULL, path,
	    "PRAGMA page_size = 4096; PRAGMA auto_vacuum = 2; CREATE TABLE t(x);"
	    "PRAGMA application_id = 0x4f46464c; PRAGMA user_version = 1");
	cr_assert_eq(ofs_index_open(path, &fresh, &err, &ix), -EUCLEAN);
	cr_assert(strstr(err.text, "checksum"), "%s", err.text);
	sql(NULL, path, "PRAGMA application_id = 5");
	cr_assert_eq(ofs_index_open(path, &fresh, &err, &ix), -EINVAL);
	cr_assert(strstr(err.text, "not an offloadfs index"), "%s", err.text);
}

Test(index_vfs, without_reserved_space_nothing_is_written)
{
	struct stat st;
	sqlite3 *db;

	silence();
	cr_assert_eq(ofs_index_vfs_register(), 0);
	cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				     OFS_INDEX_VFS),
		     SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL), SQLITE_IOERR);
	sqlite3_close(db);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_size, 0);
}

Test(index_vfs, vacuum_keeps_the_checksums)
{
	struct census before, after;
	struct stat full, less;

	open_index();
	put_files(2, 5000);
	cr_assert_eq(ofs_index_checkpoint(ix), 0);
	cr_assert_eq(stat(path, &full), 0);
	cr_assert_eq(ofs_index_begin(ix), 0);
	for (uint64_t ino = 20; ino < 5000; ino++)
		cr_assert_eq(ofs_index_delete_inode(ix, ino), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);
	cr_assert_eq(ofs_index_checkpoint(ix), 0);
	cr_assert_eq(stat(path, &less), 0);
	cr_assert_lt(less.st_size, full.st_size);
	cr_assert_eq(read_all(&before, 20), 0);
	close_index();
	check_whole();
	sql(OFS_INDEX_VFS, path, "PRAGMA locking_mode = EXCLUSIVE; VACUUM");
	check_whole();
	open_index();
	cr_assert_eq(read_all(&after, 20), 0);
	cr_assert_eq(after.rows, before.rows);
	put_files(6000, 6010);
}

/* Rows come and go in turn, so that pages are freed, moved, given back and reused. */
Test(index_vfs, pages_that_are_used_again)
{
	unsigned int seed = 7;

	open_index();
	for (uint64_t round = 0; round < 60; round++) {
		uint64_t first = 2 + (uint64_t)(rand_r(&seed) % 8) * 1000;

		cr_assert_eq(ofs_index_begin(ix), 0);
		for (uint64_t ino = first; ino < first + 1000; ino++)
			cr_assert_eq(ofs_index_delete_inode(ix, ino), 0);
		if (rand_r(&seed) % 3)
			for (uint64_t ino = first; ino < first + 1000; ino++)
				cr_assert_eq(put_file(ino, 2 + round * 1000 + ino - first), 0);
		if (rand_r(&seed) % 4 == 0)
			ofs_index_rollback(ix);
		else
			cr_assert_eq(ofs_index_commit(ix), 0);
		if (rand_r(&seed) % 3 == 0)
			cr_assert_eq(ofs_index_checkpoint(ix), 0);
		if (rand_r(&seed) % 5 == 0) {
			close_index();
			open_index();
		}
	}
	close_index();
	check_whole();
}

static void fail_at(const char *point)
{
	setenv("OFS_FAILPOINT", point, 1);
	open_index();
}

/* Commits inode after inode until one fails. The next commit must succeed. */
static int first_failure(uint64_t *ret_ino)
{
	int r = 0;

	for (*ret_ino = 2; r == 0 && *ret_ino < 200; ++*ret_ino) {
		cr_assert_eq(ofs_index_begin(ix), 0);
		r = put_file(*ret_ino, *ret_ino);
		r = ofs_index_end(ix, r);
	}
	--*ret_ino;
	put_files(500, 510);
	return r;
}

static void check_only_failed_is_missing(uint64_t failed)
{
	struct ofs_index_inode in;

	close_index();
	open_index();
	for (uint64_t ino = 2; ino < failed; ino++)
		cr_assert_eq(ofs_index_get_inode(ix, ino, &in), 0);
	cr_assert_eq(ofs_index_get_inode(ix, failed, &in), -ENOENT);
	cr_assert_eq(ofs_index_get_inode(ix, 509, &in), 0);
}

Test(index_vfs, full_disk)
{
	uint64_t ino;

	fail_at("index.pwrite=enospc@200");
	cr_assert_eq(first_failure(&ino), -ENOSPC);
	check_only_failed_is_missing(ino);
}

Test(index_vfs, failed_write)
{
	uint64_t ino;

	fail_at("index.pwrite=eio@201");
	cr_assert_eq(first_failure(&ino), -EIO);
	check_only_failed_is_missing(ino);
}

Test(index_vfs, failed_sync)
{
	uint64_t ino;

	fail_at("index.sync=eio@20");
	cr_assert_eq(first_failure(&ino), -EIO);
	check_only_failed_is_missing(ino);
}

Test(index_vfs, full_disk_at_sync)
{
	uint64_t ino;

	fail_at("index.sync=enospc@20");
	cr_assert_eq(first_failure(&ino), -ENOSPC);
	check_only_failed_is_missing(ino);
}

Test(index_vfs, failed_truncate)
{
	fail_at("index.truncate=eio@1");
	put_files(2, 100);
	cr_assert_eq(ofs_index_checkpoint(ix), -EIO);
	cr_assert_eq(ofs_index_checkpoint(ix), 0);
	close_index();
	check_whole();
}

#define CRASH_COMMITS 6
#define CRASH_FILES 10
#define CRASH_SOUND 77

/* Creates an index, commits and checkpoints. Counts the acknowledged commits in *acked. */
static void work_until_killed(const char *point, volatile uint64_t *acked)
{
	setenv("OFS_FAILPOINT", point, 1);
	if (ofs_index_open(path, &fresh, NULL, &ix) < 0)
		_exit(1);
	for (uint64_t n = 0; n < CRASH_COMMITS; n++) {
		if (ofs_index_begin(ix) < 0)
			_exit(2);
		for (uint64_t ino = 2 + n * CRASH_FILES; ino < 2 + (n + 1) * CRASH_FILES; ino++)
			if (put_file(ino, ino) < 0)
				_exit(3);
		if (ofs_index_commit(ix) < 0)
			_exit(4);
		*acked = n + 1;
		if (n % 2 == 1 && ofs_index_checkpoint(ix) < 0)
			_exit(5);
	}
	ofs_index_close(ix);
	_exit(0);
}

/* Acknowledged commits must be there, and the next one wholly or not at all. */
static void check_after_crash(const char *point, uint64_t acked)
{
	struct ofs_index_inode in;
	struct census all;
	uint64_t n = 0;

	cr_assert_eq(ofs_index_open(path, &fresh, &err, &ix), 0, "%s: %s", point, err.text);
	while (ofs_index_get_inode(ix, 2 + n, &in) == 0)
		n++;
	cr_assert_eq(n % CRASH_FILES, 0, "%s: %llu", point, (unsigned long long)n);
	cr_assert_geq(n / CRASH_FILES, acked, "%s", point);
	cr_assert_leq(n / CRASH_FILES, acked + 1, "%s", point);
	cr_assert_eq(read_all(&all, 2 + n), 0, "%s", point);
	close_index();
	check_whole();
	_exit(CRASH_SOUND);
}

/*
 * In a process of its own, since this one must not meet a failpoint before it forks the next
 * victim.
 */
static int run_check(const char *point, uint64_t acked)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		check_after_crash(point, acked);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Kills at each hit of the failpoint in turn. Returns the number of hits. */
static unsigned int crash_everywhere(const char *action)
{
	volatile uint64_t *acked = mmap(NULL, sizeof(*acked), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int hit = 0;
	int status;

	cr_assert_neq((void *)acked, MAP_FAILED);
	do {
		char point[64];
		pid_t pid;

		snprintf(point, sizeof(point), "%s@%u", action, ++hit);
		*acked = 0;
		nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
		cr_assert_eq(mkdir(dir, 0700), 0);
		pid = fork();
		if (pid == 0)
			work_until_killed(point, acked);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : status == 0,
			  "%s: status %d", point, status);
		cr_assert_eq(run_check(point, *acked), CRASH_SOUND, "%s", point);
	} while (WIFSIGNALED(status));
	return hit - 1;
}

Test(index_vfs, killed_in_the_middle_of_any_write)
{
	cr_assert_gt(crash_everywhere("index.pwrite=short"), 100);
}

Test(index_vfs, killed_before_any_sync)
{
	cr_assert_gt(crash_everywhere("index.sync=kill"), 10);
}

Test(index_vfs, killed_after_any_truncate)
{
	cr_assert_gt(crash_everywhere("index.truncate=kill-after"), 2);
}
