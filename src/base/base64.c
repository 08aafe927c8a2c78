/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int sextet(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool ofs_base64_decode(const char *text, size_t len, struct ofs_buf *to)
{
	size_t padding = 0;

	if (len % 4)
		return false;
	while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
		padding++;
	for (size_t at = 0; at < len; at += 4) {
		size_t n = at + 4 == len ? 4 - padding : 4;
		uint32_t bits = 0;
		uint8_t bytes[3];

		for (size_t i = 0; i < 4; i++) {
			int digit = i < n ? sextet(text[at + i]) : 0;

			if (digit < 0)
				return false;
			bits = bits << 6 | (uint32_t)digit;
		}
		for (int i = 0; i < 3; i++)
			bytes[i] = (uint8_t)(bits >> (16 - 8 * i));
		ofs_buf_append(to, bytes, n - 1);
	}
	return true;
}

void ofs_base64_encode(const void *data, size_t len, struct ofs_buf *to)
{
	const uint8_t *p = data;

	for (size_t at = 0; at < len; at += 3) {
		size_t n = OFS_MIN(len - at, (size_t)3);
		uint32_t bits = (uint32_t)p[at] << 16;
		char text[] = "====";

		bits |= n > 1 ? (uint32_t)p[at + 1] << 8 : 0;
		bits |= n > 2 ? p[at + 2] : 0;
		for (size_t i = 0; i <= n; i++)
			text[i] = digits[bits >> (18 - 6 * i) & 0x3f];
		ofs_buf_append(to, text, 4);
	}
}
