/* SPDX-License-Identifier: MIT */
/*
 * Splits text into words for searching: without case and diacritics, English words reduced to their
 * stem (Snowball's "english").
 *
 * - A name of several parts (getUserId, get_user_id) is one word, "getuserid", followed by its
 *   parts. Both spellings give the same words.
 * - In Korean and in scripts without blanks between words (Chinese, Japanese, Thai ...), each two
 *   consecutive characters are a word, and so is the last character alone.
 * - In any other script except Latin, each three consecutive characters of a word are also a word.
 *
 * Terminal escape sequences (ESC [31m) are not part of any word.
 */
#pragma once

#include "base/util.h"

#define OFS_WORD_MAX 64 /* bytes; longer words are cut */

enum ofs_word_kind {
	OFS_WORD_PLAIN,
	OFS_WORD_NAME, /* a whole name of several parts */
	OFS_WORD_PART, /* one part of a name */
	OFS_WORD_GRAM /* consecutive characters of a word */
};

struct ofs_word {
	const char *text; /* not NUL-terminated; valid during the call */
	size_t len;
	size_t at, end; /* its byte range in the text */
	enum ofs_word_kind kind;
};

/* A stemmer and its cache of stems. For one thread at a time. */
struct ofs_words;

struct ofs_words *ofs_words_create(void);
void ofs_words_destroy(struct ofs_words *w); /* accepts NULL */

typedef void (*ofs_word_fn)(void *arg, const struct ofs_word *word);

/* Calls `fn` for each word, in order of their starts. Invalid UTF-8 separates words. */
void ofs_words_each(struct ofs_words *w, const char *text, size_t len, ofs_word_fn fn, void *arg);

/* True for a character of Korean or of a script without blanks between words. */
bool ofs_words_is_dense(uint32_t c);

/* True for a character that is in no word: a blank, punctuation, a symbol, OFS_FOLD_INVALID. */
bool ofs_words_separates(uint32_t c);

/* True for an English word too frequent to be significant. `word` is folded, but not stemmed. */
bool ofs_words_is_common(const char *word, size_t len);
