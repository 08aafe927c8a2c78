/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/util.h"
#include "io/failpoint.h"
#include "io/file.h"

static char dir[256], log_path[300];
static int dirfd_ = -1;

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/ofs-test-XXXXXX", tmp ? tmp : "/tmp");
	cr_assert_not_null(mkdtemp(dir));
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	snprintf(log_path, sizeof(log_path), "%s/log", dir);
	setenv("OFS_FAILPOINT_LOG", log_path, 1);
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

TestSuite(io_failpoint, .init = setup, .fini = teardown);

/* Writes 8 bytes twice in a process of its own. Returns its status as from waitpid(). */
static int run_two_writes(const char *failpoint)
{
	int status, fd;
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		setenv("OFS_FAILPOINT", failpoint, 1);
		if (!freopen("/dev/null", "w", stderr))
			_exit(9);
		fd = ofs_io_open(dirfd_, "f", O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0)
			_exit(-fd);
		if (ofs_io_pwrite(fd, "01234567", 8, 0) < 0)
			_exit(1);
		_exit(ofs_io_pwrite(fd, "89abcdef", 8, 8) < 0 ? 2 : 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void check_killed(int status, int signal)
{
	cr_assert(WIFSIGNALED(status));
	cr_assert_eq(WTERMSIG(status), signal);
}

static void check_size(off_t expected)
{
	struct stat st;

	cr_assert_eq(fstatat(dirfd_, "f", &st, 0), 0);
	cr_assert_eq(st.st_size, expected);
}

static void check_log(const char *expected)
{
	char text[200] = "";
	FILE *f = fopen(log_path, "r");

	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	cr_assert_str_eq(text, expected);
}

Test(io_failpoint, none)
{
	unsetenv("OFS_FAILPOINT");
	cr_assert_eq(ofs_failpoint("io.pwrite"), 0);
	cr_assert_eq(ofs_failpoint_armed, 0);
	cr_assert_eq(run_two_writes(""), 0);
	check_size(16);
	check_log("");
}

Test(io_failpoint, kill)
{
	check_killed(run_two_writes("io.pwrite=kill@2"), SIGKILL);
	check_size(8);
	check_log("io.pwrite=kill@2\n");
}

Test(io_failpoint, kill_after)
{
	check_killed(run_two_writes("io.rename=eio,io.pwrite=kill-after@2"), SIGKILL);
	check_size(16);
	check_log("io.pwrite=kill-after@2\n");
}

Test(io_failpoint, short_write)
{
	check_killed(run_two_writes("io.pwrite=short@2"), SIGKILL);
	check_size(12);
	check_log("io.pwrite=short@2\n");
}

Test(io_failpoint, short_write_of_pieces)
{
	char text[] = "0123456789";
	struct iovec iov[] = { { text, 4 }, { text + 4, 2 }, { text + 6, 4 } };
	int status, fd;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("OFS_FAILPOINT", "io.pwritev=short", 1);
		fd = ofs_io_open(dirfd_, "f", O_RDWR | O_CREAT, 0600);
		ofs_io_pwritev(fd, iov, 3, 0);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	check_killed(status, SIGKILL);
	check_size(5);
}

Test(io_failpoint, errors)
{
	int fd;

	setenv("OFS_FAILPOINT", "io.pwrite=enospc@2,io.datasync=eio,io.open=eopnotsupp@3", 1);
	fd = ofs_io_open(dirfd_, "f", O_RDWR | O_CREAT, 0600);
	cr_assert_eq(ofs_io_pwrite(fd, "x", 1, 0), 0);
	cr_assert_eq(ofs_io_pwrite(fd, "x", 1, 1), -ENOSPC);
	cr_assert_eq(ofs_io_pwrite(fd, "x", 1, 2), 0);
	cr_assert_eq(ofs_io_datasync(fd), -EIO);
	cr_assert_eq(ofs_io_datasync(fd), -EIO);
	ofs_io_close(&fd);
	fd = ofs_io_open(dirfd_, "f", O_RDWR, 0);
	ofs_io_close(&fd);
	cr_assert_eq(ofs_io_open(dirfd_, "f", O_RDWR, 0), -EOPNOTSUPP);
	check_log(
		"io.pwrite=enospc@2\nio.datasync=eio@1\nio.datasync=eio@2\nio.open=eopnotsupp@3\n");
}

Test(io_failpoint, notes)
{
	setenv("OFS_FAILPOINT", "a=note,b=note@2,a=eio@2", 1);
	cr_assert_eq(ofs_failpoint("a"), 0);
	cr_assert_eq(ofs_failpoint("b"), 0);
	cr_assert_eq(ofs_failpoint("b"), 0);
	cr_assert_eq(ofs_failpoint("a"), -EIO);
	cr_assert_eq(ofs_failpoint("a"), 0);
	check_log("a=note@1\nb=note@2\na=note@2\na=eio@2\na=note@3\n");
}

Test(io_failpoint, slow_is_no_fault)
{
	int64_t began = ofs_clock_monotonic();

	setenv("OFS_FAILPOINT", "a=slow,a=eio@2", 1);
	cr_assert_eq(ofs_failpoint("a"), 0);
	cr_assert_geq(ofs_clock_monotonic() - began, 20 * OFS_NS_PER_MS);
	cr_assert_eq(ofs_failpoint("a"), -EIO);
	check_log("a=slow@1\na=slow@2\na=eio@2\n");
}

Test(io_failpoint, names_of_other_layers)
{
	setenv("OFS_FAILPOINT", "store.commit=eio@2", 1);
	cr_assert_eq(ofs_failpoint("store.commit"), 0);
	cr_assert_eq(ofs_failpoint("store.commit"), -EIO);
	cr_assert_eq(ofs_failpoint("store.commit"), 0);
	cr_assert_eq(ofs_failpoint("store.commits"), 0);
}

Test(io_failpoint, what_does_not_parse_ends_the_process)
{
	static const char *const bad[] = { "io.pwrite",	       "=eio",		 "io.pwrite=",
					   "io.pwrite=eoi",    "io.pwrite=eio@", "io.pwrite=eio@0",
					   "io.pwrite=eio@2x", "a=eio,b" };
	size_t i;

	for (i = 0; i < OFS_ARRAY_SIZE(bad); i++)
		check_killed(run_two_writes(bad[i]), SIGABRT);
	check_log("");
}
