/* SPDX-License-Identifier: MIT */
#include "embed/remote.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/text.h"
#include "embed/vector.h"
#include "io/endpoint.h"

/* Limits of a request. */
#define BATCH_TEXTS 64
#define BATCH_BYTES ((size_t)256 << 10)
/* Bytes of a text: models take at most a few thousand tokens, and some refuse longer texts. */
#define TEXT_MAX ((size_t)16 << 10)
/* Bytes of an answer: enough for BATCH_TEXTS of the longest vectors, written in decimal. */
#define ANSWER_MAX ((size_t)8 << 20)

struct ofs_remote {
	char *id;
	char *url;
	char *key; /* NULL: none */
	char *model;
	int64_t timeout; /* nanoseconds; 0: none */
	const atomic_bool *cancel;
	atomic_uint dims; /* 0: not yet known */
};

static void cleanup_json(json_t **json)
{
	json_decref(*json);
}

#define CLEANUP_JSON OFS_CLEANUP(cleanup_json)

static int open_endpoint(const struct ofs_remote *remote, int64_t timeout, struct ofs_error *err,
			 struct ofs_endpoint **ret)
{
	const struct ofs_endpoint_settings s = {
		.url = remote->url,
		.key = remote->key,
		.timeout = timeout,
		.answer_max = ANSWER_MAX,
		.content = "text",
		.instead = "a model in a directory",
		.cancel = remote->cancel,
	};

	return ofs_endpoint_open(&s, err, ret);
}

int ofs_remote_open(const struct ofs_embed_settings *s, struct ofs_error *err,
		    struct ofs_remote **ret)
{
	struct ofs_endpoint *endpoint;
	struct ofs_remote *remote;
	int r;

	if (!ofs_text_is_line(s->model))
		return ofs_error_set(err, EINVAL,
				     "the name of the endpoint's model is not a line of UTF-8");
	if (s->dims > OFS_EMBED_DIMS_MAX)
		return ofs_error_set(err, EINVAL, "vectors can have at most %d numbers",
				     OFS_EMBED_DIMS_MAX);
	remote = ofs_alloc(sizeof(*remote));
	remote->id = ofs_format("endpoint:%s", s->model);
	remote->url = ofs_strdup(s->url);
	remote->key = s->key ? ofs_strdup(s->key) : NULL;
	remote->model = ofs_strdup(s->model);
	remote->timeout = s->timeout;
	remote->cancel = s->cancel;
	atomic_init(&remote->dims, s->dims);
	/* Opened only to check the URL and the key now. */
	r = open_endpoint(remote, 0, err, &endpoint);
	if (r < 0) {
		ofs_remote_close(remote);
		return r;
	}
	ofs_endpoint_close(endpoint);
	*ret = remote;
	return 0;
}

void ofs_remote_close(struct ofs_remote *remote)
{
	if (!remote)
		return;
	free(remote->id);
	free(remote->url);
	free(remote->key);
	free(remote->model);
	free(remote);
}

const char *ofs_remote_id(const struct ofs_remote *remote)
{
	return remote->id;
}

unsigned int ofs_remote_dims(const struct ofs_remote *remote)
{
	return atomic_load(&remote->dims);
}

/* ---- a request */

/* Texts that one request asks about. */
struct batch {
	json_t *input;
	size_t texts[BATCH_TEXTS]; /* their positions among the caller's texts */
	size_t n;
	size_t bytes;
};

static void batch_finish(struct batch *b)
{
	json_decref(b->input);
}

/* Appends the start of a text as UTF-8, with U+FFFD for each invalid byte and a space for NUL. */
static void clean(const struct ofs_embed_text *text, struct ofs_buf *ret)
{
	const unsigned char *p = (const unsigned char *)text->text;
	size_t len = OFS_MIN(text->len, TEXT_MAX);

	for (size_t i = 0; i < len;) {
		int n = ofs_text_utf8(p + i, len - i);

		if (n < 0 && len < text->len)
			return; /* a character is cut off by TEXT_MAX */
		if (n <= 0)
			ofs_buf_append_str(ret, "\xef\xbf\xbd");
		else
			ofs_buf_append(ret, p[i] ? p + i : (const unsigned char *)" ", (size_t)n);
		i += (size_t)OFS_MAX(n, 1);
	}
}

/* Blank texts are not sent: many servers refuse a request that contains an empty one. */
static bool is_blank(const struct ofs_buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		if (!strchr(" \t\r\n\v\f", text->data[i]))
			return false;
	return true;
}

/* Adds texts from *next on, as many as fit into one request, and advances *next. */
static void fill(struct batch *b, const struct ofs_embed_text texts[], size_t n, size_t *next)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	b->input = json_array();
	for (; *next < n && b->n < BATCH_TEXTS; ++*next) {
		text.len = 0;
		clean(&texts[*next], &text);
		if (is_blank(&text))
			continue;
		if (b->n && text.len > BATCH_BYTES - b->bytes)
			return;
		json_array_append_new(b->input, json_stringn((char *)text.data, text.len));
		b->bytes += text.len;
		b->texts[b->n++] = *next;
	}
}

/* ---- an answer */

/* One call of ofs_remote_embed(): its requests and their results. */
struct asking {
	struct ofs_remote *remote;
	struct ofs_endpoint *endpoint;
	size_t n; /* texts */
	struct ofs_buf vectors; /* of all texts; empty until the dimension is known */
	struct ofs_error *err;
};

static void asking_finish(struct asking *a)
{
	ofs_endpoint_close(a->endpoint);
	ofs_buf_finish(&a->vectors);
}

static int refuse(const struct asking *a, const char *what)
{
	return ofs_endpoint_fail(a->endpoint, EBADMSG, what, NULL, a->err);
}

/* All vectors must have the dimension of the first one that any thread received. */
static int check_dims(struct asking *a, size_t found)
{
	unsigned int known = 0;
	OFS_FREE char *what = NULL;

	if (!found || found > OFS_EMBED_DIMS_MAX) {
		what = ofs_format("answers with a vector of %zu numbers, not of 1 to %d", found,
				  OFS_EMBED_DIMS_MAX);
		return refuse(a, what);
	}
	if (!atomic_compare_exchange_strong(&a->remote->dims, &known, (unsigned int)found) &&
	    known != found) {
		what = ofs_format("answers with a vector of %zu numbers, not of %u as before",
				  found, known);
		return refuse(a, what);
	}
	if (!a->vectors.len) {
		ofs_buf_reserve(&a->vectors, a->n * found);
		a->vectors.len = a->n * found;
		memset(a->vectors.data, 0, a->vectors.len);
	}
	return 0;
}

static int take_vector(struct asking *a, size_t text, const json_t *embedding)
{
	float numbers[OFS_EMBED_DIMS_MAX];
	size_t dims = json_array_size(embedding);
	int r;

	if (!json_is_array(embedding))
		return refuse(a, "answers with something that is not a vector");
	r = check_dims(a, dims);
	if (r < 0)
		return r;
	for (size_t i = 0; i < dims; i++) {
		const json_t *number = json_array_get(embedding, i);
		double value = json_number_value(number);

		if (!json_is_number(number) || !(fabs(value) <= FLT_MAX))
			return refuse(a, "answers with a vector that is not all numbers");
		numbers[i] = (float)value;
	}
	ofs_vector_quantise(numbers, dims, (int8_t *)a->vectors.data + text * dims);
	return 0;
}

/* Vectors may come in any order, each with the index of its text. */
static int read_answer(struct asking *a, const struct batch *b, const struct ofs_buf *body)
{
	json_error_t error;
	CLEANUP_JSON json_t *answer = json_loadb((const char *)body->data, body->len, 0, &error);
	const json_t *data = json_object_get(answer, "data"), *entry;
	bool seen[BATCH_TEXTS] = { false };
	OFS_FREE char *what = NULL;
	size_t i;
	int r;

	if (!answer) {
		what = ofs_format("does not answer in JSON (%s)", error.text);
		return refuse(a, what);
	}
	if (!json_is_array(data))
		return refuse(a, "does not answer with embeddings: 'data' is missing");
	if (json_array_size(data) != b->n) {
		what = ofs_format("answers with %zu vectors for %zu texts", json_array_size(data),
				  b->n);
		return refuse(a, what);
	}
	json_array_foreach(data, i, entry)
	{
		const json_t *index = json_object_get(entry, "index");
		json_int_t at = json_is_integer(index) ? json_integer_value(index) : -1;

		if (at < 0 || at >= (json_int_t)b->n || seen[at])
			return refuse(a, "answers with vectors that cannot be matched to their "
					 "texts: an 'index' is missing, too large or repeated");
		seen[at] = true;
		r = take_vector(a, b->texts[at], json_object_get(entry, "embedding"));
		if (r < 0)
			return r;
	}
	return 0;
}

static int ask(struct asking *a, struct batch *b)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT, answer = OFS_BUF_INIT;
	int r;

	if (!b->n)
		return 0;
	ofs_json_append(json_pack("{s:s, s:O}", "model", a->remote->model, "input", b->input),
			JSON_COMPACT, &body);
	r = ofs_endpoint_post(a->endpoint, "/embeddings", &body, a->err, &answer);
	return r < 0 ? r : read_answer(a, b, &answer);
}

/* The nanoseconds until the deadline or the timeout, whichever is sooner; 0: no limit. */
static int64_t time_left(const struct ofs_remote *remote, int64_t deadline)
{
	int64_t left = deadline ? OFS_MAX(deadline - ofs_clock_monotonic(), 1) : 0;

	return !left || (remote->timeout && remote->timeout < left) ? remote->timeout : left;
}

int ofs_remote_embed(struct ofs_remote *remote, const struct ofs_embed_text texts[], size_t n,
		     int64_t deadline, struct ofs_buf *ret, struct ofs_error *err)
{
	OFS_CLEANUP(asking_finish)
	struct asking a = { .remote = remote, .n = n, .err = err };
	int r = open_endpoint(remote, time_left(remote, deadline), err, &a.endpoint);

	for (size_t next = 0; r == 0 && next < n;) {
		OFS_CLEANUP(batch_finish) struct batch b = { 0 };

		fill(&b, texts, n, &next);
		r = ask(&a, &b);
	}
	if (r < 0)
		return r;
	/* All texts were blank, so no request has sized the vectors. */
	if (!a.vectors.len && ofs_remote_dims(remote) && n)
		check_dims(&a, ofs_remote_dims(remote));
	ofs_buf_append(ret, a.vectors.data, a.vectors.len);
	return 0;
}
