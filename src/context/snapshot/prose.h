/* SPDX-License-Identifier: MIT */
/* Turns text of people and programs into single lines. */
#pragma once

#include "base/buf.h"

/*
 * Appends a text as one line of at most `max` characters. White space becomes single blanks;
 * terminal escapes, control characters, invalid UTF-8 and marks of lists and headings at the start
 * are dropped. Longer text is cut between words, and "..." is appended.
 */
void ofs_prose_line(const char *text, size_t len, size_t max, struct ofs_buf *out);

/*
 * As ofs_prose_line(), but for an argument or a command, whose characters are no Markdown. Longer
 * text is cut in the middle, at `max` bytes.
 */
void ofs_prose_argument(const char *text, size_t len, size_t max, struct ofs_buf *out);

/* Returns whether a text is one line of valid UTF-8 without control or invisible characters. */
bool ofs_prose_is_line(const char *text, size_t len);

static inline bool ofs_prose_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns whether a byte belongs to a word: letters, digits, and all non-ASCII bytes. */
static inline bool ofs_prose_is_word(char c)
{
	unsigned char u = (unsigned char)c;

	return (unsigned char)((u | 0x20) - 'a') < 26 || (unsigned char)(u - '0') < 10 || u >= 0x80;
}

static inline bool ofs_prose_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
