/* SPDX-License-Identifier: MIT */
/*
 * A spool holds bytes on their way into a tree: up to 1 MiB in memory, more in an unnamed temporary
 * file.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"

struct ofs_spool {
	uint64_t size;
	uint64_t newlines;
	int last; /* the last byte; '\n' while there is none */
	struct ofs_buf mem; /* all bytes, while `fd` is -1 */
	int fd; /* the temporary file, or -1 */
	bool borrowed; /* `mem` is the caller's, and nothing can be appended */
};

#define OFS_SPOOL_INIT                 \
	{                              \
		.last = '\n', .fd = -1 \
	}

/* Frees the bytes and makes `s` an empty spool. For OFS_CLEANUP, too. */
void ofs_spool_finish(struct ofs_spool *s);

/* Makes `s` a spool of bytes in memory, which it borrows. */
void ofs_spool_wrap(struct ofs_spool *s, const void *data, size_t len);

/* Appends all bytes. 0, or -errno with the spool unchanged. */
int ofs_spool_append(struct ofs_spool *s, const void *data, size_t len);

/* Appends everything up to the end of `fd`. 0 or -errno. */
int ofs_spool_fill(struct ofs_spool *s, int fd);

/* Returns the number of lines as sed counts them: an unterminated last line counts. */
uint64_t ofs_spool_lines(const struct ofs_spool *s);

/* Reads bytes at `off`. Returns their number, which is short only at the end, or -errno. */
ssize_t ofs_spool_read(const struct ofs_spool *s, void *buf, size_t size, uint64_t off);

/* Writes all bytes to `fd`. 0 or -errno. */
int ofs_spool_copy(const struct ofs_spool *s, int fd);

/* Writes all of `data` to `fd`. Waits if `fd` is non-blocking. 0 or -errno. */
int ofs_spool_write_all(int fd, const void *data, size_t len);
