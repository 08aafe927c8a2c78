/* SPDX-License-Identifier: MIT */
#include "service/http/strict.h"

/* Returns what follows the two NULs of a CR LF, or NULL if they are missing. */
static const char *end_line(const char *at, const char *end)
{
	return end - at >= 2 && !at[0] && !at[1] ? at + 2 : NULL;
}

bool ofs_strict_check(const char *head, size_t len, const char *version)
{
	const char *end = head + len, *at = version;

	if (at <= head || at >= end)
		return false;
	at = end_line(at + strnlen(at, (size_t)(end - at)), end);
	while (at && at < end && *at) {
		if (*at == ' ' || *at == '\t')
			return false;
		at += strnlen(at, (size_t)(end - at)); /* the name, up to the colon */
		if (at == end)
			return false;
		at++;
		at += strnlen(at, (size_t)(end - at)); /* the value */
		at = end_line(at, end);
	}
	/* An empty line ends the head. */
	return at && end_line(at, end) == end;
}
