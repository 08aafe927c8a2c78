/* SPDX-License-Identifier: MIT */
#include "remote/credentials.h"

#include <jansson.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "io/http.h"
#include "remote/secret.h"

#define COMMAND "the credentials command"
/* Credentials that expire sooner are not used without loading them again. */
#define STALE (5 * 60 * OFS_NS_PER_S)

void ofs_credentials_wipe(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
}

void ofs_credentials_finish(struct ofs_credentials *c)
{
	ofs_credentials_wipe(&c->access_key);
	ofs_credentials_wipe(&c->secret);
	ofs_credentials_wipe(&c->token);
	memset(c, 0, sizeof(*c));
}

bool ofs_credentials_are_stale(const struct ofs_credentials *c, int64_t now)
{
	return c->expires != INT64_MAX && c->expires - now < STALE;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Copies the texts. `from` names their source, for errors. */
static int set(const char *key, const char *secret, const char *token, int64_t expires,
	       const char *from, struct ofs_error *err, struct ofs_credentials *ret)
{
	if (!key || !secret)
		return ofs_error_set(err, EACCES, "%s provides no %s", from,
				     key ? "secret access key" : "access key ID");
	if (!ofs_http_is_token(key) || strpbrk(key, "/,=") || !ofs_http_is_token(secret) ||
	    (token && !ofs_http_is_token(token)))
		return ofs_error_set(err, EACCES,
				     "%s provides a key or a token with a blank or another "
				     "invalid character",
				     from);
	*ret = (struct ofs_credentials){
		.access_key = ofs_strdup(key),
		.secret = ofs_strdup(secret),
		.token = token ? ofs_strdup(token) : NULL,
		.expires = expires,
	};
	return 0;
}

/* ---- credentials from a command */

/*
 * Parses "2026-01-31T12:00:00Z", also with a fraction of a second or an offset from UTC ("+01:00").
 */
static bool parse_time(const char *text, int64_t *ret)
{
	struct tm tm = { 0 };
	int n = 0, hours = 0, minutes = 0;
	long offset = 0;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) != 6 ||
	    tm.tm_year < 1970 || tm.tm_year > 2200)
		return false;
	text += n;
	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789");
	if (*text == '+' || *text == '-') {
		if (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &n) != 2 || text[1 + n])
			return false;
		offset = (hours * 60L + minutes) * (*text == '-' ? -60 : 60);
	} else if (strcmp(text, "Z") != 0) {
		return false;
	}
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*ret = ((int64_t)timegm(&tm) - offset) * OFS_NS_PER_S;
	return true;
}

static void wipe_member(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	if (json_is_string(value))
		explicit_bzero((char *)json_string_value(value), json_string_length(value));
}

static int parse_output(const struct ofs_buf *out, struct ofs_error *err,
			struct ofs_credentials *ret)
{
	static const char from[] = COMMAND;
	json_t *json = ofs_json_is_deep((const char *)out->data, out->len)
			       ? NULL
			       : json_loadb((const char *)out->data, out->len, 0, NULL);
	const char *expiration = json_string_value(json_object_get(json, "Expiration"));
	int64_t expires = INT64_MAX;
	int r;

	if (!json_is_object(json))
		r = ofs_error_set(err, EACCES,
				  "%s does not print JSON like AWS's credential_process", from);
	else if (json_integer_value(json_object_get(json, "Version")) != 1)
		r = ofs_error_set(err, EACCES, "%s does not print \"Version\": 1", from);
	else if (expiration && !parse_time(expiration, &expires))
		r = ofs_error_set(err, EACCES,
				  "%s prints an invalid \"Expiration\"; it must be like "
				  "2026-01-31T12:00:00Z",
				  from);
	else if (expires <= ofs_clock_wall())
		r = ofs_error_set(err, EACCES, "%s prints credentials that have expired", from);
	else
		r = set(json_string_value(json_object_get(json, "AccessKeyId")),
			json_string_value(json_object_get(json, "SecretAccessKey")),
			json_string_value(json_object_get(json, "SessionToken")), expires, from,
			err, ret);
	wipe_member(json, "SecretAccessKey");
	wipe_member(json, "SessionToken");
	json_decref(json);
	return r;
}

static int from_command(const char *command, struct ofs_error *err, struct ofs_credentials *ret)
{
	OFS_CLEANUP(ofs_secret_finish) struct ofs_buf out = OFS_BUF_INIT;
	int r = ofs_secret_run(command, COMMAND, err, &out);

	return r < 0 ? r : parse_output(&out, err, ret);
}

/* ---- credentials from the shared file */

/* Allocated; NULL: there is no home directory. */
static char *path_of_file(void)
{
	const char *path = variable("AWS_SHARED_CREDENTIALS_FILE"), *home = variable("HOME");

	if (path)
		return ofs_strdup(path);
	return home ? ofs_format("%s/.aws/credentials", home) : NULL;
}

/* Trims blanks at both ends, in place. */
static char *trim(char *text)
{
	size_t len = strlen(text);

	while (len && strchr(" \t\r", text[len - 1]))
		text[--len] = '\0';
	return text + strspn(text, " \t");
}

/* The entries of a profile, which point into the text of the file. */
struct profile {
	bool found;
	const char *key, *secret, *token;
};

static void take_line(struct profile *p, char *line)
{
	char *value = strchr(line, '=');

	if (!value || *line == '#' || *line == ';')
		return;
	*value++ = '\0';
	line = trim(line);
	value = trim(value);
	if (strcasecmp(line, "aws_access_key_id") == 0)
		p->key = value;
	else if (strcasecmp(line, "aws_secret_access_key") == 0)
		p->secret = value;
	else if (strcasecmp(line, "aws_session_token") == 0)
		p->token = value;
}

static struct profile find_profile(char *text, const char *name)
{
	struct profile p = { 0 };
	char *line, *save = NULL;
	bool inside = false;
	size_t len;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line = trim(line);
		len = strlen(line);
		if (*line == '[') {
			if (line[len - 1] == ']')
				line[len - 1] = '\0';
			inside = strcmp(trim(line + 1), name) == 0;
			p.found = p.found || inside;
		} else if (inside) {
			take_line(&p, line);
		}
	}
	return p;
}

static int from_file(struct ofs_error *err, struct ofs_credentials *ret)
{
	OFS_CLEANUP(ofs_secret_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_FREE char *path = path_of_file(), *from = NULL, *shown = NULL;
	const char *name = variable("AWS_PROFILE");
	struct profile p;
	int r = path ? ofs_secret_read_file(path, err, &text) : 0;

	if (r < 0)
		return r;
	if (r == 0)
		return ofs_error_set(err, EACCES,
				     "there are no credentials: set AWS_ACCESS_KEY_ID and "
				     "AWS_SECRET_ACCESS_KEY, name a command that prints them, or "
				     "write them into %s",
				     path ? path : "~/.aws/credentials");
	shown = ofs_text_shown(name ? name : "default");
	from = ofs_format("the profile '%s' in '%s'", shown, path);
	p = find_profile(ofs_buf_str(&text), name ? name : "default");
	if (!p.found)
		return ofs_error_set(err, EACCES,
				     "there is no profile '%s' in '%s'; set AWS_PROFILE", shown,
				     path);
	if (p.token && !*p.token)
		p.token = NULL;
	return set(p.key, p.secret, p.token, INT64_MAX, from, err, ret);
}

int ofs_credentials_load(const char *command, struct ofs_error *err, struct ofs_credentials *ret)
{
	const char *key = variable("AWS_ACCESS_KEY_ID");
	const char *secret = variable("AWS_SECRET_ACCESS_KEY");

	if (key || secret)
		return set(key, secret, variable("AWS_SESSION_TOKEN"), INT64_MAX, "the environment",
			   err, ret);
	if (command && *command)
		return from_command(command, err, ret);
	return from_file(err, ret);
}
