/* SPDX-License-Identifier: MIT */
#include "io/endpoint.h"

#include <jansson.h>

#include "base/clock.h"
#include "base/text.h"
#include "io/http.h"

/* A longer timeout counts as none. */
#define TIMEOUT_MAX (10 * 365 * 86400 * OFS_NS_PER_S)

struct ofs_endpoint {
	struct ofs_endpoint_settings set;
	struct ofs_http *http;
	char *path; /* path of the base URL, without trailing slashes */
	char *origin; /* "https://host:port", for errors, as the rest of a URL may hold secrets */
	int64_t until; /* deadline by ofs_clock_monotonic() */
};

char *ofs_endpoint_refusal(const void *body, size_t len)
{
	json_t *answer = json_loadb(body, len, 0, NULL);
	const json_t *error = json_object_get(answer, "error");
	const json_t *said[] = { json_object_get(error, "message"), error,
				 json_object_get(answer, "message"),
				 json_object_get(answer, "detail") };
	const char *line = body, *eol;
	char *text = NULL;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(said) && !text; i++)
		if (json_string_length(said[i]))
			text = ofs_strdup(json_string_value(said[i]));
	json_decref(answer);
	for (; len && strchr(" \t\r\n", *line); len--)
		line++;
	if (text || !len)
		return text;
	len = strnlen(line, len);
	eol = memchr(line, '\n', len);
	return ofs_strndup(line, eol ? (size_t)(eol - line) : len);
}

bool ofs_endpoint_is_possible(void)
{
	return ofs_http_is_possible();
}

/* ---- errors */

int ofs_endpoint_fail(const struct ofs_endpoint *e, int code, const char *what, const char *said,
		      struct ofs_error *err)
{
	OFS_FREE char *text = NULL;
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	fprintf(out, "the endpoint %s ", e->origin);
	ofs_http_print_said(out, what, &e->set.key, 1);
	if (said && *said) {
		fputs(": ", out);
		ofs_http_print_said(out, said, &e->set.key, 1);
	}
	text = ofs_text_close(&s);
	return ofs_error_set(err, code, "%s", text);
}

static int fail_timeout(const struct ofs_endpoint *e, struct ofs_error *err)
{
	int64_t ms = (e->set.timeout + OFS_NS_PER_MS - 1) / OFS_NS_PER_MS;
	OFS_FREE char *what = ofs_format("did not answer within %lld %s",
					 (long long)(ms % 1000 ? ms : ms / 1000),
					 ms % 1000 ? "ms" : "s");

	return ofs_endpoint_fail(e, ETIMEDOUT, what, NULL, err);
}

/* ---- the server */

static int set_url(struct ofs_endpoint *e, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_http_url_finish) struct ofs_http_url url = { 0 };
	size_t len;

	/* The URL is not shown, since a wrong one may contain the key. */
	if (ofs_http_url_split(e->set.url, &url) < 0)
		return ofs_error_set(err, EINVAL,
				     "the endpoint is not a URL: it must be like https://host/v1");
	if (!url.scheme || !url.host)
		return ofs_error_set(
			err, EINVAL,
			"the endpoint's URL has no host: it must be like https://host/v1");
	if (url.has_user)
		return ofs_error_set(err, EINVAL,
				     "the URL of the endpoint %s://%s must not hold a user or a "
				     "password: use a key",
				     url.scheme, url.host);
	if (strcmp(url.scheme, "https") != 0 && strcmp(url.scheme, "http") != 0)
		return ofs_error_set(err, EINVAL,
				     "the scheme of an endpoint must be https, or http on this "
				     "machine, not %s",
				     url.scheme);
	if (strcmp(url.scheme, "http") == 0 && !ofs_http_is_loopback(url.host))
		return ofs_error_set(err, EINVAL,
				     "the endpoint http://%s is not on this machine, and without "
				     "TLS anybody on the way could read the %s: use https://",
				     url.host, e->set.content);
	e->origin = ofs_format("%s://%s%s%s", url.scheme, url.host, url.port ? ":" : "",
			       url.port ? url.port : "");
	e->path = url.path ? ofs_steal(url.path) : ofs_strdup("");
	len = strlen(e->path);
	while (len && e->path[len - 1] == '/')
		e->path[--len] = '\0';
	return 0;
}

int ofs_endpoint_open(const struct ofs_endpoint_settings *s, struct ofs_error *err,
		      struct ofs_endpoint **ret)
{
	struct ofs_endpoint *e;
	int r;

	if (!HAVE_LIBCURL)
		return ofs_error_set(
			err, EOPNOTSUPP,
			"this program was built without libcurl, so no endpoint can be reached; "
			"use %s",
			s->instead);
	if (!ofs_http_is_possible())
		return ofs_error_set(err, EOPNOTSUPP,
				     "libcurl cannot be loaded, so no endpoint can be reached; "
				     "install libcurl4, or use %s",
				     s->instead);
	if (s->key && !ofs_http_is_token(s->key))
		return ofs_error_set(
			err, EINVAL,
			"the endpoint's key is empty, or has a blank or another invalid "
			"character");
	e = ofs_alloc(sizeof(*e));
	e->set = *s;
	e->until = INT64_MAX;
	if (s->timeout && s->timeout <= TIMEOUT_MAX)
		e->until = ofs_clock_monotonic() + s->timeout;
	e->http = ofs_http_open();
	r = set_url(e, err);
	if (r < 0)
		ofs_endpoint_close(e);
	else
		*ret = e;
	return r;
}

void ofs_endpoint_close(struct ofs_endpoint *e)
{
	if (!e)
		return;
	ofs_http_close(e->http);
	free(e->origin);
	free(e->path);
	free(e);
}

/* ---- requests */

/* Returns the URL of a call, for the caller to free. The base may already end in `name`. */
static char *url_of(const struct ofs_endpoint *e, const char *name)
{
	size_t len = strlen(e->path), suffix = strlen(name);
	bool has = len >= suffix && strcmp(e->path + len - suffix, name) == 0;
	OFS_FREE char *path = ofs_format("%s%s", e->path, has ? "" : name);

	return ofs_http_url_with_path(e->set.url, path);
}

static int fail_transfer(const struct ofs_endpoint *e, int code, const char *reason,
			 struct ofs_error *err)
{
	OFS_FREE char *large =
		ofs_format("answers with more than %zu MiB", e->set.answer_max >> 20);

	if (code == -ETIMEDOUT)
		return fail_timeout(e, err);
	if (code == -EFBIG)
		return ofs_endpoint_fail(e, EFBIG, large, NULL, err);
	return ofs_endpoint_fail(e, ECONNREFUSED, "cannot be reached", reason, err);
}

static int fail_status(const struct ofs_endpoint *e, const struct ofs_http_answer *answer,
		       struct ofs_error *err)
{
	OFS_FREE char *said = NULL, *what = NULL;

	if (answer->status / 100 == 3) {
		what = ofs_format(
			"redirects (HTTP status %d), which is not followed; give the URL itself",
			answer->status);
		return ofs_endpoint_fail(e, EREMOTEIO, what, answer->redirect, err);
	}
	said = ofs_endpoint_refusal(answer->body.data, answer->body.len);
	what = ofs_format("refuses (HTTP status %d)%s", answer->status,
			  answer->status == 401 && !e->set.key ? ", and no key was given" : "");
	return ofs_endpoint_fail(e, EREMOTEIO, what, said, err);
}

int ofs_endpoint_post(struct ofs_endpoint *e, const char *name, const struct ofs_buf *body,
		      struct ofs_error *err, struct ofs_buf *ret_answer)
{
	OFS_CLEANUP(ofs_http_answer_finish) struct ofs_http_answer answer = { 0 };
	const char *key = e->set.key;
	OFS_FREE char *authorization = key ? ofs_format("Authorization: Bearer %s", key) : NULL;
	OFS_FREE char *url = url_of(e, name);
	const char *const headers[] = { "Content-Type: application/json",
					"Accept: application/json", authorization, NULL };
	int64_t left = (e->until - ofs_clock_monotonic()) / OFS_NS_PER_MS;
	const struct ofs_http_call request = {
		.method = "POST",
		.url = url,
		.headers = headers,
		.body = body->data,
		.body_len = body->len,
		.answer_max = e->set.answer_max,
		.timeout = e->until == INT64_MAX ? 0 : left * OFS_NS_PER_MS,
		.cancel = e->set.cancel,
	};
	int r;

	ret_answer->len = 0;
	if (left <= 0)
		return fail_timeout(e, err);
	r = ofs_http_ask(e->http, &request, &answer);
	if (r == 0 && answer.status != 200)
		r = fail_status(e, &answer, err);
	else if (r < 0)
		r = fail_transfer(e, r, answer.reason, err);
	ofs_buf_finish(ret_answer);
	*ret_answer = ofs_buf_steal(&answer.body);
	return r;
}
