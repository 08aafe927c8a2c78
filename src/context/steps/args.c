/* SPDX-License-Identifier: MIT */
#include "context/steps/args.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"

#define NAME_MAX_KNOWN 48
/* More than is shown, so that a secret at the end of the shown part is seen whole. */
#define HEAD_MAX ((size_t)16 << 10)

size_t ofs_args_index(struct ofs_span name, const char *names)
{
	char folded[NAME_MAX_KNOWN];
	size_t n = 0, index = 1;

	for (size_t i = 1; i + 1 < name.len; i++) {
		if (!isalnum((unsigned char)name.p[i]))
			continue;
		if (n == sizeof(folded))
			return 0;
		folded[n++] = (char)tolower((unsigned char)name.p[i]);
	}
	for (const char *p = names; *p; index++) {
		size_t len = strcspn(p, " ");

		if (len == n && memcmp(p, folded, n) == 0)
			return index;
		p += len + (p[len] == ' ');
	}
	return 0;
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

/* The length of a string's start of at least `max` bytes, in whole characters and escapes. */
static size_t whole_part(const char *p, size_t len, size_t max)
{
	size_t i = 0;

	while (i < len && i < max) {
		if (p[i] == '\\')
			i += p[i + 1] == 'u' ? 6 : 2;
		else
			i++;
	}
	while (i < len && ((unsigned char)p[i] & 0xc0) == 0x80)
		i++;
	return OFS_MIN(i, len);
}

void ofs_args_head(struct ofs_span value, struct ofs_buf *out)
{
	struct ofs_span head = value;

	if (!ofs_span_is_string(value)) {
		ofs_buf_append(out, value.p, OFS_MIN(value.len, HEAD_MAX));
		return;
	}
	if (value.len > HEAD_MAX)
		head.len = whole_part(value.p + 1, value.len - 2, HEAD_MAX) + 2;
	ofs_span_decode(head, out);
}

void ofs_args_measure(struct ofs_span value, uint64_t *ret_bytes, uint64_t *ret_lines)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const uint8_t *p, *end;

	*ret_bytes = 0;
	*ret_lines = 0;
	if (!ofs_span_is_string(value))
		return;
	ofs_span_decode(value, &text);
	if (!text.len)
		return;
	*ret_bytes = text.len;
	*ret_lines = text.data[text.len - 1] != '\n';
	end = text.data + text.len;
	for (p = text.data; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		++*ret_lines;
}

size_t ofs_args_count(struct ofs_span container)
{
	struct ofs_span_cursor c = ofs_span_enter(container);
	struct ofs_span name, value;
	size_t n = 0;

	if (ofs_span_is_object(container)) {
		while (ofs_span_next_member(&c, &name, &value))
			n++;
	} else {
		while (ofs_span_next(&c, &value))
			n++;
	}
	return n;
}
