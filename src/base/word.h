/* SPDX-License-Identifier: MIT */
/* Misspelt words. */
#pragma once

#include "base/util.h"

/*
 * How many letters must be changed, added or left out to make one word of the other; case makes no
 * difference. SIZE_MAX: `right` is longer than a word.
 */
size_t ofs_word_distance(const char *written, const char *right);

/* The word of word(arg, 0), word(arg, 1), ... up to NULL that is likely meant; NULL: none. */
const char *ofs_word_nearest(const char *written, const char *(*word)(const void *arg, size_t n),
			     const void *arg);

/* Text from outside, fit to stand within a message of one line. */
struct ofs_word_shown {
	char text[64];
};
struct ofs_word_shown ofs_word_show(const char *text);
