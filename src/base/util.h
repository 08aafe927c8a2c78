/* SPDX-License-Identifier: MIT */
/*
 * Basics that every layer uses: allocation, cleanup attributes and little-endian access, with the
 * headers of the C library that nearly every file needs. Most headers include this one; a file that
 * includes such a header does not repeat it.
 */
#pragma once

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

#define OFS_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define OFS_MIN(a, b) ((a) < (b) ? (a) : (b))
#define OFS_MAX(a, b) ((a) > (b) ? (a) : (b))

/* The error of a call that failed. Always below 0, so the compiler sees what is set otherwise. */
static inline int ofs_errno(void)
{
	return errno > 0 ? -errno : -EIO;
}

/* Runs `fn(&variable)` when the variable goes out of scope. */
#define OFS_CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void ofs_cleanup_free(void *p)
{
	int saved = errno;

	free(*(void **)p);
	errno = saved;
}

static inline void ofs_cleanup_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

#define OFS_FREE OFS_CLEANUP(ofs_cleanup_free)
#define OFS_CLOSE OFS_CLEANUP(ofs_cleanup_close)

/* Transfers what a cleanup variable (a pointer or a struct) owns and zeroes the variable. */
#define ofs_steal(v)                         \
	__extension__({                      \
		__typeof__(v) stolen_ = (v); \
		memset(&(v), 0, sizeof(v));  \
		stolen_;                     \
	})

static inline int ofs_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

/* Returns how many of `n` sorted elements come first: those with `is_before` true for index `i`. */
#define OFS_BISECT(i, n, is_before)                           \
	__extension__({                                       \
		size_t low_ = 0, high_ = (n);                 \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
			if (is_before)                        \
				low_ = i + 1;                 \
			else                                  \
				high_ = i;                    \
		}                                             \
		low_;                                         \
	})

static inline uint64_t ofs_align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Access to little-endian numbers on disk, at any alignment. */
static inline void ofs_put_le16(void *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void ofs_put_le32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void ofs_put_le64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint16_t ofs_get_le16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t ofs_get_le32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t ofs_get_le64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}
