/* SPDX-License-Identifier: MIT */
/* Properties of characters that tokenizers need; above U+FFFF only where a function says so. */
#pragma once

#include "base/util.h"

/* Categories P*, and the symbols of ASCII. */
bool ofs_unicode_is_punctuation(uint32_t c);

bool ofs_unicode_is_space(uint32_t c);

/* Categories Cc (including tabs and line breaks), Cf and Co. */
bool ofs_unicode_is_control(uint32_t c);

/* Category Mn: accents and other combining marks. */
bool ofs_unicode_is_mark(uint32_t c);

/* Chinese characters, including those above U+FFFF. */
bool ofs_unicode_is_ideograph(uint32_t c);

/* The lower case of `c`, or `c` itself if there is none or it is more than one character. */
uint32_t ofs_unicode_lower(uint32_t c);

#define OFS_UNICODE_BASES 3

/*
 * Sets `ret` to the character without its accents, or to the letters of a Hangul syllable. Returns
 * the number of characters; 0 for a mark.
 */
size_t ofs_unicode_bases(uint32_t c, uint32_t ret[OFS_UNICODE_BASES]);
