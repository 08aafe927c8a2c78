/* SPDX-License-Identifier: MIT */
/*
 * What a question in plain language asks for: words, parts of names, names, paths and phrases, each with a weight; and
 * how often a text has them.
 */
#ifndef OFS_CONTEXT_MANAGE_TERMS_H
#define OFS_CONTEXT_MANAGE_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define OFS_TERMS_WANTED 64
#define OFS_TERMS_SLOTS 256 /* a power of two */

struct ofs_wanted_term {
	uint64_t hash;
	double weight; /* 0: it only leads to phrases */
	/* As it was asked for: a name, a path, a number, something in quotes. */
	bool literal;
	uint64_t leads; /* bits: the phrases that begin with it */
	size_t phrase, phrase_len; /* in `phrases`, in lower case; 0: it is a word */
};

struct ofs_terms {
	struct ofs_wanted_term list[OFS_TERMS_WANTED];
	size_t n;
	uint8_t slots[OFS_TERMS_SLOTS]; /* number + 1 by hash */
	uint64_t bloom;
	struct ofs_buf phrases;
};

/* Reads a question. What says nothing ("what", "please", "thanks") is left out: there may be no term. */
void ofs_terms_init(struct ofs_terms *t, const char *query, size_t len);
void ofs_terms_finish(struct ofs_terms *t);

/* Counts the terms of a text into `counts`, by their numbers. Returns the number of words that it has. */
uint32_t ofs_terms_count(const struct ofs_terms *t, const char *text, size_t len,
			 uint32_t counts[OFS_TERMS_WANTED]);

#endif
