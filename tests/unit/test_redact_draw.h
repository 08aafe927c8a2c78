/* SPDX-License-Identifier: MIT */
/*
 * Secrets made at run time, of a prefix and drawn characters. None is written down, since scanners
 * would take it for a leaked one.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define HEX "0123456789abcdef"
#define ALNUM LOWER UPPER DIGITS
#define URLSAFE ALNUM "-_"
#define BASE64 ALNUM "+/"

/* The drawn parts of a text. */
struct draws {
	size_t n;
	struct {
		size_t start, len;
	} at[16];
};

/* Appends `n` characters of `alphabet`, determined by `seed`. */
static inline void draw(struct ofs_buf *out, const char *alphabet, size_t n, uint64_t seed)
{
	size_t letters = strlen(alphabet);

	for (size_t i = 0; i < n; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		ofs_buf_append(out, &alphabet[(seed >> 33) % letters], 1);
	}
}

/*
 * Returns a text made from a pattern, to be freed. %N{x} stands for N characters of alphabet x, "~"
 * for nothing (it keeps prefixes apart in the sources), and "%~" for "~"; other characters stand
 * for themselves. Alphabets: l, u, d, h, a, s, b are LOWER to BASE64 above; k: capitals and digits;
 * m: small letters and digits; e: letters; c: as in crypt(3); z: base64 of text.
 */
static inline char *drawn_make(const char *pattern, uint64_t seed, struct draws *ret)
{
	static const char *const alphabets[256] = {
		['l'] = LOWER,	      ['u'] = UPPER,	   ['d'] = DIGITS,     ['h'] = HEX,
		['a'] = ALNUM,	      ['s'] = URLSAFE,	   ['b'] = BASE64,     ['k'] = UPPER DIGITS,
		['m'] = LOWER DIGITS, ['e'] = LOWER UPPER, ['c'] = ALNUM "./",
	};
	/* Four characters each: N is rounded down to a multiple of 4. */
	static const char *const base64[] = { "d29y", "ZHMg", "YXJl", "bm90", "aGVy", "ZTQy" };
	struct ofs_buf out = OFS_BUF_INIT;
	char *end;

	for (; *pattern; pattern++) {
		size_t n = *pattern == '%' ? strtoul(pattern + 1, &end, 10) : 0, start = out.len;
		unsigned char class = n && end[0] == '{' && end[2] == '}' ? (unsigned char)end[1]
									  : 0;

		if (class == 'z') {
			for (size_t i = 0; i < n / 4; i++)
				ofs_buf_append_str(&out, base64[(seed++ * 7 + i) % 6]);
		} else if (alphabets[class]) {
			draw(&out, alphabets[class], n, seed++);
		} else if (pattern[0] == '%' && pattern[1] == '~') {
			ofs_buf_append(&out, ++pattern, 1);
		} else if (*pattern != '~') {
			ofs_buf_append(&out, pattern, 1);
		}
		if (class && out.len > start) {
			if (ret && ret->n < 16) {
				ret->at[ret->n].start = start;
				ret->at[ret->n++].len = out.len - start;
			}
			pattern = end + 2;
		}
	}
	ofs_buf_append(&out, "", 1);
	return (char *)out.data;
}
