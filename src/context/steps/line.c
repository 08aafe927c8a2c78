/* SPDX-License-Identifier: MIT */
#include "context/steps/line.h"

#include <ctype.h>

#include "base/redact.h"
#include "base/text.h"

/* Input bytes read for each character shown; escape sequences and white space use up some. */
#define LINE_SPREAD 8
/* Bytes read after (or before) the part shown, so that no secret is seen only in part. */
#define LINE_AHEAD ((size_t)4096)
#define LINE_MARK "..."
/* The longest word that is left out rather than cut. */
#define LINE_WORD ((size_t)24)
/* Characters of names in templates. */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

/* Returns the length of the white space or line separator (U+2028, U+2029) at p, or 0. */
static size_t blank_at(const char *p, const char *end)
{
	bool is_separator = end - p >= 3 && (memcmp(p, "\xe2\x80\xa8", 3) == 0 ||
					     memcmp(p, "\xe2\x80\xa9", 3) == 0);

	return is_separator ? 3 : isspace((unsigned char)*p) != 0;
}

/* Replaces runs of white space by one blank, trims both ends, and returns the new length. */
static size_t join_lines(char *text, size_t len)
{
	const char *p = text, *end = text + len;
	char *to = text;

	while (p < end) {
		size_t blank = blank_at(p, end);

		if (!blank)
			*to++ = *p++;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
		p += blank;
	}
	while (to > text && to[-1] == ' ')
		to--;
	return (size_t)(to - text);
}

/* Appends all of a text as one line of valid UTF-8 without control characters. */
static void make_line(struct ofs_buf *out, const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf joined = OFS_BUF_INIT;
	struct ofs_text_stream printed;
	OFS_FREE char *plain = NULL;
	size_t used;

	if (!len)
		return;
	ofs_buf_append(&joined, text, len);
	ofs_text_printable(ofs_text_open(&printed), joined.data,
			   join_lines((char *)joined.data, len), false, SIZE_MAX, &used);
	plain = ofs_text_close(&printed);
	/* Dropped escape sequences may leave blanks side by side. */
	ofs_buf_append(out, plain, join_lines(plain, strlen(plain)));
}

static bool is_inside(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t ofs_line_characters(const void *text, size_t len)
{
	const unsigned char *p = text;
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += !is_inside(p[i]);
	return n;
}

/* Returns the offset of character `n`, or `len`. */
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
 * Appends the start or end of a text as a line: the whole text, or somewhat more than `max`
 * characters. Sets *ret_cut to whether the text continues.
 */
static void line_of(struct ofs_buf *out, const char *text, size_t len, size_t max, bool end,
		    bool *ret_cut)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf shown = OFS_BUF_INIT;
	size_t window = OFS_MIN(len, LINE_SPREAD * max + LINE_AHEAD), drop = 0;

	ofs_redact_text(&shown, end ? text + len - window : text, window);
	*ret_cut = window < len;
	/* Drop the part in which a secret may have been cut in two. */
	if (*ret_cut && end) {
		drop = OFS_MIN(shown.len, LINE_AHEAD);
		while (drop < shown.len && is_inside(shown.data[drop]))
			drop++;
	} else if (*ret_cut) {
		shown.len = ofs_redact_cut((char *)shown.data, shown.len,
					   shown.len - OFS_MIN(shown.len, LINE_AHEAD));
	}
	make_line(out, (const char *)shown.data + drop, shown.len - drop);
}

/* Returns the start of the next word if that is near; half a word reads like another word. */
static size_t find_word(const uint8_t *p, size_t len, size_t at)
{
	const uint8_t *blank =
		at && p[at - 1] != ' ' ? memchr(p + at, ' ', OFS_MIN(len - at, LINE_WORD)) : NULL;

	at = blank ? (size_t)(blank - p) : at;
	while (at < len && p[at] == ' ')
		at++;
	return at;
}

static void append(struct ofs_buf *out, const char *text, size_t len, size_t max, bool end)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	size_t room = max - strlen(LINE_MARK), count, from = 0, to;
	bool cut;

	if (!len)
		return;
	line_of(&line, text, len, max, end, &cut);
	to = line.len;
	count = ofs_line_characters(line.data, line.len);
	if (count > (cut ? room : max)) {
		cut = true;
		if (end)
			from = find_character(line.data, line.len, count - room);
		else
			to = find_character(line.data, line.len, room);
	}
	if (end)
		from = find_word(line.data, line.len, from);
	while (to > from && line.data[to - 1] == ' ')
		to--;
	ofs_buf_append_str(out, cut && end ? LINE_MARK : "");
	ofs_buf_append(out, ofs_buf_str(&line) + from, to - from);
	ofs_buf_append_str(out, cut && !end ? LINE_MARK : "");
}

void ofs_line_append(struct ofs_buf *out, const char *text, size_t len, size_t max)
{
	append(out, text, len, max, false);
}

void ofs_line_append_str(struct ofs_buf *out, const char *text, size_t max)
{
	append(out, text, strlen(text), max, false);
}

void ofs_line_append_end(struct ofs_buf *out, const char *text, size_t len, size_t max)
{
	/* Trailing white space would only use up the window. */
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	append(out, text, len, max, true);
}

struct ofs_counted ofs_counted(uint64_t n, const char *noun)
{
	struct ofs_counted ret;
	const char *ending = n == 1 ? "" : noun[strlen(noun) - 1] == 'h' ? "es" : "s";

	snprintf(ret.text, sizeof(ret.text), "%llu %s%s", (unsigned long long)n, noun, ending);
	return ret;
}

json_t *ofs_line_json(const char *text, size_t len, size_t max)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	ofs_line_append(&line, text, len, max);
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

/* ---- templates */

int ofs_template_expand(const char *tpl, ofs_template_fn fn, const void *arg, struct ofs_buf *out)
{
	int missing = 0;

	while (*tpl) {
		size_t plain = strcspn(tpl, "{"), len;

		ofs_buf_append(out, tpl, plain);
		tpl += plain;
		len = *tpl ? strspn(tpl + 1, NAME_CHARACTERS) : 0;
		if (len && tpl[1 + len] == '}') {
			OFS_FREE char *name = ofs_strndup(tpl + 1, len);

			missing += !fn(arg, name, out);
			tpl += len + 2;
		} else if (*tpl) {
			ofs_buf_append(out, tpl++, 1);
		}
	}
	return missing;
}

void ofs_template_size(struct ofs_buf *out, uint64_t bytes)
{
	struct ofs_text_stream text;
	OFS_FREE char *size = NULL;

	ofs_text_size(ofs_text_open(&text), bytes);
	size = ofs_text_close(&text);
	ofs_buf_append_str(out, size);
}

bool ofs_template_scalar(struct ofs_buf *out, const json_t *value, size_t max)
{
	if (json_is_string(value))
		ofs_line_append(out, json_string_value(value), json_string_length(value), max);
	else if (json_is_integer(value))
		ofs_buf_printf(out, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		ofs_buf_printf(out, "%.*g", OFS_LINE_REAL_DIGITS, json_real_value(value));
	else if (json_is_boolean(value))
		ofs_buf_append_str(out, json_is_true(value) ? "true" : "false");
	else
		return false;
	return true;
}
