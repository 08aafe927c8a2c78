/* SPDX-License-Identifier: MIT */
/* Opening a store: who may, what is refused, and what faults leave behind. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "index/vfs.h"
#include "scratch.h"
#include "store/content_map.h"
#include "store/store_state.h"
#include "store/store.h"

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_store *s;
static struct ofs_error err;
static const struct ofs_store_options usual = { .create = true,
						.seal_delay_ms = 1000,
						.cache_bytes = 1 << 20 };

/* Replaces the library's clocks, which run `ahead`, by `hurry` more ns at each reading. */
static int64_t ahead, hurry;

static int64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ahead += hurry;
	return ts.tv_sec * OFS_NS_PER_S + ts.tv_nsec + ahead;
}

int64_t ofs_clock_wall(void)
{
	return now(CLOCK_REALTIME);
}

int64_t ofs_clock_monotonic(void)
{
	return now(CLOCK_MONOTONIC);
}

int64_t ofs_clock_boot(void)
{
	return now(CLOCK_BOOTTIME);
}

int64_t ofs_clock_rate(void)
{
	return 1;
}

bool ofs_clock_is_controlled(void)
{
	return false;
}

static void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/store", dir);
}

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static void teardown(void)
{
	ofs_store_close(s);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(store_open, .init = setup, .fini = teardown);

static void open_store(void)
{
	cr_assert_eq(ofs_store_open(path, &usual, &err, &s), 0, "%s", err.text);
}

static void close_store(void)
{
	ofs_store_close(s);
	s = NULL;
}

/* `with` must be part of the message. */
static void expect_refusal(const struct ofs_store_options *opts, int want, const char *with)
{
	struct ofs_store *other = NULL;
	int r;

	err.text[0] = 0;
	r = ofs_store_open(path, opts, &err, &other);
	cr_assert_eq(r, want, "%d (%s), not %d", r, err.text, want);
	cr_assert_null(other);
	cr_assert(strstr(err.text, path), "'%s' does not name the store", err.text);
	cr_assert(strstr(err.text, with), "'%s' lacks '%s'", err.text, with);
	cr_assert_eq(ofs_store_open(path, opts, NULL, &other), want,
		     "the same without a place for words");
}

static const char *below(const char *name)
{
	static char both[2][128];
	static int turn;
	char *full = both[turn ^= 1];

	snprintf(full, sizeof(both[0]), "%s/%s", path, name);
	return full;
}

static void put_file(const char *name, const void *data, size_t len)
{
	FILE *f = fopen(below(name), "w");

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(data, 1, len, f), len);
	cr_assert_eq(fclose(f), 0);
}

static int count_files(void)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int n = 0;

	cr_assert_not_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static uint64_t make(const char *name)
{
	struct ofs_create what = { .mode = S_IFREG | 0600 };
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_create(s, OFS_ROOT_INO, name, &what, &attr), 0);
	return attr.ino;
}

static void expect_text(uint64_t ino, const char *want)
{
	char buf[64];
	ssize_t n = ofs_store_read(s, ino, buf, sizeof(buf), 0);

	cr_assert_eq(n, (ssize_t)strlen(want), "%zd", n);
	cr_assert_eq(memcmp(buf, want, strlen(want)), 0);
}

/* Forks a process that holds the store for `ms` ms, or until it is killed. */
static pid_t hold_store(int ms)
{
	int ends[2];
	pid_t pid;
	char c;

	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	cr_assert_neq(pid, -1);
	if (pid == 0) {
		if (ofs_store_open(path, &usual, NULL, &s) < 0 || write(ends[1], "x", 1) != 1)
			_exit(1);
		nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 },
			  NULL);
		close_store();
		_exit(0);
	}
	close(ends[1]);
	cr_assert_eq(read(ends[0], &c, 1), 1);
	close(ends[0]);
	return pid;
}

Test(store_open, a_store_in_use_is_refused)
{
	char number[32];
	pid_t pid = hold_store(60000);

	snprintf(number, sizeof(number), "in use by process %d", (int)pid);
	hurry = OFS_NS_PER_S;
	expect_refusal(&usual, -EBUSY, number);
	hurry = 0;
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	open_store();
	hurry = OFS_NS_PER_S;
	snprintf(number, sizeof(number), "in use by process %d", (int)getpid());
	expect_refusal(&usual, -EBUSY, number);
}

Test(store_open, an_owner_that_is_closing_is_waited_for)
{
	pid_t pid = hold_store(150);
	int status;

	open_store();
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

Test(store_open, a_foreign_directory_is_left_alone)
{
	struct ofs_store_options existing = usual;

	existing.create = false;
	cr_assert_eq(mkdir(path, 0755), 0);
	put_file("thesis.txt", "years of work", 13);
	expect_refusal(&usual, -EINVAL, "not a store");
	expect_refusal(&existing, -EINVAL, "not a store");
	cr_assert_eq(count_files(), 1);
	cr_assert_eq(unlink(below("thesis.txt")), 0);
	expect_refusal(&existing, -ENOENT, "no store");
	cr_assert_eq(count_files(), 0);
	open_store();
}

Test(store_open, paths_that_lead_nowhere)
{
	struct ofs_store_options existing = usual;
	FILE *f;

	existing.create = false;
	expect_refusal(&existing, -ENOENT, "cannot open");
	cr_assert_eq(access(path, F_OK), -1, "a refusal makes nothing");
	f = fopen(path, "w");
	cr_assert_not_null(f);
	fclose(f);
	expect_refusal(&existing, -ENOTDIR, "cannot open");
	expect_refusal(&usual, -ENOTDIR, "Not a directory");
	snprintf(path, sizeof(path), "%s/no/store", dir);
	expect_refusal(&usual, -ENOENT, "cannot make");
}

static void set_format(int format)
{
	char text[64];
	sqlite3 *db;

	snprintf(text, sizeof(text), "PRAGMA user_version = %d", format);
	cr_assert_eq(sqlite3_open_v2(below("index.db"), &db, SQLITE_OPEN_READWRITE, OFS_INDEX_VFS),
		     SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL),
		     SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_close(db), SQLITE_OK);
}

Test(store_open, a_newer_format_is_refused)
{
	uint64_t f;

	open_store();
	f = make("f");
	cr_assert_eq(ofs_store_write(s, f, "content", 7, 0), 7);
	close_store();
	set_format(OFS_INDEX_FORMAT + 1);
	expect_refusal(&usual, -EINVAL, "format");
	set_format(0);
	expect_refusal(&usual, -EINVAL, "");
	set_format(OFS_INDEX_FORMAT);
	open_store();
	expect_text(f, "content");
}

Test(store_open, an_index_that_is_none_is_refused)
{
	static const char text[5000] = "this is not a database";

	cr_assert_eq(mkdir(path, 0755), 0);
	put_file("index.db", text, sizeof(text));
	expect_refusal(&usual, -EINVAL, "index.db");
}

static void copy_file(const char *from, const char *to)
{
	char command[300];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	cr_assert_eq(system(command), 0);
}

Test(store_open, an_old_index_is_refused_and_cuts_nothing_off)
{
	char old[100], index[100];
	uint64_t f;

	open_store();
	f = make("first");
	cr_assert_eq(ofs_store_write(s, f, "first", 5, 0), 5);
	close_store();
	snprintf(index, sizeof(index), "%s/index.db", path);
	snprintf(old, sizeof(old), "%s/old.db", dir);
	copy_file(index, old);
	open_store();
	cr_assert_eq(ofs_store_write(s, make("second"), "second", 6, 0), 6);
	close_store();
	snprintf(old, sizeof(old), "%s/new.db", dir);
	copy_file(index, old);
	snprintf(old, sizeof(old), "%s/old.db", dir);
	copy_file(old, index);
	cr_assert_eq(ofs_store_open(path, &usual, &err, &s), -EUCLEAN);
	snprintf(old, sizeof(old), "%s/new.db", dir);
	copy_file(old, index);
	open_store();
	expect_text(f, "first");
	expect_text(f + 1, "second");
}

/* Leaves a store whose journal is still needed. */
static void leave_draft(const char *name)
{
	struct ofs_store_options slow = usual;

	slow.seal_delay_ms = 3600000;
	cr_assert_eq(ofs_store_open(path, &slow, &err, &s), 0, "%s", err.text);
	cr_assert_eq(ofs_store_start(s), 0);
	cr_assert_eq(ofs_store_write(s, make(name), "draft", 5, 0), 5);
	close_store();
}

Test(store_open, the_journal_of_another_store_is_refused)
{
	char first[80], other[64];

	leave_draft("f");
	memcpy(other, path, sizeof(path));
	snprintf(path, sizeof(path), "%s/second", dir);
	leave_draft("g");
	snprintf(first, sizeof(first), "%s/journal", other);
	cr_assert_eq(rename(below("journal"), below("packs/away")), 0);
	cr_assert_eq(rename(first, below("journal")), 0);
	cr_assert_eq(ofs_store_open(path, &usual, &err, &s), -EINVAL);
	cr_assert(strstr(err.text, "another store"), "%s", err.text);
}

static int check_mode(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	cr_assert_eq(st->st_mode & 07777, S_ISDIR(st->st_mode) ? 0700 : 0600, "%s is %o", p,
		     st->st_mode);
	return 0;
}

Test(store_open, everything_is_private)
{
	umask(0);
	open_store();
	cr_assert_eq(ofs_store_write(s, make("f"), "x", 1, 0), 1);
	cr_assert_eq(ofs_store_seal(s), 0);
	cr_assert_eq(nftw(path, check_mode, 8, FTW_PHYS), 0);
}

Test(store_open, closing_nothing_is_allowed)
{
	ofs_store_close(NULL);
}

Test(store_open, inodes_are_held_by_number)
{
	struct ofs_attr attr;
	char name[256];
	uint64_t f, parent;

	open_store();
	f = make("some name");
	cr_assert_eq(ofs_store_hold(s, f, &attr), 0);
	cr_assert_eq(attr.parent, OFS_ROOT_INO);
	cr_assert_eq(ofs_store_name_of(s, f, &parent, name), 0);
	cr_assert_eq(parent, OFS_ROOT_INO);
	cr_assert_str_eq(name, "some name");
	cr_assert_eq(ofs_store_name_of(s, f + 1, &parent, name), -ENOENT);
	cr_assert_eq(ofs_store_name_of(s, OFS_ROOT_INO, &parent, name), -ENOENT);
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "some name", NULL), 0);
	cr_assert_eq(ofs_store_name_of(s, f, &parent, name), -ENOENT);
	cr_assert_eq(ofs_store_hold(s, f, &attr), -ENOENT);
	ofs_store_forget(s, f, 1);
	cr_assert_eq(ofs_store_getattr(s, f, &attr), 0);
	ofs_store_forget(s, f, 1);
	cr_assert_eq(ofs_store_getattr(s, f, &attr), -ENOENT);
	cr_assert_eq(ofs_store_hold(s, f + 1, &attr), -ENOENT);
}

/* A hint is never after the line, and at most a block before it. */
Test(store_open, hints_lead_to_the_block_of_a_line)
{
	uint64_t len = 4 * OFS_BLOCK_SIZE + 77, lines = 0, off, before, f;
	OFS_FREE char *text = ofs_alloc(len);

	for (uint64_t i = 0; i < len; i++)
		text[i] = i % 97 == 5 || i % 31 == 9 ? '\n' : (char)('a' + i % 23);
	open_store();
	f = make("f");
	cr_assert_eq(ofs_store_write(s, f, text, len, 0), (ssize_t)len);
	cr_assert_eq(ofs_store_line_hint(s, f, 5000, &off, &before), 0);
	cr_assert(off == 0 && before == 0, "a draft has no hints");
	cr_assert_eq(ofs_store_seal(s), 0);
	for (uint64_t i = 0; i < len; i++) {
		if (i && text[i - 1] != '\n')
			continue;
		cr_assert_eq(ofs_store_line_hint(s, f, lines, &off, &before), 0);
		cr_assert_leq(off, i);
		cr_assert_leq(i - off, OFS_BLOCK_SIZE, "line %lu at %lu, hint %lu", lines, i, off);
		cr_assert_leq(before, lines);
		cr_assert(off == 0 || before < lines);
		lines++;
	}
	cr_assert_eq(ofs_store_line_hint(s, f, UINT64_MAX, &off, &before), 0);
	cr_assert_leq(before, lines);
	cr_assert_eq(ofs_store_line_hint(s, OFS_ROOT_INO, 1, &off, &before), -EISDIR);
}

#define MANY 70000 /* more than stay in memory when clean */

static int count_name(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	++*(int *)arg;
	return 0;
}

Test(store_open, inodes_that_left_memory_come_back)
{
	uint64_t first, held;
	struct ofs_attr attr;
	char name[16];
	int n = 0;

	open_store();
	first = make("0");
	cr_assert_eq(ofs_store_write(s, first, "content", 7, 0), 7);
	held = make("held");
	for (int i = 1; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		ofs_store_forget(s, make(name), 1);
	}
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "held", NULL), 0);
	cr_assert_eq(ofs_store_write(s, held, "orphan", 6, 0), 6);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(ofs_store_seal(s), 0);
		expect_text(first, i ? "Content" : "content");
		expect_text(held, "orphan");
		cr_assert_eq(ofs_store_write(s, first, "C", 1, 0), 1);
	}
	for (int i = 1; i < MANY; i += 777) {
		snprintf(name, sizeof(name), "%d", i);
		cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, name, &attr), 0, "%s", name);
		cr_assert_eq(attr.nlink, 1);
	}
	cr_assert_eq(ofs_store_readdir(s, OFS_ROOT_INO, 0, true, count_name, &n), 0);
	cr_assert_eq(n, MANY);
}

/* Flips a byte of every pack file, `from` bytes after its start. */
static void damage_packs(uint64_t from)
{
	DIR *d = opendir(below("packs"));
	struct dirent *e;

	cr_assert_not_null(d);
	while ((e = readdir(d))) {
		int fd = e->d_name[0] == '.' ? -1 : openat(dirfd(d), e->d_name, O_RDWR);
		uint8_t byte;

		if (fd < 0)
			continue;
		cr_assert_eq(pread(fd, &byte, 1, (off_t)from), 1);
		byte ^= 0x40;
		cr_assert_eq(pwrite(fd, &byte, 1, (off_t)from), 1);
		close(fd);
	}
	closedir(d);
}

Test(store_open, a_bad_chunk_costs_its_file_and_no_other)
{
	uint64_t good, bad;
	char buf[64];

	open_store();
	bad = make("bad");
	cr_assert_eq(ofs_store_write(s, bad, "first content", 13, 0), 13);
	cr_assert_eq(ofs_store_seal(s), 0);
	good = make("good");
	cr_assert_eq(ofs_store_write(s, good, "second content", 14, 0), 14);
	close_store();
	damage_packs(64 + 45);
	open_store();
	cr_assert_eq(ofs_store_read(s, bad, buf, sizeof(buf), 0), -EIO);
	expect_text(good, "second content");
	cr_assert_eq(ofs_store_write(s, bad, "x", 1, 0), 1);
	cr_assert_eq(ofs_store_write(s, good, "x", 1, 0), 1);
	cr_assert_eq(ofs_store_seal(s), 0, "what is damaged does not stop the others");
	expect_text(good, "xecond content");
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "bad", NULL), 0);
	ofs_store_forget(s, bad, 1);
	cr_assert_eq(ofs_store_seal(s), 0);
}

/* OFS_FAILPOINT is read once per process, so each test sets its own before using the store. */
static void with_fault(const char *fault)
{
	cr_assert_eq(setenv("OFS_FAILPOINT", fault, 1), 0);
	open_store();
}

static int write_two(uint64_t f)
{
	return (int)ofs_store_write(s, f, "two", 3, 0);
}

static int create_another(uint64_t f)
{
	struct ofs_create what = { .mode = S_IFREG | 0600 };
	struct ofs_attr attr;

	return ofs_store_create(s, OFS_ROOT_INO, "g", &what, &attr);
}

static int unlink_it(uint64_t f)
{
	return ofs_store_unlink(s, OFS_ROOT_INO, "f", NULL);
}

static void refused_by_a_full_disk(int (*act)(uint64_t f))
{
	struct ofs_attr attr;
	uint64_t f;

	with_fault("io.pwritev=enospc@3");
	f = make("f");
	cr_assert_eq(ofs_store_write(s, f, "one", 3, 0), 3);
	cr_assert_eq(act(f), -ENOSPC);
	expect_text(f, "one");
	cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, "f", &attr), 0);
	cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, "g", &attr), -ENOENT);
	cr_assert_eq(ofs_store_write(s, f, "two", 3, 3), 3);
	close_store();
	open_store();
	expect_text(f, "onetwo");
}

Test(store_open, a_full_disk_refuses_a_write)
{
	refused_by_a_full_disk(write_two);
}

Test(store_open, a_full_disk_refuses_a_new_file)
{
	refused_by_a_full_disk(create_another);
}

Test(store_open, a_full_disk_refuses_a_removal)
{
	refused_by_a_full_disk(unlink_it);
}

/* Seals, again if the first attempt fails with `fault`. Returns the number of failures. */
static int seal_again(int fault)
{
	int r = ofs_store_seal(s);

	if (r == 0)
		return 0;
	cr_assert_eq(r, fault, "%d", r);
	cr_assert_eq(ofs_store_seal(s), 0);
	return 1;
}

static void seal_through(const char *fault, int want)
{
	uint64_t a, b;
	int failed;

	with_fault(fault);
	a = make("a");
	b = make("b");
	cr_assert_eq(ofs_store_write(s, a, "alpha", 5, 0), 5);
	cr_assert_eq(ofs_store_write(s, b, "beta", 4, 0), 4);
	failed = seal_again(want);
	expect_text(a, "alpha");
	expect_text(b, "beta");
	cr_assert_eq(ofs_store_write(s, b, "B", 1, 0), 1);
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "a", NULL), 0);
	ofs_store_forget(s, a, 1);
	failed += seal_again(want);
	expect_text(b, "Beta");
	cr_assert_eq(failed, 1, "%s was reached %d times", fault, failed);
	close_store();
	open_store();
	expect_text(b, "Beta");
	cr_assert_eq(ofs_store_write(s, b, "b", 1, 0), 1);
	cr_assert_eq(ofs_store_seal(s), 0);
	expect_text(b, "beta");
}

Test(store_open, sealing_goes_on_after_a_pack_that_could_not_be_made)
{
	seal_through("io.pwrite=eio@3", -EIO);
}

Test(store_open, sealing_goes_on_after_a_pack_that_could_not_be_written)
{
	seal_through("io.pwrite=eio@4", -EIO);
}

Test(store_open, sealing_goes_on_after_an_index_that_did_not_take_the_frames)
{
	seal_through("index.commit=eio@2", -EIO);
}

Test(store_open, sealing_goes_on_after_an_index_that_did_not_take_the_checkpoint)
{
	seal_through("index.commit=eio@3", -EIO);
}

Test(store_open, sealing_goes_on_after_an_index_that_did_not_forget_the_dead)
{
	seal_through("index.commit=eio@6", -EIO);
}

Test(store_open, sealing_goes_on_after_a_punch_that_failed)
{
	seal_through("io.punch=eio@1", -EIO);
}

/* Flips the last byte of the newest record in the journal. */
static void damage_newest_draft(void)
{
	int fd = open(below("journal/0000000000000008.wal"), O_RDWR);
	off_t at = lseek(fd, 0, SEEK_END) - 1;
	uint8_t byte;

	cr_assert_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x40;
	cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

Test(store_open, damage_to_a_draft_costs_what_is_damaged_and_no_more)
{
	uint8_t *data = ofs_alloc(OFS_BLOCK_SIZE);
	uint64_t f;

	open_store();
	f = make("f");
	memset(data, 'x', OFS_BLOCK_SIZE);
	cr_assert_eq(ofs_store_write(s, f, data, OFS_BLOCK_SIZE, 0), OFS_BLOCK_SIZE);
	cr_assert_eq(ofs_store_write(s, f, data, 1024, OFS_BLOCK_SIZE + 512), 1024);
	damage_newest_draft();
	cr_assert_eq(ofs_store_seal(s), 0);
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(ofs_store_read(s, f, data, 1024, 0), 1024);
		cr_assert_eq(ofs_store_read(s, f, data, 512, OFS_BLOCK_SIZE), 512);
		cr_assert_eq(ofs_store_read(s, f, data, 1, OFS_BLOCK_SIZE + 512), -EIO);
		close_store();
		open_store();
	}
	cr_assert_eq(ofs_store_write(s, f, data, 1024, OFS_BLOCK_SIZE + 512), 1024);
	cr_assert_eq(ofs_store_read(s, f, data, 1536, OFS_BLOCK_SIZE), 1536,
		     "what is written again is no longer damaged");
	free(data);
}

Test(store_open, packs_survive_frames_that_could_not_be_cut_off)
{
	struct ofs_store_options background = usual;
	uint8_t *data = ofs_alloc(OFS_BLOCK_SIZE);
	uint64_t a, b, c;

	/* The second frame of the second sealing fails, and then cutting off the first one. */
	cr_assert_eq(setenv("OFS_FAILPOINT", "io.pwrite=eio@6,io.list=eio@6", 1), 0);
	background.seal_delay_ms = 3600000;
	cr_assert_eq(ofs_store_open(path, &background, &err, &s), 0, "%s", err.text);
	cr_assert_eq(ofs_store_start(s), 0);
	a = make("a");
	cr_assert_eq(ofs_store_write(s, a, "alpha", 5, 0), 5);
	cr_assert_eq(ofs_store_seal(s), 0);
	b = make("b");
	memset(data, 'b', OFS_BLOCK_SIZE);
	cr_assert_eq(ofs_store_write(s, b, data, OFS_BLOCK_SIZE, 0), OFS_BLOCK_SIZE);
	c = make("c");
	memset(data, 'c', OFS_BLOCK_SIZE);
	cr_assert_eq(ofs_store_write(s, c, data, OFS_BLOCK_SIZE, 0), OFS_BLOCK_SIZE);
	cr_assert_eq(ofs_store_seal(s), -EIO);
	expect_text(a, "alpha");
	close_store();
	open_store();
	expect_text(a, "alpha");
	cr_assert_eq(ofs_store_seal(s), 0);
	cr_assert_eq(ofs_store_read(s, b, data, 2, OFS_BLOCK_SIZE - 2), 2);
	cr_assert_eq(data[1], 'b');
	cr_assert_eq(ofs_store_read(s, c, data, 2, OFS_BLOCK_SIZE - 2), 2);
	cr_assert_eq(data[1], 'c');
	free(data);
}

static uint64_t pack_blocks(void)
{
	struct stat st;

	cr_assert_eq(stat(below("packs/00000001.pack"), &st), 0);
	return (uint64_t)st.st_blocks;
}

Test(store_open, a_full_disk_does_not_stop_giving_space_back)
{
	uint8_t *data = ofs_alloc(OFS_BLOCK_SIZE);
	uint64_t a, b, i, before;

	with_fault("io.pwrite=enospc@6");
	for (i = 0; i < OFS_BLOCK_SIZE; i++)
		data[i] = (uint8_t)((i * 2654435761u >> 13) ^ (i * i >> 7));
	a = make("a");
	cr_assert_eq(ofs_store_write(s, a, data, OFS_BLOCK_SIZE, 0), OFS_BLOCK_SIZE);
	cr_assert_eq(ofs_store_seal(s), 0);
	before = pack_blocks();
	b = make("b");
	cr_assert_eq(ofs_store_write(s, b, "beta", 4, 0), 4);
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "a", NULL), 0);
	ofs_store_forget(s, a, 1);
	cr_assert_eq(ofs_store_seal(s), 0);
	cr_assert_lt(pack_blocks(), before, "the removed file still takes its space");
	cr_assert_eq(ofs_store_seal(s), 0);
	expect_text(b, "beta");
	free(data);
}

static int take_none(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	return 0;
}

Test(store_open, looking_at_many_files_does_not_keep_them_all_in_memory)
{
	struct ofs_attr attr;
	char name[16];
	int i;

	open_store();
	for (i = 0; i < 70000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		ofs_store_forget(s, make(name), 1);
	}
	close_store();
	open_store();
	cr_assert_eq(ofs_store_readdir(s, OFS_ROOT_INO, 0, true, take_none, NULL), 0);
	cr_assert_gt(s->inodes.count, 70000);
	cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, "69999", &attr), 0);
	cr_assert_lt(s->inodes.count, 100);
}
