/* SPDX-License-Identifier: MIT */
#include "cli/slice_path.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

static const char *slice_body(const char *spec)
{
	return *spec && strchr(":#@", *spec) ? spec + 1 : spec;
}

char *ofs_slice_suffix(const char *spec)
{
	const char *body = slice_body(spec);
	char *suffix, *to;

	if (!*body || strchr(body, '/'))
		return NULL;
	suffix = to = ofs_alloc(strlen(body) + 2);
	*to++ = ':';
	/* An L before a number only says that lines are meant. */
	for (const char *p = body; *p; p++) {
		bool number_follows = isdigit((unsigned char)p[1]);

		if (*p != 'L' || !number_follows || (p != body && p[-1] != '-'))
			*to++ = *p;
	}
	return suffix;
}

bool ofs_slice_is_bytes(const char *spec)
{
	return *slice_body(spec) == 'b';
}
