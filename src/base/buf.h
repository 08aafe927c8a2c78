/* SPDX-License-Identifier: MIT */
/* A byte buffer that grows. Appending cannot fail: without memory the process ends (alloc.h). */
#pragma once

#include "base/util.h"

struct ofs_buf {
	uint8_t *data; /* NULL while nothing was reserved; not NUL-terminated, but see ofs_buf_str()
			*/
	size_t len;
	size_t cap;
};

#define OFS_BUF_INIT       \
	{                  \
		NULL, 0, 0 \
	}

/* Frees the memory and leaves an empty buffer; fit for OFS_CLEANUP. */
void ofs_buf_finish(struct ofs_buf *b);

/* Makes room for `more` bytes after the present ones. */
void ofs_buf_reserve(struct ofs_buf *b, size_t more);

/* The same for sizes that a caller of the filesystem chooses: 0 or -ENOMEM. */
int ofs_buf_try_reserve(struct ofs_buf *b, size_t more);

void ofs_buf_append(struct ofs_buf *b, const void *data, size_t len);
void ofs_buf_append_str(struct ofs_buf *b, const char *s);
void ofs_buf_printf(struct ofs_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The content as a string, ended by a NUL that does not count. Valid until the buffer changes. */
char *ofs_buf_str(struct ofs_buf *b);

/* Hands the content over; the buffer is empty afterwards. */
struct ofs_buf ofs_buf_steal(struct ofs_buf *b);

/* The content as of ofs_buf_str(), allocated for the caller; the buffer is empty afterwards. */
char *ofs_buf_steal_str(struct ofs_buf *b);
