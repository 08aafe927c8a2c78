/* SPDX-License-Identifier: MIT */
/* A text's words as BERT has them: the normalizer and the pre-tokenizer before WordPiece. */
#pragma once

#include "base/util.h"

/* What is done to the characters before. */
struct ofs_pretokenizer_rules {
	bool clean; /* controls and invalid bytes are left out */
	bool part_ideographs; /* each Chinese character is a word */
	bool strip_accents;
	bool lower;
};

/* `len` bytes of UTF-8 that are `chars` characters; both at least 1. Nonzero ends the walk. */
typedef int (*ofs_pretoken_fn)(void *arg, const char *word, size_t len, size_t chars);

/*
 * Calls fn() for each word of the first `max_chars` characters: punctuation is a word a character,
 * and ends others, as spaces do.
 */
void ofs_pretokenize(const struct ofs_pretokenizer_rules *rules, const char *text, size_t len,
		     size_t max_chars, ofs_pretoken_fn fn, void *arg);
