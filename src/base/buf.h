/* SPDX-License-Identifier: MIT */
/* A growing byte buffer. Appending never fails: the process ends if memory runs out (alloc.h). */
#pragma once

#include "base/util.h"

struct ofs_buf {
	uint8_t *data; /* NULL until something is reserved; ofs_buf_str() adds a NUL */
	size_t len;
	size_t cap;
};

#define OFS_BUF_INIT       \
	{                  \
		NULL, 0, 0 \
	}

/* Frees the memory and leaves an empty buffer. Usable with OFS_CLEANUP. */
void ofs_buf_finish(struct ofs_buf *b);

/* Makes room for `more` bytes after the content. */
void ofs_buf_reserve(struct ofs_buf *b, size_t more);

/* As ofs_buf_reserve(), for sizes that a caller of the filesystem chooses. Returns 0 or -ENOMEM. */
int ofs_buf_try_reserve(struct ofs_buf *b, size_t more);

void ofs_buf_append(struct ofs_buf *b, const void *data, size_t len);
void ofs_buf_append_str(struct ofs_buf *b, const char *s);
void ofs_buf_printf(struct ofs_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The content as a C string; the NUL is not counted in `len`. Valid until the buffer changes. */
char *ofs_buf_str(struct ofs_buf *b);

/* Transfers the content to the caller and leaves the buffer empty. */
struct ofs_buf ofs_buf_steal(struct ofs_buf *b);

/* Transfers the content to the caller as a C string and leaves the buffer empty. */
char *ofs_buf_steal_str(struct ofs_buf *b);
