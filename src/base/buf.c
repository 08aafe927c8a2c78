/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdio.h>

void ofs_buf_finish(struct ofs_buf *b)
{
	int saved = errno;

	free(b->data);
	*b = (struct ofs_buf)OFS_BUF_INIT;
	errno = saved;
}

int ofs_buf_try_reserve(struct ofs_buf *b, size_t more)
{
	size_t need, cap;
	uint8_t *data;

	if (__builtin_add_overflow(b->len, more, &need))
		return -ENOMEM;
	if (need <= b->cap)
		return 0;
	cap = OFS_MAX(OFS_MAX(need, b->cap + b->cap / 2), (size_t)64);
	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

void ofs_buf_reserve(struct ofs_buf *b, size_t more)
{
	if (ofs_buf_try_reserve(b, more) < 0)
		ofs_out_of_memory();
}

void ofs_buf_append(struct ofs_buf *b, const void *data, size_t len)
{
	ofs_buf_reserve(b, len);
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
}

void ofs_buf_append_str(struct ofs_buf *b, const char *s)
{
	ofs_buf_append(b, s, strlen(s));
}

void ofs_buf_printf(struct ofs_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) /* the result exceeds INT_MAX bytes */
		ofs_out_of_memory();
	ofs_buf_reserve(b, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

char *ofs_buf_str(struct ofs_buf *b)
{
	ofs_buf_reserve(b, 1);
	b->data[b->len] = '\0';
	return (char *)b->data;
}

struct ofs_buf ofs_buf_steal(struct ofs_buf *b)
{
	struct ofs_buf stolen = *b;

	*b = (struct ofs_buf)OFS_BUF_INIT;
	return stolen;
}

char *ofs_buf_steal_str(struct ofs_buf *b)
{
	char *s = ofs_buf_str(b);

	*b = (struct ofs_buf)OFS_BUF_INIT;
	return s;
}
