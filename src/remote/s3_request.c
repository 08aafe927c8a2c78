/* SPDX-License-Identifier: MIT */
#include "remote/s3_request.h"

#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "codec/hash.h"
#include "io/failpoint.h"
#include "remote/sigv4.h"

#define CONNECT_TIMEOUT (10 * OFS_NS_PER_S)
#define STALL_TIMEOUT (30 * OFS_NS_PER_S)
/* Credentials that expire but still serve are not loaded again more often than this. */
#define LOAD_EVERY (30 * OFS_NS_PER_S)

void ofs_s3_request_finish(struct ofs_s3_request *x)
{
	free(x->name);
	free(x->path);
	ofs_http_answer_finish(&x->answer);
}

/* ---- errors */

int ofs_s3_fail(const struct ofs_s3 *s, const struct ofs_s3_request *x, int code, const char *verb,
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

static int fail_transfer(const struct ofs_s3 *s, const struct ofs_s3_request *x, int code,
			 struct ofs_error *err)
{
	switch (code) {
	case -ETIMEDOUT:
		return ofs_s3_fail(s, x, EAGAIN, "does not answer", "it took too long", err);
	case -ECANCELED:
		return ofs_s3_fail(s, x, ECANCELED, "did not complete", "canceled", err);
	case -EFBIG:
		return ofs_s3_fail(s, x, EFBIG, "sends too many bytes for", NULL, err);
	case -ECONNREFUSED:
		return ofs_s3_fail(s, x, EAGAIN, "cannot be asked for", x->answer.reason, err);
	default: /* `err` describes it already */
		return code;
	}
}

int ofs_s3_errno(int status, const char *code)
{
	static const struct {
		const char *code;
		int error;
	} known[] = {
		{ "AccessDenied", EACCES },
		{ "ExpiredToken", EACCES },
		{ "InvalidToken", EACCES },
		{ "TokenRefreshRequired", EACCES },
		{ "NotImplemented", EOPNOTSUPP },
		/* Temporary, or damage on the way. */
		{ "BadDigest", EAGAIN },
		{ "IncompleteBody", EAGAIN },
		{ "InternalError", EAGAIN },
		{ "RequestTimeout", EAGAIN },
		{ "ServiceUnavailable", EAGAIN },
		{ "SlowDown", EAGAIN },
		{ "TemporaryRedirect", EAGAIN },
		{ "XAmzContentSHA256Mismatch", EAGAIN },
	};

	switch (status) {
	case 304: /* MinIO's answer to a failed condition of PUT until 2024 */
	case 412:
		return EEXIST;
	case 401:
	case 403:
		return EACCES;
	case 408:
	case 409:
	case 429:
		return EAGAIN;
	case 416:
		return ENODATA;
	case 501:
		return EOPNOTSUPP;
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(known); i++)
		if (strcmp(code, known[i].code) == 0)
			return known[i].error;
	return status / 100 == 5 ? EAGAIN : EREMOTEIO;
}

/*
 * Allocated: the bucket's region or where the service redirects, if not as configured; "": neither.
 */
static char *say_where(const struct ofs_s3 *s, const struct ofs_s3_request *x)
{
	const char *region = ofs_http_header(&x->answer, "x-amz-bucket-region");

	region = region ? region : x->refusal.region;
	if (*region && strcmp(region, s->set.location->region) != 0)
		return ofs_format(" (the bucket is in the region %s: give region=%s)", region,
				  region);
	return x->answer.redirect ? ofs_format(" (it leads to %s)", x->answer.redirect)
				  : ofs_strdup("");
}

static int fail_status(const struct ofs_s3 *s, const struct ofs_s3_request *x,
		       struct ofs_error *err)
{
	OFS_FREE char *where = say_where(s, x), *said = NULL;
	int code = ofs_s3_errno(x->answer.status, x->refusal.code);

	/* A 404 from a proxy or about the bucket says nothing about the object. */
	if (x->answer.status == 404 &&
	    (strcmp(x->refusal.code, "NoSuchKey") == 0 || !x->answer.body.len))
		code = ENOENT;
	said = *x->refusal.code ? ofs_format("%s%s%s%s", x->refusal.code, where,
					     *x->refusal.message ? ": " : "", x->refusal.message)
				: ofs_format("HTTP status %d%s", x->answer.status, where);
	return ofs_s3_fail(s, x, code, "refuses", said, err);
}

/* ---- requests */

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

int ofs_s3_load_credentials(struct ofs_s3 *s, struct ofs_error *err)
{
	struct ofs_credentials fresh, *old = &s->credentials;
	bool changed;
	int r;

	s->loaded = ofs_clock_wall();
	r = ofs_credentials_load(s->set.credentials_command, err, &fresh);
	if (r < 0)
		return r;
	changed = !is_same(fresh.access_key, old->access_key) ||
		  !is_same(fresh.secret, old->secret) || !is_same(fresh.token, old->token);
	ofs_credentials_finish(old);
	*old = fresh;
	return changed;
}

/* Credentials that are about to expire are used until then if no others can be loaded. */
static int refresh_credentials(struct ofs_s3 *s, struct ofs_error *err)
{
	int64_t now = ofs_clock_wall();
	bool serve = s->credentials.expires > now;

	if (!ofs_credentials_are_stale(&s->credentials, now) ||
	    (serve && now - s->loaded < LOAD_EVERY))
		return 0;
	return ofs_s3_load_credentials(s, err) < 0 && !serve ? -EACCES : 0;
}

/* The headers up to NULL, with their memory: the signed ones, sorted, then the signature. */
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

static int sign(struct ofs_s3 *s, const struct ofs_s3_request *x, struct signed_headers *h)
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

/* 0: there is an answer; else an error of ofs_http_ask(), or another one that `err` describes. */
static int send_once(struct ofs_s3 *s, struct ofs_s3_request *x, struct ofs_error *err)
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
		.asks_first = true,
		.authorities = getenv("AWS_CA_BUNDLE"),
		.answer_max = x->answer_max,
		.refusal_max = OFS_S3_REFUSAL_MAX,
		.connect_timeout = CONNECT_TIMEOUT,
		.timeout = s->set.timeout,
		.stall_timeout = STALL_TIMEOUT,
		.cancel = s->set.cancel,
	};
	int fault, r = refresh_credentials(s, err);

	if (r < 0)
		return r;
	if (sign(s, x, &headers) < 0)
		return ofs_s3_fail(s, x, EREMOTEIO, "was not sent", "libcrypto fails", err);
	fault = ofs_failpoint(x->failpoint);
	if (fault < 0) {
		snprintf(x->answer.reason, sizeof(x->answer.reason), "%s", strerror(-fault));
		return -ECONNREFUSED;
	}
	r = ofs_http_ask(s->http, &call, &x->answer);
	s->sent[strcmp(x->method, "GET") == 0 ? OFS_S3_READS : OFS_S3_WRITES] += x->answer.sent;
	x->refusal = (struct ofs_s3_refusal){ 0 };
	if (x->answer.status / 100 != 2)
		ofs_s3_xml_refusal(x->answer.body.data, x->answer.body.len, &x->refusal);
	else if (r == 0)
		ofs_failpoint_after(fault);
	return r;
}

/* Parses "Fri, 27 Nov 2026 17:14:06 GMT". */
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

/* Uses the clock of the service from now on. 1; 0: its time is unknown. */
static int set_clock(struct ofs_s3 *s, const struct ofs_http_answer *a)
{
	int64_t now, seconds;

	if (!parse_date(ofs_http_header(a, "date"), &now))
		return 0;
	s->clock_offset = now - ofs_clock_wall();
	seconds = s->clock_offset / OFS_NS_PER_S;
	ofs_log(LOG_WARNING,
		"this machine's clock is %lld s %s that of the S3 service at %s, which is used to "
		"sign requests",
		(long long)llabs(seconds), seconds < 0 ? "ahead of" : "behind",
		s->set.location->endpoint);
	return 1;
}

/* 1: the cause of the refusal is removed, so the request is worth another try; 0; -EACCES. */
static int mend(struct ofs_s3 *s, const struct ofs_s3_request *x, struct ofs_error *err)
{
	/* The last one is given for a key that was replaced. */
	static const char *const expired[] = { "ExpiredToken", "InvalidToken",
					       "TokenRefreshRequired", "InvalidAccessKeyId" };

	if (strcmp(x->refusal.code, "RequestTimeTooSkewed") == 0)
		return set_clock(s, &x->answer);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(expired); i++)
		if (strcmp(x->refusal.code, expired[i]) == 0)
			return ofs_s3_load_credentials(s, err);
	return 0;
}

int ofs_s3_ask(struct ofs_s3 *s, struct ofs_s3_request *x, struct ofs_error *err)
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

char *ofs_s3_full_key(const struct ofs_s3 *s, const char *name)
{
	const char *prefix = s->set.location->prefix;

	return ofs_format("%s%s%s", prefix, *prefix ? "/" : "", name);
}

int ofs_s3_check_key(const struct ofs_s3 *s, const char *key, struct ofs_error *err)
{
	OFS_FREE char *full = ofs_s3_full_key(s, key);
	OFS_FREE char *shown = NULL;

	if (ofs_location_is_path(key) && strlen(full) <= OFS_S3_KEY_MAX)
		return 0;
	shown = ofs_text_shown(key);
	return ofs_error_set(
		err, EINVAL,
		"'%.80s' is not a key: one has at most %d letters, digits, '_', '.', '-' "
		"and, between names, '/'",
		shown, OFS_S3_KEY_MAX);
}

char *ofs_s3_path(const struct ofs_s3 *s, const char *key)
{
	OFS_FREE char *full = ofs_s3_full_key(s, key);

	return ofs_format("%s/%s", s->set.location->root, full);
}

char *ofs_s3_bucket_path(const struct ofs_s3 *s)
{
	const char *root = s->set.location->root;

	return ofs_strdup(*root ? root : "/");
}
