/* SPDX-License-Identifier: MIT */
/* The names that secrets are assigned to. */
#include "base/redact_rules.h"
#include "base/util.h"

static const struct redact_name names[] = {
	{ "public?key", NULL, REDACT_NAME_PUBLIC },
	{ "page?token", NULL, REDACT_NAME_PUBLIC },
	{ "next?token", NULL, REDACT_NAME_PUBLIC },
	{ "continuation?token", NULL, REDACT_NAME_PUBLIC },
	{ "cache?key", NULL, REDACT_NAME_PUBLIC },
	{ "primary?key", NULL, REDACT_NAME_PUBLIC },
	{ "foreign?key", NULL, REDACT_NAME_PUBLIC },
	{ "partition?key", NULL, REDACT_NAME_PUBLIC },
	{ "sort?key", NULL, REDACT_NAME_PUBLIC },
	{ "object?key", NULL, REDACT_NAME_PUBLIC },
	{ "idempotency?key", NULL, REDACT_NAME_PUBLIC },
	{ "host?key", NULL, REDACT_NAME_PUBLIC },
	{ "ssh?key", NULL, REDACT_NAME_PUBLIC },
	{ "password", "password", REDACT_NAME_PASSWORD },
	{ "passwd", "password", REDACT_NAME_PASSWORD },
	{ "passphrase", "password", REDACT_NAME_PASSWORD },
	{ "pwd", "password", REDACT_NAME_PASSWORD },
	{ "pass", "password", REDACT_NAME_PASS },
	{ "securestring", "password", REDACT_NAME_PASSWORD },
	{ "sshpass", "password", REDACT_NAME_PASSWORD },
	{ "requirepass", "password", REDACT_NAME_PASSWORD },
	{ "masterauth", "password", REDACT_NAME_PASSWORD },
	{ "authtok", "password", REDACT_NAME_PASSWORD },
	{ "secret?access?key", "aws-secret-access-key", REDACT_NAME_SECRET },
	{ "secret", "secret", REDACT_NAME_SECRET },
	{ "token", "token", REDACT_NAME_SECRET },
	{ "api?key", "api-key", REDACT_NAME_SECRET },
	{ "access?key", "access-key", REDACT_NAME_SECRET },
	{ "account?key", "account-key", REDACT_NAME_SECRET },
	{ "auth?key", "api-key", REDACT_NAME_SECRET },
	{ "encryption?key", "encryption-key", REDACT_NAME_SECRET },
	{ "private?key", "private-key", REDACT_NAME_SECRET },
	{ "signing?key", "signing-key", REDACT_NAME_SECRET },
	{ "credential", "credential", REDACT_NAME_SECRET },
	{ "app?key", "api-key", REDACT_NAME_SECRET },
	{ "shared?key", "shared-key", REDACT_NAME_PASSWORD },
	{ "psk", "password", REDACT_NAME_PHRASE },
	{ "auth", "credential", REDACT_NAME_BASIC },
	{ "key?data", "private-key", REDACT_NAME_SECRET },
	{ "license?key", "license-key", REDACT_NAME_SECRET },
	{ "art?api", "api-key", REDACT_NAME_SECRET },
	{ "honeycomb?team", "api-key", REDACT_NAME_SECRET },
	{ "hash?salt", "secret", REDACT_NAME_SECRET },
	{ "bw?session", "token", REDACT_NAME_SECRET },
	{ "pat", "token", REDACT_NAME_KEY },
	{ "key", "key", REDACT_NAME_KEY },
	{ "sonar.login", "sonar-token", REDACT_NAME_KEY },
	{ "authorization", "authorization", REDACT_NAME_HEADER },
	{ "phpsessid", "session-cookie", REDACT_NAME_COOKIE },
	{ "jsessionid", "session-cookie", REDACT_NAME_COOKIE },
	{ "asp.net_sessionid", "session-cookie", REDACT_NAME_COOKIE },
	{ "connect.sid", "session-cookie", REDACT_NAME_COOKIE },
	{ "session", "session-cookie", REDACT_NAME_COOKIE },
	{ "sessionid", "session-cookie", REDACT_NAME_COOKIE },
	{ "appid", "api-key", REDACT_NAME_QUERY },
	{ "sig", "signature", REDACT_NAME_QUERY },
	{ "signature", "signature", REDACT_NAME_QUERY },
};

/* Words after the name of a secret that describe the secret, so that the value is not secret. */
static const char *const about[] = {
	"hash", "sha", "md5",  "digest", "checksum", "fingerprint", "version", "type",
	"url",	"uri", "path", "file",	 "name",     "count",	    "expir",   "ttl",
};

/* Returns the end of `name` if it is at `at`, otherwise 0. */
static size_t name_match(const char *text, size_t end, size_t at, const char *name)
{
	for (; *name; name++) {
		if (*name == '?')
			at += at < end && redact_is(text[at], REDACT_DASH | REDACT_LOW_LINE);
		else if (at < end && redact_fold(text[at]) == *name)
			at++;
		else
			return 0;
	}
	return at;
}

/* "tokenizer" and "secretary" are other words; "tokens" and "tokenId" are not. */
static bool word_goes_on(const char *text, size_t at, size_t end)
{
	if (at < end && redact_fold(text[at]) == 's')
		at++;
	return at < end && redact_is(text[at], REDACT_LETTER) &&
	       redact_class(text[at]) == redact_class(text[at - 1]);
}

static bool is_about(const char *text, size_t at, size_t end)
{
	at = redact_run(text, at, end, REDACT_DASH | REDACT_LOW_LINE | REDACT_DOT);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(about); i++)
		if (redact_has(text, end, at, about[i], true))
			return true;
	return false;
}

/* A word starts at "key" in "FOO_KEY", "foo-key" and "fooKey", but not in "monkey". */
static bool starts_word(const char *text, size_t start, size_t at)
{
	/* -Dname, -Pname */
	if (at == start + 2 && text[start] == '-' && redact_among(text[start + 1], "DP"))
		return true;
	return at == start || !redact_is(text[at - 1], REDACT_ALNUM) ||
	       (redact_is(text[at], REDACT_UPPER) && redact_is(text[at - 1], REDACT_LOWER));
}

/* True if `name`, found in [at, after), is significant in the name in [start, end). */
static bool name_counts(const struct redact_name *name, const char *text, size_t start, size_t end,
			size_t at, size_t after)
{
	switch (name->sort) {
	case REDACT_NAME_PUBLIC:
		return true;
	case REDACT_NAME_PASS:
		return after == end && (at == start || !redact_is(text[at - 1], REDACT_ALNUM));
	case REDACT_NAME_HEADER:
	case REDACT_NAME_COOKIE:
		return after == end;
	case REDACT_NAME_KEY:
	case REDACT_NAME_BASIC:
		return after == end && starts_word(text, start, at);
	case REDACT_NAME_PHRASE:
		return after == end && at == start;
	case REDACT_NAME_QUERY:
		return after == end && starts_word(text, start, at) && start &&
		       redact_among(text[start - 1], "?&;");
	default:
		return !word_goes_on(text, after, end) && !is_about(text, after, end);
	}
}

/* For each first letter of names in the table, a bit for each second letter. */
static uint32_t seconds[26];

#define LETTER_BIT(c) (UINT32_C(1) << (redact_fold(c) - 'a'))

/* Lists of the names with the same first letter, in table order, counted from 1; 0 ends a list. */
static uint8_t first_with[26], next_with[OFS_ARRAY_SIZE(names)];

void redact_name_init(void)
{
	for (size_t i = OFS_ARRAY_SIZE(names); i--;) {
		int letter = names[i].text[0] - 'a';

		seconds[letter] |= LETTER_BIT(names[i].text[1]);
		next_with[i] = first_with[letter];
		first_with[letter] = (uint8_t)(i + 1);
	}
}

const struct redact_name *redact_name_find(const char *text, size_t start, size_t end)
{
	for (size_t at = start; at + 1 < end; at++) {
		unsigned int letter = (unsigned int)(text[at] | 0x20) - 'a';

		if (letter >= 26 || !redact_is(text[at + 1], REDACT_LETTER) ||
		    !(seconds[letter] & LETTER_BIT(text[at + 1])))
			continue;
		for (size_t i = first_with[letter]; i; i = next_with[i - 1]) {
			const struct redact_name *name = &names[i - 1];
			size_t after = name_match(text, end, at, name->text);

			if (after && name_counts(name, text, start, end, at, after))
				return name->sort == REDACT_NAME_PUBLIC ? NULL : name;
		}
	}
	return NULL;
}
