/* SPDX-License-Identifier: MIT */
#include "index/fts_fold.h"

#include "base/text.h"

/* U+00C0 to U+017F without their marks; ' ': the character is kept. */
static const char latin[] = "aaaaaa ceeeeiiii nooooo ouuuuy  "
			    "aaaaaa ceeeeiiii nooooo ouuuuy y"
			    "aaaaaaccccccccddddeeeeeeeeeegggg"
			    "gggghhhhiiiiiiiiii  jjkk llllll "
			    " llnnnnnn   oooooo  rrrrrrssssss"
			    "ssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

size_t ofs_fts_decode(const uint8_t *p, size_t len, uint32_t *ret)
{
	int n = ofs_text_utf8(p, len);
	uint32_t code;

	if (n <= 0)
		return 0;
	code = n == 1 ? p[0] : p[0] & (0x7fu >> n);
	for (int i = 1; i < n; i++)
		code = code << 6 | (p[i] & 0x3f);
	*ret = code;
	return (size_t)n;
}

/* The letter that replaces a character, or 0. */
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
