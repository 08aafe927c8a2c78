/* SPDX-License-Identifier: MIT */
/* Text of people and programs, made into lines. */
#pragma once

#include "base/buf.h"

/*
 * Appends a text as one line of at most `max` characters: white space is one blank, terminal
 * escapes, controls, what is not UTF-8 and marks of lists and headings at its start are dropped.
 * Longer text is cut between words and ends with "...".
 */
void ofs_prose_line(const char *text, size_t len, size_t max, struct ofs_buf *out);

/*
 * The same of an argument or a command, in which no character is a mark of Markdown. Longer text is
 * cut in its middle.
 */
void ofs_prose_argument(const char *text, size_t len, size_t max, struct ofs_buf *out);

/* True if a text is one line already: valid UTF-8 without controls and what cannot be seen. */
bool ofs_prose_is_line(const char *text, size_t len);

static inline bool ofs_prose_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Letters and digits; all that is not ASCII counts. */
static inline bool ofs_prose_is_word(char c)
{
	unsigned char u = (unsigned char)c;

	return (unsigned char)((u | 0x20) - 'a') < 26 || (unsigned char)(u - '0') < 10 || u >= 0x80;
}

static inline bool ofs_prose_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
