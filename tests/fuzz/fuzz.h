/* SPDX-License-Identifier: MIT */
/* Shared by the fuzz targets: assertions, and taking an input apart. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_ASSERT(condition)                                                                    \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

/* An input that is read from the front. The fuzz_u*() functions read zeros after its end. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline const uint8_t *fuzz_take(struct fuzz_input *in, size_t n)
{
	const uint8_t *at = in->at;

	FUZZ_ASSERT(n <= in->left);
	in->at += n;
	in->left -= n;
	return at;
}

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	return in->left ? *fuzz_take(in, 1) : 0;
}

static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
	uint16_t low = fuzz_u8(in);

	return (uint16_t)(low | fuzz_u8(in) << 8);
}

static inline uint64_t fuzz_u64(struct fuzz_input *in)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < 8; i++)
		n |= (uint64_t)fuzz_u8(in) << 8 * i;
	return n;
}

static inline size_t fuzz_at_most(size_t n, size_t limit)
{
	return n < limit ? n : limit;
}

static inline void *fuzz_alloc(size_t n)
{
	void *p = malloc(n ? n : 1);

	FUZZ_ASSERT(p);
	return p;
}

/* Returns a copy of exactly `n` bytes, so that ASan detects reads beyond it. To be freed. */
static inline void *fuzz_copy(const void *data, size_t n)
{
	void *p = fuzz_alloc(n);

	if (n)
		memcpy(p, data, n);
	return p;
}
