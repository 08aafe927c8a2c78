/* SPDX-License-Identifier: MIT */
/* The rules of redact.c: a secret has a known form, or a name before it, or the lines of a key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A secret; of `password=X` it is X. Only a private key has more than one line. */
struct ofs_secret {
	size_t start;
	size_t len;
	const char *kind; /* static: "github-token", "password", ... */
};

/* Secrets in the order of their start; they may overlap. */
struct redact_spans {
	struct ofs_secret *at;
	size_t n, cap;
};

/* Finds secrets by the user's own rules. `ret` starts as zeros; the caller frees its list. */
void redact_custom_find(const char *text, size_t len, struct redact_spans *ret);

/* More than there are kinds of places where secrets stand. */
#define REDACT_CONTEXTS 128

/* A walk over the secrets of a text, which stays the caller's and must not change. */
struct ofs_redact_scan {
	const char *text;
	size_t len;
	size_t at; /* where the last secret ended: what is before it is not looked at again */
	const struct redact_spans
		*custom; /* borrowed: what the user's own rules found; may be NULL */
	size_t next_custom; /* the first of them that has not been passed */

	/* What was read ahead, so that it is not read again. */
	size_t word_start, word_end; /* bytes without white space, quotes or brackets */
	size_t scope_end[REDACT_CONTEXTS]; /* of each context, where its keyword was last */
	bool scope_is_done[REDACT_CONTEXTS]; /* it has no secret that was not found */
	size_t in_scope; /* the last of those ends */
	size_t no_key; /* no key that started before the text has lines before this */
};

/* Of the secret key that belongs to AWS's access key's number. */
#define AWS_SECRET_LEN 40

/* The start of a mark. Rules must not take a mark for a secret, nor for a name or the like. */
#define REDACT_MARK "[redacted: "

#define REDACT_KEY_KIND "private-key"

/*
 * A rule is tried where the text has the three bytes that it starts with (bit n of each table is
 * rule n); it finds a secret that starts there or later. It may look back as far as scan->at:
 * before that is a secret, or its mark. The first rules are groups of tokens.
 */
#define REDACT_BEGINS 3
#define REDACT_RULES 64
#define REDACT_GROUPS 48
#define REDACT_KEYWORDS (REDACT_RULES - 1) /* the rule for those of all contexts */

struct redact_begins {
	uint64_t byte[REDACT_BEGINS][256];
	uint64_t all[64][64]; /* bit c of all[a][b]: some rule starts so; of each byte, six bits */
};

/* A set of bytes. */
struct redact_bytes {
	uint64_t bits[4];
};

static inline void redact_bytes_add(struct redact_bytes *to, char c)
{
	to->bits[(unsigned char)c / 64] |= UINT64_C(1) << (unsigned char)c % 64;
}

/* Adds a rule that starts with a byte of each set. */
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
	REDACT_SPACE = 1 << 7, /* blank and tab */
	REDACT_QUOTE = 1 << 8,
	REDACT_STOP = 1 << 9, /* ends an unquoted value; so do blanks and quotes */
	REDACT_DOLLAR = 1 << 10,
	REDACT_COMMA = 1 << 11, /* also a stop */
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

/* The class of each byte; a comma is also a stop, some are of none. */
extern const uint16_t redact_classes[256];

static inline unsigned int redact_class(char c)
{
	return redact_classes[(unsigned char)c];
}

static inline bool redact_is(char c, unsigned int classes)
{
	return redact_class(c) & classes;
}

/* The end of the run of `classes` that starts at `at`. */
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

/* True if `text` has `what` at `at`; `fold`: in any case, `what` being in lower case. */
static inline bool redact_has(const char *text, size_t len, size_t at, const char *what, bool fold)
{
	for (; *what; what++, at++)
		if (at >= len || (fold ? redact_fold(text[at]) : text[at]) != *what)
			return false;
	return true;
}

/* A word may start at `at`: no character of `classes` precedes it, escapes (\n, %3d) aside. */
bool redact_starts(const struct ofs_redact_scan *s, size_t at, unsigned int classes);

/*
 * The look of a value. Changes are neighbours of different classes, except a capital before a small
 * letter. Odd are the changes, letters that words rarely have side by side, and special characters.
 */
struct redact_look {
	unsigned int sampled; /* characters looked at: the first of a long value */
	unsigned int classes; /* those that occur */
	unsigned int digits;
	unsigned int changes;
	unsigned int odd;
	unsigned int variety; /* how many characters, equally frequent, would repeat as often */
	bool special; /* there are characters that are of no name, path or number */
};

void redact_look(const char *value, size_t len, struct redact_look *ret);

/* Below this there is only a pattern ("xxxxxxxx", "00000001"). */
#define REDACT_VARIETY_MIN 5

/* Of shorter values some are names with numbers in them. */
#define REDACT_LONG 16

/*
 * Most neighbours are odd. In names of programs up to 30 % are, in keys of letters and digits 50 to
 * 90 %: 40 % tells them apart if the text is long enough.
 */
static inline bool redact_is_odd(const struct redact_look *look, bool is_long)
{
	return is_long ? look->odd * 5 >= look->sampled * 2 : look->odd * 2 >= look->sampled;
}

/* Classes or letters change as in keys (hexadecimal, base32, base62), unlike in words. */
bool redact_is_random(const struct redact_look *look, size_t len);

/* All its letters are hexadecimal digits. */
bool redact_is_hex(const char *value, size_t len);

/* By a hash of the bytes that it is looked for by: a number of the first keyword; 0: none. */
#define REDACT_KEYWORD_HASHES (1 << 12)
extern uint16_t redact_first_keyword[REDACT_KEYWORD_HASHES];

static inline size_t redact_keyword_hash(const char *text)
{
	uint32_t bytes = (uint32_t)(uint8_t)text[0] << 16 | (uint32_t)(uint8_t)text[1] << 8 |
			 (uint8_t)text[2];

	/* In small letters, and whatever that makes of others. */
	return ((bytes | 0x202020) * UINT32_C(0x9e3779b1)) >> 20;
}

/* It stands for a value: "<your key>", "${KEY}", "xxxx", "%s", AWS's documented examples. */
bool redact_is_placeholder(const char *value, size_t len);

/* It is a key or a good password, and no name, path or URL. */
bool redact_is_key_or_password(const char *text, size_t len);

/* It stands for a password; otherwise the weakest one is a password. */
bool redact_is_password_stand_in(const char *text, size_t len);

/* Keys and tokens that are known by their form. The first also prepares what the other reads. */
void redact_token_begins(struct redact_begins *begins);
bool redact_token(struct ofs_redact_scan *s, unsigned int group, size_t at, struct ofs_secret *ret);

enum redact_sort {
	REDACT_NAME_SECRET, /* the value must look like a key */
	/* Or like a password: three of small letters, capitals, digits, others. */
	REDACT_NAME_PASSWORD,
	REDACT_NAME_PASS, /* so, too; the name must end with it as a word ("DB_PASS") */
	REDACT_NAME_HEADER, /* after a scheme ("Bearer") the value need not look like much */
	REDACT_NAME_PUBLIC, /* not secret, although what follows in the name says so */
	REDACT_NAME_COOKIE, /* the name must end with it, the value be like a key and not short */
	REDACT_NAME_KEY, /* so, too; before any sign, and as a word */
	REDACT_NAME_QUERY, /* so, too; in the query of a URL */
	REDACT_NAME_BASIC, /* the name must end with it, the value be user and password in base64 */
	REDACT_NAME_PHRASE, /* the name is no more than that, the value need not look like much */
};

/* Names in lower case; "?" is "-", "_" or nothing. */
struct redact_name {
	const char *text;
	const char *kind;
	enum redact_sort sort;
};

/* The name of a secret that the name from `start` to `end` is or has in it; NULL: none. */
const struct redact_name *redact_name_find(const char *text, size_t start, size_t end);

/* Before the first of those. */
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
 * Arguments of commands and other secrets known by their context. Called at a keyword;
 * redact_context_rest() finds what else is in the scopes that keywords have opened. Call
 * redact_context_begins() first: it prepares what both read.
 */
void redact_context_begins(struct redact_begins *begins);
bool redact_context(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);
bool redact_context_rest(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* `scheme://user:password@`: at the "://". */
bool redact_url_password(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* `user:password@tcp(host)`, of Go's drivers for MySQL: at the "@". */
bool redact_dsn_password(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/* The token of a Discord bot. */
bool redact_discord(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);

/*
 * A private key in PEM: at its "-----BEGIN"; or, if that is missing, at the end of the line before.
 */
bool redact_key(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);
bool redact_key_rest(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret);
