/* SPDX-License-Identifier: MIT */
/*
 * Archives as tar(1) makes and reads them (pax), compressed with zstd: by libarchive, which is
 * loaded when one is first asked for. Names are bytes, whatever the locale. Nothing of what is read
 * is trusted but for its form: paths may lead anywhere.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <offloadfs/error.h>

#include "base/buf.h"
#include "base/xattr.h"

struct ofs_member {
	enum ofs_member_kind {
		OFS_MEMBER_FILE,
		OFS_MEMBER_DIR,
		OFS_MEMBER_SYMLINK,
		OFS_MEMBER_LINK, /* another name of an earlier one, `target` */
		OFS_MEMBER_OTHER, /* a device or the like; only read */
	} kind;
	const char *path;
	const char *target; /* of links; else NULL */
	mode_t mode; /* permissions alone */
	int64_t mtime; /* nanoseconds */
	uint64_t size; /* of files */
	struct ofs_buf xattrs; /* as in base/xattr.h */
};

/* A stretch of a file that is no hole. */
struct ofs_stretch {
	uint64_t off, len;
};

struct ofs_archive;

/* This program can make and read archives; else `err` says what is missing. */
int ofs_archive_is_possible(struct ofs_error *err);

/* Writes to `fd`, which stays the caller's. 0 or -errno. */
int ofs_archive_create(int fd, struct ofs_error *err, struct ofs_archive **ret);

/*
 * Begins a member. With `n` stretches (0: all of it is one) the rest of its size are holes. Its
 * content is given afterwards, holes included, by ofs_archive_write(). 0 or -errno.
 */
int ofs_archive_put(struct ofs_archive *a, const struct ofs_member *m,
		    const struct ofs_stretch *data, size_t n, struct ofs_error *err);
int ofs_archive_write(struct ofs_archive *a, const void *data, size_t len, struct ofs_error *err);

/* Writes what is left. 0 or -errno; the archive is still to be closed. */
int ofs_archive_end(struct ofs_archive *a, struct ofs_error *err);

/* Reads from read(arg, ...), which is pread(2) of a file that stays as it is. 0 or -errno. */
int ofs_archive_open(ssize_t (*read)(void *arg, void *buf, size_t size, uint64_t off), void *arg,
		     struct ofs_error *err, struct ofs_archive **ret);

/*
 * The next member, borrowed until the next call: 1; 0: there are no more. -EBADMSG: it is no archive, or
 * it is damaged or cut short; or another -errno.
 */
int ofs_archive_next(struct ofs_archive *a, struct ofs_error *err, const struct ofs_member **ret);

/* A piece of its content, borrowed likewise: 1; 0: that was all. What no piece has is a hole. */
int ofs_archive_read(struct ofs_archive *a, struct ofs_error *err, const void **ret_data,
		     size_t *ret_len, uint64_t *ret_off);

/* NULL is allowed. */
void ofs_archive_close(struct ofs_archive *a);
