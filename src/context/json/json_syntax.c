/* SPDX-License-Identifier: MIT */
/* Validates JSON completely, so that ofs_span_*() can walk it without checks. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "context/json/json_syntax.h"
#include "context/json/span.h"

/* A text being checked. */
struct checking {
	const char *text;
	const char *p;
	const char *end;
	struct ofs_error *err;
};

static int fail(const struct checking *c, const char *at, const char *what)
{
	size_t line = 1;
	const char *start = c->text, *eol;

	while ((eol = memchr(start, '\n', (size_t)(at - start)))) {
		line++;
		start = eol + 1;
	}
	return ofs_error_set(c->err, EINVAL, "not valid JSON: %s at line %zu, column %zu", what,
			     line, (size_t)(at - start) + 1);
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && ofs_json_is_blank(*p))
		p++;
	return p;
}

/* A bit for each byte of a string that needs a look: '"', '\\', controls and what is not ASCII. */
#define BIT(c) (UINT64_C(1) << ((c)&63))
static const uint64_t special[4] = {
	UINT32_MAX | BIT('"'),
	BIT('\\'),
	UINT64_MAX,
	UINT64_MAX,
};

static bool is_special(unsigned char c)
{
	return special[c >> 6] & BIT(c);
}

static int check_escape(struct checking *c)
{
	const char *start = c->p++;

	if (c->p == c->end)
		return fail(c, c->end, "a string without an end");
	if (*c->p == 'u') {
		if (ofs_json_hex(c->p + 1, c->end) < 0)
			return fail(c, start, "\\u without four hex digits");
		c->p += 5;
		return 0;
	}
	if (!strchr("\"\\/bfnrt", *c->p) || !*c->p)
		return fail(c, start, "an unknown escape");
	c->p++;
	return 0;
}

static int check_string(struct checking *c)
{
	c->p++;
	for (;;) {
		unsigned char byte;
		int r;

		while (c->p < c->end && !is_special((unsigned char)*c->p))
			c->p++;
		if (c->p == c->end)
			return fail(c, c->p, "a string without an end");
		byte = (unsigned char)*c->p;
		if (byte == '"') {
			c->p++;
			return 0;
		}
		if (byte == '\\') {
			r = check_escape(c);
			if (r < 0)
				return r;
			continue;
		}
		if (byte < 0x20)
			return fail(c, c->p, "a control character in a string");
		r = ofs_text_utf8((const unsigned char *)c->p, (size_t)(c->end - c->p));
		if (r <= 0)
			return fail(c, c->p, "bytes that are not UTF-8");
		c->p += r;
	}
}

static bool take_digits(struct checking *c)
{
	const char *start = c->p;

	while (c->p < c->end && *c->p >= '0' && *c->p <= '9')
		c->p++;
	return c->p > start;
}

static int check_number(struct checking *c)
{
	const char *start = c->p;

	c->p += *c->p == '-';
	if (c->p < c->end && *c->p == '0')
		c->p++;
	else if (!take_digits(c))
		return fail(c, start, "a value that is none");
	if (c->p < c->end && *c->p == '.') {
		c->p++;
		if (!take_digits(c))
			return fail(c, c->p, "a number without digits behind its point");
	}
	if (c->p < c->end && (*c->p | 0x20) == 'e') {
		c->p++;
		if (c->p < c->end && (*c->p == '+' || *c->p == '-'))
			c->p++;
		if (!take_digits(c))
			return fail(c, c->p, "a number without digits in its exponent");
	}
	return 0;
}

static int check_scalar(struct checking *c)
{
	static const char *const words[] = { "true", "false", "null" };

	if (c->p == c->end)
		return fail(c, c->p, "the end where a value should be");
	if (*c->p == '"')
		return check_string(c);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i]);

		if ((size_t)(c->end - c->p) >= len && memcmp(c->p, words[i], len) == 0) {
			c->p += len;
			return 0;
		}
	}
	return check_number(c);
}

/* The name of a member and what separates it from the value. */
static int check_name(struct checking *c)
{
	int r;

	if (c->p == c->end || *c->p != '"')
		return fail(c, c->p, "no name where a member of an object should begin");
	r = check_string(c);
	if (r < 0)
		return r;
	c->p = skip_blanks(c->p, c->end);
	if (c->p == c->end || *c->p != ':')
		return fail(c, c->p, "no ':' behind the name of a member");
	c->p = skip_blanks(c->p + 1, c->end);
	return 0;
}

/*
 * Checks what follows a value within the `depth` open containers: their ends, or a comma and the
 * name of the next member.
 */
static int check_behind(struct checking *c, const char *open, size_t *depth)
{
	while (*depth) {
		char opened = open[*depth - 1];

		c->p = skip_blanks(c->p, c->end);
		if (c->p < c->end && *c->p == (opened == '{' ? '}' : ']')) {
			c->p++;
			--*depth;
			continue;
		}
		if (c->p == c->end || *c->p != ',')
			return fail(c, c->p,
				    opened == '{' ? "no ',' or '}' behind a member"
						  : "no ',' or ']' behind an element");
		c->p = skip_blanks(c->p + 1, c->end);
		return opened == '{' ? check_name(c) : 0;
	}
	return 0;
}

/* One value at c->p, after white space. No recursion: the input determines the depth. */
static int check_value(struct checking *c)
{
	char open[OFS_SPAN_DEPTH_MAX];
	size_t depth = 0;
	int r;

	do {
		if (c->p < c->end && (*c->p == '{' || *c->p == '[')) {
			if (depth == OFS_SPAN_DEPTH_MAX)
				return fail(c, c->p, "more than 512 levels of nesting");
			open[depth++] = *c->p;
			c->p = skip_blanks(c->p + 1, c->end);
			if (c->p == c->end)
				return fail(c, c->p, "an array or object without an end");
			if (*c->p != '}' && *c->p != ']') {
				r = open[depth - 1] == '{' ? check_name(c) : 0;
				if (r < 0)
					return r;
				continue;
			}
		} else {
			r = check_scalar(c);
			if (r < 0)
				return r;
		}
		r = check_behind(c, open, &depth);
		if (r < 0)
			return r;
	} while (depth);
	return 0;
}

int ofs_span_parse_at(const char *text, size_t len, size_t at, struct ofs_error *err,
		      struct ofs_span *ret, size_t *ret_end)
{
	struct checking c = { text, skip_blanks(text + at, text + len), text + len, err };
	const char *start = c.p;
	int r;

	if (c.p == c.end)
		return ofs_error_set(err, ENODATA, "the input is empty");
	r = check_value(&c);
	if (r < 0)
		return r;
	*ret = (struct ofs_span){ start, (size_t)(c.p - start) };
	*ret_end = (size_t)(c.p - text);
	return 0;
}

int ofs_span_parse_next(const char *text, size_t len, struct ofs_error *err, struct ofs_span *ret,
			size_t *ret_used)
{
	return ofs_span_parse_at(text, len, 0, err, ret, ret_used);
}

int ofs_span_parse(const char *text, size_t len, struct ofs_error *err, struct ofs_span *ret)
{
	struct checking c = { text, text, text + len, err };
	struct ofs_span s;
	size_t used;
	int r = ofs_span_parse_next(text, len, err, &s, &used);

	if (r < 0)
		return r == -ENODATA ? -EINVAL : r;
	c.p = skip_blanks(text + used, c.end);
	if (c.p < c.end)
		return fail(&c, c.p, "more text behind the value");
	*ret = s;
	return 0;
}
