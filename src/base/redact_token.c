/* SPDX-License-Identifier: MIT */
/* Keys and tokens that are known by their form, as those who hand them out have published it. */
#include "base/redact_rules.h"
#include "base/util.h"

/* The characters after a prefix. */
enum shape {
	ANY_CASE, /* capitals alone will do */
	MIXED, /* digits, or both cases */
	RANDOM, /* redact_is_random(): the prefix alone says little */
};

/* Prefix, then `min` to `max` characters of `alphabet` and no more. */
struct token {
	const char *prefix;
	const char *kind;
	unsigned int alphabet;
	uint32_t min, max;
	enum shape shape;
	uint8_t shown; /* of the prefix: what is not part of the secret */
	bool (*is_valid)(const char *text, size_t len);
};

/* For forms whose length is not limited. */
#define ANY UINT32_MAX

/* Head, claims and signature. */
static bool is_jwt(const char *text, size_t len)
{
	size_t head = redact_run(text, 0, len, REDACT_URLSAFE);
	size_t body = redact_run(text, OFS_MIN(head + 1, len), len, REDACT_URLSAFE);
	size_t sign = redact_run(text, OFS_MIN(body + 1, len), len, REDACT_URLSAFE);

	return head >= 10 && body >= head + 11 && sign >= body + 11;
}

static const struct token tokens[] = {
	{ "AKIA", "aws-access-key-id", REDACT_UPPER | REDACT_DIGIT, 16, 16, ANY_CASE },
	{ "ASIA", "aws-access-key-id", REDACT_UPPER | REDACT_DIGIT, 16, 16, ANY_CASE },
	{ "ABIA", "aws-access-key-id", REDACT_UPPER | REDACT_DIGIT, 16, 16, ANY_CASE },
	{ "ACCA", "aws-access-key-id", REDACT_UPPER | REDACT_DIGIT, 16, 16, ANY_CASE },
	{ "ghp_", "github-token", REDACT_ALNUM, 36, 255, MIXED },
	{ "gho_", "github-token", REDACT_ALNUM, 36, 255, MIXED },
	{ "ghu_", "github-token", REDACT_ALNUM, 36, 255, MIXED },
	{ "ghs_", "github-token", REDACT_ALNUM, 36, 255, MIXED },
	{ "ghr_", "github-token", REDACT_ALNUM, 36, 255, MIXED },
	{ "github_pat_", "github-token", REDACT_WORD, 40, 255, MIXED },
	{ "glpat-", "gitlab-token", REDACT_URLSAFE | REDACT_DOT, 20, 255, MIXED },
	{ "glptt-", "gitlab-token", REDACT_URLSAFE, 20, 255, MIXED },
	{ "gldt-", "gitlab-token", REDACT_URLSAFE, 20, 255, MIXED },
	{ "glrt-", "gitlab-token", REDACT_URLSAFE | REDACT_DOT, 20, 255, MIXED },
	{ "glcbt-", "gitlab-token", REDACT_URLSAFE, 20, 255, MIXED },
	{ "sk-ant-", "anthropic-key", REDACT_URLSAFE, 20, ANY, MIXED },
	{ "sk-", "openai-key", REDACT_URLSAFE, 32, ANY, RANDOM },
	{ "AIza", "google-api-key", REDACT_URLSAFE, 35, 35, MIXED },
	{ "ya29.", "google-oauth-token", REDACT_URLSAFE | REDACT_DOT, 20, ANY, MIXED },
	{ "GOCSPX-", "google-client-secret", REDACT_URLSAFE, 28, 28, MIXED },
	{ "xoxa-", "slack-token", REDACT_ALNUM | REDACT_DASH, 10, ANY, MIXED },
	{ "xoxb-", "slack-token", REDACT_ALNUM | REDACT_DASH, 10, ANY, MIXED },
	{ "xoxe-", "slack-token", REDACT_ALNUM | REDACT_DASH, 10, ANY, MIXED },
	{ "xoxe.xox", "slack-token", REDACT_ALNUM | REDACT_DASH, 10, ANY, MIXED },
	{ "xoxo-", "slack-token", REDACT_ALNUM | REDACT_DASH, 10, ANY, MIXED },
	{ "xoxp-", "slack-token", REDACT_ALNUM | REDACT_DASH, 10, ANY, MIXED },
	{ "xoxr-", "slack-token", REDACT_ALNUM | REDACT_DASH, 10, ANY, MIXED },
	{ "xoxs-", "slack-token", REDACT_ALNUM | REDACT_DASH, 10, ANY, MIXED },
	{ "xapp-", "slack-token", REDACT_ALNUM | REDACT_DASH, 10, ANY, MIXED },
	{ "hooks.slack.com/services/", "slack-webhook", REDACT_ALNUM | REDACT_BASE64, 20, 255,
	  MIXED, 25 },
	{ "discord.com/api/webhooks/", "discord-webhook", REDACT_URLSAFE | REDACT_BASE64, 60, 255,
	  MIXED, 25 },
	{ "sk_live_", "stripe-key", REDACT_ALNUM, 16, 255, MIXED },
	{ "sk_test_", "stripe-key", REDACT_ALNUM, 16, 255, MIXED },
	{ "rk_live_", "stripe-key", REDACT_ALNUM, 16, 255, MIXED },
	{ "rk_test_", "stripe-key", REDACT_ALNUM, 16, 255, MIXED },
	{ "whsec_", "stripe-key", REDACT_ALNUM | REDACT_BASE64, 24, 255, MIXED },
	{ "SK", "twilio-key", REDACT_LOWER | REDACT_DIGIT, 32, 32, MIXED, 0, redact_is_hex },
	{ "SG.", "sendgrid-key", REDACT_URLSAFE | REDACT_DOT, 66, 66, MIXED },
	{ "npm_", "npm-token", REDACT_ALNUM, 36, 36, MIXED },
	{ "pypi-AgE", "pypi-token", REDACT_URLSAFE, 50, ANY, MIXED },
	{ "hf_", "huggingface-token", REDACT_ALNUM, 30, 40, MIXED },
	{ "gsk_", "groq-key", REDACT_ALNUM, 40, 64, MIXED },
	{ "xai-", "xai-key", REDACT_ALNUM, 64, 100, MIXED },
	{ "hvs.", "vault-token", REDACT_URLSAFE, 24, 255, MIXED },
	{ "dckr_pat_", "docker-token", REDACT_URLSAFE, 27, 27, MIXED },
	{ "dop_v1_", "digitalocean-token", REDACT_LOWER | REDACT_DIGIT, 64, 64, MIXED, 0,
	  redact_is_hex },
	{ "AGE-SECRET-KEY-1", "age-key", REDACT_UPPER | REDACT_DIGIT, 58, 58, MIXED },
	{ "eyJ", "jwt", REDACT_URLSAFE | REDACT_DOT, 30, ANY, MIXED, 0, is_jwt },
};

unsigned int redact_token_count(void)
{
	return OFS_ARRAY_SIZE(tokens);
}

void redact_token_begins(struct redact_begins *begins)
{
	for (unsigned int rule = 0; rule < OFS_ARRAY_SIZE(tokens); rule++) {
		const struct token *t = &tokens[rule];
		size_t n = strlen(t->prefix);

		for (size_t i = 0; i < REDACT_BEGINS; i++)
			for (unsigned int c = 0; c < 256; c++)
				if (i < n ? (char)c == t->prefix[i]
					  : redact_is((char)c, t->alphabet))
					begins->byte[i][c] |= UINT64_C(1) << rule;
	}
}

static bool is_shaped(const struct token *t, const char *text, size_t len)
{
	struct redact_look look;

	redact_look(text, len, &look);
	if (look.variety < REDACT_VARIETY_MIN || (t->is_valid && !t->is_valid(text, len)))
		return false;
	switch (t->shape) {
	case MIXED:
		if (!(look.classes & REDACT_DIGIT) &&
		    (look.classes & REDACT_LETTER) != REDACT_LETTER)
			return false;
		break;
	case RANDOM:
		if (!redact_is_random(&look, len))
			return false;
		break;
	case ANY_CASE:
		break;
	}
	return !redact_is_placeholder(text, len);
}

/* Before the mark was put there the token was longer, and was judged by all of it. */
static bool is_cut_short(const struct ofs_redact_scan *s, size_t end)
{
	return redact_has(s->text, s->len, end, REDACT_MARK, false);
}

/*
 * A token does not start amid its own alphabet, so the runs that a rule reads ahead do not overlap.
 */
bool redact_token(struct ofs_redact_scan *s, unsigned int rule, size_t at, struct ofs_secret *ret)
{
	const struct token *t = &tokens[rule];
	size_t body = at + strlen(t->prefix), end;

	if (!redact_has(s->text, s->len, at, t->prefix, false) ||
	    (!t->shown && !redact_starts(s, at, REDACT_ALNUM | t->alphabet)))
		return false;
	end = redact_run(s->text, body, s->len, t->alphabet);
	if (is_cut_short(s, end) || (end < s->len && redact_is(s->text[end], REDACT_ALNUM)))
		return false;
	while (end > body && s->text[end - 1] == '.')
		end--;
	if (end - body < t->min || end - body > t->max || !is_shaped(t, s->text + body, end - body))
		return false;
	*ret = (struct ofs_secret){ at + t->shown, end - at - t->shown, t->kind };
	return true;
}

/* Not drawn up by hand. */
static bool is_varied(const char *text, size_t len)
{
	struct redact_look look;

	redact_look(text, len, &look);
	return look.variety >= REDACT_VARIETY_MIN && !redact_is_placeholder(text, len);
}

/*
 * Discord's bot token: the bot's number in base64 (a number's digits in base64 start as redact.c
 * says), the time, a signature.
 */
bool redact_discord(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	static const struct {
		size_t min, max;
	} parts[] = { { 23, 30 }, { 6, 7 }, { 27, 40 } };
	size_t end = at, i, start;

	if (!redact_starts(s, at, REDACT_URLSAFE | REDACT_DOT))
		return false;
	for (i = 0; i < OFS_ARRAY_SIZE(parts); i++) {
		if (i && (end >= s->len || s->text[end++] != '.'))
			return false;
		start = end;
		end = redact_run(s->text, start, s->len, REDACT_URLSAFE);
		if (end - start < parts[i].min || end - start > parts[i].max)
			return false;
	}
	if (is_cut_short(s, end) || !is_varied(s->text + at, end - at))
		return false;
	*ret = (struct ofs_secret){ at, end - at, "discord-token" };
	return true;
}

/* A bot's number, which is not secret, and what belongs to it. */
bool redact_telegram(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	enum {
		NUMBER_MIN = 8,
		NUMBER_MAX = 10,
		LENGTH = 35
	};
	size_t start = at, end = redact_run(s->text, at + 1, s->len, REDACT_URLSAFE);

	while (start > s->at && at - start <= NUMBER_MAX &&
	       redact_is(s->text[start - 1], REDACT_DIGIT))
		start--;
	if (at - start < NUMBER_MIN || at - start > NUMBER_MAX || end - at - 1 != LENGTH)
		return false;
	if (is_cut_short(s, end) || !is_varied(s->text + at + 1, LENGTH))
		return false;
	*ret = (struct ofs_secret){ at + 1, LENGTH, "telegram-token" };
	return true;
}
