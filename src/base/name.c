/* SPDX-License-Identifier: MIT */
#include "base/name.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME_MIN 8
#define NAME_MAX_LEN 160
#define EXTENSION_MAX 16

enum {
	EDGE = 1, /* may start or end a name */
	INNER = 2, /* only inside a name */
	TELLING = 4, /* shows that the string is not a word */
	HYPHEN = 8,
	CAPITAL = 16,
	DIGIT = 32,
};

__extension__ static const uint8_t kinds[256] = {
	['a' ... 'z'] = EDGE,
	['A' ... 'Z'] = EDGE | CAPITAL,
	['0' ... '9'] = EDGE | TELLING | DIGIT,
	['_'] = EDGE | TELLING,
	['/'] = EDGE | TELLING,
	['-'] = INNER | HYPHEN,
	['.'] = INNER | TELLING,
	[':'] = INNER | TELLING,
	['@'] = INNER | TELLING,
	['#'] = INNER | TELLING,
	['%'] = INNER | TELLING,
	['+'] = INNER | TELLING,
	['~'] = INNER | TELLING,
};

static inline uint8_t kind(char c)
{
	return kinds[(unsigned char)c];
}

/* True for a path, an identifier or a number, false for a word. */
static bool is_name(const char *p, size_t len)
{
	size_t hyphens = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t k = kind(p[i]);

		if ((k & TELLING) || ((k & CAPITAL) && i))
			return true;
		hyphens += (k & HYPHEN) != 0;
	}
	return hyphens > 1;
}

/* Returns the length without a line number (":120", ":120:4"); a time of day has none. */
static size_t without_line(const char *p, size_t len)
{
	size_t n = len;

	while (n && (kind(p[n - 1]) & DIGIT))
		n--;
	if (n == len || n < 2 || p[n - 1] != ':' || !(memchr(p, '/', n) || memchr(p, '.', n)))
		return len;
	return without_line(p, n - 1);
}

const char *ofs_name_next(const char **p, const char *end, size_t *ret_len)
{
	const char *at = *p;

	while (at < end) {
		const char *start, *stop;

		while (at < end && !(kind(*at) & EDGE))
			at++;
		for (start = at; at < end && kind(*at);)
			at++;
		*p = at;
		for (stop = at; stop > start && !(kind(stop[-1]) & EDGE);)
			stop--;
		*ret_len = (size_t)(stop - start);
		if (*ret_len < NAME_MIN || *ret_len > NAME_MAX_LEN || !is_name(start, *ret_len))
			continue;
		*ret_len = without_line(start, *ret_len);
		if (*ret_len >= NAME_MIN && is_name(start, *ret_len))
			return start;
	}
	return NULL;
}

void ofs_name_number(const char *name, unsigned int number, char ret[OFS_NAME_NUMBERED_MAX + 1])
{
	const char *dot = strrchr(name, '.');
	size_t len = strlen(name), stem = dot && dot > name ? (size_t)(dot - name) : len;
	char tail[OFS_NAME_NUMBERED_MAX + 1] = "";

	if (number > 1)
		snprintf(tail, sizeof(tail), "-%u", number);
	/* A very long extension is treated as part of the name. */
	if (len - stem > EXTENSION_MAX)
		stem = len;
	strncat(tail, name + stem, EXTENSION_MAX);
	stem = stem < OFS_NAME_NUMBERED_MAX - strlen(tail) ? stem
							   : OFS_NAME_NUMBERED_MAX - strlen(tail);
	/* Does not cut inside a UTF-8 character. */
	while (stem && (name[stem] & 0xc0) == 0x80)
		stem--;
	memcpy(ret, name, stem);
	strcpy(ret + stem, tail);
}
