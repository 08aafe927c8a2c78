/* SPDX-License-Identifier: MIT */
/* Character classes of JSON, for the parsers in this folder. */
#ifndef OFS_CONTEXT_JSON_SYNTAX_H
#define OFS_CONTEXT_JSON_SYNTAX_H

#include <stdbool.h>

static inline bool ofs_json_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The value of a hex digit, or -1. */
static inline int ofs_json_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number of the four digits after "\u"; -1 if they are missing. */
static inline int ofs_json_hex(const char *p, const char *end)
{
	int code = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = ofs_json_digit(p[i]);

		if (digit < 0)
			return -1;
		code = code << 4 | digit;
	}
	return code;
}

#endif
