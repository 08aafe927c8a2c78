/* SPDX-License-Identifier: MIT */
#include "index/fts_fold.h"

#include "base/util.h"

/* U+00C0 to U+017F without their marks; ' ': it stays as it is. */
static const char latin[] = "aaaaaa ceeeeiiii nooooo ouuuuy  "
			    "aaaaaa ceeeeiiii nooooo ouuuuy y"
			    "aaaaaaccccccccddddeeeeeeeeeegggg"
			    "gggghhhhiiiiiiiiii  jjkk llllll "
			    " llnnnnnn   oooooo  rrrrrrssssss"
			    "ssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

size_t ofs_fts_decode(const uint8_t *p, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = p[0] < 0x80	       ? 1
		   : p[0] >> 5 == 0x06 ? 2
		   : p[0] >> 4 == 0x0e ? 3
		   : p[0] >> 3 == 0x1e ? 4
				       : 0;
	uint32_t code;

	if (!n || n > len)
		return 0;
	code = n == 1 ? p[0] : p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret = code;
	return n;
}

/* The letter that takes the place of a character; 0: none does. */
static char fold_to(uint32_t code)
{
	if (code >= 'A' && code <= 'Z')
		return (char)(code + ('a' - 'A'));
	if (code >= 0xc0 && code < 0x180 && latin[code - 0xc0] != ' ')
		return latin[code - 0xc0];
	return 0;
}

void ofs_fts_clean(const void *text, size_t len, int fold, struct ofs_buf *out)
{
	const uint8_t *p = text, *end = p + len;
	uint32_t code;
	char other;

	ofs_buf_reserve(out, len);
	while (p < end) {
		size_t n = ofs_fts_decode(p, (size_t)(end - p), &code);

		other = n && fold ? fold_to(code) : 0;
		if (!n)
			ofs_buf_append(out, "\xef\xbf\xbd", 3);
		else if (!code)
			ofs_buf_append(out, " ", 1);
		else if (other)
			ofs_buf_append(out, &other, 1);
		else if (!fold || code < 0x300 || code >= 0x370)
			ofs_buf_append(out, p, n);
		p += n ? n : 1;
	}
}
