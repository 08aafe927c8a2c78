/* SPDX-License-Identifier: MIT */
#include "io/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "io/failpoint.h"

#define READ_STEP ((size_t)64 << 10)
#define COPY_STEP ((size_t)1 << 20)

/* Ends a call that has a failpoint and returns its result `r`. */
static int ended(int fault, int r)
{
	if (r == 0)
		ofs_failpoint_after(fault);
	return r;
}

int ofs_io_open(int dirfd, const char *path, int flags, mode_t mode)
{
	int fault = ofs_failpoint("io.open");
	int fd;

	if (fault < 0)
		return fault;
	if (dirfd != AT_FDCWD)
		flags |= O_NOFOLLOW | O_NONBLOCK;
	do
		fd = openat(dirfd, path, flags | O_CLOEXEC, mode);
	while (fd < 0 && errno == EINTR);
	ofs_failpoint_after(fault);
	return fd < 0 ? -errno : fd;
}

int ofs_io_open_beneath(int dirfd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	int fd;

	do /* EAGAIN: something was renamed meanwhile, which matters only for ".." */
		fd = (int)syscall(SYS_openat2, dirfd, *path ? path : ".", &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 ? -errno : fd;
}

void ofs_io_close(int *fd)
{
	ofs_cleanup_close(fd);
	*fd = -1;
}

int ofs_io_chmod(int fd, mode_t mode)
{
	int fault = ofs_failpoint("io.chmod");

	return fault < 0 ? fault : ended(fault, fchmod(fd, mode) < 0 ? -errno : 0);
}

int ofs_io_mkdir(int dirfd, const char *path, mode_t mode)
{
	int fault = ofs_failpoint("io.mkdir");
	struct stat st;

	if (fault < 0)
		return fault;
	if (mkdirat(dirfd, path, mode) < 0) {
		if (errno != EEXIST)
			return -errno;
		if (fstatat(dirfd, path, &st, 0) < 0)
			return -errno;
		if (!S_ISDIR(st.st_mode))
			return -ENOTDIR;
	}
	ofs_failpoint_after(fault);
	return 0;
}

ssize_t ofs_io_pread(int fd, void *buf, size_t len, uint64_t off)
{
	int fault = ofs_failpoint("io.pread");
	size_t done = 0;
	ssize_t n;

	if (fault < 0)
		return fault;
	while (done < len) {
		n = pread(fd, (char *)buf + done, len - done, (off_t)(off + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	ofs_failpoint_after(fault);
	return (ssize_t)done;
}

int ofs_io_pread_exact(int fd, void *buf, size_t len, uint64_t off)
{
	ssize_t n = ofs_io_pread(fd, buf, len, off);

	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EIO;
}

/* Skips the first `n` bytes of the pieces. */
static void iov_advance(struct iovec **iov, int *count, size_t n)
{
	while (*count && n >= (*iov)->iov_len) {
		n -= (*iov)->iov_len;
		(*iov)++;
		(*count)--;
	}
	if (*count) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + n;
		(*iov)->iov_len -= n;
	}
}

static size_t iov_total(const struct iovec *iov, int count)
{
	size_t total = 0;

	for (int i = 0; i < count; i++)
		total += iov[i].iov_len;
	return total;
}

/* Truncates the pieces to their first `n` bytes. */
static void iov_cut(struct iovec *iov, int count, size_t n)
{
	for (int i = 0; i < count; i++) {
		iov[i].iov_len = OFS_MIN(iov[i].iov_len, n);
		n -= iov[i].iov_len;
	}
}

typedef ssize_t iov_fn(int fd, const struct iovec *iov, int n, off_t off);

/* Repeats preadv() or pwritev() until all bytes are transferred. */
static int iov_all(iov_fn *fn, int fd, struct iovec *iov, int n, uint64_t off)
{
	ssize_t done;

	for (iov_advance(&iov, &n, 0); n;
	     iov_advance(&iov, &n, (size_t)done), off += (size_t)done) {
		do
			done = fn(fd, iov, n, (off_t)off);
		while (done < 0 && errno == EINTR);
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
	}
	return 0;
}

int ofs_io_preadv_exact(int fd, struct iovec *iov, int n, uint64_t off)
{
	int fault = ofs_failpoint("io.preadv");

	return fault < 0 ? fault : ended(fault, iov_all(preadv, fd, iov, n, off));
}

static int pwritev_faulty(const char *point, int fd, struct iovec *iov, int n, uint64_t off)
{
	int fault = ofs_failpoint(point);

	if (fault < 0)
		return fault;
	if (fault == OFS_FAULT_SHORT)
		iov_cut(iov, n, iov_total(iov, n) / 2);
	return ended(fault, iov_all(pwritev, fd, iov, n, off));
}

int ofs_io_pwrite(int fd, const void *buf, size_t len, uint64_t off)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return pwritev_faulty("io.pwrite", fd, &iov, 1, off);
}

int ofs_io_pwritev(int fd, struct iovec *iov, int n, uint64_t off)
{
	return pwritev_faulty("io.pwritev", fd, iov, n, off);
}

/* Neither fsync nor fdatasync is repeated on EINTR, since the error may be reported only once. */
int ofs_io_datasync(int fd)
{
	int fault = ofs_failpoint("io.datasync");

	return fault < 0 ? fault : ended(fault, fdatasync(fd) < 0 ? -errno : 0);
}

int ofs_io_sync(int fd)
{
	int fault = ofs_failpoint("io.sync");

	return fault < 0 ? fault : ended(fault, fsync(fd) < 0 ? -errno : 0);
}

int ofs_io_truncate(int fd, uint64_t size)
{
	int fault = ofs_failpoint("io.truncate");
	int r;

	if (fault < 0)
		return fault;
	do
		r = ftruncate(fd, (off_t)size);
	while (r < 0 && errno == EINTR);
	return ended(fault, r < 0 ? -errno : 0);
}

static int write_zeros(int fd, uint64_t off, uint64_t end)
{
	static const char zeros[64 << 10];
	int r;

	while (off < end) {
		size_t n = (size_t)OFS_MIN(end - off, (uint64_t)sizeof(zeros));
		struct iovec iov = { (void *)(uintptr_t)zeros, n };

		r = iov_all(pwritev, fd, &iov, 1, off);
		if (r < 0)
			return r;
		off += n;
	}
	return 0;
}

int ofs_io_zero(int fd, uint64_t off, uint64_t len)
{
	int fault = ofs_failpoint("io.zero");

	return fault < 0 ? fault : ended(fault, write_zeros(fd, off, off + len));
}

/* Stays within the file, since punching does not extend it either. */
static int punch_by_writing(int fd, uint64_t off, uint64_t len)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return write_zeros(fd, off, OFS_MIN(off + len, (uint64_t)st.st_size));
}

int ofs_io_punch(int fd, uint64_t off, uint64_t len)
{
	int fault = ofs_failpoint("io.punch");
	int r = fault < 0 ? fault : 0;

	if (!len)
		return 0;
	while (!r && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off,
			       (off_t)len) < 0)
		if (errno != EINTR)
			r = -errno;
	if (r == -EOPNOTSUPP)
		r = punch_by_writing(fd, off, len);
	return ended(fault, r);
}

int ofs_io_allocate(int fd, uint64_t size)
{
	int fault = ofs_failpoint("io.allocate");
	int r = fault < 0 ? fault : 0;

	while (!r && fallocate(fd, 0, 0, (off_t)size) < 0)
		if (errno != EINTR)
			r = -errno;
	return ended(fault, r);
}

int ofs_io_size(int fd, uint64_t *ret_size, uint64_t *ret_allocated)
{
	int fault = ofs_failpoint("io.size");
	struct stat st;

	if (fault < 0)
		return fault;
	if (fstat(fd, &st) < 0)
		return ofs_errno();
	*ret_size = (uint64_t)st.st_size;
	if (ret_allocated)
		*ret_allocated = (uint64_t)st.st_blocks * 512;
	ofs_failpoint_after(fault);
	return 0;
}

int ofs_io_next_data(int fd, uint64_t off, uint64_t *ret)
{
	off_t at = lseek(fd, (off_t)off, SEEK_DATA);

	if (at < 0)
		return -errno;
	*ret = (uint64_t)at;
	return 0;
}

int ofs_io_is_kept(int fd, uint64_t size)
{
	struct statx st;

	/* Does not ask for times: see store/presence.c. */
	if (statx(fd, "", AT_EMPTY_PATH, STATX_NLINK | STATX_SIZE, &st) < 0)
		return 0;
	return !st.stx_nlink ? -ESTALE : st.stx_size < size ? -ENODATA : 0;
}

/* Returns the offset of the first data at or after `off`, or UINT64_MAX if there is none. */
static uint64_t next_data(int fd, uint64_t off)
{
	off_t at = lseek(fd, (off_t)off, SEEK_DATA);

	return at >= 0 ? (uint64_t)at : errno == ENXIO ? UINT64_MAX : off;
}

int ofs_io_copy(int from, int to, uint64_t off)
{
	OFS_FREE uint8_t *buf = ofs_alloc(COPY_STEP);
	uint64_t size;
	int r = ofs_io_size(from, &size, NULL);

	if (r == 0)
		r = ofs_io_truncate(to, OFS_MIN(off, size));
	if (r == 0)
		r = ofs_io_truncate(to, size);
	for (ssize_t n = 1; r == 0 && n > 0 && (off = next_data(from, off)) < size;
	     off += (uint64_t)n) {
		n = ofs_io_pread(from, buf, COPY_STEP, off);
		r = n > 0 ? ofs_io_pwrite(to, buf, (size_t)n, off) : (int)n;
	}
	return r < 0 ? r : ofs_io_sync(to);
}

int ofs_io_rename(int dirfd, const char *from, const char *to)
{
	int fault = ofs_failpoint("io.rename");

	return fault < 0 ? fault : ended(fault, renameat(dirfd, from, dirfd, to) < 0 ? -errno : 0);
}

int ofs_io_unlink(int dirfd, const char *path)
{
	int fault = ofs_failpoint("io.unlink");

	if (fault < 0)
		return fault;
	return ended(fault, unlinkat(dirfd, path, 0) < 0 && errno != ENOENT ? -errno : 0);
}

int ofs_io_rmdir(int dirfd, const char *path)
{
	return unlinkat(dirfd, path, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* Makes the name `path`, just renamed into place, durable by syncing its directory. */
static int sync_parent(int dirfd, const char *path)
{
	const char *slash = strrchr(path, '/');
	OFS_FREE char *parent = NULL;
	OFS_CLOSE int fd = -1;

	parent = slash ? ofs_strndup(path, OFS_MAX((size_t)(slash - path), (size_t)1))
		       : ofs_strdup(".");
	fd = ofs_io_open(dirfd, parent, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return fd;
	return ofs_io_sync(fd);
}

int ofs_io_write_file(int dirfd, const char *path, const void *data, size_t len)
{
	OFS_FREE char *temp = ofs_format("%s.tmp", path);
	OFS_CLOSE int fd = ofs_io_open(dirfd, temp, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int r;

	if (fd < 0)
		return fd;
	r = ofs_io_pwrite(fd, data, len, 0);
	if (r == 0)
		r = ofs_io_sync(fd);
	if (r == 0)
		r = ofs_io_rename(dirfd, temp, path);
	if (r == 0)
		return sync_parent(dirfd, path);
	ofs_io_unlink(dirfd, temp);
	return r;
}

int ofs_io_read_fd(int fd, size_t max, struct ofs_buf *ret)
{
	size_t before = ret->len;
	ssize_t n = 1;

	while (n) {
		if (ofs_buf_try_reserve(ret, READ_STEP) < 0)
			return -ENOMEM;
		n = read(fd, ret->data + ret->len, READ_STEP);
		if (n < 0 && errno != EINTR)
			return -errno;
		ret->len += n > 0 ? (size_t)n : 0;
		if (ret->len - before > max)
			return -EFBIG;
	}
	return 0;
}

int ofs_io_read_file(int dirfd, const char *path, size_t max, struct ofs_buf *ret)
{
	OFS_CLOSE int fd = -1;
	size_t before = ret->len;
	size_t step;
	ssize_t n;
	int r;

	fd = ofs_io_open(dirfd, path, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	do {
		/* Reading one byte more than allowed shows that the file is too large. */
		step = OFS_MIN(max - (ret->len - before), READ_STEP) + 1;
		r = ofs_buf_try_reserve(ret, step);
		if (r < 0)
			goto fail;
		n = ofs_io_pread(fd, ret->data + ret->len, step, ret->len - before);
		r = (int)OFS_MIN(n, 0);
		if (r < 0)
			goto fail;
		ret->len += (size_t)n;
		r = -EFBIG;
		if (ret->len - before > max)
			goto fail;
	} while ((size_t)n == step);
	return 0;
fail:
	ret->len = before;
	return r;
}

static void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int ofs_io_list(int dirfd, const char *path, int (*fn)(void *arg, const char *name), void *arg)
{
	OFS_CLEANUP(cleanup_closedir) DIR *dir = NULL;
	OFS_CLOSE int fd = -1;
	struct dirent *entry;
	int fault = ofs_failpoint("io.list");
	int r;

	if (fault < 0)
		return fault;
	fd = ofs_io_open(dirfd, path, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	ofs_steal_fd(&fd);
	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		r = fn(arg, entry->d_name);
		if (r)
			return r;
	}
	if (errno)
		return -errno;
	ofs_failpoint_after(fault);
	return 0;
}

int ofs_io_lock(int fd, bool shared)
{
	return flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0 ? -errno : 0;
}
