/* SPDX-License-Identifier: MIT */
#include "context/snapshot/prose.h"

#include "base/text.h"

#define CUT "..."
#define ESC 0x1b
#define BEL 0x07

/* Returns the length of the terminal escape at p; without an end it ends with the line. */
static size_t escape_length(const unsigned char *p, size_t len)
{
	size_t n = 2;

	if (len < 2)
		return len;
	if (p[1] == '[') {
		while (n < len && p[n] >= 0x20 && p[n] < 0x40)
			n++;
		return OFS_MIN(n + 1, len);
	}
	if (p[1] != ']' && p[1] != 'P' && p[1] != '_' && p[1] != '^')
		return n;
	while (n < len && p[n] != BEL && p[n] != ESC && p[n] != '\n')
		n++;
	if (n < len && p[n] == ESC)
		n++;
	return n < len && p[n] != '\n' ? n + 1 : n;
}

/* Returns whether a character is invisible, or may change how others are displayed. */
static bool is_hidden(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || ofs_text_is_hidden(c);
}

/* A line being written. */
struct line {
	struct ofs_buf *out;
	size_t start; /* in `out` */
	size_t chars;
	size_t max;
	size_t room; /* length of `out` up to which "..." still fits */
	size_t word; /* length of `out` after the last word before which "..." still fits */
	bool blank; /* a blank goes before the next character */
	bool verbatim; /* not Markdown */
};

/* Appends a character, after a blank if one is due. Returns false if it does not fit. */
static bool put_char(struct line *l, const void *p, size_t n)
{
	size_t width = 1 + (l->blank && l->out->len > l->start);

	if (l->chars + width > l->max)
		return false;
	ofs_buf_reserve(l->out, n + 1);
	if (width > 1) {
		if (l->chars + sizeof(CUT) - 1 <= l->max)
			l->word = l->out->len;
		l->out->data[l->out->len++] = ' ';
	}
	l->blank = false;
	memcpy(l->out->data + l->out->len, p, n);
	l->out->len += n;
	l->chars += width;
	if (l->chars + sizeof(CUT) - 1 <= l->max)
		l->room = l->out->len;
	return true;
}

static void cut_line(struct line *l)
{
	/* Cut at a word, unless that would drop most of the line. */
	if (l->word > l->start && (l->word - l->start) * 2 > l->room - l->start)
		l->out->len = l->word;
	else
		l->out->len = l->room;
	ofs_buf_append(l->out, CUT, OFS_MIN(sizeof(CUT) - 1, l->max));
}

/* Returns where the text starts after marks of lists, quotes and headings. */
static size_t skip_marks(const char *text, size_t len)
{
	size_t i = 0, n;

	for (;;) {
		while (i < len && ofs_prose_is_blank(text[i]))
			i++;
		for (n = i; n < len && strchr("#>*-+", text[n]) && text[n]; n++)
			;
		if (n == i || n == len || text[n] != ' ')
			return i;
		i = n;
	}
}

/* Appends letters and digits as long as "..." fits after them. Returns their number. */
static size_t take_plain(struct line *l, const unsigned char *p, size_t len)
{
	size_t n = 0, room = l->max - l->chars;

	if (l->blank || room < sizeof(CUT))
		return 0;
	len = OFS_MIN(len, room - sizeof(CUT) + 1);
	while (n < len && p[n] < 0x80 && ofs_prose_is_word((char)p[n]))
		n++;
	if (!n)
		return 0;
	ofs_buf_append(l->out, p, n);
	l->chars += n;
	l->room = l->out->len;
	return n;
}

/* Appends some characters, or a substitute. Returns the bytes read, or 0 if they do not fit. */
static size_t take_char(struct line *l, const unsigned char *p, size_t len)
{
	size_t plain = take_plain(l, p, len);
	int n;

	if (plain)
		return plain;

	if (!l->verbatim && *p == ']' && len > 6 && memcmp(p, "](http", 6) == 0) {
		const unsigned char *close = memchr(p, ')', len);

		if (close && put_char(l, p, 1))
			return (size_t)(close + 1 - p);
	}
	if (*p >= 0x20 && *p < 0x7f && *p != ' ' && *p != '*')
		return put_char(l, p, 1) ? 1 : 0;
	if (*p == ' ' || ofs_prose_is_blank((char)*p) || *p == '\v' || *p == '\f') {
		l->blank = true;
		return 1;
	}
	if (*p == '*') {
		if (!l->verbatim && len > 1 && p[1] == '*')
			return 2; /* emphasis */
		return put_char(l, p, 1) ? 1 : 0;
	}
	if (*p == ESC)
		return escape_length(p, len);
	n = ofs_text_utf8(p, len);
	if (n <= 0)
		return 1;
	if (ofs_text_code_point(p, n) == 0x2028 || ofs_text_code_point(p, n) == 0x2029)
		l->blank = true;
	else if (!is_hidden(ofs_text_code_point(p, n)))
		return put_char(l, p, (size_t)n) ? (size_t)n : 0;
	return (size_t)n;
}

static void take_line(struct line *l, const char *text, size_t len)
{
	size_t n;

	l->start = l->room = l->word = l->out->len;
	ofs_buf_reserve(l->out, OFS_MIN(len, l->max) + sizeof(CUT));
	for (size_t i = 0; i < len; i += n) {
		n = take_char(l, (const unsigned char *)text + i, len - i);
		if (n == 0) {
			cut_line(l);
			return;
		}
	}
}

void ofs_prose_line(const char *text, size_t len, size_t max, struct ofs_buf *out)
{
	struct line l = { .out = out, .max = max };
	size_t marks = skip_marks(text, len);

	take_line(&l, text + marks, len - marks);
}

void ofs_prose_argument(const char *text, size_t len, size_t max, struct ofs_buf *out)
{
	struct line l = { .out = out, .max = SIZE_MAX, .verbatim = true };
	size_t start = out->len, head, tail;

	take_line(&l, text, len);
	if (out->len - start <= max)
		return;
	head = ofs_text_middle((char *)out->data + start, out->len - start, max, &tail);
	memmove(out->data + start + head + 3, out->data + start + tail, out->len - start - tail);
	memcpy(out->data + start + head, CUT, 3);
	out->len -= tail - head - 3;
}

bool ofs_prose_is_line(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < len;) {
		int n = ofs_text_utf8(p + i, len - i);

		if (n <= 0 || is_hidden(ofs_text_code_point(p + i, n)) ||
		    ofs_text_code_point(p + i, n) == 0x2028 ||
		    ofs_text_code_point(p + i, n) == 0x2029)
			return false;
		i += (size_t)n;
	}
	return true;
}
