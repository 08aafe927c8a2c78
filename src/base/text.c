/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <ctype.h>
#include <jansson.h>
#include <time.h>

#include "base/clock.h"

#define ESC OFS_TEXT_ESC
#define ESCAPE_MAX 24 /* bytes of a sequence that sets colours */
#define DEL 0x7f
#define READABLE_MAX \
	8192 /* bytes; an attribute holds 64 KiB, and JSON may need six bytes for one */

FILE *ofs_text_open(struct ofs_text_stream *s)
{
	*s = (struct ofs_text_stream){ 0 };
	s->out = open_memstream(&s->text, &s->len);
	if (!s->out)
		ofs_out_of_memory();
	return s->out;
}

char *ofs_text_close(struct ofs_text_stream *s)
{
	if (fclose(s->out) != 0)
		ofs_out_of_memory();
	return s->text;
}

/* ---- numbers */

void ofs_text_number(FILE *out, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			putc(',', out);
		putc(digits[i], out);
	}
}

void ofs_text_count(FILE *out, uint64_t n, const char *noun)
{
	ofs_text_number(out, n);
	fprintf(out, " %s%s", noun, n == 1 ? "" : "s");
}

void ofs_text_size(FILE *out, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes / 1000;
	size_t i = 0;

	if (bytes < 1000) {
		ofs_text_count(out, bytes, "byte");
		return;
	}
	/* A value that would print as 1000.0 takes the next unit. */
	for (; value >= 999.95 && units[i + 1]; i++)
		value /= 1000;
	fprintf(out, "%.1f %cB", value, units[i]);
}

int ofs_text_time(int64_t ns, struct ofs_buf *out)
{
	time_t seconds = (time_t)(ns / OFS_NS_PER_S) - (ns % OFS_NS_PER_S < 0);
	char text[40];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return -ERANGE;
	ofs_buf_append_str(out, text);
	return 0;
}

void ofs_text_duration(int64_t ns, struct ofs_buf *out)
{
	static const struct {
		int64_t seconds;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	int64_t seconds = ns / OFS_NS_PER_S;
	size_t i = 0;

	while (i + 1 < OFS_ARRAY_SIZE(units) && seconds < units[i].seconds)
		i++;
	ofs_buf_printf(out, "%lld%c", (long long)(seconds / units[i].seconds), units[i].unit);
	seconds %= units[i].seconds;
	if (i + 1 == OFS_ARRAY_SIZE(units) || seconds < units[i + 1].seconds)
		return;
	ofs_buf_printf(out, " %lld%c", (long long)(seconds / units[i + 1].seconds),
		       units[i + 1].unit);
}

/* ---- shell words */

void ofs_text_shell_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=./:,@%";

	if (*word && strspn(word, plain) == strlen(word)) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	}
	putc('\'', out);
}

char *ofs_text_command(const char *const argv[])
{
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	for (int i = 0; argv[i]; i++) {
		if (i)
			putc(' ', out);
		ofs_text_shell_word(out, argv[i]);
	}
	return ofs_text_close(&s);
}

/* ---- untrusted text */

uint64_t ofs_text_newlines(const void *text, size_t len)
{
	const char *p = text, *end = p + len;
	uint64_t n = 0;

	for (; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
		n++;
	return n;
}

int ofs_text_utf8(const unsigned char *p, size_t len)
{
	unsigned int min;
	uint32_t code;
	int n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		n = 2;
		code = p[0] & 0x1f;
		min = 0x80;
	} else if ((p[0] & 0xf0) == 0xe0) {
		n = 3;
		code = p[0] & 0x0f;
		min = 0x800;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		n = 4;
		code = p[0] & 0x07;
		min = 0x10000;
	} else {
		return 0;
	}
	for (int i = 1; i < n; i++) {
		if ((size_t)i == len)
			return -1;
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < min || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return n;
}

size_t ofs_text_utf8_prefix(const char *text, size_t len)
{
	size_t i = 0;
	int n;

	while (i < len && (n = ofs_text_utf8((const unsigned char *)text + i, len - i)) > 0)
		i += (size_t)n;
	return i;
}

bool ofs_text_is_utf8(const char *text)
{
	size_t len = strlen(text);

	return ofs_text_utf8_prefix(text, len) == len;
}

bool ofs_text_is_line(const char *text)
{
	bool plain = ofs_text_is_utf8(text);

	for (; plain && *text; text++)
		plain = (unsigned char)*text >= ' ' && *text != DEL;
	return plain;
}

char *ofs_text_readable(const char *text)
{
	struct ofs_buf out = OFS_BUF_INIT;
	size_t len = strlen(text);
	const unsigned char *p;

	if (len <= READABLE_MAX && ofs_text_is_utf8(text))
		return ofs_strdup(text);
	for (p = (const unsigned char *)text; *p && out.len < READABLE_MAX; p++)
		ofs_buf_printf(&out, *p < 0x80 ? "%c" : "\\x%02x", *p);
	if (*p)
		ofs_buf_append_str(&out, "...");
	ofs_buf_append(&out, "", 1);
	return (char *)out.data;
}

int ofs_text_escape(const void *at, size_t len)
{
	const unsigned char *p = at;
	size_t i;

	if (p[0] != ESC)
		return 0;
	if (len < 2)
		return -1;
	if (p[1] == '[') { /* CSI: parameters, then a final byte */
		for (i = 2; i < len && p[i] >= 0x20 && p[i] <= 0x3f; i++)
			;
		if (i == len)
			return -1;
		return p[i] >= 0x40 && p[i] <= 0x7e ? (int)i + 1 : 0;
	}
	/* OSC, DCS, SOS, PM and APC: a string that ends with ESC \, an OSC also with BEL */
	if (p[1] == ']' || p[1] == 'P' || p[1] == 'X' || p[1] == '^' || p[1] == '_') {
		for (i = 2; i < len; i++) {
			if (p[i] == '\a' && p[1] == ']')
				return (int)i + 1;
			if (p[i] == ESC)
				return i + 1 == len ? -1 : p[i + 1] == '\\' ? (int)i + 2 : 0;
		}
		return -1;
	}
	/* intermediates, a final byte */
	for (i = 1; i < len && p[i] >= 0x20 && p[i] <= 0x2f; i++)
		;
	if (i == len)
		return -1;
	return p[i] >= 0x30 && p[i] <= 0x7e ? (int)i + 1 : 0;
}

bool ofs_text_ends_escape(const char *text, size_t at)
{
	size_t len = OFS_MIN(at, (size_t)ESCAPE_MAX);
	const char *esc = len ? memrchr(text + at - len, ESC, len) : NULL;

	len = esc ? (size_t)(text + at - esc) : 0;
	return len > 2 && esc[1] == '[' && ofs_text_escape(esc, len) == (int)len;
}

uint32_t ofs_text_code_point(const unsigned char *p, int n)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = p[0] & masks[n];

	for (int i = 1; i < n; i++)
		code = code << 6 | (p[i] & 0x3fu);
	return code;
}

bool ofs_text_is_hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{ 0xad, 0xad },	      { 0x34f, 0x34f },	    { 0x61c, 0x61c },
		{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
		{ 0x200b, 0x200f },   { 0x202a, 0x202e },   { 0x2060, 0x206f },
		{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};
	size_t i;

	for (i = 0; i < OFS_ARRAY_SIZE(hidden) && c > hidden[i].last; i++)
		;
	return i < OFS_ARRAY_SIZE(hidden) && c >= hidden[i].first;
}

bool ofs_text_deceives(uint32_t c)
{
	return (c >= DEL && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
	       (c >= 0xe0000 && c < 0xe0080);
}

/* Writes a visible form of the character of `n` bytes (0: invalid) to `ret`; returns its length. */
static size_t text_symbol(const unsigned char *p, int n, char ret[16])
{
	if (n == 0 || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)) { /* invalid, or a C1 control */
		size_t len = 0;

		for (int i = 0; i < OFS_MAX(n, 1); i++)
			len += (size_t)sprintf(ret + len, "\\x%02x", p[i]);
		return n == 2 ? 8 : 4;
	}
	if ((n == 1 && p[0] < 0x20 && p[0] != '\t') || p[0] == DEL) {
		ret[0] = '^';
		ret[1] = (char)(p[0] ^ 0x40);
		return 2;
	}
	if (ofs_text_deceives(ofs_text_code_point(p, n)))
		return (size_t)sprintf(ret, "<U+%04X>", ofs_text_code_point(p, n));
	memcpy(ret, p, (size_t)n);
	return (size_t)n;
}

size_t ofs_text_printable(FILE *out, const void *data, size_t len, bool more, size_t max,
			  size_t *ret_used)
{
	const unsigned char *p = data;
	size_t used = 0, printed = 0;

	while (used < len) {
		char symbol[16];
		size_t size;
		int n = ofs_text_escape(p + used, len - used);

		if (n > 0) {
			used += (size_t)n;
			continue;
		}
		if (n < 0 && more)
			break;
		n = ofs_text_utf8(p + used, len - used);
		if (n < 0 && more)
			break;
		size = text_symbol(p + used, OFS_MAX(n, 0), symbol);
		if (printed + size > max)
			break;
		if (out)
			fwrite(symbol, 1, size, out);
		printed += size;
		used += (size_t)OFS_MAX(n, 1);
	}
	*ret_used = used;
	return printed;
}

void ofs_text_line(FILE *out, const char *text)
{
	size_t used;

	ofs_text_printable(out, text, strlen(text), false, SIZE_MAX, &used);
}

char *ofs_text_shown(const char *text)
{
	struct ofs_text_stream s;

	ofs_text_line(ofs_text_open(&s), text);
	return ofs_text_close(&s);
}

#define WORD_MAX 31

/*
 * Returns how many letters must be changed, added or removed to turn one word into the other,
 * ignoring case; SIZE_MAX if `right` is too long.
 */
static size_t word_distance(const char *written, const char *right)
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
		size_t n = word_distance(written, right);

		if (n < least && n <= strlen(right) / 4) {
			least = n;
			nearest = right;
		}
	}
	return nearest;
}

json_t *ofs_json_time(int64_t ns)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (ofs_text_time(ns, &text) < 0)
		return json_null();
	return json_stringn((const char *)text.data, text.len);
}

/* Returns the start of the character that contains the byte at `at`. */
static size_t character_start(const char *text, size_t at)
{
	while (at && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

size_t ofs_text_middle(const char *text, size_t len, size_t max, size_t *ret_tail)
{
	size_t room = max - OFS_MIN(max, (size_t)3), tail = len - OFS_MIN(room - room / 3, len);

	while (tail < len && ((unsigned char)text[tail] & 0xc0) == 0x80)
		tail++;
	*ret_tail = tail;
	return character_start(text, OFS_MIN(room / 3, len));
}
