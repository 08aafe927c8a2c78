/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/util.h"
#include "io/file.h"

static char dir[256];
static int dirfd_ = -1;

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/ofs-test-XXXXXX", tmp ? tmp : "/tmp");
	cr_assert_not_null(mkdtemp(dir));
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(dirfd_, 0);
}

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static void teardown(void)
{
	close(dirfd_);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(io_file, .init = setup, .fini = teardown);

static int make_file(const char *name)
{
	int fd = ofs_io_open(dirfd_, name, O_RDWR | O_CREAT | O_EXCL, 0600);

	cr_assert_geq(fd, 0);
	return fd;
}

static int count_name(void *arg, const char *name)
{
	(*(int *)arg)++;
	return strcmp(name, "stop") == 0 ? 77 : 0;
}

Test(io_file, open_is_close_on_exec)
{
	int fd = make_file("a");

	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ofs_io_close(&fd);
	cr_assert_eq(fd, -1);
	ofs_io_close(&fd);
	cr_assert_eq(ofs_io_open(dirfd_, "missing", O_RDONLY, 0), -ENOENT);
}

Test(io_file, mkdir)
{
	int fd = make_file("file");

	cr_assert_eq(ofs_io_mkdir(dirfd_, "d", 0700), 0);
	cr_assert_eq(ofs_io_mkdir(dirfd_, "d", 0700), 0);
	cr_assert_eq(ofs_io_mkdir(dirfd_, "file", 0700), -ENOTDIR);
	cr_assert_eq(ofs_io_mkdir(dirfd_, "no/d", 0700), -ENOENT);
	ofs_io_close(&fd);
}

Test(io_file, read_and_write)
{
	char buf[16] = "";
	int fd = make_file("a");

	cr_assert_eq(ofs_io_pwrite(fd, "hello", 5, 3), 0);
	cr_assert_eq(ofs_io_pwrite(fd, NULL, 0, 100), 0);
	cr_assert_eq(ofs_io_pread(fd, buf, sizeof(buf), 0), 8);
	cr_assert_arr_eq(buf, "\0\0\0hello", 8);
	cr_assert_eq(ofs_io_pread(fd, buf, sizeof(buf), 8), 0);
	cr_assert_eq(ofs_io_pread_exact(fd, buf, 5, 3), 0);
	cr_assert_eq(ofs_io_pread_exact(fd, buf, 6, 3), -EIO);
	cr_assert_eq(ofs_io_pread_exact(fd, buf, 0, 8), 0);
	ofs_io_close(&fd);
	cr_assert_eq(ofs_io_pread(fd, buf, 1, 0), -EBADF);
	cr_assert_eq(ofs_io_pwrite(fd, buf, 1, 0), -EBADF);
}

Test(io_file, vectors)
{
	char text[] = "abcdef";
	struct iovec out[] = { { NULL, 0 }, { text, 2 }, { text, 0 }, { text + 2, 4 } };
	char first[3], second[4];
	struct iovec in[] = { { first, 3 }, { NULL, 0 }, { second, 3 } };
	struct iovec over[] = { { first, 3 }, { second, 4 } };
	int fd = make_file("a");

	cr_assert_eq(ofs_io_pwritev(fd, out, 4, 2), 0);
	cr_assert_eq(ofs_io_preadv_exact(fd, in, 3, 2), 0);
	cr_assert_arr_eq(first, "abc", 3);
	cr_assert_arr_eq(second, "def", 3);
	cr_assert_eq(ofs_io_preadv_exact(fd, over, 2, 2), -EIO);
	ofs_io_close(&fd);
}

Test(io_file, large_transfers_are_whole)
{
	size_t size = (size_t)9 << 20;
	uint8_t *out = malloc(size), *in = calloc(1, size);
	int fd = make_file("a");
	size_t i;

	for (i = 0; i < size; i++)
		out[i] = (uint8_t)(i * i >> 7);
	cr_assert_eq(ofs_io_pwrite(fd, out, size, 1), 0);
	cr_assert_eq(ofs_io_pread_exact(fd, in, size, 1), 0);
	cr_assert_eq(memcmp(in, out, size), 0);
	free(in);
	free(out);
	ofs_io_close(&fd);
}

Test(io_file, truncate_sync_size)
{
	uint64_t size, allocated;
	int fd = make_file("a");

	cr_assert_eq(ofs_io_truncate(fd, 1 << 20), 0);
	cr_assert_eq(ofs_io_datasync(fd), 0);
	cr_assert_eq(ofs_io_sync(fd), 0);
	cr_assert_eq(ofs_io_size(fd, &size, &allocated), 0);
	cr_assert_eq(size, 1 << 20);
	cr_assert_lt(allocated, size);
	cr_assert_eq(ofs_io_size(fd, &size, NULL), 0);
	cr_assert_eq(ofs_io_sync(dirfd_), 0);
	ofs_io_close(&fd);
	cr_assert_eq(ofs_io_sync(fd), -EBADF);
	cr_assert_eq(ofs_io_datasync(fd), -EBADF);
}

static void check_punch(void)
{
	static uint8_t data[300000], back[300000];
	int fd = make_file("a");
	uint64_t size;

	memset(data, 0xaa, sizeof(data));
	cr_assert_eq(ofs_io_pwrite(fd, data, sizeof(data), 0), 0);
	cr_assert_eq(ofs_io_punch(fd, 5000, 200001), 0);
	cr_assert_eq(ofs_io_punch(fd, 10, 0), 0);
	memset(data + 5000, 0, 200001);
	cr_assert_eq(ofs_io_pread_exact(fd, back, sizeof(back), 0), 0);
	cr_assert_eq(memcmp(back, data, sizeof(data)), 0);

	cr_assert_eq(ofs_io_punch(fd, sizeof(data) - 1, 100), 0);
	cr_assert_eq(ofs_io_punch(fd, sizeof(data) + 10, 100), 0);
	cr_assert_eq(ofs_io_size(fd, &size, NULL), 0);
	cr_assert_eq(size, sizeof(data), "punching changed the size");
	ofs_io_close(&fd);
}

Test(io_file, punch)
{
	check_punch();
}

Test(io_file, punch_without_support)
{
	char log[300];
	struct stat st;

	snprintf(log, sizeof(log), "%s/log", dir);
	setenv("OFS_FAILPOINT", "io.punch=eopnotsupp", 1);
	setenv("OFS_FAILPOINT_LOG", log, 1);
	check_punch();
	cr_assert_eq(stat(log, &st), 0, "the fault was not reached");
}

Test(io_file, rename_and_unlink)
{
	int fd = make_file("a");

	ofs_io_close(&fd);
	cr_assert_eq(ofs_io_rename(dirfd_, "a", "b"), 0);
	cr_assert_eq(ofs_io_rename(dirfd_, "a", "b"), -ENOENT);
	cr_assert_eq(ofs_io_unlink(dirfd_, "b"), 0);
	cr_assert_eq(ofs_io_unlink(dirfd_, "b"), 0);
	cr_assert_eq(ofs_io_mkdir(dirfd_, "d", 0700), 0);
	cr_assert_lt(ofs_io_unlink(dirfd_, "d"), 0);
}

Test(io_file, write_file_replaces)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;
	struct stat st;
	int count = 0;

	cr_assert_eq(ofs_io_mkdir(dirfd_, "d", 0700), 0);
	cr_assert_eq(ofs_io_write_file(dirfd_, "d/f", "one and more", 12), 0);
	cr_assert_eq(ofs_io_write_file(dirfd_, "d/f", "two", 3), 0);
	cr_assert_eq(ofs_io_read_file(dirfd_, "d/f", 100, &b), 0);
	cr_assert_eq(b.len, 3);
	cr_assert_arr_eq(b.data, "two", 3);
	cr_assert_eq(fstatat(dirfd_, "d/f", &st, 0), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	cr_assert_eq(ofs_io_list(dirfd_, "d", count_name, &count), 0);
	cr_assert_eq(count, 1, "a temporary file was left");
	cr_assert_eq(ofs_io_write_file(dirfd_, "no/f", "x", 1), -ENOENT);
}

Test(io_file, write_file_that_fails_leaves_the_old_one)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;
	int count = 0;

	setenv("OFS_FAILPOINT", "io.sync=eio@3", 1);
	cr_assert_eq(ofs_io_write_file(dirfd_, "f", "old", 3), 0);
	cr_assert_eq(ofs_io_write_file(dirfd_, "f", "new", 3), -EIO);
	cr_assert_eq(ofs_io_read_file(dirfd_, "f", 100, &b), 0);
	cr_assert_arr_eq(b.data, "old", 3);
	cr_assert_eq(ofs_io_list(dirfd_, ".", count_name, &count), 0);
	cr_assert_eq(count, 1, "a temporary file was left");
}

Test(io_file, read_file_limits)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;
	static uint8_t data[200000];
	int fd = make_file("f");

	memset(data, 'x', sizeof(data));
	cr_assert_eq(ofs_io_pwrite(fd, data, sizeof(data), 0), 0);
	ofs_io_close(&fd);
	ofs_buf_append_str(&b, "ab");
	cr_assert_eq(ofs_io_read_file(dirfd_, "f", sizeof(data) - 1, &b), -EFBIG);
	cr_assert_eq(b.len, 2, "what was there was changed");
	cr_assert_eq(ofs_io_read_file(dirfd_, "f", sizeof(data), &b), 0);
	cr_assert_eq(b.len, 2 + sizeof(data));
	cr_assert_arr_eq(b.data, "abxx", 4);
	cr_assert_eq(ofs_io_read_file(dirfd_, "missing", 10, &b), -ENOENT);
	cr_assert_eq(ofs_io_read_file(dirfd_, "f", 0, &b), -EFBIG);
	cr_assert_eq(b.len, 2 + sizeof(data));
}

Test(io_file, list)
{
	int count = 0, fd;

	cr_assert_eq(ofs_io_list(dirfd_, ".", count_name, &count), 0);
	cr_assert_eq(count, 0);
	fd = make_file("a");
	ofs_io_close(&fd);
	cr_assert_eq(ofs_io_mkdir(dirfd_, "b", 0700), 0);
	cr_assert_eq(ofs_io_list(dirfd_, ".", count_name, &count), 0);
	cr_assert_eq(count, 2);
	fd = make_file("stop");
	ofs_io_close(&fd);
	cr_assert_eq(ofs_io_list(dirfd_, ".", count_name, &count), 77);
	cr_assert_eq(ofs_io_list(dirfd_, "missing", count_name, &count), -ENOENT);
	cr_assert_eq(ofs_io_list(dirfd_, "a", count_name, &count), -ENOTDIR);
}
