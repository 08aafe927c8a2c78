/* SPDX-License-Identifier: MIT */
#include "codec/base64.h"

#include <limits.h>
#include <openssl/evp.h>

bool ofs_base64_decode(const char *text, size_t len, struct ofs_buf *to)
{
	size_t padding = 0;
	int n;

	while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
		padding++;
	/*
	 * EVP_DecodeBlock() reads a '=' anywhere as a zero, and ignores blanks at both ends and '-'
	 * at the last one.
	 */
	if (len % 4 || len > INT_MAX ||
	    (len && (text[0] <= ' ' || text[len - 1] <= ' ' || text[len - 1] == '-')) ||
	    (len && memchr(text, '=', len - padding)))
		return false;
	ofs_buf_reserve(to, len / 4 * 3);
	n = len ? EVP_DecodeBlock(to->data + to->len, (const unsigned char *)text, (int)len) : 0;
	if (n < 0)
		return false;
	to->len += (size_t)n - padding;
	return true;
}

void ofs_base64_encode(const void *data, size_t len, struct ofs_buf *to)
{
	ofs_buf_reserve(to, (len + 2) / 3 * 4 + 1); /* with the NUL that it writes */
	to->len += (size_t)EVP_EncodeBlock(to->data + to->len, data, (int)len);
}
