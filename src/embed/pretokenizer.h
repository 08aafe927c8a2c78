/* SPDX-License-Identifier: MIT */
/* BERT's normalizer and pre-tokenizer, the steps before WordPiece: splits a text into words. */
#pragma once

#include "base/util.h"

/* The normalizer's options. */
struct ofs_pretokenizer_rules {
	bool clean; /* drops control characters and invalid bytes */
	bool part_ideographs; /* makes each Chinese character a word */
	bool strip_accents;
	bool lower;
};

/* `len` is in bytes, `chars` in characters; both are at least 1. Nonzero ends the walk. */
typedef int (*ofs_pretoken_fn)(void *arg, const char *word, size_t len, size_t chars);

/*
 * Calls fn() for each word of the first `max_chars` characters. Spaces separate words, and each
 * punctuation character is a word of its own.
 */
void ofs_pretokenize(const struct ofs_pretokenizer_rules *rules, const char *text, size_t len,
		     size_t max_chars, ofs_pretoken_fn fn, void *arg);
