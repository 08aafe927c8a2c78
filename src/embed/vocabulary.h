/* SPDX-License-Identifier: MIT */
/* Words and their ids, found by what a text begins with. */
#pragma once

#include "base/buf.h"

/* Of a word, in bytes. Longer ones are not kept: none is ever found in a text. */
#define OFS_VOCABULARY_WORD_MAX 512

struct ofs_vocabulary {
	struct vocabulary_slot *slots;
	size_t mask; /* slots - 1 */
	struct ofs_buf texts;
	size_t longest; /* word, in bytes */
};

/* Makes room for `n` words. */
void ofs_vocabulary_init(struct ofs_vocabulary *v, size_t n);
void ofs_vocabulary_finish(struct ofs_vocabulary *v);

/* Of a word that is there already, the first id stays. No more words than there is room for. */
void ofs_vocabulary_add(struct ofs_vocabulary *v, const char *word, size_t len, uint32_t id);

/*
 * The length of the longest word with which `text`, of whole UTF-8 characters, begins; 0: there is
 * none.
 */
size_t ofs_vocabulary_find(const struct ofs_vocabulary *v, const char *text, size_t len,
			   uint32_t *ret_id);
