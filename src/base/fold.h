/* SPDX-License-Identifier: MIT */
/* Text without case and diacritics, as it is compared in a search. */
#pragma once

#include "base/text.h"
#include "base/util.h"

/*
 * Reads one character; returns its length in bytes, at least 1 where `len` is. A byte that starts
 * no valid UTF-8 is one character: *ret is OFS_FOLD_INVALID then.
 */
#define OFS_FOLD_INVALID UINT32_MAX
size_t ofs_fold_decode(const char *text, size_t len, uint32_t *ret);

/* A character without case and diacritics; 0: it is dropped, as a diacritic of its own is. */
uint32_t ofs_fold_char(uint32_t c);

bool ofs_fold_is_capital(uint32_t c);

/* It stands on the letter before it. */
static inline bool ofs_fold_is_diacritic(uint32_t c)
{
	return c >= 0x300 && c <= 0x36f;
}

/*
 * Folds `text` into `out`, which has room for `len` bytes; returns how many it took. Line ends
 * stay, as do invalid bytes. Equal texts but for case and the diacritics of Latin letters fold to
 * the same.
 */
size_t ofs_fold(const char *text, size_t len, char *out);

/* Where in `text` the byte `at` of its folded form comes from. */
size_t ofs_fold_source(const char *text, size_t len, size_t at);

/*
 * Words are made of it; all that is not ASCII counts. `_` is not a part of a word, but of a name:
 * that is ofs_fold_is_name().
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

/* A control character, or one that makes a line look as what it is not. */
static inline bool ofs_fold_is_control(uint32_t c)
{
	return c < ' ' || ofs_text_deceives(c);
}
