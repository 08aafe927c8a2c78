/* SPDX-License-Identifier: MIT */
#include "embed/vector.h"

#include <math.h>

#include "embed/embed.h"

void ofs_vector_quantise(const float *numbers, size_t n, int8_t *ret)
{
	float max = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(numbers[i]) && fabsf(numbers[i]) > max)
			max = fabsf(numbers[i]);
	for (size_t i = 0; i < n; i++) {
		bool counts = max > 0 && isfinite(numbers[i]);

		ret[i] = (int8_t)(counts ? lrintf(numbers[i] / max * 127) : 0);
	}
}

/* What SSE2 and NEON have registers for: gcc at -O2 makes no such code of a plain loop. */
typedef int8_t bytes __attribute__((vector_size(8)));
typedef int16_t shorts __attribute__((vector_size(16)));
typedef int32_t ints __attribute__((vector_size(16)));

#define LANES 8

static shorts load(const int8_t *p)
{
	bytes b;

	memcpy(&b, p, sizeof(b));
	return __builtin_convertvector(b, shorts);
}

/* Sums of products of two neighbours each. */
static ints multiply(shorts a, shorts b)
{
#ifdef __SSE2__
	return (ints)__builtin_ia32_pmaddwd128(a, b);
#else
	ints pairs = (ints)(a * b); /* products of at most 128 * 128 */

	return (pairs >> 16) + ((pairs << 16) >> 16);
#endif
}

static int64_t sum(ints v)
{
	return (int64_t)v[0] + v[1] + v[2] + v[3];
}

float ofs_embed_cosine(const int8_t *a, const int8_t *b, unsigned int dims)
{
	ints ab_sums = { 0 }, aa_sums = { 0 }, bb_sums = { 0 };
	int64_t ab, aa, bb;
	unsigned int i = 0;

	for (; i + LANES <= dims; i += LANES) {
		shorts x = load(a + i), y = load(b + i);

		ab_sums += multiply(x, y);
		aa_sums += multiply(x, x);
		bb_sums += multiply(y, y);
	}
	ab = sum(ab_sums);
	aa = sum(aa_sums);
	bb = sum(bb_sums);
	for (; i < dims; i++) {
		ab += a[i] * b[i];
		aa += a[i] * a[i];
		bb += b[i] * b[i];
	}
	if (!aa || !bb)
		return 0;
	return (float)((double)ab / sqrt((double)aa * (double)bb));
}
