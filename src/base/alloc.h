/* SPDX-License-Identifier: MIT */
/*
 * Allocation that cannot fail. When memory is truly gone the process ends: what the journal has
 * acknowledged is replayed at the next start, so nothing is lost. Only sizes that a caller of the
 * filesystem chooses are allocated with malloc() and answered with ENOMEM.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

_Noreturn void ofs_out_of_memory(void);

void *ofs_alloc(size_t size); /* zeroed */
void *ofs_realloc(void *p, size_t n, size_t size);
char *ofs_strdup(const char *s);
/* The first `len` bytes, ended by a NUL. */
char *ofs_strndup(const void *s, size_t len);

/* Allocated: what printf(3) would print. */
char *ofs_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *ofs_vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* Makes room for `need` elements of `size` bytes in an array of capacity *cap. */
void *ofs_grow(void *p, size_t *cap, size_t need, size_t size);

/* The new last element of an array of `n` with room for `cap`, which all three follow. */
#define ofs_append(list, n, cap) \
	((list) = ofs_grow((list), &(cap), (n) + 1, sizeof(*(list))), &(list)[(n)++])
