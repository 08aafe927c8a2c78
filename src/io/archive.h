/* SPDX-License-Identifier: MIT */
/*
 * Archives in tar(1)'s pax format, compressed with zstd. Uses libarchive, which is loaded on first
 * use. Names are bytes, whatever the locale. A reader checks only the format: paths may lead
 * anywhere.
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
		OFS_MEMBER_LINK, /* hard link to an earlier member, `target` */
		OFS_MEMBER_OTHER, /* device or similar; only when reading */
	} kind;
	const char *path;
	const char *target; /* target of a link; otherwise NULL */
	mode_t mode; /* permission bits only */
	int64_t mtime; /* nanoseconds since 1970 */
	uint64_t size; /* size of a file in bytes */
	struct ofs_buf xattrs; /* as in base/xattr.h */
};

/* A range of a file that is not a hole. */
struct ofs_stretch {
	uint64_t off, len;
};

struct ofs_archive;

/* Returns 0 if archives can be read and written, or -ENOSYS with the reason in *err. */
int ofs_archive_is_possible(struct ofs_error *err);

/* Creates an archive that is written to `fd`, which stays the caller's. Returns 0 or -errno. */
int ofs_archive_create(int fd, struct ofs_error *err, struct ofs_archive **ret);

/*
 * Starts a member. Outside its `n` stretches (0: a single one) a file has holes. Its whole content,
 * including holes, follows by ofs_archive_write(). Returns 0 or -errno.
 */
int ofs_archive_put(struct ofs_archive *a, const struct ofs_member *m,
		    const struct ofs_stretch *data, size_t n, struct ofs_error *err);
int ofs_archive_write(struct ofs_archive *a, const void *data, size_t len, struct ofs_error *err);

/* Completes the archive, which must still be closed. Returns 0 or -errno. */
int ofs_archive_end(struct ofs_archive *a, struct ofs_error *err);

/* Opens an archive, read by read(arg, ...) as by pread(2) from an unchanging file. 0 or -errno. */
int ofs_archive_open(ssize_t (*read)(void *arg, void *buf, size_t size, uint64_t off), void *arg,
		     struct ofs_error *err, struct ofs_archive **ret);

/*
 * Returns 1 and the next member, borrowed until the next call, or 0 at the end. -EBADMSG: this is
 * not an archive, or it is damaged, cut short or unreadable.
 */
int ofs_archive_next(struct ofs_archive *a, struct ofs_error *err, const struct ofs_member **ret);

/* Returns 1 and a piece of the content, borrowed likewise, or 0 at its end. Gaps are holes. */
int ofs_archive_read(struct ofs_archive *a, struct ofs_error *err, const void **ret_data,
		     size_t *ret_len, uint64_t *ret_off);

/* Closes and frees the archive. Accepts NULL. */
void ofs_archive_close(struct ofs_archive *a);
