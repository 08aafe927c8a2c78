/* SPDX-License-Identifier: MIT */
/* Folds text for searching: removes case and diacritics. */
#pragma once

#include "base/text.h"
#include "base/util.h"

/*
 * Sets *ret to the first character and returns its length in bytes, at least 1. A byte that starts
 * no valid UTF-8 sequence counts as a character: *ret is then OFS_FOLD_INVALID. `len` is not 0.
 */
#define OFS_FOLD_INVALID UINT32_MAX
size_t ofs_fold_decode(const char *text, size_t len, uint32_t *ret);

/* Returns the character without case and diacritics, or 0 for a combining diacritic. */
uint32_t ofs_fold_char(uint32_t c);

bool ofs_fold_is_capital(uint32_t c);

/* A combining diacritic, which modifies the letter before it. */
static inline bool ofs_fold_is_diacritic(uint32_t c)
{
	return c >= 0x300 && c <= 0x36f;
}

/*
 * Folds `text` into `out`, which has room for `len` bytes, and returns the number of bytes written.
 * Line ends and invalid bytes stay as they are. Texts that differ only in case and in diacritics of
 * Latin letters fold to the same bytes.
 */
size_t ofs_fold(const char *text, size_t len, char *out);

/* Maps the offset `at` in the folded form back to an offset in `text`. */
size_t ofs_fold_source(const char *text, size_t len, size_t at);

/*
 * A byte of a word: an ASCII letter or digit, or any byte outside ASCII. `_` belongs to names, not
 * to words: see ofs_fold_is_name().
 */
static inline bool ofs_fold_is_word(char c)
{
	unsigned char u = (unsigned char)c;

	return (u >= 'a' && u <= 'z') || (u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') ||
	       u >= 0x80;
}

static inline bool ofs_fold_is_name(char c)
{
	return c == '_' || ofs_fold_is_word(c);
}

/* A control character, or one that misrepresents the line that it is in. */
static inline bool ofs_fold_is_control(uint32_t c)
{
	return c < ' ' || ofs_text_deceives(c);
}
