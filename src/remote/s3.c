/* SPDX-License-Identifier: MIT */
#include "remote/s3.h"

#include <sys/random.h>

#include "base/text.h"
#include "codec/base64.h"
#include "codec/hash.h"
#include "remote/s3_request.h"
#include "remote/sigv4.h"

/* The most bytes of a page of a list: 1000 keys of 1024 bytes, each of which may be an entity. */
#define PAGE_MAX ((size_t)16 << 20)
/* S3 may return pages without a key, but not endlessly. */
#define EMPTY_PAGES_MAX 1000

/* ---- handles */

int ofs_s3_open(const struct ofs_s3_settings *settings, struct ofs_error *err, struct ofs_s3 **ret)
{
	struct ofs_s3 *s;
	int r;

	if (!ofs_http_is_possible())
		return ofs_error_set(err, EOPNOTSUPP,
				     HAVE_LIBCURL ? "libcurl cannot be loaded, so S3 cannot be "
						    "used; install libcurl4"
						  : "this program was built without libcurl, so "
						    "S3 cannot be used");
	s = ofs_alloc(sizeof(*s));
	s->set = *settings;
	s->http = ofs_http_open();
	r = ofs_s3_load_credentials(s, err);
	if (r < 0) {
		ofs_s3_close(s);
		return r;
	}
	*ret = s;
	return 0;
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

/* See ofs_s3_create(). -EOPNOTSUPP: the service does not support the condition. */
static int create(struct ofs_s3 *s, const char *key, const void *data, size_t len,
		  struct ofs_error *err)
{
	OFS_CLEANUP(ofs_s3_request_finish)
	struct ofs_s3_request x = {
		.method = "PUT",
		.name = ofs_format("PUT %s", key),
		.failpoint = "remote.put",
		.path = ofs_s3_path(s, key),
		.query = "",
		.content = { NULL, "content-type:application/octet-stream" },
		.condition = "if-none-match:*",
		.body = data,
		.body_len = len,
		.answer_max = OFS_S3_REFUSAL_MAX,
	};
	int r = ofs_s3_check_key(s, key, err);

	if (r < 0)
		return r;
	r = ofs_s3_ask(s, &x, err);
	switch (r) {
	case 0:
		if (ofs_http_header(&x.answer, "etag"))
			return 0;
		/* A service that sends no ETag may not have understood the request. */
		return ofs_s3_fail(s, &x, EREMOTEIO, "gives a wrong answer to", "there is no ETag",
				   err);
	case -EEXIST:
		/* If two were sent, the first may have created it. */
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

/* The result of a request that reads. S3 gives these two errors only to one that writes. */
static int check_read(int r)
{
	return r == -EEXIST || r == -EOPNOTSUPP ? -EREMOTEIO : r;
}

int ofs_s3_get(struct ofs_s3 *s, const char *key, size_t max, struct ofs_buf *ret,
	       struct ofs_error *err)
{
	OFS_CLEANUP(ofs_s3_request_finish)
	struct ofs_s3_request x = {
		.method = "GET",
		.name = ofs_format("GET %s", key),
		.failpoint = "remote.get",
		.path = ofs_s3_path(s, key),
		.query = "",
		.answer_max = max,
	};
	int r = ofs_s3_check_key(s, key, err);

	ret->len = 0;
	if (r == 0)
		r = ofs_s3_ask(s, &x, err);
	if (r < 0)
		return r == -ENODATA ? -EREMOTEIO : check_read(r);
	if (x.answer.status != 200)
		return ofs_s3_fail(s, &x, EREMOTEIO, "gives a wrong answer to",
				   "it does not have status 200", err);
	/* Without either header, a truncated answer looks complete. */
	if (!ofs_http_header(&x.answer, "content-length") &&
	    !ofs_http_header(&x.answer, "transfer-encoding"))
		return ofs_s3_fail(s, &x, EAGAIN, "gives a wrong answer to",
				   "there is no Content-Length", err);
	ofs_buf_finish(ret);
	*ret = ofs_buf_steal(&x.answer.body);
	return 0;
}

/*
 * Compares "bytes FIRST-LAST/SIZE" with the requested range: 0; -ENODATA: it ends early;
 * -EREMOTEIO.
 */
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
	OFS_CLEANUP(ofs_s3_request_finish)
	struct ofs_s3_request x = {
		.method = "GET",
		.name = ofs_format("GET %s", key),
		.failpoint = "remote.get",
		.path = ofs_s3_path(s, key),
		.query = "",
		.condition = range,
		.answer_max = len,
	};
	int r = ofs_s3_check_key(s, key, err);

	if (r < 0 || !len)
		return r;
	if (last < off || last > INT64_MAX)
		return ofs_error_set(err, EINVAL, "no object can be that long");
	r = ofs_s3_ask(s, &x, err);
	if (x.answer.status == 200 && (r == 0 || r == -EFBIG))
		return ofs_s3_fail(s, &x, EREMOTEIO, "gives a wrong answer to", "it ignores Range",
				   err);
	if (r < 0)
		return r == -EFBIG ? -EREMOTEIO : check_read(r);
	r = check_range(ofs_http_header(&x.answer, "content-range"), off, last);
	if (r == -ENODATA)
		return ofs_s3_fail(s, &x, ENODATA, "has too few bytes for", NULL, err);
	if (r < 0 || x.answer.status != 206)
		return ofs_s3_fail(s, &x, EREMOTEIO, "gives a wrong answer to",
				   "its Content-Range is not the requested one", err);
	if (x.answer.body.len != len)
		return ofs_s3_fail(s, &x, EAGAIN, "cuts short", NULL, err);
	memcpy(buf, x.answer.body.data, len);
	return 0;
}

/* ---- lists */

struct list_walk {
	int (*fn)(void *arg, const char *key, uint64_t size);
	void *arg;
	int result; /* of `fn` */
	char *prefix; /* of the keys, including the location's prefix */
	size_t skip; /* length of the location's prefix and its slash */
	struct ofs_buf last; /* the previous key, as a string */
	uint64_t n; /* keys accepted so far */
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
		return w->n ? -EBADMSG : 0; /* the service ignores start-after */
	w->n++;
	w->last.len = 0;
	ofs_buf_append_str(&w->last, key);
	if (ofs_location_is_path(key + w->skip))
		w->result = w->fn(w->arg, key + w->skip, size);
	return w->result ? 1 : 0;
}

/* Allocated: the query of a page, its parameters in the order that the signature requires. */
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

/* 1: `fn` ended the list; 0: see `page`; or -errno. */
static int list_page(struct ofs_s3 *s, const char *name, const char *query, struct list_walk *w,
		     struct ofs_s3_page *page, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_s3_request_finish)
	struct ofs_s3_request x = {
		.method = "GET",
		.name = ofs_format("LIST %s", name),
		.failpoint = "remote.list",
		.path = ofs_s3_bucket_path(s),
		.query = query,
		.answer_max = PAGE_MAX,
	};
	int r = ofs_s3_ask(s, &x, err);

	if (r < 0)
		return r == -EAGAIN || r == -EACCES || r == -ECANCELED ? r : -EREMOTEIO;
	r = ofs_s3_xml_list(x.answer.body.data, x.answer.body.len, take_object, w, page);
	return r < 0 ? ofs_s3_fail(s, &x, EREMOTEIO, "gives a wrong answer to",
				   "it is not a list of keys in order", err)
		     : r;
}

static bool is_part_of_key(const char *text)
{
	OFS_FREE char *whole = ofs_format("%sx", text);

	return ofs_location_is_path(whole) && strlen(text) <= OFS_S3_KEY_MAX / 2;
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
		return ofs_error_set(err, EINVAL, "a list must begin with a key");
	w.prefix = ofs_s3_full_key(s, prefix);
	w.skip = strlen(w.prefix) - strlen(prefix);
	start = *after ? ofs_s3_full_key(s, after) : ofs_strdup("");
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
	OFS_CLEANUP(ofs_s3_request_finish)
	struct ofs_s3_request x = {
		.method = "DELETE",
		.name = ofs_format("DELETE %s", key),
		.failpoint = "remote.delete",
		.path = ofs_s3_path(s, key),
		.query = "",
		.answer_max = OFS_S3_REFUSAL_MAX,
	};
	int r = ofs_s3_ask(s, &x, err);

	return r == -ENOENT ? 0 : check_removed(r);
}

static int delete_all(struct ofs_s3 *s, struct ofs_s3_request *x, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf key = OFS_BUF_INIT;
	struct ofs_s3_refusal refusal;
	OFS_FREE char *said = NULL;
	int r = ofs_s3_ask(s, x, err);

	if (r < 0)
		return check_removed(r);
	r = ofs_s3_xml_deleted(x->answer.body.data, x->answer.body.len, &key, &refusal);
	/* S3 begins its answer before it knows the result. */
	if (r < 0 && ofs_s3_xml_refusal(x->answer.body.data, x->answer.body.len, &refusal) == 0)
		r = 1;
	if (r == 0)
		return 0;
	if (r < 0)
		return ofs_s3_fail(s, x, EREMOTEIO, "gives a wrong answer to",
				   "it is not a result of a removal", err);
	said = ofs_format("%s%s%s%s%s", ofs_buf_str(&key), key.len ? ": " : "", refusal.code,
			  *refusal.message ? ": " : "", refusal.message);
	return check_removed(
		ofs_s3_fail(s, x, ofs_s3_errno(200, refusal.code), "refuses a part of", said, err));
}

static int delete_many(struct ofs_s3 *s, const char *const *keys, size_t n, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT, md5 = OFS_BUF_INIT;
	uint8_t digest[OFS_MD5_SIZE];

	ofs_buf_append_str(&body, "<Delete><Quiet>true</Quiet>");
	for (size_t i = 0; i < n; i++) { /* no character of a key is special in XML */
		OFS_FREE char *key = ofs_s3_full_key(s, keys[i]);

		ofs_buf_printf(&body, "<Object><Key>%s</Key></Object>", key);
	}
	ofs_buf_append_str(&body, "</Delete>");
	if (ofs_md5(body.data, body.len, digest) < 0)
		return ofs_error_set(err, EREMOTEIO, "libcrypto has no MD5, which S3 requires");
	ofs_buf_append_str(&md5, "content-md5:");
	ofs_base64_encode(digest, sizeof(digest), &md5);

	OFS_CLEANUP(ofs_s3_request_finish)
	struct ofs_s3_request x = {
		.method = "POST",
		.name = ofs_format("DELETE of %zu keys", n),
		.failpoint = "remote.delete",
		.path = ofs_s3_bucket_path(s),
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
		return ofs_error_set(err, EINVAL, "at most %d objects can be removed at once",
				     OFS_S3_DELETE_MAX);
	for (size_t i = 0; i < n && r == 0; i++)
		r = ofs_s3_check_key(s, keys[i], err);
	if (r < 0 || !n)
		return r;
	return n == 1 ? delete_one(s, keys[0], err) : delete_many(s, keys, n, err);
}

/* ---- checking the service */

static const char probe_data[] = "a check of what this service does and lets do\n";
#define PROBE_LEN (sizeof(probe_data) - 1)

static int ignore(void *arg, const char *key, uint64_t size)
{
	return 0;
}

/* Checks that an existing object is not created again, and that it can be read and listed. */
static int probe_object(struct ofs_s3 *s, const char *key, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf there = OFS_BUF_INIT;
	int r = create(s, key, probe_data, PROBE_LEN, err);

	if (r != -EEXIST)
		return r < 0 ? r : -EOPNOTSUPP;
	r = ofs_s3_get(s, key, PROBE_LEN, &there, err);
	if (r == 0 && (there.len != PROBE_LEN || memcmp(there.data, probe_data, PROBE_LEN) != 0))
		r = ofs_error_set(err, EREMOTEIO, "the S3 service at %s returns other bytes",
				  s->set.location->endpoint);
	return r == 0 ? ofs_s3_list(s, key, NULL, ignore, NULL, err) : r;
}

/* Checks that an object that does not exist is reported as missing. */
static int probe_absence(struct ofs_s3 *s, const char *key, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf there = OFS_BUF_INIT;
	struct ofs_error why = { "" };
	int r = ofs_s3_get(s, key, PROBE_LEN, &there, &why);

	/* Without the right to list, S3 forbids reading a missing object. */
	if (r == -EACCES && strstr(why.text, "AccessDenied"))
		return ofs_error_set(err, EACCES, "%s: s3:GetObject and s3:ListBucket are needed",
				     why.text);
	return r == -ENOENT ? 0 : r < 0 ? ofs_error_set(err, -r, "%s", why.text) : 0;
}

int ofs_s3_probe(struct ofs_s3 *s, struct ofs_error *err)
{
	char key[sizeof("probe/") + 16], none[sizeof(key) + 5];
	const char *const keys[] = { key };
	uint64_t random;
	int r;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return ofs_error_set(err, EREMOTEIO, "cannot get random numbers");
	snprintf(key, sizeof(key), "probe/%016llx", (unsigned long long)random);
	snprintf(none, sizeof(none), "%s-none", key);
	r = probe_absence(s, none, err);
	if (r == 0)
		r = create(s, key, probe_data, PROBE_LEN, err);
	if (r == 0) {
		r = probe_object(s, key, err);
		if (r < 0)
			ofs_s3_delete(s, keys, 1, NULL);
		else
			r = ofs_s3_delete(s, keys, 1, err);
	}
	if (r == -EOPNOTSUPP)
		return ofs_error_set(err, EOPNOTSUPP,
				     "the S3 service at %s does not support conditional writes "
				     "(If-None-Match), without which two machines could overwrite "
				     "each other's objects: use one that does",
				     s->set.location->endpoint);
	return r;
}
