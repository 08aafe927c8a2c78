/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <syslog.h>

#include "base/util.h"

/* Does not use ofs_log(), which redacts and so allocates. */
void ofs_out_of_memory(void)
{
	static const char message[] = "offloadfs: out of memory\n";

	syslog(LOG_ERR, "out of memory");
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		errno = ENOMEM;
	abort();
}

static void *alloc_check(void *p)
{
	if (!p)
		ofs_out_of_memory();
	return p;
}

void *ofs_alloc(size_t size)
{
	return alloc_check(calloc(1, size));
}

void *ofs_realloc(void *p, size_t n, size_t size)
{
	return alloc_check(reallocarray(p, n, size));
}

char *ofs_strdup(const char *s)
{
	return alloc_check(strdup(s));
}

char *ofs_strndup(const void *s, size_t len)
{
	char *copy = ofs_realloc(NULL, 1, len + 1);

	if (len)
		memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *ofs_vformat(const char *fmt, va_list ap)
{
	char *text;

	return vasprintf(&text, fmt, ap) < 0 ? alloc_check(NULL) : text;
}

char *ofs_format(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = ofs_vformat(fmt, ap);
	va_end(ap);
	return text;
}

void *ofs_grow(void *p, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return p;
	/* Most lists hold one element, so only a list that grows gets spare room. */
	*cap = *cap ? OFS_MAX(need, *cap + *cap / 2 + 8) : need;
	return ofs_realloc(p, *cap, size);
}
