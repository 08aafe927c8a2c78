/* SPDX-License-Identifier: MIT */
/*
 * A search query: words to rank by, terms that must hold, and filters.
 *
 *   word          ranks what has it, in any of its forms
 *   "a phrase"    must be there, its words in this order
 *   +word         must be there, as it is written
 *   begin*        a word that starts so must be there
 *   -term         leaves out files that have it: -word, -"a phrase"
 *   tier: category: task: tag: after: before:    filters; of several of one kind one must hold, but
 *                 every tag
 *   why:yes       not a filter: after each hit a line says how it came to its place
 *
 * Case and diacritics do not matter in terms; in filters they do.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/words.h"

#define OFS_QUERY_WORDS 32 /* what a query has more is not looked for */
#define OFS_QUERY_FORMS 64
#define OFS_TERMS_MAX 32
#define OFS_WISHES_MAX 8

/* What an answer's last line begins with where it is no hit. */
#define OFS_SEARCH_NOTE "offloadfs: "

#define OFS_WEIGHT_COMMON 0.2 /* of a word that is common, or one letter */

/* A word to rank by. */
struct ofs_query_word {
	double weight; /* 1; less: it is common, or a part of a name or of a word */
	bool in_order; /* it is worth more right after the word before it in the query */
	char typed[OFS_WORD_MAX]; /* as it stands there, folded */
	uint8_t typed_len;
};

enum ofs_form_kind {
	OFS_FORM_WORD, /* as it is in base/words.h */
	OFS_FORM_START, /* words that start so */
	OFS_FORM_TYPO /* words that start with its first letter and are, or have a stem, a letter away */
};

/* How a word of the query may stand in a text. */
struct ofs_form {
	enum ofs_form_kind kind;
	char text[OFS_WORD_MAX];
	uint8_t len;
	uint8_t word; /* its number */
};

enum ofs_term_kind {
	OFS_TERM_TEXT,
	OFS_TERM_PHRASE,
	OFS_TERM_PREFIX
};

/* What must be there as it is written, or must not. */
struct ofs_term {
	enum ofs_term_kind kind;
	char *text; /* folded */
	size_t len;
};

/*
 * What counts more where it stands as in the query: v1.12.3, or words without operators in a row.
 */
struct ofs_wish {
	struct ofs_term term;
	uint32_t words; /* of it, as bits */
};

/* Values of which one must hold; none: nothing is asked. */
struct ofs_wanted {
	char **list;
	size_t n, cap;
};

struct ofs_query {
	struct ofs_query_word words[OFS_QUERY_WORDS];
	size_t nwords;
	struct ofs_form forms[OFS_QUERY_FORMS];
	size_t nforms;
	uint64_t starting[256]; /* the forms that start with this byte, as bits */
	struct ofs_term terms[OFS_TERMS_MAX]; /* the wanted ones, then the unwanted ones */
	size_t wanted, unwanted; /* how many of each */
	char *plain; /* it without filters and what it leaves out: what it means */
	bool why; /* hits are to be explained */
	struct ofs_wish wishes[OFS_WISHES_MAX];
	size_t nwishes;
	uint32_t tiers; /* bits 1 << enum ofs_tier; 0: any */
	struct ofs_wanted categories, tasks, tags;
	struct ofs_wanted agents; /* in whose trees; "*": all */
	bool by_time;
	bool filtered; /* there is a filter */
	bool has_plain; /* there is a word without an operator that is not common */
	int64_t after, before; /* written in [after, before) */
};

/*
 * Reads a query. `now` is what ages count from. It may ask for nothing: neither words nor filters.
 * -EINVAL: a filter is malformed, there are too many terms, or it is not UTF-8; `err` (may be NULL)
 * says why.
 */
int ofs_query_parse(const char *text, int64_t now, struct ofs_error *err, struct ofs_query **ret);

/* A query by the words of any text, without operators and filters. */
struct ofs_query *ofs_query_of_words(const char *text, size_t len);

/* Reads a date ("2026-01-31"), a time or an age before `now` ("30m", "7d"). False: it is none. */
bool ofs_query_time(const char *text, int64_t now, int64_t *ret);

void ofs_query_destroy(struct ofs_query *q); /* NULL is allowed */

/* Another form of a word; one too many is left out. */
void ofs_query_add_form(struct ofs_query *q, size_t word, enum ofs_form_kind kind, const char *text,
			size_t len);

/* The words of the query that a word of `text` is, as bits. */
uint32_t ofs_query_match(const struct ofs_query *q, const char *text, const struct ofs_word *word);

/* All words of the query, as bits. */
static inline uint32_t ofs_query_words(const struct ofs_query *q)
{
	return (uint32_t)((UINT64_C(1) << q->nwords) - 1);
}

/* The sum of what words, as bits, weigh. */
double ofs_query_weigh(const double weights[OFS_QUERY_WORDS], uint32_t words);

/* Counts words, as bits: one more of each. */
void ofs_query_count(uint64_t found[OFS_QUERY_WORDS], uint32_t words);

/* `value` is in the list, or the list is empty. */
bool ofs_wanted_has(const struct ofs_wanted *w, const char *value);
