/* SPDX-License-Identifier: MIT */
/* Scanning of text with a length, which is no C string. */
#ifndef OFS_CONTEXT_STEPS_SCAN_H
#define OFS_CONTEXT_STEPS_SCAN_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Compares without regard to case. */
static inline bool ofs_scan_begins(const char *p, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && strncasecmp(p, word, n) == 0;
}

/* Reads the digits at *p, which moves past them. False if there are none. */
static inline bool ofs_scan_number(const char **p, const char *end, size_t *ret)
{
	const char *start = *p;
	size_t n = 0;

	/* So many that no number overflows. */
	while (*p < end && isdigit((unsigned char)**p) && *p - start < 15)
		n = n * 10 + (size_t)(*(*p)++ - '0');
	*ret = n;
	return *p > start;
}

/* The length without white space at the end. */
static inline size_t ofs_scan_trim(const char *p, size_t len)
{
	while (len && isspace((unsigned char)p[len - 1]))
		len--;
	return len;
}

/* The next line from *p, without its newline; *p moves past it. False if there is none. */
static inline bool ofs_scan_line(const char **p, const char *end, const char **ret, size_t *ret_len)
{
	const char *eol = *p < end ? (const char *)memchr(*p, '\n', (size_t)(end - *p)) : NULL;

	if (*p >= end)
		return false;
	*ret = *p;
	*ret_len = (size_t)((eol ? eol : end) - *p);
	*p = eol ? eol + 1 : end;
	if (*ret_len && (*ret)[*ret_len - 1] == '\r')
		--*ret_len;
	return true;
}

/* The last line that is not blank; empty when all are. */
static inline void ofs_scan_last_line(const char *text, size_t len, const char **ret,
				      size_t *ret_len)
{
	const char *eol;

	len = ofs_scan_trim(text, len);
	eol = len ? (const char *)memrchr(text, '\n', len) : NULL;
	*ret = eol ? eol + 1 : text;
	*ret_len = (size_t)(text + len - *ret);
}

#endif
