/* SPDX-License-Identifier: MIT */
/*
 * What people and models write to each other, taken apart into sentences by rule, and made into lines. Only ASCII
 * letters have a case here, whatever the locale.
 */
#ifndef OFS_CONTEXT_SNAPSHOT_PROSE_H
#define OFS_CONTEXT_SNAPSHOT_PROSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* How telling a sentence is; 0: not at all. */
enum {
	OFS_PROSE_INTENDS = 1, /* what is about to be done */
	OFS_PROSE_FINDS, /* what was seen or chosen */
	OFS_PROSE_DECIDES, /* a cause, a result, a decision */
};

struct ofs_sentence {
	const char *p;
	size_t len;
	bool asks; /* it ends with a question mark, or waits for an answer in other words */
	bool offers; /* it is said out of politeness: "feel free to ..." */
	bool numbered; /* it begins an item of a numbered list */
	unsigned decides; /* as above */
	bool remains; /* it says what is still to be done */
	bool requests; /* it wants something done */
};

/* Going through a text; code blocks and commands within tags are left out. */
struct ofs_prose {
	const char *p;
	const char *end;
};

struct ofs_prose ofs_prose_enter(const char *text, size_t len);

/* The next sentence; it has at least one letter or digit. False: there is none. */
bool ofs_prose_next(struct ofs_prose *prose, struct ofs_sentence *ret);

/*
 * Appends a text as one line of at most `max` characters: white space is one blank, terminal escapes, controls, what is
 * not UTF-8 and marks of lists and headings at its start are dropped. What is longer is cut between words and
 * ends with "...". 0 or -ENOMEM.
 */
void ofs_prose_line(const char *text, size_t len, size_t max, struct ofs_buf *out);

/* Whether a text is one line already: valid UTF-8 without controls and what cannot be seen. */
bool ofs_prose_is_line(const char *text, size_t len);

/* Where `word` (in lower case) stands in a text in any case; NULL: nowhere. */
const char *ofs_prose_find(const char *text, size_t len, const char *word);

/* Whether a text begins with `word` (in lower case), in any case and not within a longer word. */
bool ofs_prose_begins(const char *text, size_t len, const char *word);

static inline char ofs_prose_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

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

#endif
