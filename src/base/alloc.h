/* SPDX-License-Identifier: MIT */
/*
 * Allocation that never fails: the process ends if memory runs out. Nothing is lost, since the next
 * start replays what the journal has acknowledged. Sizes that a caller of the filesystem chooses
 * are allocated with malloc() instead and answered with ENOMEM.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

_Noreturn void ofs_out_of_memory(void);

void *ofs_alloc(size_t size); /* zeroed */
void *ofs_realloc(void *p, size_t n, size_t size);
char *ofs_strdup(const char *s);
/* Copies `len` bytes and appends a NUL. */
char *ofs_strndup(const void *s, size_t len);

/* Formats as printf(3) does; the caller frees the result. */
char *ofs_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *ofs_vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* Grows an array of *cap elements of `size` bytes to at least `need`; returns its new address. */
void *ofs_grow(void *p, size_t *cap, size_t need, size_t size);

/* Appends an element, uninitialised, and yields it as an lvalue; updates `list`, `n` and `cap`. */
#define ofs_append(list, n, cap) \
	((list) = ofs_grow((list), &(cap), (n) + 1, sizeof(*(list))), &(list)[(n)++])
