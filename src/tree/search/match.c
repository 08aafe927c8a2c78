/* SPDX-License-Identifier: MIT */
#include "tree/search/match.h"

#include "base/fold.h"

#define GAP_MAX 64 /* characters or escape sequences between two words of a phrase */

typedef bool (*is_inside_fn)(char c);

/* True if a word can go on with the character, on either side of it. */
static bool joins(const char *p, size_t len)
{
	uint32_t c;

	ofs_fold_decode(p, len, &c);
	return !ofs_words_separates(c) && !ofs_words_is_dense(c);
}

/* Whether a word or name that ends before `at` would continue at `at`. */
static bool goes_on(const char *text, size_t len, size_t at, is_inside_fn is_inside)
{
	size_t before = at;

	if (!at || at >= len || !is_inside(text[at]) || !is_inside(text[at - 1]) ||
	    ofs_text_ends_escape(text, at))
		return false;
	do
		before--;
	while (before && at - before < 4 && ((unsigned char)text[before] & 0xc0) == 0x80);
	return joins(text + before, len - before) && joins(text + at, len - at);
}

static bool stands_alone(const char *text, size_t len, size_t at, size_t end,
			 is_inside_fn is_inside)
{
	return !goes_on(text, len, at, is_inside) && !goes_on(text, len, end, is_inside);
}

static enum ofs_match judge(const struct ofs_term *term, const char *text, size_t len, size_t at,
			    size_t end)
{
	if (term->kind == OFS_TERM_PREFIX) {
		if (goes_on(text, len, at, ofs_fold_is_word))
			return OFS_MATCH_NONE;
		return goes_on(text, len, at, ofs_fold_is_name) ? OFS_MATCH_WORD : OFS_MATCH_NAME;
	}
	if (stands_alone(text, len, at, end, ofs_fold_is_name))
		return OFS_MATCH_NAME;
	return stands_alone(text, len, at, end, ofs_fold_is_word) ? OFS_MATCH_WORD : OFS_MATCH_NONE;
}

/* True if the character at `p` is between words, as '_' is in a phrase. *ret: its length. */
static bool separates(const char *p, size_t len, size_t *ret)
{
	uint32_t c;

	*ret = ofs_fold_decode(p, len, &c);
	return c < 0x80 ? !ofs_fold_is_word(*p) : ofs_words_separates(c);
}

/* Returns the first word in [text, end); *ret_len is 0 if there is none. */
static const char *first_word(const char *text, const char *end, size_t *ret_len)
{
	const char *p = text, *q;
	size_t n;

	for (; p < end && separates(p, (size_t)(end - p), &n); p += n)
		;
	for (q = p; q < end && !separates(q, (size_t)(end - q), &n); q += n)
		;
	*ret_len = (size_t)(q - p);
	return p;
}

/*
 * Whether the words of `phrase` stand at text[at] with no other words between them. Sets *ret_end
 * to the end of the last one.
 */
static bool has_words(const char *phrase, size_t phrase_len, const char *text, size_t len,
		      size_t at, size_t *ret_end)
{
	const char *end = phrase + phrase_len, *word;
	size_t n, gap, used;
	int escape;

	for (word = first_word(phrase, end, &n); n; word = first_word(word + n, end, &n)) {
		for (gap = 0; gap < GAP_MAX && at < len && separates(text + at, len - at, &used);
		     gap++) {
			escape = ofs_text_escape(text + at, len - at);
			at += escape > 0 ? (size_t)escape : used;
		}
		if (len - at < n || memcmp(text + at, word, n) != 0 ||
		    goes_on(text, len, at, ofs_fold_is_word) ||
		    goes_on(text, len, at + n, ofs_fold_is_word))
			return false;
		at += n;
		*ret_end = at;
	}
	return true;
}

/* Judges a phrase whose first word, at offset `lead` of the phrase, was found at text[*at]. */
static enum ofs_match judge_phrase(const struct ofs_term *term, size_t lead, const char *text,
				   size_t len, size_t *at, size_t *ret_end)
{
	size_t from = *at - OFS_MIN(*at, lead);

	if (*at >= lead && len - from >= term->len &&
	    memcmp(text + from, term->text, term->len) == 0) {
		*at = from;
		*ret_end = from + term->len;
		return judge(term, text, len, from, *ret_end);
	}
	return has_words(term->text, term->len, text, len, *at, ret_end) ? OFS_MATCH_WORD
									 : OFS_MATCH_NONE;
}

enum ofs_match ofs_match_next(const struct ofs_term *term, const char *text, size_t len,
			      size_t from, size_t *ret_at, size_t *ret_end)
{
	const char *needle = term->text, *p;
	size_t n = term->len, lead = 0;
	enum ofs_match how;

	if (term->kind == OFS_TERM_PHRASE) {
		needle = first_word(term->text, term->text + term->len, &n);
		lead = (size_t)(needle - term->text);
		if (!n) {
			needle = term->text;
			n = term->len;
			lead = 0;
		}
	}
	while (from < len && (p = memmem(text + from, len - from, needle, n))) {
		*ret_at = (size_t)(p - text);
		*ret_end = *ret_at + n;
		from = *ret_at + 1;
		if (term->kind == OFS_TERM_PHRASE)
			how = judge_phrase(term, lead, text, len, ret_at, ret_end);
		else
			how = judge(term, text, len, *ret_at, *ret_end);
		if (how != OFS_MATCH_NONE)
			return how;
	}
	return OFS_MATCH_NONE;
}

enum ofs_match ofs_match_best(const struct ofs_term *term, const char *text)
{
	size_t len = text ? strlen(text) : 0, from = 0, at, end;
	OFS_FREE char *folded = ofs_alloc(len + 1);
	enum ofs_match best = OFS_MATCH_NONE, how;

	len = len ? ofs_fold(text, len, folded) : 0;
	while (best != OFS_MATCH_NAME &&
	       (how = ofs_match_next(term, folded, len, from, &at, &end)) != OFS_MATCH_NONE) {
		best = OFS_MAX(best, how);
		from = end;
	}
	return best;
}
