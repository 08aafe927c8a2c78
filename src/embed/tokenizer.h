/* SPDX-License-Identifier: MIT */
/* Texts to token ids, by a tokenizer.json of Hugging Face's tokenizers with BERT's WordPiece. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

struct ofs_tokenizer;

/* Largest number of ids of a text; later tokens are ignored. */
#define OFS_TOKENIZER_IDS 512
/* Largest number of words in a vocabulary. */
#define OFS_TOKENIZER_WORDS 2000000

/*
 * Parses the content of tokenizer.json; errors call the file `name`. Fails with -EBADMSG if it is
 * malformed or describes another kind of tokenizer. Tokens added to the vocabulary match like its
 * own words; special ones never match.
 */
int ofs_tokenizer_create(const void *json, size_t len, const char *name, struct ofs_error *err,
			 struct ofs_tokenizer **ret);

/* NULL is a no-op. */
void ofs_tokenizer_destroy(struct ofs_tokenizer *t);

/* One more than the largest id. */
uint32_t ofs_tokenizer_size(const struct ofs_tokenizer *t);

/* Sets `ret` to the ids of a text's tokens, without unknown words, and returns their number. */
size_t ofs_tokenizer_run(const struct ofs_tokenizer *t, const char *text, size_t len,
			 uint32_t ret[OFS_TOKENIZER_IDS]);
