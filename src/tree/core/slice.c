/* SPDX-License-Identifier: MIT */
#include "tree/core/slice.h"

#include <inttypes.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads a number. Returns false if there is none or it does not fit. */
static bool read_number(const char **p, uint64_t *ret)
{
	uint64_t n = 0;

	if (!is_digit(**p))
		return false;
	for (; is_digit(**p); (*p)++)
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(**p - '0'), &n))
			return false;
	*ret = n;
	return true;
}

/* Reads "A", "A-B" or, if `open`, "A-". `mark` may precede the second number. */
static bool read_range(const char *p, char mark, bool open, uint64_t *ret_first, uint64_t *ret_last)
{
	if (!read_number(&p, ret_first))
		return false;
	*ret_last = *ret_first;
	if (!*p)
		return true;
	if (*p++ != '-')
		return false;
	if (!*p && open) {
		*ret_last = UINT64_MAX;
		return true;
	}
	if (mark && *p == mark)
		p++;
	return read_number(&p, ret_last) && !*p;
}

static int parse_bytes(const char *text, struct ofs_slice_spec *ret)
{
	ret->kind = OFS_SLICE_BYTES;
	if (!read_range(text, 0, true, &ret->first, &ret->last) || ret->last < ret->first)
		return -EINVAL;
	return 0;
}

static int parse_lines(const char *text, char mark, struct ofs_slice_spec *ret)
{
	ret->kind = OFS_SLICE_LINES;
	if (!read_range(text, mark, true, &ret->first, &ret->last) || !ret->first ||
	    ret->last < ret->first)
		return -EINVAL;
	return 0;
}

static int parse_last(const char *text, struct ofs_slice_spec *ret)
{
	ret->kind = OFS_SLICE_LAST_LINES;
	ret->last = UINT64_MAX;
	return read_number(&text, &ret->first) && !*text && ret->first ? 0 : -EINVAL;
}

/* Parses the part after a colon. */
static int parse_colon(const char *text, struct ofs_slice_spec *ret)
{
	if (text[0] == 'b' && is_digit(text[1]))
		return parse_bytes(text + 1, ret);
	if (text[0] == '-')
		return parse_last(text + 1, ret);
	if (is_digit(text[0]))
		return parse_lines(text, 0, ret);
	if (strcmp(text, "info") != 0 && strcmp(text, "summary") != 0)
		return -ENOENT;
	ret->kind = text[0] == 'i' ? OFS_SLICE_INFO : OFS_SLICE_SUMMARY;
	ret->first = ret->last = 0;
	return 0;
}

/* Returns the offset of the last "#L<digit>" or "@L<digit>" after the first character; else 0. */
static size_t find_mark(const char *name)
{
	for (size_t i = strlen(name); i-- > 1;)
		if ((name[i] == '#' || name[i] == '@') && name[i + 1] == 'L' &&
		    is_digit(name[i + 2]))
			return i;
	return 0;
}

int ofs_slice_parse(const char *name, size_t *ret_base, struct ofs_slice_spec *ret)
{
	const char *colon = strrchr(name, ':');
	size_t mark = find_mark(name), at = colon ? (size_t)(colon - name) : 0;
	int r = -ENOENT;

	/* The base may contain colons, so the last suffix counts. */
	if (at > mark)
		r = parse_colon(name + at + 1, ret);
	if (r == -ENOENT) {
		if (!mark)
			return -ENOENT;
		at = mark;
		r = parse_lines(name + mark + 2, 'L', ret);
	}
	*ret_base = at;
	return r;
}

void ofs_slice_print(const struct ofs_slice_spec *spec, struct ofs_buf *out)
{
	if (spec->kind == OFS_SLICE_INFO || spec->kind == OFS_SLICE_SUMMARY) {
		ofs_buf_append_str(out, spec->kind == OFS_SLICE_INFO ? "info" : "summary");
		return;
	}
	if (spec->kind == OFS_SLICE_BYTES)
		ofs_buf_append_str(out, "b");
	if (spec->kind == OFS_SLICE_LAST_LINES) {
		ofs_buf_printf(out, "-%" PRIu64, spec->first);
		return;
	}
	ofs_buf_printf(out, "%" PRIu64, spec->first);
	if (spec->last == UINT64_MAX)
		ofs_buf_append_str(out, "-");
	else if (spec->last != spec->first)
		ofs_buf_printf(out, "-%" PRIu64, spec->last);
}
