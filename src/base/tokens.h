/* SPDX-License-Identifier: MIT */
/*
 * How many tokens a language model's tokenizer makes of a text, estimated without a model or a
 * vocabulary. Any bytes are a text. The result is the same on every machine.
 */
#pragma once

#include "base/util.h"

/* A count under way. Its fields are for tokens.c alone; it owns nothing and may be copied. */
struct ofs_tokens {
	uint64_t cost; /* of all characters so far */
	uint8_t piece; /* what kind of piece the text is in */
	uint8_t script; /* of a piece that is not ASCII */
	uint8_t at; /* characters of the piece so far, up to a limit */
	uint8_t last; /* byte; 0 after a character that is not ASCII */
	uint8_t begun; /* there was a byte */
	uint8_t missing; /* bytes that the character begun still needs */
	uint8_t low, high; /* what the next of them may be */
	uint32_t code; /* its bits so far */
};

/* Begins the count of a text. */
void ofs_tokens_init(struct ofs_tokens *t);

/* Counts the next bytes of the text. Where it is cut into chunks never changes the result. */
void ofs_tokens_add(struct ofs_tokens *t, const void *data, size_t len);

/*
 * Tokens of all bytes so far, at least 1 where there is a byte. It never falls as bytes are added.
 * A character at the end that lacks bytes is not counted yet.
 */
uint64_t ofs_tokens_total(const struct ofs_tokens *t);

/* Tokens of one whole text. */
uint64_t ofs_tokens_count(const void *data, size_t len);

/* Bytes from which the tokens of a long text are estimated. */
#define OFS_TOKENS_SAMPLE ((size_t)256 << 10)

/* Tokens of a text of `size` bytes that begins with `len` of them; without any, four bytes each. */
uint64_t ofs_tokens_estimate(const void *data, size_t len, uint64_t size);
