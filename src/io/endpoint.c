/* SPDX-License-Identifier: MIT */
#include "io/endpoint.h"

#include <jansson.h>

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

#if !HAVE_LIBCURL

bool ofs_endpoint_is_possible(void)
{
	return false;
}

int ofs_endpoint_open(const struct ofs_endpoint_settings *s, struct ofs_error *err,
		      struct ofs_endpoint **ret)
{
	return ofs_error_set(err, EOPNOTSUPP,
			     "this program was built without libcurl, so no endpoint can be asked; "
			     "%s can",
			     s->instead);
}

void ofs_endpoint_close(struct ofs_endpoint *e)
{
}

int ofs_endpoint_post(struct ofs_endpoint *e, const char *name, const struct ofs_buf *body,
		      struct ofs_error *err, struct ofs_buf *ret_answer)
{
	return -EOPNOTSUPP;
}

int ofs_endpoint_fail(const struct ofs_endpoint *e, int code, const char *what, const char *said,
		      struct ofs_error *err)
{
	return -code;
}

#else

#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"

/* Of what others say within an error, in bytes. */
#define SAID_MAX 240
/* A timeout that is longer is none. */
#define TIMEOUT_MAX (10 * 365 * 86400 * OFS_NS_PER_S)

struct ofs_endpoint {
	struct ofs_endpoint_settings set;
	CURLU *url;
	char *path; /* of the base, without a slash at its end */
	char *origin; /* "https://host:port", for errors: the rest of a URL may hold secrets */
	bool local; /* it is on this machine */
	int64_t until; /* by ofs_clock_monotonic() */
};

/* ---- libcurl */

/* Nothing checks the types of arguments here: numbers must be long. */
#define CURL_FUNCTIONS(X)     \
	X(curl_global_init)   \
	X(curl_easy_init)     \
	X(curl_easy_setopt)   \
	X(curl_easy_perform)  \
	X(curl_easy_getinfo)  \
	X(curl_easy_strerror) \
	X(curl_easy_cleanup)  \
	X(curl_url)           \
	X(curl_url_set)       \
	X(curl_url_get)       \
	X(curl_url_cleanup)   \
	X(curl_free)

#define DECLARE(name) __typeof__(name) *name##_;

static struct {
	CURL_FUNCTIONS(DECLARE)
	bool found;
} lib;

/* Its ABI has been the same since 2006; Debian has it for two TLS libraries. */
static void lib_load(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	void *handle = NULL;

	for (size_t i = 0; !handle && i < OFS_ARRAY_SIZE(names); i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return;
	lib.found = true;
#define LOOK_UP(name)                                  \
	*(void **)&lib.name##_ = dlsym(handle, #name); \
	lib.found = lib.found && lib.name##_;
	CURL_FUNCTIONS(LOOK_UP)
	if (lib.found && lib.curl_global_init_(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		lib.found = false;
}

bool ofs_endpoint_is_possible(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, lib_load);
	return lib.found;
}

/* ---- errors */

/* Prints what the server, or libcurl, says as one line in which the key does not occur. */
static void print_said(FILE *out, const char *key, const char *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf plain = OFS_BUF_INIT;
	const char *hit;
	size_t used;

	while (key && (hit = strstr(text, key))) {
		ofs_buf_append(&plain, text, (size_t)(hit - text));
		ofs_buf_append_str(&plain, "[key]");
		text = hit + strlen(key);
	}
	ofs_buf_append_str(&plain, text);
	if (plain.data)
		ofs_text_printable(out, plain.data, plain.len, false, SAID_MAX, &used);
}

int ofs_endpoint_fail(const struct ofs_endpoint *e, int code, const char *what, const char *said,
		      struct ofs_error *err)
{
	OFS_FREE char *text = NULL;
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	fprintf(out, "the endpoint %s ", e->origin);
	print_said(out, e->set.key, what);
	if (said && *said) {
		fputs(": ", out);
		print_said(out, e->set.key, said);
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

static bool is_loopback(const char *host)
{
	struct in_addr address;

	if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

/* A part of the URL, allocated. NULL: it has none. */
static char *url_part(const struct ofs_endpoint *e, CURLUPart part)
{
	char *text = NULL, *copy = NULL;

	if (lib.curl_url_get_(e->url, part, &text, 0) == CURLUE_OK)
		copy = ofs_strdup(text);
	lib.curl_free_(text);
	return copy;
}

static int set_url(struct ofs_endpoint *e, struct ofs_error *err)
{
	OFS_FREE char *scheme = NULL, *host = NULL, *port = NULL, *user = NULL, *password = NULL;
	size_t len;

	/* Not shown: who got it wrong may have put the key there. */
	if (lib.curl_url_set_(e->url, CURLUPART_URL, e->set.url, CURLU_NON_SUPPORT_SCHEME) !=
	    CURLUE_OK)
		return ofs_error_set(err, EINVAL,
				     "the endpoint's URL is none: it must be like https://host/v1");
	scheme = url_part(e, CURLUPART_SCHEME);
	host = url_part(e, CURLUPART_HOST);
	port = url_part(e, CURLUPART_PORT);
	user = url_part(e, CURLUPART_USER);
	password = url_part(e, CURLUPART_PASSWORD);
	if (!scheme || !host)
		return ofs_error_set(
			err, EINVAL,
			"the endpoint's URL has no host: it must be like https://host/v1");
	if (user || password)
		return ofs_error_set(err, EINVAL,
				     "the URL of the endpoint %s://%s must not hold a user or a "
				     "password: give a key",
				     scheme, host);
	if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)
		return ofs_error_set(err, EINVAL,
				     "an endpoint is asked by https, or http on this machine, not "
				     "by %s",
				     scheme);
	e->local = is_loopback(host);
	if (strcmp(scheme, "http") == 0 && !e->local)
		return ofs_error_set(err, EINVAL,
				     "the endpoint http://%s is not on this machine, and without "
				     "TLS all could read the %s on its way: use https://",
				     host, e->set.content);
	e->origin = ofs_format("%s://%s%s%s", scheme, host, port ? ":" : "", port ? port : "");
	e->path = url_part(e, CURLUPART_PATH);
	len = e->path ? strlen(e->path) : 0;
	while (len && e->path[len - 1] == '/')
		e->path[--len] = '\0';
	lib.curl_url_set_(e->url, CURLUPART_FRAGMENT, NULL, 0);
	return 0;
}

/* A line break would start another header. */
static bool is_header_value(const char *key)
{
	const char *end = key;

	while (*end > ' ' && *end <= '~')
		end++;
	return end > key && !*end;
}

int ofs_endpoint_open(const struct ofs_endpoint_settings *s, struct ofs_error *err,
		      struct ofs_endpoint **ret)
{
	struct ofs_endpoint *e;
	int r;

	if (!ofs_endpoint_is_possible())
		return ofs_error_set(err, EOPNOTSUPP,
				     "libcurl cannot be loaded, so no endpoint can be asked; "
				     "install libcurl4, or use %s",
				     s->instead);
	if (s->key && !is_header_value(s->key))
		return ofs_error_set(
			err, EINVAL,
			"the endpoint's key is empty, or has a blank or another character "
			"that a key cannot have");
	e = ofs_alloc(sizeof(*e));
	e->set = *s;
	e->until = INT64_MAX;
	if (s->timeout && s->timeout <= TIMEOUT_MAX)
		e->until = ofs_clock_monotonic() + s->timeout;
	e->url = lib.curl_url_();
	r = e->url ? set_url(e, err) : ofs_error_set(err, ENOMEM, "out of memory");
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
	lib.curl_url_cleanup_(e->url);
	free(e->origin);
	free(e->path);
	free(e);
}

/* ---- asking */

struct call {
	const struct ofs_endpoint *endpoint;
	CURL *curl;
	struct ofs_buf *answer;
	bool too_large;
	char reason[CURL_ERROR_SIZE]; /* libcurl's words for a failure */
};

static void call_finish(struct call *call)
{
	lib.curl_easy_cleanup_(call->curl);
}

static size_t take_answer(char *data, size_t size, size_t n, void *arg)
{
	struct call *call = arg;

	size *= n;
	if (size > call->endpoint->set.answer_max - call->answer->len) {
		call->too_large = true;
		return 0; /* which ends the transfer */
	}
	ofs_buf_append(call->answer, data, size);
	return size;
}

/* The base with the name of the call after it; one that has it already is right, too. */
static void set_path(const struct ofs_endpoint *e, const char *name)
{
	size_t len = e->path ? strlen(e->path) : 0, suffix = strlen(name);
	bool has = len >= suffix && strcmp(e->path + len - suffix, name) == 0;
	OFS_FREE char *path = ofs_format("%s%s", e->path ? e->path : "", has ? "" : name);

	if (lib.curl_url_set_(e->url, CURLUPART_PATH, path, 0) != CURLUE_OK)
		ofs_out_of_memory();
}

static int is_cancelled(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct call *call = arg;

	return atomic_load(call->endpoint->set.cancel);
}

/* No redirects, and certificates are verified: libcurl's defaults, said all the same. */
static void set_options(struct call *call, struct curl_slist *headers, const struct ofs_buf *body)
{
	const struct ofs_endpoint *e = call->endpoint;
	__typeof__(curl_easy_setopt) *set = lib.curl_easy_setopt_;
	const char *authorities = getenv("SSL_CERT_FILE");
	CURL *curl = call->curl;

	set(curl, CURLOPT_ERRORBUFFER, call->reason);
	set(curl, CURLOPT_CURLU, e->url);
#if LIBCURL_VERSION_NUM >= 0x075500
	set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	set(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	set(curl, CURLOPT_FOLLOWLOCATION, 0L);
	set(curl, CURLOPT_SSL_VERIFYPEER, 1L);
	set(curl, CURLOPT_SSL_VERIFYHOST, 2L);
	set(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	/* libcurl has been built with a list of its own, and looks at no variable. */
	if (authorities && *authorities)
		set(curl, CURLOPT_CAINFO, authorities);
	/* What is for this machine must not go to a proxy, whatever the environment says. */
	if (e->local)
		set(curl, CURLOPT_PROXY, "");
	/* No signals: other threads may be about. */
	set(curl, CURLOPT_NOSIGNAL, 1L);
	set(curl, CURLOPT_USERAGENT, "offload/" OFS_VERSION);
	set(curl, CURLOPT_HTTPHEADER, headers);
	set(curl, CURLOPT_POSTFIELDS, (const char *)body->data);
	set(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	set(curl, CURLOPT_WRITEFUNCTION, take_answer);
	set(curl, CURLOPT_WRITEDATA, call);
	if (call->endpoint->set.cancel) {
		set(curl, CURLOPT_NOPROGRESS, 0L);
		set(curl, CURLOPT_XFERINFOFUNCTION, is_cancelled);
		set(curl, CURLOPT_XFERINFODATA, call);
	}
}

static int fail_transfer(const struct call *call, CURLcode code, struct ofs_error *err)
{
	const struct ofs_endpoint *e = call->endpoint;
	OFS_FREE char *large =
		ofs_format("answers with more than %zu MiB", e->set.answer_max >> 20);

	if (code == CURLE_OPERATION_TIMEDOUT)
		return fail_timeout(e, err);
	if (call->too_large)
		return ofs_endpoint_fail(e, EFBIG, large, NULL, err);
	return ofs_endpoint_fail(e, ECONNREFUSED, "cannot be asked",
				 *call->reason ? call->reason : lib.curl_easy_strerror_(code), err);
}

static int fail_status(const struct call *call, long status, struct ofs_error *err)
{
	OFS_FREE char *said = NULL, *what = NULL;
	const char *to = NULL;

	if (status / 100 == 3) {
		lib.curl_easy_getinfo_(call->curl, CURLINFO_REDIRECT_URL, &to);
		what = ofs_format(
			"redirects (HTTP status %ld), which is not followed; give the URL itself",
			status);
		return ofs_endpoint_fail(call->endpoint, EREMOTEIO, what, to, err);
	}
	said = ofs_endpoint_refusal(call->answer->data, call->answer->len);
	what = ofs_format("refuses (HTTP status %ld)%s", status,
			  status == 401 && !call->endpoint->set.key ? ", and no key was given"
								    : "");
	return ofs_endpoint_fail(call->endpoint, EREMOTEIO, what, said, err);
}

int ofs_endpoint_post(struct ofs_endpoint *e, const char *name, const struct ofs_buf *body,
		      struct ofs_error *err, struct ofs_buf *ret_answer)
{
	OFS_CLEANUP(call_finish)
	struct call call = { .endpoint = e, .curl = lib.curl_easy_init_(), .answer = ret_answer };
	const char *key = e->set.key;
	OFS_FREE char *authorization = key ? ofs_format("Authorization: Bearer %s", key) : NULL;
	/* Without "Expect:" a large request would wait for a word that many servers do not give. */
	struct curl_slist headers[] = {
		{ (char *)"Content-Type: application/json", &headers[1] },
		{ (char *)"Accept: application/json", &headers[2] },
		{ (char *)"Expect:", authorization ? &headers[3] : NULL },
		{ authorization, NULL },
	};
	int64_t left = (e->until - ofs_clock_monotonic()) / OFS_NS_PER_MS;
	struct ofs_sigpipe sigpipe;
	long status = 0;
	CURLcode code;

	ret_answer->len = 0;
	if (!call.curl)
		ofs_out_of_memory();
	set_path(e, name);
	set_options(&call, headers, body);
	if (left <= 0)
		return fail_timeout(e, err);
	if (e->until != INT64_MAX)
		lib.curl_easy_setopt_(call.curl, CURLOPT_TIMEOUT_MS,
				      (long)OFS_MIN(left, INT32_MAX));
	/* Where the TLS library writes by itself. */
	ofs_sigpipe_hold(&sigpipe);
	code = lib.curl_easy_perform_(call.curl);
	ofs_sigpipe_release(&sigpipe);
	if (code != CURLE_OK)
		return fail_transfer(&call, code, err);
	lib.curl_easy_getinfo_(call.curl, CURLINFO_RESPONSE_CODE, &status);
	return status == 200 ? 0 : fail_status(&call, status, err);
}

#endif
