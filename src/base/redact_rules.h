/* SPDX-License-Identifier: MIT */
/*
 * The rules of redact.c: they know a secret by its form, its name, its context or the lines of a
 * key.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A secret: X in `password=X`. */
struct ofs_secret {
	size_t start;
	size_t len;
	const char *kind; /* static string: "github-token", "password", ... */
};

/* Secrets ordered by start; they may overlap. */
struct redact_spans {
	struct ofs_secret *at;
	size_t n, cap;
};

/* Finds secrets by the user's own rules. *ret is zero-initialised; the caller frees ret->at. */
void redact_custom_find(const char *text, size_t len, struct redact_spans *ret);

/* Upper limit of the number of contexts. */
#define REDACT_CONTEXTS 128

/* An iteration over the secrets of a text. Borrows the text, which must not change. */
struct ofs_redact_scan {
	const char *text;
	size_t len;
	size_t at; /* end of the last secret; nothing before it is examined again */
	const struct redact_spans
		*custom; /* borrowed: secrets found by the user's own rules; may be NULL */
	size_t next_custom; /* the first of these not yet passed */

	/* Results of reading ahead, kept so that nothing is read twice. */
	size_t word_start, word_end; /* the last unquoted value */
	size_t scope_end[REDACT_CONTEXTS]; /* end of the last scope of each context */
	bool scope_is_done[REDACT_CONTEXTS]; /* no further secret in that scope */
	size_t in_scope; /* the largest of these ends */
	size_t no_key; /* before this no line belongs to a key that started before the text */
};

/* Length of the secret key that belongs to an AWS access key ID. */
#define AWS_SECRET_LEN 40

/* The start of a mark. Rules must not take a mark for a secret, a name or anything else. */
#define REDACT_MARK "[redacted: "

#define REDACT_KEY_KIND "private-key"

/*
 * A rule is tried where the text has three bytes that may start it (bit n of each table stands for
 * rule n). It finds a secret that starts there or later. It may look back as far as scan->at;
 * before that there is a secret or its mark. The first rules are the groups of tokens.
 */
#define REDACT_BEGINS 3
#define REDACT_RULES 64
#define REDACT_GROUPS 48
#define REDACT_KEYWORDS (REDACT_RULES - 1) /* the rule for the keywords of all contexts */

struct redact_begins {
	uint64_t byte[REDACT_BEGINS][256];
	/* bit c of all[a][b]: some rule starts with bytes whose low six bits are a, b, c */
	uint64_t all[64][64];
};

/* A set of bytes. */
struct redact_bytes {
	uint64_t bits[4];
};

static inline void redact_bytes_add(struct redact_bytes *to, char c)
{
	to->bits[(unsigned char)c / 64] |= UINT64_C(1) << (unsigned char)c % 64;
}

/* Adds a rule that starts with one byte from each set. */
void redact_begins_add(struct redact_begins *begins, unsigned int rule,
		       const struct redact_bytes of[REDACT_BEGINS]);

typedef bool (*redact_rule_fn)(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* Classes of characters; an alphabet is a set of them. */
enum {
	REDACT_LOWER = 1 << 0,
	REDACT_UPPER = 1 << 1,
	REDACT_DIGIT = 1 << 2,
	REDACT_DASH = 1 << 3,
	REDACT_LOW_LINE = 1 << 4,
	REDACT_DOT = 1 << 5,
	REDACT_BASE64 = 1 << 6, /* "+/=" */
	REDACT_SPACE = 1 << 7, /* space and tab */
	REDACT_QUOTE = 1 << 8,
	REDACT_STOP = 1 << 9, /* ends an unquoted value, as spaces and quotes do */
	REDACT_DOLLAR = 1 << 10,
	REDACT_COMMA = 1 << 11, /* a comma is also a STOP */
	REDACT_TILDE = 1 << 12,
	REDACT_PERCENT = 1 << 13,
	REDACT_COLON = 1 << 14,

	REDACT_LETTER = REDACT_LOWER | REDACT_UPPER,
	REDACT_ALNUM = REDACT_LETTER | REDACT_DIGIT,
	REDACT_WORD = REDACT_ALNUM | REDACT_LOW_LINE,
	REDACT_URLSAFE = REDACT_WORD | REDACT_DASH,
};

static inline bool redact_among(char c, const char *set)
{
	while (*set && *set != c)
		set++;
	return *set;
}

/* The classes of each byte: two for a comma, none for some bytes. */
extern const uint16_t redact_classes[256];

static inline unsigned int redact_class(char c)
{
	return redact_classes[(unsigned char)c];
}

static inline bool redact_is(char c, unsigned int classes)
{
	return redact_class(c) & classes;
}

/* Returns the end of the run of `classes` that starts at `at`. */
static inline size_t redact_run(const char *text, size_t at, size_t end, unsigned int classes)
{
	while (at < end && redact_is(text[at], classes))
		at++;
	return at;
}

static inline char redact_fold(char c)
{
	return redact_is(c, REDACT_UPPER) ? (char)(c | 0x20) : c;
}

/* True if `text` has `what` at `at`; with `fold` in any case, where `what` must be lower case. */
static inline bool redact_has(const char *text, size_t len, size_t at, const char *what, bool fold)
{
	for (; *what; what++, at++)
		if (at >= len || (fold ? redact_fold(text[at]) : text[at]) != *what)
			return false;
	return true;
}

/* True if no character of `classes` precedes `at`, apart from those of an escape (\n, %3d). */
bool redact_starts(const struct ofs_redact_scan *s, size_t at, unsigned int classes);

/*
 * Statistics of a value. A change is a pair of neighbours of different classes, except a capital
 * before a small letter. Odd are changes, pairs of letters that are rare in words, and special
 * characters.
 */
struct redact_look {
	unsigned int sampled; /* characters examined: a long value is sampled at its start */
	unsigned int classes; /* classes that occur */
	unsigned int digits;
	unsigned int changes;
	unsigned int odd;
	unsigned int variety; /* effective number of different characters (inverse Simpson index) */
	bool special; /* has characters that do not occur in names, paths or numbers */
};

void redact_look(const char *value, size_t len, struct redact_look *ret);

/* A value of less variety is just a pattern ("xxxxxxxx", "00000001"). */
#define REDACT_VARIETY_MIN 5

/* Some shorter values are names that contain numbers. */
#define REDACT_LONG 16

/*
 * True if many neighbours are odd. In names in programs up to 30% are, in keys of letters and
 * digits 50 to 90%. 40% separates them if the value is long enough; a shorter one needs half.
 */
static inline bool redact_is_odd(const struct redact_look *look, bool is_long)
{
	return is_long ? look->odd * 5 >= look->sampled * 2 : look->odd * 2 >= look->sampled;
}

/* True if classes or letters change as in keys (hexadecimal, base32, base62), unlike in words. */
bool redact_is_random(const struct redact_look *look, size_t len);

/* True if all letters are hexadecimal digits. */
bool redact_is_hex(const char *value, size_t len);

/* For each redact_keyword_hash() of search bytes: the first keyword, from 1; 0 if there is none. */
#define REDACT_KEYWORD_HASHES (1 << 12)
extern uint16_t redact_first_keyword[REDACT_KEYWORD_HASHES];

static inline size_t redact_keyword_hash(const char *text)
{
	uint32_t bytes = (uint32_t)(uint8_t)text[0] << 16 | (uint32_t)(uint8_t)text[1] << 8 |
			 (uint8_t)text[2];

	/* Folds capitals to lower case. What this does to other bytes does not matter. */
	return ((bytes | 0x202020) * UINT32_C(0x9e3779b1)) >> 20;
}

/* True for a placeholder: "<your key>", "${KEY}", "xxxx", "%s", AWS's documented examples. */
bool redact_is_placeholder(const char *value, size_t len);

/* True for a key or a good password, false for a name, a path or a URL. */
bool redact_is_key_or_password(const char *text, size_t len);

/* True for a placeholder of a password. Any other value may be a password, however weak. */
bool redact_is_password_stand_in(const char *text, size_t len);

/* Keys and tokens known by their form. redact_token_begins() prepares tables for redact_token(). */
void redact_token_begins(struct redact_begins *begins);
bool redact_token(struct ofs_redact_scan *s, unsigned int group, size_t at, struct ofs_secret *ret);

enum redact_sort {
	REDACT_NAME_SECRET, /* the value must look like a key */
	/* Or like a password, which has three of: lower case, upper case, digits, others. */
	REDACT_NAME_PASSWORD,
	REDACT_NAME_PASS, /* as PASSWORD; the name must end with it as a word ("DB_PASS") */
	REDACT_NAME_HEADER, /* almost any value will do after a scheme ("Bearer") */
	REDACT_NAME_PUBLIC, /* not secret, although its name contains that of a secret */
	REDACT_NAME_COOKIE, /* the name must end with it; the value must be a long key after "=" */
	/* the name must end with it as a word; the value must be a long key after any sign */
	REDACT_NAME_KEY,
	REDACT_NAME_QUERY, /* as COOKIE, as a word in the query of a URL */
	/* the name must end with it as a word; the value is user:password in base64 */
	REDACT_NAME_BASIC,
	REDACT_NAME_PHRASE, /* the whole name must match; almost any value will do */
};

/* A name of a secret. The text is in lower case; "?" stands for "-", "_" or nothing. */
struct redact_name {
	const char *text;
	const char *kind;
	enum redact_sort sort;
};

/* Returns the name of a secret that occurs in the name from `start` to `end`, or NULL. */
const struct redact_name *redact_name_find(const char *text, size_t start, size_t end);

/* Must be called before redact_name_find(). */
void redact_name_init(void);

/* `name = value`, `| name | value`, `<name>value`: at the sign. */
bool redact_assigned(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* `--name value`: at the "--". */
bool redact_option(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* `name value` on a line, or after a command that sets: at the end of the line before. */
bool redact_entry(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* `name "value"` and SQL's `IDENTIFIED BY 'value'`: at the blank. */
bool redact_quoted(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* `setName("value")`: at the parenthesis. */
bool redact_setter(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/*
 * Finds arguments of commands and other secrets by their context. redact_context() is called at a
 * keyword. redact_context_rest() finds the remaining secrets in scopes that keywords have opened.
 * Call redact_context_begins() first, which prepares tables for both.
 */
void redact_context_begins(struct redact_begins *begins);
bool redact_context(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);
bool redact_context_rest(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* `scheme://user:password@`: at the "://". */
bool redact_url_password(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* `user:password@tcp(host)` of Go's drivers for MySQL: at the "@". */
bool redact_dsn_password(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* The token of a Discord bot. */
bool redact_discord(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/*
 * A private key in PEM. redact_key() is called at its "-----BEGIN"; redact_key_rest(), for a key
 * without its start, at the end of the line before.
 */
bool redact_key(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);
bool redact_key_rest(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);
