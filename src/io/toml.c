/* SPDX-License-Identifier: MIT */
#include "io/toml.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/util.h"

/* Deepest nesting of arrays. */
#define DEPTH_MAX 16

struct parser {
	const char *at, *end;
	unsigned int line;
	struct ofs_error *err;
	struct ofs_buf table, key;
	struct {
		char **at;
		size_t n, cap;
	} values;
};

static int wrong(struct parser *p, const char *what)
{
	return ofs_error_set(p->err, EINVAL, "line %u: %s", p->line, what);
}

static char peek(const struct parser *p)
{
	return p->at < p->end ? *p->at : '\0';
}

static bool accept(struct parser *p, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(p->end - p->at) < len || memcmp(p->at, text, len) != 0)
		return false;
	p->at += len;
	return true;
}

/* Skips blanks and comments and, with `lines`, line ends. */
static void skip(struct parser *p, bool lines)
{
	for (; p->at < p->end; p->at++) {
		if (*p->at == '#')
			while (p->at + 1 < p->end && p->at[1] != '\n')
				p->at++;
		else if (*p->at == '\n' && lines)
			p->line++;
		else if (!strchr(" \t\r", *p->at) || !*p->at)
			break;
	}
}

static void append_utf8(struct ofs_buf *out, uint32_t c)
{
	uint8_t bytes[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		bytes[i] = (uint8_t)(0x80 | (c & 0x3f));
	bytes[0] = (uint8_t)(n == 1 ? c : (0xf0u << (4 - n)) | c);
	ofs_buf_append(out, bytes, n);
}

static int read_escape(struct parser *p, struct ofs_buf *out)
{
	static const char codes[] = "btnfr\"\\e", meant[] = "\b\t\n\f\r\"\\\033";
	char c = peek(p), digits[9] = { 0 };
	const char *code = c ? strchr(codes, c) : NULL;
	size_t n = c == 'u' ? 4 : c == 'U' ? 8 : 0;
	unsigned long number;

	if (p->at < p->end)
		p->at++;
	if (code) {
		ofs_buf_append(out, &meant[code - codes], 1);
		return 0;
	}
	if (!n || (size_t)(p->end - p->at) < n)
		return wrong(p, "an invalid escape");
	memcpy(digits, p->at, n);
	p->at += n;
	number = strtoul(digits, NULL, 16);
	if (strspn(digits, "0123456789abcdefABCDEF") != n || number > 0x10ffff ||
	    (number >= 0xd800 && number < 0xe000))
		return wrong(p, "an invalid escape");
	append_utf8(out, (uint32_t)number);
	return 0;
}

/* After a backslash: skips white space that begins with the end of the line, if there is any. */
static bool skip_line_end(struct parser *p)
{
	const char *at = p->at, *end = at;

	for (; at < p->end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'); at++)
		if (*at == '\n' || end != p->at)
			end = at + 1;
	if (end == p->at)
		return false;
	for (; p->at < end; p->at++)
		p->line += *p->at == '\n';
	return true;
}

/* Reads a string up to `quote`, one or three quotes. Double quotes allow escapes. */
static int read_quoted(struct parser *p, const char *quote, struct ofs_buf *out)
{
	bool is_long = quote[1], is_basic = *quote == '"';
	int r;

	if (is_long && (accept(p, "\n") || accept(p, "\r\n")))
		p->line++;
	while (p->at < p->end) {
		if (accept(p, quote)) {
			/* Up to two more quotes may precede the final three. */
			while (is_long && peek(p) == *quote)
				ofs_buf_append(out, p->at++, 1);
			return 0;
		}
		if (*p->at == '\n' && !is_long)
			break;
		p->line += *p->at == '\n';
		if (*p->at != '\\' || !is_basic) {
			ofs_buf_append(out, p->at++, 1);
			continue;
		}
		p->at++;
		r = is_long && skip_line_end(p) ? 0 : read_escape(p, out);
		if (r < 0)
			return r;
	}
	return wrong(p, "an unterminated string");
}

/* Returns 1 and appends a string, 0 if there is none, or -errno. */
static int read_string(struct parser *p, struct ofs_buf *out)
{
	static const char *const quotes[] = { "'''", "\"\"\"", "'", "\"" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(quotes); i++)
		if (accept(p, quotes[i])) {
			int r = read_quoted(p, quotes[i], out);

			return r < 0 ? r : 1;
		}
	return 0;
}

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

/* Reads a name: parts separated by dots. */
static int read_name(struct parser *p, struct ofs_buf *out)
{
	int r;

	out->len = 0;
	for (;;) {
		size_t before = out->len;

		skip(p, false);
		r = read_string(p, out);
		if (r < 0)
			return r;
		while (!r && p->at < p->end && is_bare(*p->at))
			ofs_buf_append(out, p->at++, 1);
		if (!r && out->len == before)
			return wrong(p, "a name is expected here");
		skip(p, false);
		if (!accept(p, "."))
			return 0;
		ofs_buf_append(out, ".", 1);
	}
}

static void add_value(struct parser *p, struct ofs_buf *value)
{
	*ofs_append(p->values.at, p->values.n, p->values.cap) = ofs_buf_steal_str(value);
}

static int read_value(struct parser *p, int depth)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT;
	int r = read_string(p, &value);

	if (r > 0)
		add_value(p, &value);
	if (r != 0)
		return OFS_MIN(r, 0);
	if (accept(p, "[")) {
		if (depth == DEPTH_MAX)
			return wrong(p, "too many nested arrays");
		for (skip(p, true); !accept(p, "]"); skip(p, true)) {
			r = read_value(p, depth + 1);
			if (r < 0)
				return r;
			skip(p, true);
			if (!accept(p, ",") && peek(p) != ']')
				return wrong(p, "a ',' or ']' is expected here");
		}
		return 0;
	}
	while (p->at < p->end && (is_bare(*p->at) || *p->at == '.' || *p->at == '+'))
		ofs_buf_append(&value, p->at++, 1);
	if (!value.len)
		return wrong(p, "a string, number, boolean or array is expected here");
	add_value(p, &value);
	return 0;
}

static void drop_values(struct parser *p)
{
	while (p->values.n)
		free(p->values.at[--p->values.n]);
}

/* Reads `[table]`, `[[table]]` or `key = value`. */
static int read_entry(struct parser *p, struct ofs_toml_entry *entry)
{
	bool opens = accept(p, "["), is_array = opens && accept(p, "[");
	int r;

	*entry = (struct ofs_toml_entry){ .line = p->line };
	r = read_name(p, opens ? &p->table : &p->key);
	if (r < 0)
		return r;
	if (opens && (!accept(p, "]") || (is_array && !accept(p, "]"))))
		return wrong(p, "a ']' is expected here");
	if (!opens) {
		if (!accept(p, "="))
			return wrong(p, "a '=' is expected here");
		skip(p, false);
		r = read_value(p, 0);
		if (r < 0)
			return r;
		entry->key = ofs_buf_str(&p->key);
	}
	skip(p, false);
	if (p->at < p->end && *p->at != '\n')
		return wrong(p, "the end of the line is expected here");
	entry->table = ofs_buf_str(&p->table);
	entry->values = p->values.at;
	entry->n = p->values.n;
	return 0;
}

int ofs_toml_read(const char *text, size_t len,
		  int (*take)(void *arg, const struct ofs_toml_entry *entry, struct ofs_error *err),
		  void *arg, struct ofs_error *err)
{
	struct parser p = { .at = text, .end = text + len, .line = 1, .err = err };
	struct ofs_toml_entry entry;
	int r = 0;

	for (skip(&p, true); r == 0 && p.at < p.end; skip(&p, true)) {
		r = read_entry(&p, &entry);
		if (r == 0)
			r = take(arg, &entry, err);
		drop_values(&p);
	}
	drop_values(&p);
	free(p.values.at);
	ofs_buf_finish(&p.table);
	ofs_buf_finish(&p.key);
	return r;
}
