/* SPDX-License-Identifier: MIT */
/*
 * A search query: words to rank by, terms that must hold, and filters.
 *
 *   word          ranks text that has the word in any of its forms
 *   "a phrase"    requires these words in this order
 *   +word         requires the word as written
 *   begin*        requires a word with this prefix
 *   -term         excludes files that have it: -word, -"a phrase"
 *   tier: category: task: tag: agent: after: before:    filters; of several of one kind one must
 *                 hold, but of tags all
 *   why:yes       not a filter: adds a line to each hit that explains its rank
 *
 * Terms ignore case and diacritics; filters do not.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/words.h"

#define OFS_QUERY_WORDS 32 /* further words of a query are ignored */
#define OFS_QUERY_FORMS 64
#define OFS_TERMS_MAX 32
#define OFS_WISHES_MAX 8

/* Starts a last line of an answer that is not a hit. */
#define OFS_SEARCH_NOTE "offloadfs: "

#define OFS_WEIGHT_COMMON 0.2 /* of a common word or a single letter */

/* A word to rank by. */
struct ofs_query_word {
	double weight; /* 1, or less if it is common, or a part of a name or of a word */
	bool in_order; /* worth more right after the preceding word of the query */
	char typed[OFS_WORD_MAX]; /* as written, folded */
	uint8_t typed_len;
};

enum ofs_form_kind {
	OFS_FORM_WORD, /* a word as defined in base/words.h */
	OFS_FORM_START, /* any word with this prefix */
	OFS_FORM_TYPO /* words with its first letter that, or whose stem, differ by one letter */
};

/* A form in which a word of the query may occur in a text. */
struct ofs_form {
	enum ofs_form_kind kind;
	char text[OFS_WORD_MAX];
	uint8_t len;
	uint8_t word; /* index of the query's word */
};

enum ofs_term_kind {
	OFS_TERM_TEXT,
	OFS_TERM_PHRASE,
	OFS_TERM_PREFIX
};

/* Text that must occur, or must not, as written. */
struct ofs_term {
	enum ofs_term_kind kind;
	char *text; /* folded */
	size_t len;
};

/* Text that counts more if it occurs as written: v1.12.3, or adjacent words without operators. */
struct ofs_wish {
	struct ofs_term term;
	uint32_t words; /* its words, as bits */
};

/* Values of a filter, one of which must hold; empty: no filter. */
struct ofs_wanted {
	char **list;
	size_t n, cap;
};

struct ofs_query {
	struct ofs_query_word words[OFS_QUERY_WORDS];
	size_t nwords;
	struct ofs_form forms[OFS_QUERY_FORMS];
	size_t nforms;
	uint64_t starting[256]; /* the forms that start with each byte, as bits */
	struct ofs_term terms[OFS_TERMS_MAX]; /* the wanted ones, then the unwanted ones */
	size_t wanted, unwanted; /* their numbers */
	char *plain; /* the text without filters and unwanted terms, for search by meaning */
	bool why; /* explain hits */
	struct ofs_wish wishes[OFS_WISHES_MAX];
	size_t nwishes;
	uint32_t tiers; /* bits 1 << enum ofs_tier; 0: any */
	struct ofs_wanted categories, tasks, tags;
	struct ofs_wanted agents; /* whose trees to search; "*": all */
	bool by_time;
	bool filtered; /* it has a filter */
	bool has_plain; /* it has a word without an operator that is not common */
	int64_t after, before; /* modified in [after, before), nanoseconds since the epoch */
};

/*
 * Parses a query. `now` (nanoseconds since the epoch) is what ages are relative to. The result may
 * have neither words nor filters. Fails with -EINVAL and sets *err (may be NULL) if a filter is
 * malformed, there are too many terms, or `text` is not UTF-8. Destroy with ofs_query_destroy().
 */
int ofs_query_parse(const char *text, int64_t now, struct ofs_error *err, struct ofs_query **ret);

/* Makes a query of the words of any text, without operators and filters. */
struct ofs_query *ofs_query_of_words(const char *text, size_t len);

/* Parses a date ("2026-01-31"), a time or an age before `now` ("30m", "7d"). False: it is none. */
bool ofs_query_time(const char *text, int64_t now, int64_t *ret);

void ofs_query_destroy(struct ofs_query *q); /* NULL is a no-op */

/* Adds a form to a word; ignored if there are OFS_QUERY_FORMS. */
void ofs_query_add_form(struct ofs_query *q, size_t word, enum ofs_form_kind kind, const char *text,
			size_t len);

/* Returns the query's words, as bits, that match a word of `text`. */
uint32_t ofs_query_match(const struct ofs_query *q, const char *text, const struct ofs_word *word);

/* Returns all words of the query, as bits. */
static inline uint32_t ofs_query_words(const struct ofs_query *q)
{
	return (uint32_t)((UINT64_C(1) << q->nwords) - 1);
}

/* Returns the sum of the weights of the words in `words`, as bits. */
double ofs_query_weigh(const double weights[OFS_QUERY_WORDS], uint32_t words);

/* Adds 1 to the count of each of the words, as bits. */
void ofs_query_count(uint64_t found[OFS_QUERY_WORDS], uint32_t words);

/* Whether the list has `value` or is empty. */
bool ofs_wanted_has(const struct ofs_wanted *w, const char *value);
