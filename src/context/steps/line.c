/* SPDX-License-Identifier: MIT */
#include "context/steps/line.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/redact.h"
#include "base/text.h"
#include "base/util.h"

/* What a character may take in the input, with escape sequences and white space, before less is shown. */
#define LINE_SPREAD 8
/* Read behind (or before) what is shown, so that no secret is seen in part alone. */
#define LINE_AHEAD ((size_t)4096)
#define LINE_MARK "..."
/* Bytes of a word that is left out rather than cut. */
#define LINE_WORD ((size_t)24)

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The length of a separator of lines or paragraphs (U+2028, U+2029) at p, or 0. */
static size_t separator(const char *p, const char *end)
{
	return end - p >= 3 && memcmp(p, "\xe2\x80", 2) == 0 &&
			       ((unsigned char)p[2] == 0xa8 || (unsigned char)p[2] == 0xa9)
		       ? 3
		       : 0;
}

/* Makes runs of white space one blank, and none at the ends; returns what is left of the length. */
static size_t join_lines(char *text, size_t len)
{
	const char *p = text, *end = text + len;
	char *to = text;

	while (p < end) {
		size_t sep = separator(p, end);

		if (!sep && !is_space(*p)) {
			*to++ = *p++;
			continue;
		}
		if (to > text && to[-1] != ' ')
			*to++ = ' ';
		p += sep ? sep : 1;
	}
	while (to > text && to[-1] == ' ')
		to--;
	return (size_t)(to - text);
}

/* Appends it as valid UTF-8 without control characters. */
static void append_printable(struct ofs_buf *out, const char *text, size_t len)
{
	OFS_FREE char *printed = NULL;
	struct ofs_text_stream s;
	size_t used;

	ofs_text_printable(ofs_text_open(&s), text, len, false, SIZE_MAX, &used);
	printed = ofs_text_close(&s);
	ofs_buf_append(out, printed, s.len);
}

/* All of a text on one line. */
static void make_line(struct ofs_buf *out, const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf joined = OFS_BUF_INIT, plain = OFS_BUF_INIT;

	if (!len)
		return;
	ofs_buf_append(&joined, text, len);
	append_printable(&plain, (char *)joined.data, join_lines((char *)joined.data, len));
	if (!plain.len)
		return;
	/* Without the escape sequences there may be blanks side by side. */
	ofs_buf_append(out, plain.data, join_lines((char *)plain.data, plain.len));
}

static bool is_inside(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

static size_t count_characters(const uint8_t *p, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += !is_inside(p[i]);
	return n;
}

/* Where character `n` begins. */
static size_t find_character(const uint8_t *p, size_t len, size_t n)
{
	size_t i = 0;

	for (; i < len; i++) {
		if (!is_inside(p[i]) && n-- == 0)
			break;
	}
	return i;
}

/*
 * The line of the begin or end of a text, whole or somewhat longer than `max` characters; `ret_cut`: there
 * is more of the text.
 */
static void line_of(struct ofs_buf *out, const char *text, size_t len, size_t max, bool end,
		    bool *ret_cut)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf shown = OFS_BUF_INIT;
	size_t window = OFS_MIN(len, LINE_SPREAD * max + LINE_AHEAD), drop;

	/* Every text from a tool passes here, before it is cut. */
	ofs_redact_text(&shown, end ? text + len - window : text, window);
	*ret_cut = window < len;
	/* A secret that the window cuts in two is in what is dropped. */
	drop = *ret_cut ? OFS_MIN(shown.len, LINE_AHEAD) : 0;
	if (!end) {
		shown.len -= drop;
		while (drop && shown.len && is_inside(shown.data[shown.len - 1]))
			shown.len--;
		if (drop && shown.len && shown.data[shown.len - 1] >= 0x80)
			shown.len--;
		drop = 0;
	}
	while (drop && drop < shown.len && is_inside(shown.data[drop]))
		drop++;
	make_line(out, (const char *)shown.data + drop, shown.len - drop);
}

int ofs_line_append(struct ofs_buf *out, const char *text, size_t len, size_t max)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	size_t mark = strlen(LINE_MARK), keep;
	bool cut;

	if (!len)
		return 0;
	line_of(&line, text, len, max, false, &cut);
	if (count_characters(line.data, line.len) + (cut ? mark : 0) <= max) {
		ofs_buf_append(out, line.data, line.len);
		if (cut)
			ofs_buf_append_str(out, LINE_MARK);
		return 0;
	}
	keep = find_character(line.data, line.len, max - mark);
	while (keep && line.data[keep - 1] == ' ')
		keep--;
	ofs_buf_append(out, line.data, keep);
	ofs_buf_append_str(out, LINE_MARK);
	return 0;
}

/* Where the next word begins, if that is near: half a word reads as another. */
static size_t find_word(const uint8_t *p, size_t len, size_t at)
{
	const uint8_t *blank =
		at && p[at - 1] != ' ' ? memchr(p + at, ' ', OFS_MIN(len - at, LINE_WORD)) : NULL;

	at = blank ? (size_t)(blank - p) : at;
	while (at < len && p[at] == ' ')
		at++;
	return at;
}

int ofs_line_append_end(struct ofs_buf *out, const char *text, size_t len, size_t max)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	size_t mark = strlen(LINE_MARK), count, skip = 0;
	bool cut;

	/* White space at the end would only use up the window. */
	while (len && is_space(text[len - 1]))
		len--;
	if (!len)
		return 0;
	line_of(&line, text, len, max, true, &cut);
	count = count_characters(line.data, line.len);
	if (count + (cut ? mark : 0) > max) {
		skip = find_character(line.data, line.len, count - (max - mark));
		cut = true;
	}
	skip = find_word(line.data, line.len, skip);
	if (cut)
		ofs_buf_append_str(out, LINE_MARK);
	ofs_buf_append(out, line.data + skip, line.len - skip);
	return 0;
}

json_t *ofs_line_json(const char *text, size_t len, size_t max)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	if (ofs_line_append(&line, text, len, max) < 0)
		return NULL;
	return json_stringn(line.len ? (char *)line.data : "", line.len);
}

json_t *ofs_line_json_whole(const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf shown = OFS_BUF_INIT, out = OFS_BUF_INIT;
	const char *p, *end;

	ofs_redact_text(&shown, text, len);
	p = (char *)shown.data;
	end = p + shown.len;
	while (p < end) {
		int n = ofs_text_utf8((const unsigned char *)p, (size_t)(end - p));

		if (n > 0)
			ofs_buf_append(&out, p, (size_t)n);
		else
			ofs_buf_printf(&out, "\\x%02x", (unsigned char)*p);
		p += OFS_MAX(n, 1);
	}
	return json_stringn(out.len ? (char *)out.data : "", out.len);
}
