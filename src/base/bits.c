/* SPDX-License-Identifier: MIT */
#include "base/bits.h"

#define WORD_BITS 64u

static void bits_reserve(struct ofs_bits *b, size_t n)
{
	if (n <= b->n)
		return;
	n = OFS_MAX(n, 2 * b->n);
	b->words = ofs_realloc(b->words, n, sizeof(*b->words));
	memset(b->words + b->n, 0, (n - b->n) * sizeof(*b->words));
	b->n = n;
}

void ofs_bits_add(struct ofs_bits *b, uint32_t number)
{
	bits_reserve(b, number / WORD_BITS + 1);
	b->words[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
}

bool ofs_bits_has(const struct ofs_bits *b, uint32_t number)
{
	return number / WORD_BITS < b->n &&
	       (b->words[number / WORD_BITS] >> number % WORD_BITS & 1);
}

void ofs_bits_join(struct ofs_bits *b, const struct ofs_bits *more)
{
	bits_reserve(b, more->n);
	for (size_t i = 0; i < more->n; i++)
		b->words[i] |= more->words[i];
}

void ofs_bits_finish(struct ofs_bits *b)
{
	free(b->words);
	*b = (struct ofs_bits){ 0 };
}
