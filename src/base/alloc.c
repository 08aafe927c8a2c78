/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include "base/log.h"
#include "base/util.h"

static void *alloc_check(void *p)
{
	if (!p) {
		ofs_log(LOG_ERR, "out of memory");
		abort();
	}
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

void *ofs_grow(void *p, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return p;
	/* Most lists hold one thing: only those that grow get room in advance. */
	*cap = *cap ? OFS_MAX(need, *cap + *cap / 2 + 8) : need;
	return ofs_realloc(p, *cap, size);
}
