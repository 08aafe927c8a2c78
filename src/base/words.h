/* SPDX-License-Identifier: MIT */
/*
 * The words of a text, as a search compares them: without case and diacritics, English ones by
 * their stem (Snowball's "english").
 *
 * - A name of several parts (getUserId, get_user_id) is first one word, "getuserid", and then its
 *   parts. Both spellings give the same.
 * - Of scripts that put no blanks between words (Chinese, Japanese, Thai ...) and of Korean, each
 *   two characters that follow each other are a word, and so is the last one alone.
 * - Words of the other scripts are also each three characters of them that follow each other.
 *
 * Escape sequences of a terminal (ESC [31m) are not part of a word.
 */
#pragma once

#include "base/util.h"

#define OFS_WORD_MAX 64 /* bytes; what is longer is cut */

enum ofs_word_kind {
	OFS_WORD_PLAIN,
	OFS_WORD_NAME, /* all of a name of several parts, */
	OFS_WORD_PART, /* one of them */
	OFS_WORD_GRAM /* some characters of a word */
};

struct ofs_word {
	const char *text; /* not terminated; valid during the call */
	size_t len;
	size_t at, end; /* where it stands in the text */
	enum ofs_word_kind kind;
};

/* The stemmer, and what it has been asked before. Of one thread at a time. */
struct ofs_words;

struct ofs_words *ofs_words_create(void);
void ofs_words_destroy(struct ofs_words *w); /* NULL is allowed */

typedef void (*ofs_word_fn)(void *arg, const struct ofs_word *word);

/* Calls `fn` for each word, in the order in which they begin. Invalid UTF-8 parts words. */
void ofs_words_each(struct ofs_words *w, const char *text, size_t len, ofs_word_fn fn, void *arg);

/* The character is of a script that puts no blanks between words, or of Korean. */
bool ofs_words_is_dense(uint32_t c);

/* The word is so frequent in English that it tells little. It has neither case nor stem. */
bool ofs_words_is_common(const char *word, size_t len);
