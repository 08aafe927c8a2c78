/* SPDX-License-Identifier: MIT */
#include "context/summarizer/endpoint.h"

#if !HAVE_LIBCURL

bool ofs_endpoint_is_possible(void)
{
	return false;
}

int ofs_endpoint_ask(const struct ofs_endpoint *e, struct ofs_completion *c, struct ofs_error *err,
		     struct ofs_buf *ret_text)
{
	return ofs_error_set(
		err, EOPNOTSUPP,
		"this program was built without libcurl, so no endpoint can be asked; a "
		"command can");
}

#else

#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/util.h"

/* Of an answer, in bytes. */
#define ANSWER_MAX ((size_t)4 << 20)
/* Of what others say within an error, in bytes. */
#define SAID_MAX 240
/* A timeout that is longer is none. */
#define TIMEOUT_MAX_S ((uint64_t)10 * 365 * 86400)

#define COMPLETIONS "/chat/completions"

/* ---- libcurl */

/* Nothing checks the types of arguments here: numbers must be long. */
#define CURL_FUNCTIONS(X)      \
	X(curl_global_init)    \
	X(curl_easy_init)      \
	X(curl_easy_setopt)    \
	X(curl_easy_perform)   \
	X(curl_easy_getinfo)   \
	X(curl_easy_strerror)  \
	X(curl_easy_cleanup)   \
	X(curl_slist_append)   \
	X(curl_slist_free_all) \
	X(curl_url)            \
	X(curl_url_set)        \
	X(curl_url_get)        \
	X(curl_url_cleanup)    \
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

/* ---- a call */

struct call {
	const struct ofs_endpoint *endpoint;
	struct ofs_error *err;
	CURLU *url;
	char *origin; /* "https://host:port", for errors: the rest of a URL may hold secrets */
	bool local; /* it is on this machine */
	int64_t until; /* by ofs_clock_monotonic() */
	struct ofs_buf answer;
	bool too_large;
	char reason[CURL_ERROR_SIZE]; /* libcurl's words for a failure */
};

/* Prints what the server, or libcurl, says as one line in which the key does not occur. */
static void print_said(FILE *out, const struct call *call, const char *text)
{
	const char *key = call->endpoint->key, *hit;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf plain = OFS_BUF_INIT;
	size_t used;

	while (key && *key && (hit = strstr(text, key))) {
		ofs_buf_append(&plain, text, (size_t)(hit - text));
		ofs_buf_append_str(&plain, "[key]");
		text = hit + strlen(key);
	}
	ofs_buf_append_str(&plain, text);
	if (plain.data)
		ofs_text_printable(out, plain.data, plain.len, false, SAID_MAX, &used);
}

/* "the endpoint ORIGIN WHAT: SAID". */
static int call_fail(const struct call *call, int code, const char *what, const char *said)
{
	OFS_FREE char *text = NULL;
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	fprintf(out, "the endpoint %s ", call->origin);
	print_said(out, call, what);
	if (said && *said) {
		fputs(": ", out);
		print_said(out, call, said);
	}
	text = ofs_text_close(&s);
	return ofs_error_set(call->err, code, "%s", text);
}

/* ---- where to */

static bool is_loopback(const char *host)
{
	struct in_addr address;

	if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

/* A part of the URL; to be freed by curl_free(). NULL: it has none. */
static char *url_part(const struct call *call, CURLUPart part)
{
	char *text = NULL;

	return lib.curl_url_get_(call->url, part, &text, 0) == CURLUE_OK ? text : NULL;
}

static int url_check(struct call *call, const char *scheme, const char *host)
{
	if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)
		return ofs_error_set(call->err, EINVAL,
				     "an endpoint is asked by https, or http on this machine, not "
				     "by %s",
				     scheme);
	call->local = is_loopback(host);
	if (strcmp(scheme, "http") == 0 && !call->local)
		return ofs_error_set(call->err, EINVAL,
				     "the endpoint http://%s is not on this machine, and without "
				     "TLS all could read the chat on its way: use https://",
				     host);
	return 0;
}

/* The base with the name of the call behind it; one that has it already is right, too. */
static int url_complete(struct call *call)
{
	size_t suffix = strlen(COMPLETIONS), len;
	char *path = url_part(call, CURLUPART_PATH);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf whole = OFS_BUF_INIT;
	int r;

	if (!path)
		return -ENOMEM;
	len = strlen(path);
	while (len && path[len - 1] == '/')
		len--;
	if (len >= suffix && memcmp(path + len - suffix, COMPLETIONS, suffix) == 0)
		len -= suffix;
	ofs_buf_append(&whole, path, len);
	ofs_buf_append(&whole, COMPLETIONS, suffix + 1);
	lib.curl_free_(path);
	r = 0;
	if (lib.curl_url_set_(call->url, CURLUPART_PATH, (char *)whole.data, 0) ||
	    lib.curl_url_set_(call->url, CURLUPART_FRAGMENT, NULL, 0))
		r = -ENOMEM;
	return r;
}

static int call_aim(struct call *call)
{
	char *scheme, *host, *port, *user, *password;
	int r;

	call->url = lib.curl_url_();
	if (!call->url)
		return -ENOMEM;
	/* Not shown: who got it wrong may have put the key there. */
	if (lib.curl_url_set_(call->url, CURLUPART_URL, call->endpoint->url,
			      CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
		return ofs_error_set(call->err, EINVAL,
				     "the endpoint's URL is none: it must be like https://host/v1");
	scheme = url_part(call, CURLUPART_SCHEME);
	host = url_part(call, CURLUPART_HOST);
	port = url_part(call, CURLUPART_PORT);
	user = url_part(call, CURLUPART_USER);
	password = url_part(call, CURLUPART_PASSWORD);
	if (!scheme || !host)
		r = ofs_error_set(
			call->err, EINVAL,
			"the endpoint's URL has no host: it must be like https://host/v1");
	else if (user || password)
		r = ofs_error_set(call->err, EINVAL,
				  "the URL of the endpoint %s://%s must not hold a user or a "
				  "password: give a key",
				  scheme, host);
	else
		r = url_check(call, scheme, host);
	if (r == 0 && asprintf(&call->origin, "%s://%s%s%s", scheme, host, port ? ":" : "",
			       port ? port : "") < 0) {
		call->origin = NULL;
		r = -ENOMEM;
	}
	lib.curl_free_(scheme);
	lib.curl_free_(host);
	lib.curl_free_(port);
	lib.curl_free_(user);
	lib.curl_free_(password);
	return r < 0 ? r : url_complete(call);
}

/* ---- asking */

static size_t take_answer(char *data, size_t size, size_t n, void *arg)
{
	struct call *call = arg;

	size *= n;
	if (size > ANSWER_MAX - call->answer.len) {
		call->too_large = true;
		return 0; /* which ends the transfer */
	}
	ofs_buf_append(&call->answer, data, size);
	return size;
}

/* NULL: no memory. */
static struct curl_slist *call_headers(const struct call *call)
{
	/* Without "Expect:" a large request would wait for a word that many servers do not give. */
	static const char *const fixed[] = { "Content-Type: application/json",
					     "Accept: application/json", "Expect:" };
	OFS_FREE char *authorization = NULL;
	struct curl_slist *list = NULL, *next;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(fixed); i++) {
		next = lib.curl_slist_append_(list, fixed[i]);
		if (!next)
			goto fail;
		list = next;
	}
	if (!call->endpoint->key)
		return list;
	if (asprintf(&authorization, "Authorization: Bearer %s", call->endpoint->key) < 0) {
		authorization = NULL;
		goto fail;
	}
	next = lib.curl_slist_append_(list, authorization);
	if (next)
		return next;
fail:
	lib.curl_slist_free_all_(list);
	return NULL;
}

/* No redirects, and certificates are verified: libcurl's defaults, said all the same. */
static void call_set_options(struct call *call, CURL *curl, struct curl_slist *headers,
			     const struct ofs_buf *body)
{
	__typeof__(curl_easy_setopt) *set = lib.curl_easy_setopt_;
	const char *authorities = getenv("SSL_CERT_FILE");

	set(curl, CURLOPT_ERRORBUFFER, call->reason);
	set(curl, CURLOPT_CURLU, call->url);
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
	if (call->local)
		set(curl, CURLOPT_PROXY, "");
	/* No signals: other threads may be about. */
	set(curl, CURLOPT_NOSIGNAL, 1L);
	set(curl, CURLOPT_USERAGENT, "offload/" OFS_VERSION);
	set(curl, CURLOPT_HTTPHEADER, headers);
	set(curl, CURLOPT_POSTFIELDS, (const char *)body->data);
	set(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	set(curl, CURLOPT_WRITEFUNCTION, take_answer);
	set(curl, CURLOPT_WRITEDATA, call);
}

static int call_set_timeout(const struct call *call, CURL *curl)
{
	int64_t left = (call->until - ofs_clock_monotonic()) / OFS_NS_PER_MS;

	if (call->until == INT64_MAX)
		return 0;
	if (left <= 0)
		return -ETIMEDOUT;
	lib.curl_easy_setopt_(curl, CURLOPT_TIMEOUT_MS, (long)OFS_MIN(left, INT32_MAX));
	return 0;
}

static int call_fail_timeout(const struct call *call)
{
	char what[64];

	snprintf(what, sizeof(what), "did not answer within %llu s",
		 (unsigned long long)call->endpoint->timeout_s);
	return call_fail(call, ETIMEDOUT, what, NULL);
}

static int call_fail_transfer(const struct call *call, CURLcode code)
{
	if (code == CURLE_OPERATION_TIMEDOUT)
		return call_fail_timeout(call);
	if (call->too_large)
		return call_fail(call, EFBIG, "answers with more than 4 MiB", NULL);
	if (code == CURLE_OUT_OF_MEMORY)
		return -ENOMEM;
	return call_fail(call, ECONNREFUSED, "cannot be asked",
			 *call->reason ? call->reason : lib.curl_easy_strerror_(code));
}

static int call_fail_status(const struct call *call, CURL *curl, long status)
{
	OFS_FREE char *said = ofs_completion_refusal(call->answer.data, call->answer.len);
	char what[128];

	if (status / 100 == 3) {
		const char *to = NULL;

		lib.curl_easy_getinfo_(curl, CURLINFO_REDIRECT_URL, &to);
		snprintf(what, sizeof(what),
			 "redirects (HTTP status %ld), which is not followed; give the URL itself",
			 status);
		return call_fail(call, EREMOTEIO, what, to);
	}
	snprintf(what, sizeof(what), "refuses (HTTP status %ld)%s", status,
		 status == 401 && !call->endpoint->key ? ", and no key was given" : "");
	return call_fail(call, EREMOTEIO, what, said);
}

/* Sends once. `ret_status` is the HTTP status, and the answer is in `call` whatever it is. */
static int call_send(struct call *call, CURL *curl, const struct ofs_completion *c,
		     struct curl_slist *headers, long *ret_status)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
	struct ofs_sigpipe sigpipe;
	CURLcode code;

	ofs_completion_write(c, &body);
	call->answer.len = 0;
	call->reason[0] = '\0';
	call_set_options(call, curl, headers, &body);
	if (call_set_timeout(call, curl) < 0)
		return call_fail_timeout(call);
	/* Where the TLS library writes by itself. */
	ofs_sigpipe_hold(&sigpipe);
	code = lib.curl_easy_perform_(curl);
	ofs_sigpipe_release(&sigpipe);
	if (code != CURLE_OK)
		return call_fail_transfer(call, code);
	lib.curl_easy_getinfo_(curl, CURLINFO_RESPONSE_CODE, ret_status);
	return 0;
}

static int call_take(const struct call *call, struct ofs_buf *ret_text)
{
	struct ofs_error said = { "" };
	int r = ofs_completion_read(call->answer.data, call->answer.len, &said, ret_text);

	return r == -EBADMSG ? call_fail(call, EBADMSG, said.text, NULL) : r;
}

static int call_make(struct call *call, struct ofs_completion *c, struct ofs_buf *ret_text)
{
	struct curl_slist *headers = call_headers(call);
	CURL *curl = lib.curl_easy_init_();
	long status = 0;
	int r = headers && curl ? 0 : -ENOMEM;

	if (r == 0) {
		do
			r = call_send(call, curl, c, headers, &status);
		while (r == 0 && status == 400 &&
		       ofs_completion_adapt(c, call->answer.data, call->answer.len));
	}
	if (r == 0)
		r = status == 200 ? call_take(call, ret_text)
				  : call_fail_status(call, curl, status);
	if (curl)
		lib.curl_easy_cleanup_(curl);
	lib.curl_slist_free_all_(headers);
	return r;
}

/* A line break would begin another header. */
static bool is_header_value(const char *key)
{
	if (!*key)
		return false;
	for (; *key; key++) {
		if (*key <= ' ' || *key > '~')
			return false;
	}
	return true;
}

int ofs_endpoint_ask(const struct ofs_endpoint *e, struct ofs_completion *c, struct ofs_error *err,
		     struct ofs_buf *ret_text)
{
	struct call call = { .endpoint = e, .err = err, .until = INT64_MAX };
	int r;

	if (!ofs_endpoint_is_possible())
		return ofs_error_set(err, EOPNOTSUPP,
				     "libcurl cannot be loaded, so no endpoint can be asked; "
				     "install libcurl4, or use a command");
	if (e->key && !is_header_value(e->key))
		return ofs_error_set(
			err, EINVAL,
			"the endpoint's key is empty, or has a blank or another character "
			"that a key cannot have");
	if (e->timeout_s && e->timeout_s <= TIMEOUT_MAX_S)
		call.until = ofs_clock_monotonic() + (int64_t)e->timeout_s * OFS_NS_PER_S;
	r = call_aim(&call);
	if (r == 0)
		r = call_make(&call, c, ret_text);
	if (r == -ENOMEM)
		ofs_error_set(err, ENOMEM, "no memory to ask the endpoint");
	if (call.url)
		lib.curl_url_cleanup_(call.url);
	free(call.origin);
	ofs_buf_finish(&call.answer);
	return r;
}

#endif
