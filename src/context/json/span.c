/* SPDX-License-Identifier: MIT */
#include "context/json/span.h"

#include "base/text.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

/* Returns the number that the four hex digits at p stand for, or -1 if they are not all there. */
static int read_hex(const char *p, const char *end)
{
	int code = 0;

	for (int i = 0; i < 4; i++) {
		int c = p + i < end ? (unsigned char)p[i] : 0, letter = c | 0x20;

		if (c >= '0' && c <= '9')
			code = code << 4 | (c - '0');
		else if (letter >= 'a' && letter <= 'f')
			code = code << 4 | (letter - 'a' + 10);
		else
			return -1;
	}
	return code;
}

/* ---- checking: complete, so that walking needs no checks */

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

/* A bit for each byte that cannot be skipped in a string: '"', '\\', controls and non-ASCII. */
#define BIT(c) (UINT64_C(1) << ((c)&63))
static const uint64_t special[4] = { UINT32_MAX | BIT('"'), BIT('\\'), UINT64_MAX, UINT64_MAX };

/* Checks the escape or the character that starts with a special byte. */
static int check_special(struct checking *c)
{
	const char *escaped = c->p + 1;
	int n;

	if ((unsigned char)*c->p < 0x20)
		return fail(c, c->p, "a control character in a string");
	if (*c->p != '\\') {
		n = ofs_text_utf8((const unsigned char *)c->p, (size_t)(c->end - c->p));
		if (n <= 0)
			return fail(c, c->p, "bytes that are not UTF-8");
		c->p += n;
		return 0;
	}
	if (escaped == c->end)
		return fail(c, c->end, "a string without an end");
	if (*escaped == 'u' && read_hex(escaped + 1, c->end) < 0)
		return fail(c, c->p, "\\u without four hex digits");
	if (!memchr("\"\\/bfnrtu", *escaped, 9))
		return fail(c, c->p, "an unknown escape");
	c->p += *escaped == 'u' ? 6 : 2;
	return 0;
}

static int check_string(struct checking *c)
{
	int r = 0;

	c->p++;
	while (r == 0) {
		while (c->p < c->end && !(special[(unsigned char)*c->p >> 6] & BIT(*c->p)))
			c->p++;
		if (c->p == c->end)
			return fail(c, c->p, "a string without an end");
		if (*c->p == '"') {
			c->p++;
			return 0;
		}
		r = check_special(c);
	}
	return r;
}

/* The byte at c->p, or 0 at the end. */
static char peek(const struct checking *c)
{
	return c->p < c->end ? *c->p : 0;
}

static bool take_digits(struct checking *c)
{
	const char *start = c->p;

	while (peek(c) >= '0' && *c->p <= '9')
		c->p++;
	return c->p > start;
}

static int check_number(struct checking *c)
{
	const char *start = c->p;

	c->p += *c->p == '-';
	if (peek(c) == '0')
		c->p++;
	else if (!take_digits(c))
		return fail(c, start, "an invalid value");
	if (peek(c) == '.') {
		c->p++;
		if (!take_digits(c))
			return fail(c, c->p, "a number without digits after its point");
	}
	if (peek(c) == 'e' || peek(c) == 'E') {
		c->p++;
		c->p += peek(c) == '+' || peek(c) == '-';
		if (!take_digits(c))
			return fail(c, c->p, "a number without digits in its exponent");
	}
	return 0;
}

static int check_scalar(struct checking *c)
{
	static const char *const words[] = { "true", "false", "null" };

	if (c->p == c->end)
		return fail(c, c->p, "the text ends where a value should be");
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

/* Checks the name of a member, and skips the colon after it. */
static int check_name(struct checking *c)
{
	int r = peek(c) == '"' ? check_string(c)
			       : fail(c, c->p, "no name where a member of an object should begin");

	if (r < 0)
		return r;
	c->p = skip_blanks(c->p, c->end);
	if (peek(c) != ':')
		return fail(c, c->p, "no ':' after the name of a member");
	c->p = skip_blanks(c->p + 1, c->end);
	return 0;
}

/*
 * Checks what follows a value inside `depth` open containers: their ends, or a comma and the name
 * of the next member.
 */
static int check_end(struct checking *c, const char *open, size_t *depth)
{
	for (; *depth; --*depth) {
		bool in_object = open[*depth - 1] == '{';

		c->p = skip_blanks(c->p, c->end);
		if (peek(c) == ',') {
			c->p = skip_blanks(c->p + 1, c->end);
			return in_object ? check_name(c) : 0;
		}
		if (peek(c) != (in_object ? '}' : ']'))
			return fail(c, c->p,
				    in_object ? "no ',' or '}' after a member"
					      : "no ',' or ']' after an element");
		c->p++;
	}
	return 0;
}

/* Checks one value at c->p. Not recursive, since the input determines the depth. */
static int check_value(struct checking *c)
{
	char open[OFS_SPAN_DEPTH_MAX];
	size_t depth = 0;
	int r;

	do {
		char first = peek(c);

		if (first != '{' && first != '[') {
			r = check_scalar(c);
		} else if (depth == OFS_SPAN_DEPTH_MAX) {
			return fail(c, c->p, "more than 512 levels of nesting");
		} else {
			open[depth++] = first;
			c->p = skip_blanks(c->p + 1, c->end);
			if (c->p == c->end)
				return fail(c, c->p, "an array or object without an end");
			r = 0;
			if (*c->p != '}' && *c->p != ']') {
				r = first == '{' ? check_name(c) : 0;
				if (r == 0)
					continue;
			}
		}
		if (r == 0)
			r = check_end(c, open, &depth);
	} while (r == 0 && depth);
	return r;
}

int ofs_span_parse_at(const char *text, size_t len, size_t at, struct ofs_error *err,
		      struct ofs_span *ret, size_t *ret_end)
{
	struct checking c = { text, skip_blanks(text + at, text + len), text + len, err };
	const char *start = c.p;
	int r;

	if (c.p == c.end) {
		ofs_error_set(err, ENODATA, "the input is empty");
		return -ENODATA;
	}
	r = check_value(&c);
	if (r < 0)
		return r;
	*ret = (struct ofs_span){ start, (size_t)(c.p - start) };
	*ret_end = (size_t)(c.p - text);
	return 0;
}

int ofs_span_parse(const char *text, size_t len, struct ofs_error *err, struct ofs_span *ret)
{
	struct checking c = { text, text, text + len, err };
	struct ofs_span s;
	size_t used;
	int r = ofs_span_parse_at(text, len, 0, err, &s, &used);

	if (r < 0)
		return r == -ENODATA ? -EINVAL : r;
	c.p = skip_blanks(text + used, c.end);
	if (c.p < c.end)
		return fail(&c, c.p, "more text after the value");
	*ret = s;
	return 0;
}

/* ---- walking; the text has been checked */

/* Returns the position after the string that starts at p. */
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

struct ofs_span_cursor ofs_span_elements(struct ofs_span array)
{
	return ofs_span_enter(ofs_span_is_array(array) ? array : (struct ofs_span){ 0 });
}

/* Moves to the next value, or to `end`. */
static void move_on(struct ofs_span_cursor *c)
{
	while (c->p < c->end && (is_blank(*c->p) || *c->p == ',' || *c->p == ':'))
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
	struct ofs_span found;

	ofs_span_members(object, &name, 1, &found);
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

bool ofs_span_is(struct ofs_span s, const char *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;
	size_t len = strlen(text);

	/* An escape is longer than what it stands for, but at most six times as long. */
	if (s.len == len + 2)
		return *s.p == '"' && memcmp(s.p + 1, text, len) == 0;
	if (s.len < len + 2 || s.len > 6 * len + 2 || !ofs_span_is_string(s) ||
	    !memchr(s.p, '\\', s.len))
		return false;
	ofs_span_decode(s, &said);
	return said.len == len && memcmp(said.data, text, len) == 0;
}

static size_t put_utf8(uint32_t code, char *out)
{
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = n; --i; code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(n == 1 ? code : (0xff00 >> n & 0xff) | code);
	return n;
}

/* Decodes the escape at p into `out`. Returns the position after it. */
static const char *decode_escape(const char *p, const char *end, char *out, size_t *ret_len)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	uint32_t code;

	if (p[1] != 'u') {
		out[0] = to[strchr(from, p[1]) - from];
		*ret_len = 1;
		return p + 2;
	}
	code = (uint32_t)read_hex(p + 2, end);
	p += 6;
	if (code >= 0xd800 && code < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
		int low = read_hex(p + 2, end);

		if (low >= 0xdc00 && low < 0xe000) {
			code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
			p += 6;
		}
	}
	*ret_len = put_utf8(code, out);
	return p;
}

void ofs_span_decode(struct ofs_span string, struct ofs_buf *out)
{
	const char *p = string.p + 1, *end = string.p + string.len - 1;

	ofs_buf_reserve(out, string.len); /* decoding never lengthens */
	while (p < end) {
		const char *escape = memchr(p, '\\', (size_t)(end - p));
		size_t len = (size_t)((escape ? escape : end) - p);

		memcpy(out->data + out->len, p, len);
		out->len += len;
		p += len;
		if (p == end)
			break;
		p = decode_escape(p, end, (char *)out->data + out->len, &len);
		out->len += len;
	}
}

char *ofs_span_text(struct ofs_span string)
{
	struct ofs_buf text = OFS_BUF_INIT;

	if (!ofs_span_is_string(string))
		return NULL;
	ofs_span_decode(string, &text);
	return ofs_buf_steal_str(&text);
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
