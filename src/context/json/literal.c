/* SPDX-License-Identifier: MIT */
#include "context/json/literal.h"

#include "base/text.h"

/* A letter for each member, in the order of `struct ofs_literal_style`. */
static const char letters[] = "auzhsdc";

#define FLAGS (sizeof(letters) - 1)

_Static_assert(sizeof(struct ofs_literal_style) == FLAGS, "a style has a letter for each member");

void ofs_literal_style_name(const struct ofs_literal_style *style, char ret[OFS_LITERAL_NAME_MAX])
{
	bool flags[FLAGS];
	char *p = ret;

	memcpy(flags, style, sizeof(flags));
	*p++ = 'j';
	for (size_t i = 0; i < FLAGS; i++) {
		if (flags[i])
			*p++ = letters[i];
	}
	*p = '\0';
}

bool ofs_literal_style_parse(const char *name, struct ofs_literal_style *ret)
{
	bool flags[FLAGS] = { false };
	char again[OFS_LITERAL_NAME_MAX];

	if (*name != 'j' || name[1 + strspn(name + 1, letters)])
		return false;
	for (const char *p = name + 1; *p; p++)
		flags[strchr(letters, *p) - letters] = true;
	memcpy(ret, flags, sizeof(flags));
	/* Accept each letter once and in order only. */
	ofs_literal_style_name(ret, again);
	return strcmp(name, again) == 0;
}

/* ---- writing */

/* Returns the code point of a sequence of `n` bytes. */
static uint32_t code_of(const unsigned char *p, int n)
{
	uint32_t code = n > 1 ? p[0] & 0xffu >> (n + 1) : p[0];

	for (int i = 1; i < n; i++)
		code = code << 6 | (p[i] & 0x3fu);
	return code;
}

/* Half of a surrogate pair alone, encoded in three bytes. */
static bool is_half(const unsigned char *p, size_t len)
{
	return len >= 3 && p[0] == 0xed && (p[1] & 0xe0) == 0xa0 && (p[2] & 0xc0) == 0x80;
}

static size_t write_unit(const struct ofs_literal_style *s, uint32_t unit, char *out)
{
	const char *digits = s->upper ? "0123456789ABCDEF" : "0123456789abcdef";

	out[0] = '\\';
	out[1] = 'u';
	for (int i = 0; i < 4; i++)
		out[2 + i] = digits[unit >> (12 - 4 * i) & 15];
	return 6;
}

/* Returns the letter after the backslash of a short escape, or 0 if there is none. */
static char short_escape(const struct ofs_literal_style *s, unsigned char c)
{
	static const char escapes[256] = {
		['"'] = '"',  ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r',
		['\t'] = 't', ['/'] = '/',   ['\b'] = 'b', ['\f'] = 'f',
	};

	if ((c == '/' && !s->slash) || ((c == '\b' || c == '\f') && s->plain_controls))
		return 0;
	return escapes[c];
}

static bool is_escaped(const struct ofs_literal_style *s, uint32_t code)
{
	return code < 0x20 || (s->ascii && code >= 0x80) || (s->del && code == 0x7f) ||
	       (s->html && (code == '<' || code == '>' || code == '&')) ||
	       (s->separators && (code == 0x2028 || code == 0x2029));
}

/* U+FFFD */
#define REPLACEMENT "\xef\xbf\xbd"

/* The longest form of one character: a surrogate pair. */
#define CHARACTER_MAX 12

/* Writes the character at p to `out`. Returns the length written; *ret_used is that read. */
static size_t write_character(const struct ofs_literal_style *s, const unsigned char *p, size_t len,
			      char *out, size_t *ret_used)
{
	int n = ofs_text_utf8(p, len);
	char letter = short_escape(s, *p);
	uint32_t code;

	if (n <= 0 && is_half(p, len)) {
		*ret_used = 3;
		return write_unit(s, code_of(p, 3), out);
	}
	if (n <= 0) { /* file names may contain such bytes, JSON may not */
		*ret_used = 1;
		memcpy(out, REPLACEMENT, strlen(REPLACEMENT));
		return strlen(REPLACEMENT);
	}
	code = code_of(p, n);
	*ret_used = (size_t)n;
	if (letter) {
		out[0] = '\\';
		out[1] = letter;
		return 2;
	}
	if (!is_escaped(s, code)) {
		memcpy(out, p, (size_t)n);
		return (size_t)n;
	}
	if (code < 0x10000)
		return write_unit(s, code, out);
	code -= 0x10000;
	write_unit(s, 0xd800 + (code >> 10), out);
	return 6 + write_unit(s, 0xdc00 + (code & 0x3ff), out + 6);
}

/* A bit for each byte that not every style writes unchanged. */
#define BIT(c) (UINT64_C(1) << ((c)&63))
static const uint64_t special[4] = {
	UINT32_MAX | BIT('"') | BIT('/') | BIT('<') | BIT('>') | BIT('&'),
	BIT('\\') | BIT(0x7f),
	UINT64_MAX,
	UINT64_MAX,
};

/* Returns the number of bytes at the start of `p` that every style writes unchanged. */
static size_t plain_run(const unsigned char *p, size_t len)
{
	size_t n = 0;

	while (n < len && !(special[p[n] >> 6] & BIT(p[n])))
		n++;
	return n;
}

void ofs_literal_encode(const struct ofs_literal_style *style, const void *text, size_t len,
			struct ofs_buf *out)
{
	static const struct ofs_literal_style plain;
	const unsigned char *p = text;

	ofs_buf_append(out, "\"", 1);
	while (len) {
		char one[CHARACTER_MAX];
		size_t used = plain_run(p, len), n;

		if (used) {
			ofs_buf_append(out, p, used);
		} else {
			n = write_character(style ? style : &plain, p, len, one, &used);
			ofs_buf_append(out, one, n);
		}
		p += used;
		len -= used;
	}
	ofs_buf_append(out, "\"", 1);
}

/* ---- finding */

/* Updates the style by one character and its form in a string. */
static void learn(const unsigned char *p, size_t len, const char *form, struct ofs_literal_style *s)
{
	uint32_t code = code_of(p, OFS_MAX(ofs_text_utf8(p, len), 1));
	bool escaped = *form == '\\', hex = escaped && form[1] == 'u';

	if (hex) {
		for (int i = 2; i < 6; i++) {
			if (form[i] > '9')
				s->upper = form[i] < 'a';
		}
	}
	if (*p == '/')
		s->slash = escaped;
	else if (*p == '<' || *p == '>' || *p == '&')
		s->html = escaped;
	else if (*p == 0x7f)
		s->del = escaped;
	else if (*p == '\b' || *p == '\f')
		s->plain_controls = hex;
	else if (code == 0x2028 || code == 0x2029) {
		s->separators = escaped;
		s->ascii = s->ascii && escaped;
	} else if (code >= 0x80 && !is_half(p, len)) /* half a pair has only this form */
		s->ascii = escaped;
}

/*
 * Walks the text and the string in parallel. Returns false where the style yields other bytes. With
 * `learning` the style is first updated by each character.
 */
static bool compare(struct ofs_literal_style *s, const unsigned char *p, size_t len,
		    struct ofs_span string, bool learning)
{
	const char *form = string.p + 1, *end = string.p + string.len - 1;

	while (len && form < end) {
		size_t used = plain_run(p, len), n = used;
		char one[CHARACTER_MAX];
		const char *expected = (const char *)p;

		if (!used) {
			if (learning)
				learn(p, len, form, s);
			n = write_character(s, p, len, one, &used);
			expected = one;
		}
		if ((size_t)(end - form) < n || memcmp(form, expected, n) != 0)
			return false;
		form += n;
		p += used;
		len -= used;
	}
	return !len && form == end;
}

bool ofs_literal_style_find(struct ofs_span string, const void *text, size_t len,
			    struct ofs_literal_style *ret)
{
	struct ofs_literal_style s = *ret;

	/* Most strings have the style of the previous one. */
	if (compare(&s, text, len, string, false))
		return true;
	if (!compare(&s, text, len, string, true) || !compare(&s, text, len, string, false))
		return false;
	*ret = s;
	return true;
}
