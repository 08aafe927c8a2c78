/* SPDX-License-Identifier: MIT */
#include "embed/unicode.h"

#include "embed/unicode_data.h"

static bool is_in(const struct char_range *ranges, size_t n, uint32_t c)
{
	size_t i = OFS_BISECT(k, n, ranges[k].last < c);

	return i < n && ranges[i].first <= c;
}

#define IS_IN(table, c) is_in(table, OFS_ARRAY_SIZE(table), c)

bool ofs_unicode_is_punctuation(uint32_t c)
{
	if (c < 0x80)
		return c > ' ' && c < 0x7f && !(c >= '0' && c <= '9') &&
		       !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
	return IS_IN(punctuation, c);
}

bool ofs_unicode_is_space(uint32_t c)
{
	return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
	       c == 0x205f || c == 0x3000;
}

bool ofs_unicode_is_control(uint32_t c)
{
	return c < 0x80 ? c < ' ' || c == 0x7f : IS_IN(controls, c);
}

bool ofs_unicode_is_mark(uint32_t c)
{
	return c >= 0x300 && IS_IN(marks, c);
}

bool ofs_unicode_is_ideograph(uint32_t c)
{
	return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
	       (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x2a6df) ||
	       (c >= 0x2a700 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
	       (c >= 0x2f800 && c <= 0x2fa1f);
}

uint32_t ofs_unicode_lower(uint32_t c)
{
	size_t n = OFS_ARRAY_SIZE(lower_case), i;
	const struct case_run *run;

	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
	i = OFS_BISECT(k, n, lower_case[k].last < c);
	run = &lower_case[i];
	if (i == n || c < run->first || (c - run->first) % (uint32_t)run->step)
		return c;
	return (uint32_t)((int32_t)c + run->distance);
}

/* Splits a syllable; its number encodes the first letter, the vowel and an optional last letter. */
static size_t hangul(uint32_t c, uint32_t ret[OFS_UNICODE_BASES])
{
	enum {
		VOWELS = 21,
		LASTS = 28
	};

	c -= 0xac00;
	ret[0] = 0x1100 + c / (VOWELS * LASTS);
	ret[1] = 0x1161 + c / LASTS % VOWELS;
	ret[2] = 0x11a7 + c % LASTS;
	return c % LASTS ? 3 : 2;
}

size_t ofs_unicode_bases(uint32_t c, uint32_t ret[OFS_UNICODE_BASES])
{
	size_t n = OFS_ARRAY_SIZE(bases), i;

	if (c >= 0xac00 && c <= 0xd7a3)
		return hangul(c, ret);
	if (ofs_unicode_is_mark(c))
		return 0;
	ret[0] = c;
	if (c < 0xc0)
		return 1;
	i = OFS_BISECT(k, n, bases[k].from < c);
	if (i < n && bases[i].from == c)
		ret[0] = bases[i].to;
	return 1;
}
