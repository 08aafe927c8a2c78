/* SPDX-License-Identifier: MIT */
/*
 * Allocation for bookkeeping that must not fail: what the journal has acknowledged has to be
 * applied to memory. When memory is truly gone the process ends; the next start replays the
 * journal, so nothing is lost.
 */
#ifndef OFS_BASE_ALLOC_H
#define OFS_BASE_ALLOC_H

#include <stddef.h>

void *ofs_alloc(size_t size); /* zeroed */
void *ofs_realloc(void *p, size_t n, size_t size);
char *ofs_strdup(const char *s);

/* Makes room for `need` elements of `size` bytes in an array of capacity *cap. */
void *ofs_grow(void *p, size_t *cap, size_t need, size_t size);

#endif
