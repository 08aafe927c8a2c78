/* SPDX-License-Identifier: MIT */
#include "remote/s3.h"

#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "codec/base64.h"
#include "codec/hash.h"
#include "io/failpoint.h"
#include "io/http.h"
#include "remote/credentials.h"
#include "remote/s3_xml.h"
#include "remote/sigv4.h"

#define CONNECT_TIMEOUT (10 * OFS_NS_PER_S)
#define STALL_TIMEOUT (30 * OFS_NS_PER_S)
#define REFUSAL_MAX ((size_t)64 << 10)
/* Of a page of a list (1000 keys of 1024 bytes, each of which may be an entity), in bytes. */
#define PAGE_MAX ((size_t)16 << 20)
/* S3 may give pages without a key, but not without end. */
#define EMPTY_PAGES_MAX 1000
#define KEY_MAX 1024

struct ofs_s3 {
	struct ofs_s3_settings set;
	struct ofs_http *http;
	struct ofs_credentials credentials;
	int64_t clock_offset; /* nanoseconds that the service is ahead of us */
	uint64_t sent[2]; /* by enum ofs_s3_kind */
};

/* A request, and what became of it. */
struct exchange {
	const char *method;
	char *name; /* for errors: "PUT a/b" */
	const char *failpoint;
	char *path;
	const char *query; /* "": none */
	const char *content[2]; /* headers "content-md5:...", "content-type:..."; NULL: none */
	const char *condition; /* the header "if-none-match:..." or "range:..."; NULL: none */
	const void *body;
	size_t body_len;
	size_t answer_max;
	struct ofs_http_answer answer;
	struct ofs_s3_refusal refusal; /* of a status that is not 2xx, where there is one */
};

static void exchange_finish(struct exchange *x)
{
	free(x->name);
	free(x->path);
	ofs_http_answer_finish(&x->answer);
}

/* ---- errors */

/* "the bucket 'b' at URL refuses PUT a/b: SAID"; `said` may be NULL. Returns -code. */
static int fail(const struct ofs_s3 *s, const struct exchange *x, int code, const char *verb,
		const char *said, struct ofs_error *err)
{
	const char *const secrets[] = { s->credentials.secret, s->credentials.token };
	OFS_FREE char *text = NULL;
	struct ofs_text_stream stream;
	FILE *out = ofs_text_open(&stream);

	fprintf(out, "the bucket '%s' at %s %s %s", s->set.location->bucket,
		s->set.location->endpoint, verb, x->name);
	if (said && *said) {
		fputs(": ", out);
		ofs_http_print_said(out, said, secrets, OFS_ARRAY_SIZE(secrets));
	}
	text = ofs_text_close(&stream);
	return ofs_error_set(err, code, "%s", text);
}

static int fail_transfer(const struct ofs_s3 *s, const struct exchange *x, int code,
			 struct ofs_error *err)
{
	switch (code) {
	case -ETIMEDOUT:
		return fail(s, x, EAGAIN, "does not answer", "it took too long", err);
	case -ECANCELED:
		return fail(s, x, ECANCELED, "was no longer asked for", "canceled", err);
	case -EFBIG:
		return fail(s, x, EFBIG, "answers with too many bytes to", NULL, err);
	case -ECONNREFUSED:
		return fail(s, x, EAGAIN, "cannot be asked for", x->answer.reason, err);
	default: /* which has told it */
		return code;
	}
}

static int errno_of(const struct exchange *x)
{
	const char *code = x->refusal.code;

	switch (x->answer.status) {
	case 401:
	case 403:
		return EACCES;
	case 404:
		/* The word of a proxy, or about a bucket, says nothing of the object. */
		return strcmp(code, "NoSuchKey") == 0 || !x->answer.body.len ? ENOENT : EREMOTEIO;
	case 408:
	case 409:
	case 429:
		return EAGAIN;
	case 412:
		return EEXIST;
	case 416:
		return ENODATA;
	case 501:
		return EOPNOTSUPP;
	}
	if (strcmp(code, "ExpiredToken") == 0)
		return EACCES;
	if (strcmp(code, "NotImplemented") == 0)
		return EOPNOTSUPP;
	return x->answer.status / 100 == 5 || strcmp(code, "RequestTimeout") == 0 ? EAGAIN
										  : EREMOTEIO;
}

static int fail_status(const struct ofs_s3 *s, const struct exchange *x, struct ofs_error *err)
{
	const char *region = ofs_http_header(&x->answer, "x-amz-bucket-region");
	OFS_FREE char *said = NULL, *elsewhere = NULL;

	if (region && strcmp(region, s->set.location->region) != 0)
		elsewhere = ofs_format(" (the bucket is in the region %s)", region);
	if (*x->refusal.code)
		said = ofs_format("%s%s: %s", x->refusal.code, elsewhere ? elsewhere : "",
				  x->refusal.message);
	else
		said = ofs_format("HTTP status %d%s", x->answer.status, elsewhere ? elsewhere : "");
	return fail(s, x, errno_of(x), "refuses", said, err);
}

/* ---- requests */

static int load_credentials(struct ofs_s3 *s, struct ofs_error *err)
{
	struct ofs_credentials fresh;
	int r = ofs_credentials_load(s->set.credentials_command, err, &fresh);

	if (r < 0)
		return r;
	ofs_credentials_finish(&s->credentials);
	s->credentials = fresh;
	return 0;
}

/* Those that are about to expire serve until they have, if there are no others. */
static int refresh_credentials(struct ofs_s3 *s, struct ofs_error *err)
{
	int64_t now = ofs_clock_wall();

	if (!ofs_credentials_are_stale(&s->credentials, now) || load_credentials(s, err) == 0 ||
	    s->credentials.expires > now)
		return 0;
	return -EACCES;
}

/* All headers that are signed, sorted, up to NULL, and room for that with the signature. */
struct signed_headers {
	const char *at[10];
	size_t n;
	char *host, *date, *payload, *token, *authorization;
	char payload_sha256[2 * OFS_SHA256_SIZE + 1];
};

static void signed_headers_finish(struct signed_headers *h)
{
	free(h->host);
	free(h->date);
	free(h->payload);
	ofs_credentials_wipe(&h->token);
	free(h->authorization);
}

static void add_header(struct signed_headers *h, const char *header)
{
	if (header)
		h->at[h->n++] = header;
}

static int sign(struct ofs_s3 *s, const struct exchange *x, struct signed_headers *h)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT;
	const struct ofs_sigv4_request to_sign = {
		.method = x->method,
		.path = x->path,
		.query = x->query,
		.headers = h->at,
		.payload_sha256 = h->payload_sha256,
		.time = ofs_clock_wall() + s->clock_offset,
		.region = s->set.location->region,
	};
	const char *token = s->credentials.token;
	char date[OFS_SIGV4_TIME_SIZE];
	uint8_t sha[OFS_SHA256_SIZE];
	int r = ofs_sha256(x->body, x->body_len, sha);

	if (r < 0)
		return r;
	ofs_sha256_hex(sha, h->payload_sha256);
	ofs_sigv4_time(to_sign.time, date);
	h->host = ofs_format("host:%s", s->set.location->host);
	h->payload = ofs_format("x-amz-content-sha256:%s", h->payload_sha256);
	h->date = ofs_format("x-amz-date:%s", date);
	h->token = token ? ofs_format("x-amz-security-token:%s", token) : NULL;
	add_header(h, x->content[0]);
	add_header(h, x->content[1]);
	add_header(h, h->host);
	add_header(h, x->condition);
	add_header(h, h->payload);
	add_header(h, h->date);
	add_header(h, h->token);
	r = ofs_sigv4_sign(&to_sign, &s->credentials, &value);
	if (r < 0)
		return r;
	h->authorization = ofs_format("Authorization: %s", ofs_buf_str(&value));
	add_header(h, h->authorization);
	return 0;
}

/* 0: there is an answer; else as ofs_http_ask(), or what has been told. */
static int send_once(struct ofs_s3 *s, struct exchange *x, struct ofs_error *err)
{
	const struct ofs_location *l = s->set.location;
	OFS_CLEANUP(signed_headers_finish) struct signed_headers headers = { .n = 0 };
	OFS_FREE char *url =
		ofs_format("%s%s%s%s", l->origin, x->path, *x->query ? "?" : "", x->query);
	struct ofs_http_call call = {
		.method = x->method,
		.url = url,
		.headers = headers.at,
		.body = x->body,
		.body_len = x->body_len,
		.answer_max = x->answer_max,
		.refusal_max = REFUSAL_MAX,
		.connect_timeout = CONNECT_TIMEOUT,
		.timeout = s->set.timeout,
		.stall_timeout = STALL_TIMEOUT,
		.cancel = s->set.cancel,
	};
	int fault, r = refresh_credentials(s, err);

	if (r < 0)
		return r;
	if (sign(s, x, &headers) < 0)
		return fail(s, x, EREMOTEIO, "was not sent", "libcrypto fails", err);
	fault = ofs_failpoint(x->failpoint);
	if (fault < 0) {
		snprintf(x->answer.reason, sizeof(x->answer.reason), "%s", strerror(-fault));
		return -ECONNREFUSED;
	}
	r = ofs_http_ask(s->http, &call, &x->answer);
	s->sent[strcmp(x->method, "GET") == 0 ? OFS_S3_READS : OFS_S3_WRITES] += x->answer.sent;
	x->refusal = (struct ofs_s3_refusal){ "", "" };
	if (x->answer.status / 100 != 2)
		ofs_s3_xml_refusal(x->answer.body.data, x->answer.body.len, &x->refusal);
	else if (r == 0)
		ofs_failpoint_after(fault);
	return r;
}

/* "Fri, 27 Nov 2026 17:14:06 GMT". */
static bool parse_date(const char *text, int64_t *ret)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm tm = { 0 };
	char month[4];
	const char *hit;

	if (!text || sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT", &tm.tm_mday,
			    month, &tm.tm_year, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6)
		return false;
	hit = strstr(months, month);
	if (!hit || strlen(month) != 3 || tm.tm_year < 1970 || tm.tm_year > 2200)
		return false;
	tm.tm_mon = (int)(hit - months) / 3;
	tm.tm_year -= 1900;
	*ret = (int64_t)timegm(&tm) * OFS_NS_PER_S;
	return true;
}

/* 1: the cause of the refusal is gone, and the request is worth another try; 0; -EACCES. */
static int mend(struct ofs_s3 *s, const struct exchange *x, struct ofs_error *err)
{
	int64_t now;

	if (strcmp(x->refusal.code, "RequestTimeTooSkewed") == 0 &&
	    parse_date(ofs_http_header(&x->answer, "date"), &now)) {
		s->clock_offset = now - ofs_clock_wall();
		return 1;
	}
	if (strcmp(x->refusal.code, "ExpiredToken") != 0)
		return 0;
	return load_credentials(s, err) < 0 ? -EACCES : 1;
}

/*
 * 0: the status is 2xx; else -errno of errno_of() or, without a whole answer, -EAGAIN, -ECANCELED
 * or -EFBIG, told in `err`.
 */
static int ask(struct ofs_s3 *s, struct exchange *x, struct ofs_error *err)
{
	int r = send_once(s, x, err);

	if (r == 0 && x->answer.status / 100 != 2) {
		r = mend(s, x, err);
		if (r > 0)
			r = send_once(s, x, err);
	}
	if (r < 0)
		return fail_transfer(s, x, r, err);
	return x->answer.status / 100 == 2 ? 0 : fail_status(s, x, err);
}

/* ---- keys */

/* Allocated: `name` behind our prefix. */
static char *full_key(const struct ofs_s3 *s, const char *name)
{
	const char *prefix = s->set.location->prefix;

	return ofs_format("%s%s%s", prefix, *prefix ? "/" : "", name);
}

static int check_key(const struct ofs_s3 *s, const char *key, struct ofs_error *err)
{
	OFS_FREE char *full = full_key(s, key);
	OFS_FREE char *shown = NULL;

	if (ofs_location_is_path(key) && strlen(full) <= KEY_MAX)
		return 0;
	shown = ofs_text_shown(key);
	return ofs_error_set(err, EINVAL,
			     "'%.80s' is no key: one has at most %d letters, digits, '_', '.', '-' "
			     "and, between names, '/'",
			     shown, KEY_MAX);
}

/* Allocated: the path of an object. */
static char *path_of(const struct ofs_s3 *s, const char *key)
{
	OFS_FREE char *full = full_key(s, key);

	return ofs_format("%s/%s", s->set.location->root, full);
}

static char *path_of_bucket(const struct ofs_s3 *s)
{
	const char *root = s->set.location->root;

	return ofs_strdup(*root ? root : "/");
}

/* ---- handles */

int ofs_s3_open(const struct ofs_s3_settings *settings, struct ofs_error *err, struct ofs_s3 **ret)
{
	struct ofs_s3 *s;
	int r;

	if (!ofs_http_is_possible())
		return ofs_error_set(err, EOPNOTSUPP,
				     HAVE_LIBCURL ? "libcurl cannot be loaded, so no S3 service "
						    "can be asked; install libcurl4"
						  : "this program was built without libcurl, so "
						    "no S3 service can be asked");
	s = ofs_alloc(sizeof(*s));
	s->set = *settings;
	s->http = ofs_http_open();
	r = load_credentials(s, err);
	if (r < 0)
		ofs_s3_close(s);
	else
		*ret = s;
	return r;
}

void ofs_s3_close(struct ofs_s3 *s)
{
	if (!s)
		return;
	ofs_http_close(s->http);
	ofs_credentials_finish(&s->credentials);
	free(s);
}

uint64_t ofs_s3_requests(const struct ofs_s3 *s, enum ofs_s3_kind kind)
{
	return s->sent[kind];
}

/* ---- objects */

/* As ofs_s3_create(), and -EOPNOTSUPP: the service does not know the condition. */
static int create(struct ofs_s3 *s, const char *key, const void *data, size_t len,
		  struct ofs_error *err)
{
	OFS_CLEANUP(exchange_finish)
	struct exchange x = {
		.method = "PUT",
		.name = ofs_format("PUT %s", key),
		.failpoint = "remote.put",
		.path = path_of(s, key),
		.query = "",
		.content = { NULL, "content-type:application/octet-stream" },
		.condition = "if-none-match:*",
		.body = data,
		.body_len = len,
		.answer_max = REFUSAL_MAX,
	};
	int r = check_key(s, key, err);

	if (r < 0)
		return r;
	r = ask(s, &x, err);
	switch (r) {
	case 0:
		if (ofs_http_header(&x.answer, "etag"))
			return 0;
		/* Who answers so may not have understood the request. */
		return fail(s, &x, EREMOTEIO, "wrongly answers", "there is no ETag", err);
	case -EEXIST:
		/* The first of two may have been the one that made it. */
		return x.answer.sent > 1 ? -EINPROGRESS : -EEXIST;
	case -EAGAIN:
	case -ECANCELED:
	case -EFBIG:
		return -EINPROGRESS;
	case -EACCES:
	case -EOPNOTSUPP:
		return r;
	default:
		return -EREMOTEIO;
	}
}

int ofs_s3_create(struct ofs_s3 *s, const char *key, const void *data, size_t len,
		  struct ofs_error *err)
{
	int r = create(s, key, data, len, err);

	return r == -EOPNOTSUPP ? -EREMOTEIO : r;
}

/* The result of a request that reads: what only others can answer is not what S3 does. */
static int check_read(int r)
{
	return r == -EEXIST || r == -EOPNOTSUPP ? -EREMOTEIO : r;
}

int ofs_s3_get(struct ofs_s3 *s, const char *key, size_t max, struct ofs_buf *ret,
	       struct ofs_error *err)
{
	OFS_CLEANUP(exchange_finish)
	struct exchange x = {
		.method = "GET",
		.name = ofs_format("GET %s", key),
		.failpoint = "remote.get",
		.path = path_of(s, key),
		.query = "",
		.answer_max = max,
	};
	int r = check_key(s, key, err);

	ret->len = 0;
	if (r == 0)
		r = ask(s, &x, err);
	if (r < 0)
		return r == -ENODATA ? -EREMOTEIO : check_read(r);
	if (x.answer.status != 200)
		return fail(s, &x, EREMOTEIO, "wrongly answers", "a whole object has status 200",
			    err);
	/* Without one of these, an answer that is cut short looks whole. */
	if (!ofs_http_header(&x.answer, "content-length") &&
	    !ofs_http_header(&x.answer, "transfer-encoding"))
		return fail(s, &x, EAGAIN, "wrongly answers", "there is no Content-Length", err);
	ofs_buf_finish(ret);
	*ret = ofs_buf_steal(&x.answer.body);
	return 0;
}

/* Checks "bytes FIRST-LAST/SIZE" against what was asked for: 0; -ENODATA; -EREMOTEIO. */
static int check_range(const char *text, uint64_t first, uint64_t last)
{
	unsigned long long from, to;
	int n = 0;

	if (!text || sscanf(text, "bytes %llu-%llu/%n", &from, &to, &n) != 2 || !n ||
	    from != first || to < from || to > last)
		return -EREMOTEIO;
	return to < last ? -ENODATA : 0;
}

int ofs_s3_get_range(struct ofs_s3 *s, const char *key, uint64_t off, size_t len, void *buf,
		     struct ofs_error *err)
{
	uint64_t last = off + len - 1;
	OFS_FREE char *range = ofs_format("range:bytes=%llu-%llu", (unsigned long long)off,
					  (unsigned long long)last);
	OFS_CLEANUP(exchange_finish)
	struct exchange x = {
		.method = "GET",
		.name = ofs_format("GET %s", key),
		.failpoint = "remote.get",
		.path = path_of(s, key),
		.query = "",
		.condition = range,
		.answer_max = len,
	};
	int r = check_key(s, key, err);

	if (r < 0 || !len)
		return r;
	if (last < off || last > INT64_MAX)
		return ofs_error_set(err, EINVAL, "no object is that long");
	r = ask(s, &x, err);
	if (x.answer.status == 200 && (r == 0 || r == -EFBIG))
		return fail(s, &x, EREMOTEIO, "wrongly answers", "it ignores Range", err);
	if (r < 0)
		return r == -EFBIG ? -EREMOTEIO : check_read(r);
	r = check_range(ofs_http_header(&x.answer, "content-range"), off, last);
	if (r == -ENODATA)
		return fail(s, &x, ENODATA, "has too few bytes for", NULL, err);
	if (r < 0 || x.answer.status != 206)
		return fail(s, &x, EREMOTEIO, "wrongly answers", "its Content-Range is another",
			    err);
	if (x.answer.body.len != len)
		return fail(s, &x, EAGAIN, "cuts short", NULL, err);
	memcpy(buf, x.answer.body.data, len);
	return 0;
}

/* ---- lists */

struct list_walk {
	int (*fn)(void *arg, const char *key, uint64_t size);
	void *arg;
	int result; /* what `fn` returned */
	char *prefix; /* that was asked for */
	size_t skip; /* bytes of our prefix and its slash */
	struct ofs_buf last; /* the key before: a string */
	uint64_t n; /* keys after the one to start after */
};

static void list_walk_finish(struct list_walk *w)
{
	free(w->prefix);
	ofs_buf_finish(&w->last);
}

static int take_object(void *arg, const char *key, uint64_t size)
{
	struct list_walk *w = arg;

	if (strncmp(key, w->prefix, strlen(w->prefix)) != 0)
		return -EBADMSG;
	if (strcmp(key, ofs_buf_str(&w->last)) <= 0)
		return w->n ? -EBADMSG : 0; /* it does not know start-after */
	w->n++;
	w->last.len = 0;
	ofs_buf_append_str(&w->last, key);
	if (ofs_location_is_path(key + w->skip))
		w->result = w->fn(w->arg, key + w->skip, size);
	return w->result ? 1 : 0;
}

/* Allocated: the query of a page, in the order that its signature wants. */
static char *list_query(const char *prefix, const char *after, struct ofs_buf *token)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf query = OFS_BUF_INIT;

	if (token->len) {
		ofs_buf_append_str(&query, "continuation-token=");
		ofs_sigv4_encode(ofs_buf_str(token), &query);
		ofs_buf_append_str(&query, "&");
	}
	ofs_buf_append_str(&query, "list-type=2&prefix=");
	ofs_sigv4_encode(prefix, &query);
	if (!token->len && *after) {
		ofs_buf_append_str(&query, "&start-after=");
		ofs_sigv4_encode(after, &query);
	}
	return ofs_buf_steal_str(&query);
}

/* 1: `fn` has ended it; 0: see `page`; -errno. */
static int list_page(struct ofs_s3 *s, const char *name, const char *query, struct list_walk *w,
		     struct ofs_s3_page *page, struct ofs_error *err)
{
	OFS_CLEANUP(exchange_finish)
	struct exchange x = {
		.method = "GET",
		.name = ofs_format("LIST %s", name),
		.failpoint = "remote.list",
		.path = path_of_bucket(s),
		.query = query,
		.answer_max = PAGE_MAX,
	};
	int r = ask(s, &x, err);

	if (r < 0)
		return r == -EAGAIN || r == -EACCES || r == -ECANCELED ? r : -EREMOTEIO;
	r = ofs_s3_xml_list(x.answer.body.data, x.answer.body.len, take_object, w, page);
	return r < 0 ? fail(s, &x, EREMOTEIO, "wrongly answers", "it is no list of keys in order",
			    err)
		     : r;
}

static bool is_part_of_key(const char *text)
{
	OFS_FREE char *whole = ofs_format("%sx", text);

	return ofs_location_is_path(whole) && strlen(text) <= KEY_MAX / 2;
}

int ofs_s3_list(struct ofs_s3 *s, const char *prefix, const char *after,
		int (*fn)(void *arg, const char *key, uint64_t size), void *arg,
		struct ofs_error *err)
{
	OFS_CLEANUP(list_walk_finish) struct list_walk w = { .fn = fn, .arg = arg };
	struct ofs_s3_page page = { .truncated = true, .token = OFS_BUF_INIT };
	OFS_FREE char *start = NULL;
	unsigned int empty = 0;
	uint64_t before;
	int r = 0;

	after = after ? after : "";
	if (!is_part_of_key(prefix) || !is_part_of_key(after))
		return ofs_error_set(err, EINVAL, "a list cannot begin with what is no key");
	w.prefix = full_key(s, prefix);
	w.skip = strlen(w.prefix) - strlen(prefix);
	start = *after ? full_key(s, after) : ofs_strdup("");
	ofs_buf_append_str(&w.last, start);
	while (r == 0 && page.truncated) {
		OFS_FREE char *query = list_query(w.prefix, start, &page.token);

		before = w.n;
		r = list_page(s, prefix, query, &w, &page, err);
		empty = w.n > before ? 0 : empty + 1;
		if (r == 0 && empty > EMPTY_PAGES_MAX)
			r = ofs_error_set(err, EREMOTEIO,
					  "the bucket '%s' at %s lists pages without a key",
					  s->set.location->bucket, s->set.location->endpoint);
	}
	ofs_buf_finish(&page.token);
	return r > 0 ? w.result : r;
}

/* ---- removing */

/* The result of a request that removes. */
static int check_removed(int r)
{
	return r == 0 || r == -EAGAIN || r == -EACCES || r == -ECANCELED ? r : -EREMOTEIO;
}

static int delete_one(struct ofs_s3 *s, const char *key, struct ofs_error *err)
{
	OFS_CLEANUP(exchange_finish)
	struct exchange x = {
		.method = "DELETE",
		.name = ofs_format("DELETE %s", key),
		.failpoint = "remote.delete",
		.path = path_of(s, key),
		.query = "",
		.answer_max = REFUSAL_MAX,
	};
	int r = ask(s, &x, err);

	return r == -ENOENT ? 0 : check_removed(r);
}

static int delete_all(struct ofs_s3 *s, struct exchange *x, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf key = OFS_BUF_INIT;
	struct ofs_s3_refusal refusal;
	OFS_FREE char *said = NULL;
	int r = ask(s, x, err);

	if (r < 0)
		return check_removed(r);
	r = ofs_s3_xml_deleted(x->answer.body.data, x->answer.body.len, &key, &refusal);
	if (r == 0)
		return 0;
	if (r < 0)
		return fail(s, x, EREMOTEIO, "wrongly answers", "it is no result of that", err);
	said = ofs_format("%s: %s: %s", ofs_buf_str(&key), refusal.code, refusal.message);
	return fail(s, x, EREMOTEIO, "refuses a part of", said, err);
}

static int delete_many(struct ofs_s3 *s, const char *const *keys, size_t n, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT, md5 = OFS_BUF_INIT;
	uint8_t digest[OFS_MD5_SIZE];

	ofs_buf_append_str(&body, "<Delete><Quiet>true</Quiet>");
	for (size_t i = 0; i < n; i++) { /* no character of a key has a meaning in XML */
		OFS_FREE char *key = full_key(s, keys[i]);

		ofs_buf_printf(&body, "<Object><Key>%s</Key></Object>", key);
	}
	ofs_buf_append_str(&body, "</Delete>");
	if (ofs_md5(body.data, body.len, digest) < 0)
		return ofs_error_set(err, EREMOTEIO, "libcrypto has no MD5, which S3 wants");
	ofs_buf_append_str(&md5, "content-md5:");
	ofs_base64_encode(digest, sizeof(digest), &md5);

	OFS_CLEANUP(exchange_finish)
	struct exchange x = {
		.method = "POST",
		.name = ofs_format("DELETE of %zu keys", n),
		.failpoint = "remote.delete",
		.path = path_of_bucket(s),
		.query = "delete=",
		.content = { ofs_buf_str(&md5), "content-type:application/xml" },
		.body = body.data,
		.body_len = body.len,
		.answer_max = PAGE_MAX,
	};
	return delete_all(s, &x, err);
}

int ofs_s3_delete(struct ofs_s3 *s, const char *const *keys, size_t n, struct ofs_error *err)
{
	int r = 0;

	if (n > OFS_S3_DELETE_MAX)
		return ofs_error_set(err, EINVAL, "at most %d objects are removed at once",
				     OFS_S3_DELETE_MAX);
	for (size_t i = 0; i < n && r == 0; i++)
		r = check_key(s, keys[i], err);
	if (r < 0 || !n)
		return r;
	return n == 1 ? delete_one(s, keys[0], err) : delete_many(s, keys, n, err);
}

/* ---- what the service can do */

int ofs_s3_probe(struct ofs_s3 *s, struct ofs_error *err)
{
	static const char data[] = "a check whether this service makes no object twice\n";
	char key[sizeof("probe/") + 16];
	const char *const keys[] = { key };
	uint64_t random;
	int r, second;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return ofs_error_set(err, EREMOTEIO, "no random numbers to be had");
	snprintf(key, sizeof(key), "probe/%016llx", (unsigned long long)random);
	r = create(s, key, data, sizeof(data) - 1, err);
	if (r == 0) {
		second = create(s, key, data, sizeof(data) - 1, err);
		r = second == 0 ? -EOPNOTSUPP : second == -EEXIST ? 0 : second;
		if (r == 0)
			return ofs_s3_delete(s, keys, 1, err);
		ofs_s3_delete(s, keys, 1, NULL);
	}
	if (r == -EOPNOTSUPP)
		return ofs_error_set(err, EOPNOTSUPP,
				     "the S3 service at %s does not support conditional writes "
				     "(If-None-Match), without which two machines could overwrite "
				     "each other's objects: use one that does",
				     s->set.location->endpoint);
	return r;
}
