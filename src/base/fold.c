/* SPDX-License-Identifier: MIT */
#include "base/fold.h"

/* Base letters of the characters from U+00C0 on; '.' leaves a character unchanged. */
#define LATIN 0xc0
static const char latin[] = "aaaaaa.ceeeeiiii.nooooo.ouuuuy..aaaaaa.ceeeeiiii.nooooo.ouuuuy.y"
			    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiii...jjkk.lllllll"
			    "lllnnnnnn...oooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"
			    "................................oo.............uu..............."
			    ".............aaiioouuuuuuuuuu.aaaa....ggkkoooo..j...gg..nnaa...."
			    "aaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy............"
			    "................";

/* Base letters of the characters from U+1E00 on. */
#define LATIN_MORE 0x1e00
static const char latin_more[] = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm"
				 "mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv"
				 "wwwwwwwwwwxxxxyyzzzzzzhtwy.s....aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee"
				 "eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......";

/* Capitals whose small letter has the same length in UTF-8. */
static const struct {
	uint16_t first, last;
	/* distance to the small letter; 0 or 1: pairs that start with an even or odd capital */
	int16_t step;
} capitals[] = {
	{ 0xc0, 0xd6, 32 },	{ 0xd8, 0xde, 32 },	{ 0x100, 0x137, 0 },
	{ 0x139, 0x148, 1 },	{ 0x14a, 0x177, 0 },	{ 0x179, 0x17e, 1 },
	{ 0x1de, 0x1ef, 0 },	{ 0x1fc, 0x21f, 0 },	{ 0x222, 0x233, 0 },
	{ 0x246, 0x24f, 0 },	{ 0x370, 0x373, 0 },	{ 0x386, 0x386, 38 },
	{ 0x388, 0x38a, 37 },	{ 0x38c, 0x38c, 64 },	{ 0x38e, 0x38f, 63 },
	{ 0x391, 0x3a1, 32 },	{ 0x3a3, 0x3ab, 32 },	{ 0x3d8, 0x3ef, 0 },
	{ 0x400, 0x40f, 80 },	{ 0x410, 0x42f, 32 },	{ 0x460, 0x481, 0 },
	{ 0x48a, 0x4bf, 0 },	{ 0x4c1, 0x4ce, 1 },	{ 0x4d0, 0x52f, 0 },
	{ 0x531, 0x556, 48 },	{ 0x1e00, 0x1e95, 0 },	{ 0x1ea0, 0x1eff, 0 },
	{ 0x2c00, 0x2c2f, 48 }, { 0xff21, 0xff3a, 32 },
};

size_t ofs_fold_decode(const char *text, size_t len, uint32_t *ret)
{
	int n = ofs_text_utf8((const unsigned char *)text, len);

	*ret = n > 0 ? ofs_text_code_point((const unsigned char *)text, n) : OFS_FOLD_INVALID;
	return n > 0 ? (size_t)n : 1;
}

static size_t encode(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | c >> 12);
	out[1] = (char)(0x80 | (c >> 6 & 0x3f));
	out[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

/* Returns the small letter of a capital, any other character unchanged. */
static uint32_t small(uint32_t c)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(capitals); i++) {
		if (c > capitals[i].last)
			continue;
		if (c < capitals[i].first)
			return c;
		if (capitals[i].step > 1)
			return c + (uint32_t)capitals[i].step;
		return c + ((c & 1) == (uint32_t)capitals[i].step);
	}
	return c;
}

bool ofs_fold_is_capital(uint32_t c)
{
	return c < 0x80 ? c >= 'A' && c <= 'Z' : small(c) != c;
}

uint32_t ofs_fold_char(uint32_t c)
{
	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
	if (c > 0xffff)
		return c;
	if (ofs_fold_is_diacritic(c))
		return 0;
	if (c >= LATIN && c < LATIN + sizeof(latin) - 1 && latin[c - LATIN] != '.')
		return (uint32_t)latin[c - LATIN];
	if (c >= LATIN_MORE && c < LATIN_MORE + sizeof(latin_more) - 1 &&
	    latin_more[c - LATIN_MORE] != '.')
		return (uint32_t)latin_more[c - LATIN_MORE];
	if (c == 0x3c2) /* final sigma */
		return 0x3c3;
	return small(c);
}

/* Folds one character, never to more bytes, and sets *ret_used to its length in `text`. */
static size_t fold_one(const char *text, size_t len, char *out, size_t *ret_used)
{
	uint32_t c, folded;

	*ret_used = ofs_fold_decode(text, len, &c);
	folded = ofs_fold_char(c);
	if (folded == c) {
		memcpy(out, text, *ret_used);
		return *ret_used;
	}
	return folded ? encode(folded, out) : 0;
}

size_t ofs_fold(const char *text, size_t len, char *out)
{
	size_t i = 0, n = 0, used;

	while (i < len) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x80) {
			out[n++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
			i++;
			continue;
		}
		n += fold_one(text + i, len - i, out + n, &used);
		i += used;
	}
	return n;
}

size_t ofs_fold_source(const char *text, size_t len, size_t at)
{
	size_t i = 0, n = 0, used, took;
	char one[4];

	while (i < len) {
		took = fold_one(text + i, len - i, one, &used);
		if (n + took > at)
			break;
		n += took;
		i += used;
	}
	return i;
}
