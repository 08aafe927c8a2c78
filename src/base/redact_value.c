/* SPDX-License-Identifier: MIT */
/* Distinguishes secrets from names, words and placeholders by counting characters. */
#include "base/redact_rules.h"
#include "base/util.h"

__extension__ const uint16_t redact_classes[256] = {
	[0 ... '\t' - 1] = REDACT_STOP,
	['\t'] = REDACT_SPACE,
	['\t' + 1 ... ' ' - 1] = REDACT_STOP,
	[' '] = REDACT_SPACE,
	['a' ... 'z'] = REDACT_LOWER,
	['A' ... 'Z'] = REDACT_UPPER,
	['0' ... '9'] = REDACT_DIGIT,
	['-'] = REDACT_DASH,
	['_'] = REDACT_LOW_LINE,
	['.'] = REDACT_DOT,
	['+'] = REDACT_BASE64,
	['/'] = REDACT_BASE64,
	['='] = REDACT_BASE64,
	['"'] = REDACT_QUOTE,
	['\''] = REDACT_QUOTE,
	['`'] = REDACT_QUOTE,
	['$'] = REDACT_DOLLAR,
	['~'] = REDACT_TILDE,
	['%'] = REDACT_PERCENT,
	[':'] = REDACT_COLON,
	[','] = REDACT_COMMA | REDACT_STOP,
	[';'] = REDACT_STOP,
	['&'] = REDACT_STOP,
	['<'] = REDACT_STOP,
	['>'] = REDACT_STOP,
	['('] = REDACT_STOP,
	[')'] = REDACT_STOP,
	['['] = REDACT_STOP,
	[']'] = REDACT_STOP,
	['{'] = REDACT_STOP,
	['}'] = REDACT_STOP,
	['|'] = REDACT_STOP,
	['\\'] = REDACT_STOP,
	[0x7f] = REDACT_STOP,
};

/* Characters examined; enough for a decision. */
#define SAMPLE 64

/* Bytes in which a placeholder is recognised. */
#define STAND_IN_WITHIN 128

/* True if ESC ends at `at`, as itself or as written in JSON, C or shells. */
static bool ends_in_escape(const char *text, size_t floor, size_t at)
{
	static const char *const names[] = { "\033", "\\u001b", "\\x1b", "\\033", "\\e" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);

		if (at - floor >= len && redact_has(text, at, at - len, names[i], true))
			return true;
	}
	return false;
}

/*
 * True if an escape ends at `at`: "\n" and similar, "\u003d", "\x3d", "%3d", or a terminal colour.
 */
static bool escape_ends(const char *text, size_t floor, size_t at)
{
	static const struct {
		unsigned int len; /* digits or letters after `start` */
		const char *start;
	} escapes[] = { { 0, "\\n" }, { 0, "\\r" }, { 0, "\\t" },
			{ 4, "\\u" }, { 2, "\\x" }, { 2, "%" } };
	size_t i, n;

	for (i = 0; i < OFS_ARRAY_SIZE(escapes); i++) {
		n = strlen(escapes[i].start) + escapes[i].len;
		if (at - floor >= n && redact_has(text, at, at - n, escapes[i].start, false) &&
		    redact_run(text, at - escapes[i].len, at, REDACT_ALNUM) == at)
			return true;
	}
	if (text[at - 1] != 'm')
		return false;
	for (n = 2; n <= at - floor && n < SAMPLE; n++)
		if (!redact_is(text[at - n], REDACT_DIGIT) && text[at - n] != ';')
			break;
	return n < at - floor && text[at - n] == '[' && ends_in_escape(text, floor, at - n);
}

bool redact_starts(const struct ofs_redact_scan *s, size_t at, unsigned int classes)
{
	return at == s->at || !redact_is(s->text[at - 1], classes) ||
	       escape_ends(s->text, s->at, at);
}

/*
 * The 250 most common pairs of letters, 94% of those in words of programs and documentation. Bit n
 * of an entry is set if the n-th letter often follows its letter.
 */
static const uint32_t common_pairs[26] = {
	0x13ebd6e, 0x0164911, 0x01e4d95, 0x0164919, 0x0eff97f, 0x0124931, 0x01669d1,
	0x00a4111, 0x2aef87f, 0x0000000, 0x0040110, 0x11c4919, 0x014d113, 0x03c657d,
	0x07efd6f, 0x11ec991, 0x0100000, 0x13efd5d, 0x11cc995, 0x11ec995, 0x00eb95f,
	0x0000111, 0x0024191, 0x0088110, 0x0048000, 0x0000010,
};

static bool is_common_pair(char a, char b)
{
	return common_pairs[redact_fold(a) - 'a'] >> (redact_fold(b) - 'a') & 1;
}

void redact_look(const char *value, size_t len, struct redact_look *ret)
{
	unsigned int c, last = 0, i, same = 0;
	uint8_t count[256] = { 0 };

	*ret = (struct redact_look){ .sampled = (unsigned int)OFS_MIN(len, SAMPLE) };
	for (i = 0; i < ret->sampled; i++, last = c) {
		c = redact_class(value[i]);
		same += 2 * count[(uint8_t)value[i]]++ + 1;
		ret->classes |= c;
		ret->digits += c == REDACT_DIGIT;
		if (!(c & ~(REDACT_STOP | REDACT_DOLLAR | REDACT_COMMA | REDACT_PERCENT))) {
			ret->special = true;
			ret->odd += (unsigned char)value[i] < 0x80;
		}
		if (!(last & REDACT_ALNUM) || !(c & REDACT_ALNUM))
			continue;
		if (c != last && !(last == REDACT_UPPER && c == REDACT_LOWER)) {
			ret->changes++;
			ret->odd++;
		} else if (c & REDACT_LETTER) {
			ret->odd += !is_common_pair(value[i - 1], value[i]);
		}
	}
	/* `same` is the sum of the squares of the counts. */
	ret->variety = same ? ret->sampled * ret->sampled / same : 0;
}

bool redact_is_random(const struct redact_look *look, size_t len)
{
	if (look->variety < REDACT_VARIETY_MIN || !(look->classes & REDACT_LETTER))
		return false;
	if (look->digits > 1)
		return look->changes * 5 >= look->sampled ||
		       redact_is_odd(look, len >= REDACT_LONG);
	/* Names such as "V1SecretEnvSource" are not random. */
	return (look->digits || len >= REDACT_LONG) &&
	       (look->changes * 4 >= look->sampled || redact_is_odd(look, false));
}

bool redact_is_hex(const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (redact_is(value[i], REDACT_LETTER) && redact_fold(value[i]) > 'f')
			return false;
	return true;
}

static bool opens_stand_in(const char *value, size_t len)
{
	if (len < 2)
		return true;
	switch (value[0]) {
	case '<':
	case '{':
	case '[':
	case '(':
		return true;
	case '*':
		return value[1] == '*';
	case '$':
		return redact_is(value[1], REDACT_LETTER | REDACT_LOW_LINE) ||
		       redact_among(value[1], "{($");
	case '%':
		return redact_is(value[1], REDACT_LETTER | REDACT_LOW_LINE) ||
		       redact_among(value[1], "{(%");
	default:
		return false;
	}
}

bool redact_is_placeholder(const char *value, size_t len)
{
	static const char *const words[] = {
		"example",    "changeme", "change_me", "change-me",  "placeholder", "redacted",
		"replace",    "insert",	  "your",      "1234567890", "abcdefghij",  "xxxx",
		"0000000000", "****",	  "....",      "${",	     "{{",
	};
	size_t i, k, n = OFS_MIN(len, STAND_IN_WITHIN);

	if (opens_stand_in(value, len))
		return true;
	for (i = 0; i < n; i++)
		for (k = 0; k < OFS_ARRAY_SIZE(words); k++)
			if (redact_fold(value[i]) == words[k][0] &&
			    redact_has(value, len, i, words[k], true))
				return true;
	return false;
}

bool redact_is_password_stand_in(const char *text, size_t len)
{
	static const char *const words[] = {
		"password", "passwd", "pass", "pwd", "secret", "token"
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++)
		if (len == strlen(words[i]) && redact_has(text, len, 0, words[i], true))
			return true;
	return redact_is_placeholder(text, len) || memchr(text, '{', len) || memchr(text, '<', len);
}
