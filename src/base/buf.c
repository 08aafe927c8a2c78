/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/util.h"

void ofs_buf_finish(struct ofs_buf *b)
{
	int saved = errno;

	free(b->data);
	*b = (struct ofs_buf)OFS_BUF_INIT;
	errno = saved;
}

int ofs_buf_reserve(struct ofs_buf *b, size_t more)
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

int ofs_buf_append(struct ofs_buf *b, const void *data, size_t len)
{
	int r = ofs_buf_reserve(b, len);

	if (r < 0)
		return r;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

int ofs_buf_append_str(struct ofs_buf *b, const char *s)
{
	return ofs_buf_append(b, s, strlen(s));
}

int ofs_buf_printf(struct ofs_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n, r;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -EINVAL;
	r = ofs_buf_reserve(b, (size_t)n + 1);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}
