/* SPDX-License-Identifier: MIT */
/*
 * Refs: inode numbers, scrambled and written in base 36. The scrambling is a bijection, so nothing
 * has to be stored; it makes neighbouring files look different, which keeps a language model from
 * mixing them up. Numbers below 36^6 give 6 characters, the rest 8.
 */
#include <offloadfs/tree.h>

#include <string.h>

#define SHORT_LEN 6
#define LONG_LEN 8
#define SHORT_RANGE UINT64_C(2176782336) /* 36^6 */
#define LONG_RANGE UINT64_C(2821109907456) /* 36^8 */
#define FACTOR \
	UINT64_C(1540483477) /* coprime to 36, so multiplying modulo a power of 36 can be undone */

static const char ref_digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t range)
{
	return (uint64_t)((__extension__(unsigned __int128) a) * b % range);
}

/* The inverse of FACTOR modulo `range`, by Euler: phi(36^n) = 12 * 36^(n-1) = range / 3. */
static uint64_t inverse(uint64_t range)
{
	uint64_t result = 1, base = FACTOR % range, e;

	for (e = range / 3 - 1; e; e >>= 1) {
		if (e & 1)
			result = multiply(result, base, range);
		base = multiply(base, base, range);
	}
	return result;
}

void ofs_ref_format(ofs_node ino, char ret[OFS_REF_SIZE])
{
	size_t len = ino < SHORT_RANGE ? SHORT_LEN : LONG_LEN, i;
	uint64_t range = len == SHORT_LEN ? SHORT_RANGE : LONG_RANGE;
	uint64_t n = multiply(ino % range, FACTOR, range);

	for (i = len; i-- > 0; n /= 36)
		ret[i] = ref_digits[n % 36];
	ret[len] = 0;
}

ofs_node ofs_ref_parse(const char *ref)
{
	size_t len = strnlen(ref, LONG_LEN + 1), i;
	uint64_t range = len == SHORT_LEN ? SHORT_RANGE : LONG_RANGE, n = 0;

	if (len != SHORT_LEN && len != LONG_LEN)
		return 0;
	for (i = 0; i < len; i++) {
		const char *digit = strchr(ref_digits, ref[i]);

		if (!digit)
			return 0;
		n = n * 36 + (uint64_t)(digit - ref_digits);
	}
	n = multiply(n, inverse(range), range);
	return len == LONG_LEN && n < SHORT_RANGE ? 0 : n;
}
