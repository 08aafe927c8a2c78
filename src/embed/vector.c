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

/* One register of SSE2 or NEON. Explicit vectors, since gcc -O2 does not vectorise a plain loop. */
typedef uint16_t pairs __attribute__((vector_size(16)));
typedef int16_t shorts __attribute__((vector_size(16)));
typedef int32_t ints __attribute__((vector_size(16)));

/* Sums of the products of adjacent pairs; each product is at most 128 * 128. */
static ints multiply(shorts a, shorts b)
{
#ifdef __SSE2__
	return (ints)__builtin_ia32_pmaddwd128(a, b);
#else
	ints products = (ints)(a * b);

	return (products >> 16) + ((products << 16) >> 16);
#endif
}

/* Sixteen numbers, the odd ones in `high` and the even ones in `low`. */
struct lanes {
	shorts high, low;
};

static struct lanes load(const int8_t *p)
{
	pairs v;

	memcpy(&v, p, sizeof(v));
	return (struct lanes){ (shorts)v >> 8, (shorts)(v << 8) >> 8 };
}

static ints dot(struct lanes a, struct lanes b)
{
	return multiply(a.high, b.high) + multiply(a.low, b.low);
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

	for (; i + 16 <= dims; i += 16) {
		struct lanes x = load(a + i), y = load(b + i);

		ab_sums += dot(x, y);
		aa_sums += dot(x, x);
		bb_sums += dot(y, y);
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
