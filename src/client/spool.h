/* SPDX-License-Identifier: MIT */
/*
 * Bytes on their way into a tree: in memory while they are few, then in a temporary file that has
 * no name.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"

struct ofs_spool {
	uint64_t size;
	uint64_t newlines;
	int last; /* the last byte; '\n' while there is none */
	struct ofs_buf mem; /* all of it while fd is -1 */
	int fd;
	bool borrowed; /* `mem` is somebody else's, and nothing can be appended */
};

#define OFS_SPOOL_INIT                 \
	{                              \
		.last = '\n', .fd = -1 \
	}

/* Fit for OFS_CLEANUP. */
void ofs_spool_finish(struct ofs_spool *s);

/* A spool of bytes in memory, which must stay there as long as the spool is used. */
void ofs_spool_wrap(struct ofs_spool *s, const void *data, size_t len);

/* All of it, or -errno and the spool is what it was. */
int ofs_spool_append(struct ofs_spool *s, const void *data, size_t len);

/* Appends what can be read from `fd` up to its end. */
int ofs_spool_fill(struct ofs_spool *s, int fd);

/* Lines as sed counts them: an unterminated last one is a line. */
uint64_t ofs_spool_lines(const struct ofs_spool *s);

/* Short only at the end. */
ssize_t ofs_spool_read(const struct ofs_spool *s, void *buf, size_t size, uint64_t off);

/* Writes all of it to `fd`. 0 or -errno. */
int ofs_spool_copy(const struct ofs_spool *s, int fd);

/* write(2) until all is written. 0 or -errno. */
int ofs_spool_write_all(int fd, const void *data, size_t len);
