/* SPDX-License-Identifier: MIT */
#include "base/word.h"

#include <ctype.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/redact.h"
#include "base/util.h"

#define WORD_MAX 31

size_t ofs_word_distance(const char *written, const char *right)
{
	size_t row[WORD_MAX + 1], n = strlen(right), before, i, j;

	if (n > WORD_MAX)
		return SIZE_MAX;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 0; written[i]; i++) {
		before = row[0];
		row[0] = i + 1;
		for (j = 1; j <= n; j++) {
			int same = tolower((unsigned char)written[i]) ==
				   tolower((unsigned char)right[j - 1]);
			size_t changed = before + !same;

			before = row[j];
			row[j] = OFS_MIN(changed, 1 + OFS_MIN(row[j], row[j - 1]));
		}
	}
	return row[n];
}

const char *ofs_word_nearest(const char *written, const char *(*word)(const void *arg, size_t n),
			     const void *arg)
{
	const char *nearest = NULL, *right;
	size_t least = SIZE_MAX, i;

	for (i = 0; (right = word(arg, i)); i++) {
		size_t n = ofs_word_distance(written, right);

		if (n < least && n <= strlen(right) / 4) {
			least = n;
			nearest = right;
		}
	}
	return nearest;
}

struct ofs_word_shown ofs_word_show(const char *text)
{
	OFS_FREE char *shown = ofs_redact_string(text);
	size_t cut = ofs_redact_cut(shown, strlen(shown),
				    sizeof(((struct ofs_word_shown *)0)->text) - 1);
	struct ofs_word_shown s;
	char *p;

	snprintf(s.text, sizeof(s.text), "%.*s", (int)cut, shown);
	for (p = s.text; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	return s;
}
