/* SPDX-License-Identifier: MIT */
/* A byte buffer that grows. */
#ifndef OFS_BASE_BUF_H
#define OFS_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct ofs_buf {
	uint8_t *data; /* NULL while nothing was reserved; not NUL-terminated */
	size_t len;
	size_t cap;
};

#define OFS_BUF_INIT       \
	{                  \
		NULL, 0, 0 \
	}

/* Frees the memory and leaves an empty buffer; fit for OFS_CLEANUP. */
void ofs_buf_finish(struct ofs_buf *b);

/* Makes room for `more` bytes behind the present ones. 0 or -ENOMEM. */
int ofs_buf_reserve(struct ofs_buf *b, size_t more);

int ofs_buf_append(struct ofs_buf *b, const void *data, size_t len);
int ofs_buf_append_str(struct ofs_buf *b, const char *s);
int ofs_buf_printf(struct ofs_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
