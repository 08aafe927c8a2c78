/* SPDX-License-Identifier: MIT */
#include "io/http.h"

#include <arpa/inet.h>
#include <strings.h>

#include "base/text.h"

/* Bytes of a server's own words in an error message. */
#define SAID_MAX 240

bool ofs_http_is_loopback(const char *host)
{
	struct in_addr address;

	if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

bool ofs_http_is_token(const char *text)
{
	const char *end = text;

	while (*end > ' ' && *end <= '~')
		end++;
	return end > text && !*end;
}

/* Returns `text` with "[key]" in place of each `secret`; the caller frees it. */
static char *without(const char *text, const char *secret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf plain = OFS_BUF_INIT;
	const char *hit;

	while (secret && *secret && (hit = strstr(text, secret))) {
		ofs_buf_append(&plain, text, (size_t)(hit - text));
		ofs_buf_append_str(&plain, "[key]");
		text = hit + strlen(secret);
	}
	ofs_buf_append_str(&plain, text);
	return ofs_buf_steal_str(&plain);
}

void ofs_http_print_said(FILE *out, const char *said, const char *const *secrets, size_t n)
{
	char *plain = ofs_strdup(said), *next;
	size_t used;

	for (size_t i = 0; i < n; i++) {
		next = without(plain, secrets[i]);
		free(plain);
		plain = next;
	}
	ofs_text_printable(out, plain, strlen(plain), false, SAID_MAX, &used);
	free(plain);
}

void ofs_http_answer_finish(struct ofs_http_answer *a)
{
	ofs_buf_finish(&a->body);
	ofs_buf_finish(&a->headers);
	free(ofs_steal(a->redirect));
}

const char *ofs_http_header(const struct ofs_http_answer *a, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < a->headers.len;) {
		const char *line = (const char *)a->headers.data + i;

		if (strncasecmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, " \t");
		i += strlen(line) + 1;
	}
	return NULL;
}

void ofs_http_url_finish(struct ofs_http_url *u)
{
	free(u->scheme);
	free(u->host);
	free(u->port);
	free(u->path);
	memset(u, 0, sizeof(*u));
}

#if !HAVE_LIBCURL

bool ofs_http_is_possible(void)
{
	return false;
}

struct ofs_http *ofs_http_open(void)
{
	return NULL;
}

void ofs_http_close(struct ofs_http *h)
{
}

int ofs_http_ask(struct ofs_http *h, const struct ofs_http_call *call, struct ofs_http_answer *ret)
{
	return -EOPNOTSUPP;
}

int ofs_http_url_split(const char *url, struct ofs_http_url *ret)
{
	return -EOPNOTSUPP;
}

char *ofs_http_url_with_path(const char *url, const char *path)
{
	return ofs_strdup(url);
}

#else

#include <curl/curl.h>
#include <dlfcn.h>

#include "base/clock.h"
#include "base/thread.h"

/* Total bytes of the headers of an answer. */
#define HEADERS_MAX ((size_t)256 << 10)
/* Bytes of a body above which the server is asked first; libcurl never asks for smaller ones. */
#define ASK_FROM ((size_t)1 << 20)

struct ofs_http {
	CURL *curl;
	/* The current request. */
	const struct ofs_http_call *call;
	struct ofs_http_answer *answer;
	bool too_large;
	char reason[CURL_ERROR_SIZE];
};

/* ---- libcurl */

/* Argument types are not checked here: numbers must be long. */
#define CURL_FUNCTIONS(X)     \
	X(curl_global_init)   \
	X(curl_easy_init)     \
	X(curl_easy_reset)    \
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

/* The ABI has been stable since 2006. Debian has builds for two TLS libraries. */
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

bool ofs_http_is_possible(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, lib_load);
	return lib.found;
}

/* ---- URLs */

static void url_cleanup(CURLU **url)
{
	lib.curl_url_cleanup_(*url);
}

/* Returns NULL if `text` is not a URL. */
static CURLU *url_parse(const char *text)
{
	CURLU *url = lib.curl_url_();

	if (!url)
		ofs_out_of_memory();
	if (lib.curl_url_set_(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK)
		return url;
	lib.curl_url_cleanup_(url);
	return NULL;
}

/* Returns a part, which the caller frees, or NULL if there is none. */
static char *url_part(CURLU *url, CURLUPart part)
{
	char *text = NULL, *copy = NULL;

	if (lib.curl_url_get_(url, part, &text, 0) == CURLUE_OK)
		copy = ofs_strdup(text);
	lib.curl_free_(text);
	return copy;
}

int ofs_http_url_split(const char *text, struct ofs_http_url *ret)
{
	OFS_CLEANUP(url_cleanup) CURLU *url = url_parse(text);
	OFS_FREE char *user = NULL, *password = NULL;

	if (!url)
		return -EINVAL;
	user = url_part(url, CURLUPART_USER);
	password = url_part(url, CURLUPART_PASSWORD);
	*ret = (struct ofs_http_url){
		.scheme = url_part(url, CURLUPART_SCHEME),
		.host = url_part(url, CURLUPART_HOST),
		.port = url_part(url, CURLUPART_PORT),
		.path = url_part(url, CURLUPART_PATH),
		.has_user = user || password,
	};
	return 0;
}

char *ofs_http_url_with_path(const char *text, const char *path)
{
	OFS_CLEANUP(url_cleanup) CURLU *url = url_parse(text);
	char *changed;

	if (!url || lib.curl_url_set_(url, CURLUPART_PATH, path, 0) != CURLUE_OK)
		ofs_out_of_memory();
	lib.curl_url_set_(url, CURLUPART_FRAGMENT, NULL, 0);
	changed = url_part(url, CURLUPART_URL);
	return changed ? changed : ofs_strdup(text);
}

/* ---- requests */

struct ofs_http *ofs_http_open(void)
{
	struct ofs_http *h = ofs_alloc(sizeof(*h));

	h->curl = lib.curl_easy_init_();
	if (!h->curl)
		ofs_out_of_memory();
	return h;
}

void ofs_http_close(struct ofs_http *h)
{
	struct ofs_sigpipe sigpipe;

	if (!h)
		return;
	ofs_sigpipe_hold(&sigpipe);
	lib.curl_easy_cleanup_(h->curl);
	ofs_sigpipe_release(&sigpipe);
	free(h);
}

static long status_of(const struct ofs_http *h)
{
	long status = 0;

	lib.curl_easy_getinfo_(h->curl, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static size_t take_answer(char *data, size_t size, size_t n, void *arg)
{
	struct ofs_http *h = arg;
	const struct ofs_http_call *r = h->call;
	bool refused = r->refusal_max && status_of(h) / 100 != 2;
	size_t room = (refused ? r->refusal_max : r->answer_max) - h->answer->body.len;

	size *= n;
	h->too_large = size > room && !refused;
	ofs_buf_append(&h->answer->body, data, OFS_MIN(size, room));
	return OFS_MIN(size, room); /* a smaller count ends the transfer */
}

/* Takes one line. A status line starts a new answer: the previous one was not the last. */
static size_t take_header(char *data, size_t size, size_t n, void *arg)
{
	struct ofs_http *h = arg;
	struct ofs_buf *headers = &h->answer->headers;
	size_t len = size *= n;

	while (len && strchr(" \t\r\n", data[len - 1]))
		len--;
	if (len >= 5 && memcmp(data, "HTTP/", 5) == 0) {
		headers->len = 0;
	} else if (len >= HEADERS_MAX - OFS_MIN(headers->len, HEADERS_MAX)) {
		return 0;
	} else if (len && !memchr(data, '\0', len)) {
		ofs_buf_append(headers, data, len);
		ofs_buf_append(headers, "", 1);
	}
	return size;
}

static int is_cancelled(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct ofs_http *h = arg;

	return atomic_load(h->call->cancel);
}

static int count_sent(CURL *curl, curl_infotype type, char *data, size_t size, void *arg)
{
	struct ofs_http *h = arg;
	size_t len = strlen(h->call->method);

	if (type == CURLINFO_HEADER_OUT && size > len && data[len] == ' ' &&
	    memcmp(data, h->call->method, len) == 0)
		h->answer->sent++;
	return 0;
}

static void set_method(struct ofs_http *h)
{
	const struct ofs_http_call *r = h->call;
	__typeof__(curl_easy_setopt) *set = lib.curl_easy_setopt_;

	if (strcmp(r->method, "HEAD") == 0) {
		set(h->curl, CURLOPT_NOBODY, 1L);
		return;
	}
	if (strcmp(r->method, "POST") == 0 || strcmp(r->method, "PUT") == 0) {
		set(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
		set(h->curl, CURLOPT_POSTFIELDS, r->body_len ? (const char *)r->body : "");
	}
	set(h->curl, CURLOPT_CUSTOMREQUEST, r->method);
}

static long milliseconds(int64_t ns)
{
	return (long)OFS_MIN(OFS_MAX(ns / OFS_NS_PER_MS, 1), INT32_MAX);
}

static void set_limits(struct ofs_http *h)
{
	const struct ofs_http_call *r = h->call;
	__typeof__(curl_easy_setopt) *set = lib.curl_easy_setopt_;

	if (r->connect_timeout)
		set(h->curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(r->connect_timeout));
	if (r->timeout)
		set(h->curl, CURLOPT_TIMEOUT_MS, milliseconds(r->timeout));
	if (r->stall_timeout) {
		set(h->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
		set(h->curl, CURLOPT_LOW_SPEED_TIME,
		    OFS_MAX(milliseconds(r->stall_timeout) / 1000, 1L));
	}
	if (r->cancel) {
		set(h->curl, CURLOPT_NOPROGRESS, 0L);
		set(h->curl, CURLOPT_XFERINFOFUNCTION, is_cancelled);
		set(h->curl, CURLOPT_XFERINFODATA, h);
	}
}

/* Redirects are off and certificates verified by default; this is explicit all the same. */
static void set_options(struct ofs_http *h, CURLU *url, struct curl_slist *headers)
{
	__typeof__(curl_easy_setopt) *set = lib.curl_easy_setopt_;
	OFS_FREE char *host = url_part(url, CURLUPART_HOST);
	const char *authorities = h->call->authorities;
	CURL *curl = h->curl;

	lib.curl_easy_reset_(curl);
	set(curl, CURLOPT_ERRORBUFFER, h->reason);
	set(curl, CURLOPT_CURLU, url);
#if LIBCURL_VERSION_NUM >= 0x075500
	set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	set(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	set(curl, CURLOPT_FOLLOWLOCATION, 0L);
	set(curl, CURLOPT_SSL_VERIFYPEER, 1L);
	set(curl, CURLOPT_SSL_VERIFYHOST, 2L);
	set(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	/* There is only one request at a time, so HTTP/2 would gain nothing. */
	set(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	/* libcurl has a built-in list of authorities and does not read this variable. */
	if (!authorities || !*authorities)
		authorities = getenv("SSL_CERT_FILE");
	if (authorities && *authorities)
		set(curl, CURLOPT_CAINFO, authorities);
	/* Requests to this machine must not go to a proxy, whatever the environment says. */
	if (host && ofs_http_is_loopback(host))
		set(curl, CURLOPT_PROXY, "");
	/* There may be other threads, so libcurl must not use signals. */
	set(curl, CURLOPT_NOSIGNAL, 1L);
	set(curl, CURLOPT_USERAGENT, "offload/" OFS_VERSION);
	set(curl, CURLOPT_HTTPHEADER, headers);
	set(curl, CURLOPT_WRITEFUNCTION, take_answer);
	set(curl, CURLOPT_WRITEDATA, h);
	set(curl, CURLOPT_HEADERFUNCTION, take_header);
	set(curl, CURLOPT_HEADERDATA, h);
	/* This is the only way to learn that libcurl sent the request again. */
	set(curl, CURLOPT_VERBOSE, 1L);
	set(curl, CURLOPT_DEBUGFUNCTION, count_sent);
	set(curl, CURLOPT_DEBUGDATA, h);
	set_method(h);
	set_limits(h);
}

/* Returns the headers as a list in a single allocation, which the caller frees. */
static struct curl_slist *make_headers(const struct ofs_http_call *call)
{
	const char *const *headers = call->headers;
	bool asks = call->asks_first && call->body_len > ASK_FROM;
	struct curl_slist *list;
	size_t n = 0;

	while (headers && headers[n])
		n++;
	list = ofs_alloc((n + 1) * sizeof(*list));
	for (size_t i = 0; i < n; i++)
		list[i] = (struct curl_slist){ (char *)headers[i], &list[i + 1] };
	/*
	 * Otherwise a large request would wait for an interim answer that many servers do not send.
	 */
	list[n].data = (char *)(asks ? "Expect: 100-continue" : "Expect:");
	return list;
}

static int fail(struct ofs_http *h, CURLcode code)
{
	struct ofs_http_answer *a = h->answer;
	const char *reason = *h->reason ? h->reason : lib.curl_easy_strerror_(code);

	if (code == CURLE_OPERATION_TIMEDOUT)
		return -ETIMEDOUT;
	if (h->too_large)
		return -EFBIG;
	snprintf(a->reason, sizeof(a->reason), "%s", reason);
	return code == CURLE_ABORTED_BY_CALLBACK ? -ECANCELED : -ECONNREFUSED;
}

int ofs_http_ask(struct ofs_http *h, const struct ofs_http_call *call, struct ofs_http_answer *ret)
{
	OFS_CLEANUP(url_cleanup) CURLU *url = url_parse(call->url);
	OFS_FREE struct curl_slist *headers = make_headers(call);
	struct ofs_sigpipe sigpipe;
	char *redirect = NULL;
	CURLcode code;

	ofs_http_answer_finish(ret);
	memset(ret, 0, sizeof(*ret));
	h->call = call;
	h->answer = ret;
	h->too_large = false;
	*h->reason = '\0';
	if (!url)
		return fail(h, CURLE_URL_MALFORMAT);
	set_options(h, url, headers);
	/* The TLS library may write to the socket itself. */
	ofs_sigpipe_hold(&sigpipe);
	code = lib.curl_easy_perform_(h->curl);
	ofs_sigpipe_release(&sigpipe);
	ret->status = (int)status_of(h);
	lib.curl_easy_getinfo_(h->curl, CURLINFO_REDIRECT_URL, &redirect);
	ret->redirect = redirect ? ofs_strdup(redirect) : NULL;
	/* The body of a refusal was cut at refusal_max. */
	if (code == CURLE_WRITE_ERROR && call->refusal_max && ret->body.len == call->refusal_max &&
	    ret->status / 100 != 2)
		return 0;
	return code == CURLE_OK ? 0 : fail(h, code);
}

#endif
