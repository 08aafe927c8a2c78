/* SPDX-License-Identifier: MIT */
/* Texts to ids of tokens, by the tokenizer.json of Hugging Face's tokenizers: WordPiece of BERT. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

struct ofs_tokenizer;

/* Of a text; those after it do not count. */
#define OFS_TOKENIZER_IDS 512
/* Of a vocabulary. */
#define OFS_TOKENIZER_WORDS 2000000

/*
 * Reads the content of a file that errors call `name`. -EBADMSG: it is no such file, or one with a
 * tokenizer of another kind. Tokens that are added to the vocabulary are found as whole words;
 * special ones never.
 */
int ofs_tokenizer_create(const void *json, size_t len, const char *name, struct ofs_error *err,
			 struct ofs_tokenizer **ret);

/* NULL is allowed. */
void ofs_tokenizer_destroy(struct ofs_tokenizer *t);

/* More than any id. */
uint32_t ofs_tokenizer_size(const struct ofs_tokenizer *t);

/* The ids of a text's words, without those that are not known, and their count. */
size_t ofs_tokenizer_run(const struct ofs_tokenizer *t, const char *text, size_t len,
			 uint32_t ret[OFS_TOKENIZER_IDS]);
