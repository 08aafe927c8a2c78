/* SPDX-License-Identifier: MIT */
/* What tokenizers have to know of characters; of those after U+FFFF only what is said here. */
#pragma once

#include "base/util.h"

/* Categories P*, and the symbols of ASCII. */
bool ofs_unicode_is_punctuation(uint32_t c);

bool ofs_unicode_is_space(uint32_t c);

/* Categories Cc (tabs and line breaks, too), Cf and Co. */
bool ofs_unicode_is_control(uint32_t c);

/* Category Mn: accents and other marks over or under a character. */
bool ofs_unicode_is_mark(uint32_t c);

/* A Chinese character, also after U+FFFF. */
bool ofs_unicode_is_ideograph(uint32_t c);

/* The lower case if that is a single character, or `c` itself. */
uint32_t ofs_unicode_lower(uint32_t c);

#define OFS_UNICODE_BASES 3

/*
 * What remains of a character without its accents; a syllable of Hangul becomes its letters. The
 * count: 0 of a mark.
 */
size_t ofs_unicode_bases(uint32_t c, uint32_t ret[OFS_UNICODE_BASES]);
