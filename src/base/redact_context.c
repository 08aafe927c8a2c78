/* SPDX-License-Identifier: MIT */
/* Secrets that are known by where they stand: arguments of commands, cookies, files of passwords. */
#include "base/redact_rules.h"
#include "base/util.h"

/* How far a command's name, and the parts of an entry, are looked for. */
#define NEAR 256

/* How much of a header with cookies is looked at. */
#define COOKIES_MAX 4096

#define PASSWORD_MIN 3

/* Of words in a shell, and of fields. */
#define WORD_ENDS (REDACT_SPACE | REDACT_QUOTE)

static bool is_blank(char c)
{
	return redact_is(c, REDACT_SPACE) || c == '\n' || c == '\r';
}

/* The end of the word that starts at `at`: to its quote again, if it has one. */
static size_t word_end(const struct ofs_redact_scan *s, size_t at, char quote)
{
	size_t limit = OFS_MIN(s->len, at + NEAR);

	while (at < limit && (unsigned char)s->text[at] >= ' ' && s->text[at] != '\\' &&
	       (quote ? s->text[at] != quote
		      : !redact_is(s->text[at], WORD_ENDS) && !redact_among(s->text[at], ";|&<>)")))
		at++;
	return at;
}

static bool take_password(const struct ofs_redact_scan *s, size_t start, size_t end,
			  struct ofs_secret *ret)
{
	const char *text = s->text + start;

	if (start + PASSWORD_MIN > end || *text == '-' || *text == '$' || *text == '%' ||
	    redact_has(s->text, s->len, end, REDACT_MARK, false) ||
	    redact_has(s->text, s->len, start, REDACT_MARK, false) ||
	    redact_is_password_stand_in(text, end - start))
		return false;
	*ret = (struct ofs_secret){ start, end - start, "password" };
	return true;
}

/* ---- commands */

enum form {
	GLUED, /* -pPASSWORD */
	NEXT, /* -p PASSWORD */
	USER, /* -u USER:PASSWORD */
};

static const struct command {
	const char *name;
	const char *option;
	enum form form;
} commands[] = {
	{ "curl", "-u", USER },
	{ "curl", "--user", USER },
	{ "curl", "-U", USER },
	{ "curl", "--proxy-user", USER },
	{ "http", "-a", USER },
	{ "http", "--auth", USER },
	{ "mysql", "-p", GLUED },
	{ "mariadb", "-p", GLUED },
	{ "sshpass", "-p", NEXT },
	{ "sshpass", "-p", GLUED },
	{ "redis-cli", "-a", NEXT },
	{ "mongo", "-p", NEXT },
	{ "docker login", "-p", NEXT },
	{ "podman login", "-p", NEXT },
	{ "az login", "-p", NEXT },
	{ "ldap", "-w", NEXT },
	{ "unzip", "-P", NEXT },
	{ "7z", "-p", GLUED },
	{ "sqlcmd", "-P", NEXT },
	{ "ipmitool", "-P", NEXT },
	{ "mosquitto_", "-P", NEXT },
	{ "snmp", "-A", NEXT },
	{ "snmp", "-X", NEXT },
	{ "psexec", "-p", NEXT },
	{ "openssl", "-k", NEXT },
	{ "openssl", "-K", NEXT },
	{ "keytool", "-storepass", NEXT },
	{ "keytool", "-keypass", NEXT },
	{ "agent.jar", "-secret", NEXT },
	{ "erl", "-setcookie", NEXT },
	{ "curl", "--oauth2-bearer", NEXT },
	{ "curl", "--cert", USER },
	{ "codecov", "-t", NEXT },
};

/* The line names the command before `at`, even if another secret comes between them. */
static bool names_command(const struct ofs_redact_scan *s, size_t at, const char *name)
{
	size_t stop = at > NEAR ? at - NEAR : 0, len = strlen(name);

	for (; at > stop && s->text[at - 1] != '\n'; at--)
		if (redact_has(s->text, s->len, at - 1, name, false) &&
		    (at == 1 || !redact_is(s->text[at - 2], REDACT_URLSAFE)) &&
		    !redact_is(s->text[at - 1 + len], REDACT_DIGIT))
			return true;
	return false;
}

/* `at`: after the option, which `"` precedes if it is one of a list of words. */
static bool find_argument(const struct ofs_redact_scan *s, enum form form, bool is_listed,
			  size_t at, struct ofs_secret *ret)
{
	bool apart;
	char quote = 0;
	size_t end;

	if (is_listed && redact_has(s->text, s->len, at, "\",", false))
		at += strlen("\",");
	else if (is_listed && redact_has(s->text, s->len, at, "\"", false))
		return false;
	apart = at < s->len &&
		(redact_is(s->text[at], REDACT_SPACE) || (form == USER && s->text[at] == '='));
	if (at == s->len || (form == GLUED && apart) || (form == NEXT && !apart))
		return false;
	at = redact_run(s->text, at + apart, s->len, apart ? REDACT_SPACE : 0);
	if (is_listed && apart && !redact_has(s->text, s->len, at, "\"", false))
		return false;
	if (at < s->len && redact_is(s->text[at], REDACT_QUOTE))
		quote = s->text[at++];
	end = word_end(s, at, quote);
	if (form == USER) {
		const char *colon = memchr(s->text + at, ':', end - at);

		/* "-u 1000:1000" is no password. */
		if (!colon ||
		    redact_run(s->text, at, end, REDACT_DIGIT) == (size_t)(colon - s->text))
			return false;
		at = (size_t)(colon - s->text) + 1;
	}
	return take_password(s, at, end, ret);
}

bool redact_argument(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	if (at == s->at || !(redact_is(s->text[at - 1], REDACT_SPACE) || s->text[at - 1] == '"'))
		return false;
	for (const struct command *c = commands; c < commands + OFS_ARRAY_SIZE(commands); c++) {
		size_t after = at + strlen(c->option);

		if (redact_has(s->text, s->len, at, c->option, false) &&
		    find_argument(s, c->form, s->text[at - 1] == '"', after, ret) &&
		    names_command(s, at, c->name))
			return true;
	}
	return false;
}

/* ---- cookies */

static bool in_header(char c)
{
	return (unsigned char)c >= ' ' && !redact_is(c, REDACT_QUOTE) && c != '\\';
}

/* Where the value of the cookie from `at` to `end` starts; 0: it is not like a key. */
static size_t cookie_value(const char *text, size_t at, size_t end)
{
	const char *sign = memchr(text + at, '=', end - at);
	size_t start = sign ? (size_t)(sign - text) + 1 : end;
	struct redact_look look;

	if (start + REDACT_LONG > end)
		return 0;
	redact_look(text + start, end - start, &look);
	return redact_is_random(&look, end - start) &&
			       !redact_is_placeholder(text + start, end - start)
		       ? start
		       : 0;
}

bool redact_cookie_rest(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	const char *text = s->text;
	size_t start = 0, end = s->cookies_end;

	while (at < end && !start) {
		size_t from = at;

		while (at < end && !redact_among(text[at], "; "))
			at++;
		start = cookie_value(text, from, at++);
	}
	while (start && redact_among(text[end - 1], "; "))
		end--;
	if (!start || redact_has(text, s->len, end, REDACT_MARK, false))
		return false;
	*ret = (struct ofs_secret){ start, end - start, "cookie" };
	return true;
}

bool redact_cookie(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	const char *text = s->text;
	size_t end = at + strlen("cookie"), limit, start;
	bool sets = at >= s->at + 4 && redact_has(text, s->len, at - 4, "set-", true);

	if (!redact_has(text, s->len, at, "cookie", true))
		return false;
	end = redact_run(text, end, OFS_MIN(s->len, end + 2), REDACT_QUOTE);
	if (end == s->len || text[end++] != ':')
		return false;
	start = redact_run(text, end, OFS_MIN(s->len, end + NEAR), REDACT_SPACE | REDACT_QUOTE);
	limit = OFS_MIN(s->len, start + COOKIES_MAX);
	for (end = start; end < limit && in_header(text[end]) && !(sets && text[end] == ';');)
		end++;
	s->cookies_end = end;
	return redact_cookie_rest(s, start, ret);
}

/* ---- files of passwords */

/* Back over a word and the blanks before it; `at` again when there is neither. */
static size_t back_word(const struct ofs_redact_scan *s, size_t at)
{
	size_t stop = OFS_MAX(s->at, at > NEAR ? at - NEAR : 0), word = at;

	while (word > stop && !is_blank(s->text[word - 1]))
		word--;
	while (word > stop && word < at && is_blank(s->text[word - 1]))
		word--;
	return word;
}

bool redact_netrc(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	static const char *const words[] = { "login", "machine", "account" };
	size_t value = at + strlen("password"), before = at;
	bool is_entry = false;

	if (at == s->at || !is_blank(s->text[at - 1]) ||
	    !redact_has(s->text, s->len, at, "password ", false))
		return false;
	while (before > s->at && at - before < NEAR && is_blank(s->text[before - 1]))
		before--;
	before = back_word(s, before); /* the user, or the host */
	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i]);

		is_entry = is_entry || (before >= s->at + len &&
					redact_has(s->text, s->len, before - len, words[i], false));
	}
	value = redact_run(s->text, value, s->len, REDACT_SPACE);
	return is_entry && take_password(s, value, word_end(s, value, 0), ret);
}

bool redact_pgpass(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	size_t start = at, end = at + 1, stop = OFS_MAX(s->at, at > NEAR ? at - NEAR : 0);
	unsigned int fields = 0;

	while (start > stop && redact_is(s->text[start - 1], REDACT_URLSAFE | REDACT_DOT))
		start--;
	start -= start == at && start > stop && s->text[start - 1] == '*';
	if (start > s->at && !is_blank(s->text[start - 1]))
		return false;
	if (end < s->len && s->text[end] == '*')
		end++;
	else
		end = redact_run(s->text, end, OFS_MIN(s->len, end + 5), REDACT_DIGIT);
	/* A port, and no part of a hardware address. */
	if (end - at < 5 && s->text[end - 1] != '*')
		return false;
	/* The port, the database and the user end with a colon. */
	for (; fields < 3 && end < s->len && s->text[end] == ':'; fields++) {
		start = ++end;
		if (fields < 2)
			while (end < s->len && end - start < NEAR && s->text[end] != ':' &&
			       !is_blank(s->text[end]) && !redact_is(s->text[end], REDACT_QUOTE))
				end++;
	}
	return fields == 3 && take_password(s, start, word_end(s, start, 0), ret);
}
