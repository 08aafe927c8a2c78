/* SPDX-License-Identifier: MIT */
/*
 * The only caller of open, pwrite, fsync and rename in the engine: here faults are injected, and
 * the order of durable writes can be followed.
 *
 * Every function returns 0 (or a count) or -errno, and handles EINTR and short transfers.
 */
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "base/buf.h"

/*
 * openat with O_CLOEXEC; returns the descriptor, owned by the caller. A given directory may be
 * under somebody else's control, so a symbolic link there fails with -ELOOP or -ENOTDIR, and
 * opening a FIFO does not block. With AT_FDCWD links are followed.
 */
int ofs_io_open(int dirfd, const char *path, int flags, mode_t mode);

/*
 * openat2 with O_CLOEXEC for a path that must stay below `dirfd`: -ELOOP for any symbolic link in
 * it (except as the last component with O_PATH | O_NOFOLLOW), -EXDEV for ".." above `dirfd` or
 * another mount. "" stands for `dirfd` itself.
 */
int ofs_io_open_beneath(int dirfd, const char *path, int flags, mode_t mode);

/* Closes *fd unless it is negative, and sets it to -1. */
void ofs_io_close(int *fd);

/* mkdirat. An existing directory is not an error; anything else there is -ENOTDIR. */
int ofs_io_mkdir(int dirfd, const char *path, mode_t mode);

int ofs_io_chmod(int fd, mode_t mode);

/* Returned instead of -EIO (damaged content) if a read fails: another one may succeed. */
#define OFS_EREAD EREMOTEIO

/* Reads `len` bytes, or fewer at the end of the file; returns the number read. */
ssize_t ofs_io_pread(int fd, void *buf, size_t len, uint64_t off);

/* Reads exactly `len` bytes; -EIO if the file ends earlier. */
int ofs_io_pread_exact(int fd, void *buf, size_t len, uint64_t off);

/* As ofs_io_pread_exact(), into `n` consecutive pieces. Modifies `iov`. */
int ofs_io_preadv_exact(int fd, struct iovec *iov, int n, uint64_t off);

/* Writes all `len` bytes. A failed call may have written any part of them. */
int ofs_io_pwrite(int fd, const void *buf, size_t len, uint64_t off);

/* As ofs_io_pwrite(), for `n` (at most 8) consecutive pieces. Modifies `iov`. */
int ofs_io_pwritev(int fd, struct iovec *iov, int n, uint64_t off);

int ofs_io_datasync(int fd);
int ofs_io_sync(int fd);
int ofs_io_truncate(int fd, uint64_t size);

/* Deallocates a range, which then reads as zeros. Writes zeros if punching is not supported. */
int ofs_io_punch(int fd, uint64_t off, uint64_t len);

/* Writes zeros into new or existing blocks. A failed call may have written any part of them. */
int ofs_io_zero(int fd, uint64_t off, uint64_t len);

/* Extends the file to at least `size` bytes and allocates them all. */
int ofs_io_allocate(int fd, uint64_t size);

/* Sets *ret_size to the size in bytes and *ret_allocated, unless NULL, to the bytes allocated. */
int ofs_io_size(int fd, uint64_t *ret_size, uint64_t *ret_allocated);

/* Sets *ret to the offset of the first data at or after `off`; -ENXIO if there is none. */
int ofs_io_next_data(int fd, uint64_t off, uint64_t *ret);

/* Returns 0; -ESTALE if the file was removed; -ENODATA if it is shorter than `size` bytes. */
int ofs_io_is_kept(int fd, uint64_t size);

/*
 * Makes `to` as long as `from` and equal to it from `off` on, including holes; durable on return.
 */
int ofs_io_copy(int from, int to, uint64_t off);

int ofs_io_rename(int dirfd, const char *from, const char *to);

/* A missing file is not an error. */
int ofs_io_unlink(int dirfd, const char *path);
int ofs_io_rmdir(int dirfd, const char *path);

/* Replaces `path` durably: temporary file, fsync, rename, fsync of the directory. */
int ofs_io_write_file(int dirfd, const char *path, const void *data, size_t len);

/*
 * Appends the whole file to `ret`, unchanged on failure; -EFBIG if it exceeds `max` bytes; -ENOMEM.
 */
int ofs_io_read_file(int dirfd, const char *path, size_t max, struct ofs_buf *ret);

/*
 * Appends what can be read from a descriptor, up to its end, to `ret`; -EFBIG if it exceeds `max`
 * bytes, -ENOMEM. After that ret->data is not NULL.
 */
int ofs_io_read_fd(int fd, size_t max, struct ofs_buf *ret);

/*
 * Calls `fn(arg, name)` for each entry except "." and "..", until it returns nonzero; returns that.
 */
int ofs_io_list(int dirfd, const char *path, int (*fn)(void *arg, const char *name), void *arg);

/*
 * Locks an open file, exclusively or shared, without waiting; -EWOULDBLOCK if it is taken. The lock
 * lasts until every copy of the descriptor is closed, so the kernel releases it if the process
 * dies.
 */
int ofs_io_lock(int fd, bool shared);
