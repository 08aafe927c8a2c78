/* SPDX-License-Identifier: MIT */
#include "context/manage/terms.h"

#include <string.h>

#include "base/util.h"
#include "context/snapshot/prose.h"
#include "tree/search/fold.h"

#define QUERY_MAX 8192
#define PHRASES_MAX 32
#define PHRASE_LEN_MAX 200
#define WORD_MIN 2
#define PLURAL_MIN 4
/* Characters from here on are written without blanks between words; two of them are a word. */
#define WIDE 0x2e80
/* Names, words and pairs of wide characters do not mix. */
#define SEED_NAME UINT64_C(0xcbf29ce484222325)
#define SEED_WORD UINT64_C(0x9ae16a3b2f90404f)
#define SEED_PAIR UINT64_C(0xc949d7c7509e6557)
#define PRIME UINT64_C(0x100000001b3)

/* Weights. */
#define PLAIN 1.0
#define PART 0.5 /* of a name that is a term itself */
#define NUMBER 1.5
#define CAPITALS 1.5
#define CODE 2.5 /* letters and digits: "OBUT9V" */
#define LITERAL 3.0

/* Words that any question has, and those of talk about nothing. */
static const char *const stops[] = {
	"about",     "above",	"actually", "after",   "again",	     "agree",	 "all",
	"alright",   "already", "also",	    "always",  "am",	     "an",	 "and",
	"another",   "any",	"anything", "are",     "as",	     "ask",	 "at",
	"away",	     "back",	"be",	    "because", "been",	     "before",	 "being",
	"below",     "between", "both",	    "but",     "by",	     "can",	 "cannot",
	"check",     "come",	"continue", "could",   "did",	     "do",	 "does",
	"doing",     "don",	"done",	    "down",    "during",     "each",	 "either",
	"else",	     "even",	"ever",	    "every",   "everything", "explain",	 "few",
	"find",	     "fine",	"first",    "for",     "from",	     "further",	 "get",
	"give",	     "go",	"going",    "good",    "got",	     "great",	 "had",
	"has",	     "have",	"having",   "he",      "hello",	     "help",	 "her",
	"here",	     "hers",	"hey",	    "hi",      "him",	     "his",	 "how",
	"however",   "if",	"in",	    "instead", "into",	     "is",	 "it",
	"its",	     "just",	"keep",	    "know",    "last",	     "let",	 "like",
	"ll",	     "look",	"looks",    "make",    "many",	     "may",	 "maybe",
	"me",	     "mean",	"might",    "more",    "most",	     "much",	 "must",
	"my",	     "need",	"never",    "new",     "next",	     "nice",	 "no",
	"not",	     "nothing", "now",	    "of",      "off",	     "ok",	 "okay",
	"on",	     "once",	"one",	    "only",    "or",	     "other",	 "our",
	"out",	     "over",	"own",	    "perfect", "please",     "possible", "proceed",
	"re",	     "really",	"right",    "same",    "say",	     "see",	 "seem",
	"shall",     "she",	"should",   "show",    "since",	     "so",	 "some",
	"something", "sorry",	"sounds",   "still",   "stop",	     "such",	 "sure",
	"take",	     "tell",	"than",	    "thank",   "thanks",     "that",	 "the",
	"their",     "them",	"then",	    "there",   "these",	     "they",	 "thing",
	"things",    "think",	"this",	    "those",   "through",    "to",	 "too",
	"try",	     "under",	"until",    "up",      "us",	     "use",	 "used",
	"using",     "ve",	"very",	    "want",    "was",	     "way",	 "we",
	"well",	     "were",	"what",	    "when",    "where",	     "which",	 "while",
	"who",	     "whom",	"whose",    "why",     "will",	     "with",	 "without",
	"work",	     "works",	"would",    "wrong",   "yeah",	     "yes",	 "yet",
	"you",	     "your",	"yours",
};

static uint64_t add_byte(uint64_t hash, char c)
{
	return (hash ^ (unsigned char)c) * PRIME;
}

static uint64_t hash_lower(uint64_t seed, const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		seed = add_byte(seed, ofs_prose_lower(p[i]));
	return seed;
}

/* A word and its plural are the same. */
static uint64_t hash_word(const char *p, size_t len)
{
	if (len >= PLURAL_MIN && ofs_prose_lower(p[len - 1]) == 's' &&
	    ofs_prose_lower(p[len - 2]) != 's')
		len--;
	return hash_lower(SEED_WORD, p, len);
}

static size_t slot_of(uint64_t hash)
{
	return (size_t)(hash ^ hash >> 32) & (OFS_TERMS_SLOTS - 1);
}

static uint64_t bloom_bit(uint64_t hash)
{
	return UINT64_C(1) << (hash >> 58);
}

/* The number of the term with that hash; SIZE_MAX: there is none. */
static size_t find(const struct ofs_terms *t, uint64_t hash)
{
	if (!(t->bloom & bloom_bit(hash)))
		return SIZE_MAX;
	for (size_t i = slot_of(hash); t->slots[i]; i = (i + 1) & (OFS_TERMS_SLOTS - 1)) {
		if (t->list[t->slots[i] - 1].hash == hash)
			return t->slots[i] - 1u;
	}
	return SIZE_MAX;
}

/* ---- taking texts apart */

/* What stands in a text: a name of ASCII letters, digits and '_' (others but wide ones belong to it), or a wide one. */
struct token {
	const char *p;
	size_t len;
	uint32_t wide; /* the character; 0: it is a name */
};

static bool is_name(char c)
{
	return ofs_prose_is_word(c) || c == '_';
}

/* Letters outside of ASCII; not punctuation, symbols and arrows. */
static bool is_letter(uint32_t c)
{
	return c != OFS_FOLD_INVALID && c >= 0xaa && !(c >= 0x2000 && c < 0x2c00) &&
	       !(c >= 0x3000 && c < 0x3040) && !(c >= 0xff00 && c < 0xff10) && c != 0xab &&
	       c != 0xbb;
}

/* The next token from *p on. False: there is none. */
static bool next_token(const char **p, const char *end, struct token *ret)
{
	const char *at = *p, *start;
	uint32_t c;

	while (at < end) {
		if (!is_name(*at)) {
			at++;
			continue;
		}
		if ((unsigned char)*at < 0x80)
			break;
		ofs_fold_decode(at, (size_t)(end - at), &c);
		if (is_letter(c))
			break;
		at += ofs_fold_decode(at, (size_t)(end - at), &c);
	}
	start = at;
	while (at < end && is_name(*at)) {
		size_t n = 1;

		if ((unsigned char)*at >= 0x80) {
			n = ofs_fold_decode(at, (size_t)(end - at), &c);
			if (!is_letter(c) || (c >= WIDE && at > start))
				break;
			if (c >= WIDE) {
				*p = at + n;
				*ret = (struct token){ at, n, c };
				return true;
			}
		}
		at += n;
	}
	*p = at;
	*ret = (struct token){ start, (size_t)(at - start), 0 };
	return at > start;
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

/* The length of the part of a name that begins at p: "get" of "get_user", "HTTP" of "HTTPServer". */
static size_t part_length(const char *p, size_t len)
{
	size_t n = 1;

	while (n < len && p[n] != '_') {
		if (is_upper(p[n]) && (is_lower(p[n - 1]) || ofs_prose_is_digit(p[n - 1])))
			break;
		if (is_upper(p[n]) && is_upper(p[n - 1]) && n + 1 < len && is_lower(p[n + 1]))
			break;
		n++;
	}
	return n;
}

/* ---- the question */

static size_t add_term(struct ofs_terms *t, uint64_t hash, double weight, bool literal)
{
	size_t number = find(t, hash), slot;

	if (number == SIZE_MAX) {
		if (t->n == OFS_TERMS_WANTED)
			return SIZE_MAX;
		number = t->n++;
		t->list[number] = (struct ofs_wanted_term){ .hash = hash };
		for (slot = slot_of(hash); t->slots[slot];
		     slot = (slot + 1) & (OFS_TERMS_SLOTS - 1))
			;
		t->slots[slot] = (uint8_t)(number + 1);
		t->bloom |= bloom_bit(hash);
	}
	t->list[number].weight = OFS_MAX(t->list[number].weight, weight);
	t->list[number].literal |= literal;
	return number;
}

static bool is_stop(const char *p, size_t len)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(stops); i++) {
		if (strlen(stops[i]) == len && ofs_prose_begins(p, len, stops[i]))
			return true;
	}
	return len < WORD_MIN;
}

/* What kind of characters a name has. */
struct shape {
	bool digits, letters, small;
};

static struct shape shape_of(const char *p, size_t len)
{
	struct shape s = { 0 };

	for (size_t i = 0; i < len; i++) {
		s.digits |= ofs_prose_is_digit(p[i]);
		s.small |= !is_upper(p[i]) && !ofs_prose_is_digit(p[i]);
		s.letters |= !ofs_prose_is_digit(p[i]);
	}
	return s;
}

static void add_word(struct ofs_terms *t, const char *p, size_t len, double weight)
{
	struct shape s = shape_of(p, len);

	if (is_stop(p, len))
		return;
	if (s.digits && s.letters)
		add_term(t, hash_word(p, len), OFS_MAX(weight, CODE), true);
	else if (s.digits)
		add_term(t, hash_word(p, len), OFS_MAX(weight, NUMBER), false);
	else if (!s.small && len > 2)
		add_term(t, hash_word(p, len), OFS_MAX(weight, CAPITALS), false);
	else
		add_term(t, hash_word(p, len), weight, false);
}

static void add_name(struct ofs_terms *t, const char *p, size_t len)
{
	size_t n = part_length(p, len);
	bool whole = n == len;

	if (!whole)
		add_term(t, hash_lower(SEED_NAME, p, len), LITERAL, true);
	for (size_t i = 0; i < len; i += n) {
		n = part_length(p + i, len - i);
		if (p[i] == '_')
			n = 1;
		else
			add_word(t, p + i, n, whole ? PLAIN : PART);
	}
}

static uint64_t hash_pair(uint32_t a, uint32_t b)
{
	return ((SEED_PAIR ^ a) * PRIME ^ b) * PRIME;
}

static void add_words(struct ofs_terms *t, const char *p, const char *end)
{
	struct token token, last = { 0 };

	while (next_token(&p, end, &token)) {
		if (!token.wide)
			add_name(t, token.p, token.len);
		else if (last.wide && last.p + last.len == token.p)
			add_term(t, hash_pair(last.wide, token.wide), PLAIN, false);
		last = token;
	}
}

/* Words that must follow each other as they stand; nothing where that is no more than a word. */
static void add_phrase(struct ofs_terms *t, const char *p, size_t len)
{
	struct token first, second;
	const char *at = p;
	size_t number, lead;

	if (!next_token(&at, p + len, &first) || first.wide || !next_token(&at, p + len, &second))
		return;
	len -= (size_t)(first.p - p);
	while (len && !is_name(first.p[len - 1]))
		len--;
	if (len > PHRASE_LEN_MAX || len <= first.len)
		return;
	lead = add_term(t, hash_lower(SEED_NAME, first.p, first.len), 0, false);
	number = add_term(t, hash_lower(SEED_PAIR, first.p, len), LITERAL, true);
	if (lead == SIZE_MAX || number == SIZE_MAX || t->list[number].phrase_len)
		return;
	t->list[number].phrase = t->phrases.len;
	t->list[number].phrase_len = len;
	t->list[lead].leads |= UINT64_C(1) << number;
	for (size_t i = 0; i < len; i++) {
		char c = ofs_prose_lower(first.p[i]);

		ofs_buf_append(&t->phrases, &c, 1);
	}
}

/* What stands in quotes, on one line. */
static void add_quoted(struct ofs_terms *t, const char *query, size_t len)
{
	static const char quotes[] = "\"`";
	const char *end = query + len;

	for (const char *p = query; p < end; p++) {
		const char *close;

		if (!*p || !strchr(quotes, *p))
			continue;
		close = memchr(p + 1, *p, (size_t)(end - p - 1));
		if (!close || memchr(p, '\n', (size_t)(close - p)))
			continue;
		add_phrase(t, p + 1, (size_t)(close - p - 1));
		p = close;
	}
}

/* Names joined by signs: paths, "a.b.c", "foo::bar", "--long-option". */
static void add_joined(struct ofs_terms *t, const char *query, size_t len)
{
	const char *end = query + len;

	for (const char *p = query; p < end;) {
		const char *start = p;
		bool joined = false;

		while (p < end && (unsigned char)*p < 0x80 && (is_name(*p) || strchr("./:-@#", *p)))
			joined |= !is_name(*p++);
		while (p > start && !is_name(p[-1]))
			p--; /* "file.c." */
		if (joined && p > start)
			add_phrase(t, start, (size_t)(p - start));
		while (p < end && !(is_name(*p) && (unsigned char)*p < 0x80))
			p++;
	}
}

void ofs_terms_init(struct ofs_terms *t, const char *query, size_t len)
{
	*t = (struct ofs_terms){ 0 };
	len = OFS_MIN(len, (size_t)QUERY_MAX);
	add_quoted(t, query, len);
	add_joined(t, query, len);
	add_words(t, query, query + len);
}

void ofs_terms_finish(struct ofs_terms *t)
{
	ofs_buf_finish(&t->phrases);
}

/* ---- counting */

static void count_phrases(const struct ofs_terms *t, uint64_t leads, const char *p, const char *end,
			  uint32_t counts[])
{
	for (size_t i = 0; leads; i++, leads >>= 1) {
		const struct ofs_wanted_term *term = &t->list[i];
		const char *phrase = (const char *)t->phrases.data + term->phrase;
		size_t n = 0;

		if (!(leads & 1) || (size_t)(end - p) < term->phrase_len)
			continue;
		while (n < term->phrase_len && ofs_prose_lower(p[n]) == phrase[n])
			n++;
		counts[i] += n == term->phrase_len && (p + n == end || !is_name(p[n]));
	}
}

static uint32_t count_name(const struct ofs_terms *t, const struct token *token, const char *end,
			   uint32_t counts[])
{
	uint32_t words = 0;
	size_t number = find(t, hash_lower(SEED_NAME, token->p, token->len)), n;

	if (number != SIZE_MAX) {
		counts[number]++;
		count_phrases(t, t->list[number].leads, token->p, end, counts);
	}
	for (size_t i = 0; i < token->len; i += n) {
		n = 1;
		if (token->p[i] == '_')
			continue;
		n = part_length(token->p + i, token->len - i);
		number = find(t, hash_word(token->p + i, n));
		if (number != SIZE_MAX)
			counts[number]++;
		words++;
	}
	return words;
}

uint32_t ofs_terms_count(const struct ofs_terms *t, const char *text, size_t len,
			 uint32_t counts[OFS_TERMS_WANTED])
{
	struct token token, last = { 0 };
	const char *p = text, *end = text + len;
	uint32_t words = 0;

	while (next_token(&p, end, &token)) {
		if (!token.wide) {
			words += count_name(t, &token, end, counts);
		} else if (last.wide && last.p + last.len == token.p) {
			size_t number = find(t, hash_pair(last.wide, token.wide));

			if (number != SIZE_MAX)
				counts[number]++;
			words++;
		}
		last = token;
	}
	return words;
}
