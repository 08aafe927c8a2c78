/* SPDX-License-Identifier: MIT */
/*
 * The only caller of open, pwrite, fsync and rename in the engine, so that faults can be injected
 * in one place and the ordering of durable writes can be read in one place.
 *
 * Every function returns 0 (or a count) or -errno. EINTR and short transfers are dealt with here.
 */
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "base/buf.h"

/*
 * openat with O_CLOEXEC; returns the descriptor, owned by the caller. What lies in a directory that
 * is given may be anybody's work: a symbolic link there is -ELOOP or -ENOTDIR, and a FIFO does not
 * hold us up. With AT_FDCWD links are followed.
 */
int ofs_io_open(int dirfd, const char *path, int flags, mode_t mode);

/*
 * openat2 with O_CLOEXEC for a path that must not lead out of `dirfd`: -ELOOP for a symbolic link
 * anywhere in it (but for the last component with O_PATH | O_NOFOLLOW), -EXDEV for ".." above
 * `dirfd` and for another mount. `path` may be "", which is `dirfd` itself.
 */
int ofs_io_open_beneath(int dirfd, const char *path, int flags, mode_t mode);

/* Closes *fd and sets it to -1; a negative one is left alone. */
void ofs_io_close(int *fd);

/* mkdirat; an existing directory is not an error. */
int ofs_io_mkdir(int dirfd, const char *path, mode_t mode);

int ofs_io_chmod(int fd, mode_t mode);

/*
 * A read failed, in functions that answer -EIO for damaged content: it may be sound, and reading
 * again may succeed.
 */
#define OFS_EREAD EREMOTEIO

/* Reads until `len` bytes or the end of the file; returns the count read. */
ssize_t ofs_io_pread(int fd, void *buf, size_t len, uint64_t off);

/* Reads exactly `len` bytes; -EIO when the file ends before that. */
int ofs_io_pread_exact(int fd, void *buf, size_t len, uint64_t off);

/* The same into `n` pieces that follow each other in the file; `iov` is consumed. */
int ofs_io_preadv_exact(int fd, struct iovec *iov, int n, uint64_t off);

/* Writes all of it or fails; a failed call may have written any part of it. */
int ofs_io_pwrite(int fd, const void *buf, size_t len, uint64_t off);

/* The same for `n` (at most 8) pieces that follow each other; `iov` is consumed. */
int ofs_io_pwritev(int fd, struct iovec *iov, int n, uint64_t off);

int ofs_io_datasync(int fd);
int ofs_io_sync(int fd);
int ofs_io_truncate(int fd, uint64_t size);

/*
 * Gives a range back to the filesystem; it reads as zeros afterwards, whether or not punching is
 * supported.
 */
int ofs_io_punch(int fd, uint64_t off, uint64_t len);

/*
 * Writes zeros: the range is in the file afterwards, with blocks of its own that are written. A
 * failed call may have written any part of it.
 */
int ofs_io_zero(int fd, uint64_t off, uint64_t len);

/* Makes the file at least `size` bytes large and sets room aside for all of them. */
int ofs_io_allocate(int fd, uint64_t size);

/* Size in bytes; with `ret_allocated` (may be NULL) also the bytes that the file occupies. */
int ofs_io_size(int fd, uint64_t *ret_size, uint64_t *ret_allocated);

/* Where the first data from `off` on lies that is no hole; -ENXIO: there is none. */
int ofs_io_next_data(int fd, uint64_t off, uint64_t *ret);

/* 0; -ESTALE: the file was removed; -ENODATA: it was cut short of `size` bytes. */
int ofs_io_is_kept(int fd, uint64_t size);

/* `to` becomes as long as `from` and holds the same from `off` on, holes too, durably. */
int ofs_io_copy(int from, int to, uint64_t off);

int ofs_io_rename(int dirfd, const char *from, const char *to);

/* A missing file is not an error. */
int ofs_io_unlink(int dirfd, const char *path);
int ofs_io_rmdir(int dirfd, const char *path);

/*
 * Replaces `path` by a file with this content, durably: temporary file, fsync, rename, fsync of
 * the directory.
 */
int ofs_io_write_file(int dirfd, const char *path, const void *data, size_t len);

/* Appends the whole file to `ret`; -EFBIG if it is larger than `max`; -ENOMEM. */
int ofs_io_read_file(int dirfd, const char *path, size_t max, struct ofs_buf *ret);

/*
 * Appends what can be read from a descriptor, up to its end, to `ret`, whose data is not NULL
 * afterwards; -EFBIG if it is more than `max` bytes; -ENOMEM.
 */
int ofs_io_read_fd(int fd, size_t max, struct ofs_buf *ret);

/*
 * Calls `fn(arg, name)` for each entry but "." and ".."; a nonzero return ends the walk and is
 * returned.
 */
int ofs_io_list(int dirfd, const char *path, int (*fn)(void *arg, const char *name), void *arg);

/*
 * Takes the lock of an open file, exclusive or shared, without waiting; it lasts until every copy
 * of the descriptor is closed, so the kernel frees it when the process dies. -EWOULDBLOCK: another
 * has it.
 */
int ofs_io_lock(int fd, bool shared);
