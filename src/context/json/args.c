/* SPDX-License-Identifier: MIT */
#include "context/json/args.h"

#include <ctype.h>
#include <strings.h>

size_t ofs_name_fold(const char *name, size_t len, char ret[OFS_NAME_FOLDED_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)name[i]))
			continue;
		if (n == OFS_NAME_FOLDED_MAX)
			return 0;
		ret[n++] = (char)tolower((unsigned char)name[i]);
	}
	return n;
}

size_t ofs_name_index(const char *folded, size_t len, const char *names)
{
	size_t index = 1;

	for (const char *p = names; p && *p; index++) {
		size_t n = strcspn(p, " ");

		if (n == len && memcmp(p, folded, n) == 0)
			return index;
		p += n + (p[n] == ' ');
	}
	return 0;
}

size_t ofs_args_index(struct ofs_span name, const char *names)
{
	char folded[OFS_NAME_FOLDED_MAX];

	return ofs_name_index(folded, ofs_name_fold(name.p + 1, name.len - 2, folded), names);
}

struct ofs_span ofs_args_find(struct ofs_span args, const char *names)
{
	struct ofs_span found = { 0 }, name, value;
	struct ofs_span_cursor c = ofs_span_enter(args);
	size_t best = SIZE_MAX;

	if (!ofs_span_is_object(args))
		return found;
	while (ofs_span_next_member(&c, &name, &value)) {
		size_t index = ofs_args_index(name, names);

		if (index && index <= best && !ofs_span_is_null(value)) {
			best = index;
			found = value;
		}
	}
	return found;
}

void ofs_args_text(struct ofs_span value, struct ofs_buf *out)
{
	if (ofs_span_is_string(value))
		ofs_span_decode(value, out);
	else
		ofs_buf_append(out, value.p, value.len);
}

size_t ofs_args_count(struct ofs_span container)
{
	struct ofs_span_cursor c = ofs_span_enter(container);
	struct ofs_span value;
	size_t n = 0;

	while (ofs_span_next(&c, &value))
		n++;
	return ofs_span_is_object(container) ? n / 2 : n; /* the iteration counts names as well */
}

/* ---- text */

bool ofs_scan_begins(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && strncasecmp(text, word, n) == 0;
}

size_t ofs_scan_trim(const char *text, size_t len)
{
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return len;
}

bool ofs_scan_line(const char **p, const char *end, const char **ret, size_t *ret_len)
{
	const char *start = *p, *eol;

	if (start >= end)
		return false;
	eol = memchr(start, '\n', (size_t)(end - start));
	*p = eol ? eol + 1 : end;
	*ret = start;
	*ret_len = (size_t)((eol ? eol : end) - start);
	if (*ret_len && start[*ret_len - 1] == '\r')
		--*ret_len;
	return true;
}

void ofs_scan_last_line(const char *text, size_t len, const char **ret, size_t *ret_len)
{
	const char *eol;

	len = ofs_scan_trim(text, len);
	eol = len ? memrchr(text, '\n', len) : NULL;
	*ret = eol ? eol + 1 : text;
	*ret_len = (size_t)(text + len - *ret);
}

size_t ofs_scan_lines(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t n = len && end[-1] != '\n';

	while (len && (p = memchr(p, '\n', (size_t)(end - p)))) {
		n++;
		p++;
	}
	return n;
}
