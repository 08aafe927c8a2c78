/* SPDX-License-Identifier: MIT */
/* A table of words and their ids, which finds the longest word that starts a text. */
#pragma once

#include "base/buf.h"

/* Largest length of a word, in bytes. Longer ones are not added and so never found. */
#define OFS_VOCABULARY_WORD_MAX 512

struct ofs_vocabulary {
	struct vocabulary_slot *slots;
	size_t mask; /* slots - 1 */
	struct ofs_buf texts;
	size_t longest; /* bytes of the longest word */
};

/* Makes room for `n` words; no more may be added. Call ofs_vocabulary_finish() to free it. */
void ofs_vocabulary_init(struct ofs_vocabulary *v, size_t n);
void ofs_vocabulary_finish(struct ofs_vocabulary *v);

/* Adds a word. If it is already there, its first id stays. */
void ofs_vocabulary_add(struct ofs_vocabulary *v, const char *word, size_t len, uint32_t id);

/*
 * Returns the length of the longest word at the start of `text` and sets *ret_id; 0 if there is
 * none. A word matches only up to the end of a UTF-8 character.
 */
size_t ofs_vocabulary_find(const struct ofs_vocabulary *v, const char *text, size_t len,
			   uint32_t *ret_id);
