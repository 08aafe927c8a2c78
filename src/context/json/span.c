/* SPDX-License-Identifier: MIT */
#include "context/json/span.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "context/json/json_syntax.h"

/* ---- walking; the text has been checked */

/* The place after the string that starts at p. */
static const char *skip_string(const char *p, const char *end)
{
	const char *quote = p + 1;

	while ((quote = memchr(quote, '"', (size_t)(end - quote)))) {
		const char *before = quote;

		while (before[-1] == '\\')
			before--;
		quote++;
		if ((quote - 1 - before) % 2 == 0)
			return quote;
	}
	return end;
}

static const char *skip_value(const char *p, const char *end)
{
	size_t depth = 0;

	if (*p != '"' && *p != '{' && *p != '[') {
		while (p < end && !strchr(",]} \n\r\t", *p))
			p++;
		return p;
	}
	do {
		switch (*p) {
		case '"':
			p = skip_string(p, end);
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			depth--;
			break;
		default:
			break;
		}
		p++;
	} while (depth && p < end);
	return p;
}

struct ofs_span_cursor ofs_span_enter(struct ofs_span container)
{
	if (!ofs_span_is_object(container) && !ofs_span_is_array(container))
		return (struct ofs_span_cursor){ 0 };
	return (struct ofs_span_cursor){ container.p + 1, container.p + container.len - 1 };
}

/* To the next value; at the end `p` is `end`. */
static void move_on(struct ofs_span_cursor *c)
{
	while (c->p < c->end && (ofs_json_is_blank(*c->p) || *c->p == ',' || *c->p == ':'))
		c->p++;
}

bool ofs_span_next(struct ofs_span_cursor *c, struct ofs_span *ret)
{
	const char *start;

	move_on(c);
	if (c->p == c->end)
		return false;
	start = c->p;
	c->p = skip_value(start, c->end);
	*ret = (struct ofs_span){ start, (size_t)(c->p - start) };
	return true;
}

bool ofs_span_next_member(struct ofs_span_cursor *c, struct ofs_span *ret_name,
			  struct ofs_span *ret)
{
	return ofs_span_next(c, ret_name) && ofs_span_next(c, ret);
}

struct ofs_span ofs_span_member(struct ofs_span object, const char *name)
{
	struct ofs_span_cursor c = ofs_span_enter(object);
	struct ofs_span found = { 0 }, key, value;

	if (!ofs_span_is_object(object))
		return found;
	while (ofs_span_next_member(&c, &key, &value)) {
		if (ofs_span_is(key, name))
			found = value;
	}
	return found;
}

void ofs_span_members(struct ofs_span object, const char *const names[], size_t n,
		      struct ofs_span ret[])
{
	struct ofs_span_cursor c = ofs_span_enter(object);
	struct ofs_span key, value;

	memset(ret, 0, n * sizeof(*ret));
	if (!ofs_span_is_object(object))
		return;
	while (ofs_span_next_member(&c, &key, &value)) {
		for (size_t i = 0; i < n; i++) {
			if (ofs_span_is(key, names[i]))
				ret[i] = value;
		}
	}
}

/* ---- strings */

bool ofs_span_is_escaped(struct ofs_span s, const char *text)
{
	size_t len = strlen(text);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;

	if (!ofs_span_is_string(s) || !memchr(s.p, '\\', s.len))
		return false;
	ofs_span_decode(s, &said);
	return said.len == len && memcmp(said.data, text, len) == 0;
}

static size_t put_utf8(uint32_t code, char *out)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* Decodes the escape at p; returns the place after it. */
static const char *decode_escape(const char *p, const char *end, char *out, size_t *ret_len)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	uint32_t code;

	if (p[1] != 'u') {
		out[0] = to[strchr(from, p[1]) - from];
		*ret_len = 1;
		return p + 2;
	}
	code = (uint32_t)ofs_json_hex(p + 2, end);
	p += 6;
	if (code >= 0xd800 && code < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
		int low = ofs_json_hex(p + 2, end);

		if (low >= 0xdc00 && low < 0xe000) {
			code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
			p += 6;
		}
	}
	*ret_len = put_utf8(code, out);
	return p;
}

/* Writes the decoded string, which is shorter than the string, and returns its length. */
static size_t decode(struct ofs_span string, char *out)
{
	const char *p = string.p + 1, *end = string.p + string.len - 1;
	char *to = out;

	while (p < end) {
		const char *escape = memchr(p, '\\', (size_t)(end - p));
		size_t plain = (size_t)((escape ? escape : end) - p), len;

		memcpy(to, p, plain);
		to += plain;
		p += plain;
		if (p < end) {
			p = decode_escape(p, end, to, &len);
			to += len;
		}
	}
	return (size_t)(to - out);
}

void ofs_span_decode(struct ofs_span string, struct ofs_buf *out)
{
	ofs_buf_reserve(out, string.len);
	out->len += decode(string, (char *)out->data + out->len);
}

char *ofs_span_text(struct ofs_span string)
{
	char *text;

	if (!ofs_span_is_string(string))
		return NULL;
	text = ofs_alloc(string.len);
	decode(string, text);
	return text;
}

/* ---- the rest */

json_t *ofs_span_json(struct ofs_span s)
{
	return s.p ? json_loadb(s.p, s.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
}

bool ofs_span_integer(struct ofs_span s, long long *ret)
{
	char text[32], *end;
	long long n;

	if (!s.len || s.len >= sizeof(text) || (*s.p != '-' && (*s.p < '0' || *s.p > '9')))
		return false;
	memcpy(text, s.p, s.len);
	text[s.len] = '\0';
	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || *end)
		return false;
	*ret = n;
	return true;
}
