/* SPDX-License-Identifier: MIT */
/*
 * Estimates how many tokens a language model's tokenizer makes of a text, without a model or a
 * vocabulary. A text may hold any bytes. The result is the same on every machine.
 */
#pragma once

#include "base/util.h"

/* A count in progress. The fields are private to tokens.c. It owns nothing and may be copied. */
struct ofs_tokens {
	uint64_t cost; /* cost of all characters so far, in thousandths of a token */
	uint8_t piece; /* kind of the current piece */
	uint8_t script; /* script of a piece outside ASCII */
	uint8_t at; /* characters of the piece so far, capped */
	uint8_t last; /* the last character: an ASCII byte, or a stand-in for others */
	uint8_t begun; /* 1 once there was a byte */
	uint8_t missing; /* bytes still missing of the current character */
	uint8_t low, high; /* range of its next byte */
	uint32_t code; /* bits of its code point so far */
};

/* Starts counting a text. */
void ofs_tokens_init(struct ofs_tokens *t);

/* Counts the next bytes of the text. How it is split into calls does not matter. */
void ofs_tokens_add(struct ofs_tokens *t, const void *data, size_t len);

/*
 * Returns the tokens of all bytes so far, at least 1 if there are any. Never falls as bytes are
 * added. An unfinished character at the end is not counted yet.
 */
uint64_t ofs_tokens_total(const struct ofs_tokens *t);

/* Returns the tokens of a whole text. */
uint64_t ofs_tokens_count(const void *data, size_t len);

/* Bytes of a long text from which its tokens are estimated. */
#define OFS_TOKENS_SAMPLE ((size_t)256 << 10)

/* Estimates the tokens of `size` bytes from the first `len`; without any, as one per four bytes. */
uint64_t ofs_tokens_estimate(const void *data, size_t len, uint64_t size);
