/* SPDX-License-Identifier: MIT */
#include "service/http/raw.h"

#include <inttypes.h>

#include "service/call_run.h"

#define PIECE ((size_t)256 << 10)
/* Stored content must not run as a page of this server. */
#define POLICY "sandbox; default-src 'none'; frame-ancestors 'none'"

struct raw {
	struct ofs_http_source source;
	struct ofs_service *service;
	char *agent, *id;
	struct stat attr; /* when sending began */
	uint64_t at, end;
};

/* ---- reading */

struct piece {
	const struct raw *raw;
	struct ofs_buf *out;
};

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_range(struct ofs_backend *b, const char *path, uint64_t at, size_t len,
		      struct ofs_buf *out)
{
	size_t before = out->len;
	ofs_handle h;
	ssize_t n = 1;
	int r = b->ops->open(b, path, &h);

	if (r < 0)
		return r;
	ofs_buf_reserve(out, len);
	for (size_t got = 0; got < len && n > 0; got += (size_t)n) {
		n = b->ops->read(b, h, out->data + out->len, len - got, at + got);
		out->len += n > 0 ? (size_t)n : 0;
	}
	b->ops->close(b, h);
	/* -ESTALE: the file has become shorter. */
	return n < 0 ? (int)n : out->len - before < len ? -ESTALE : 0;
}

static int read_piece(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_call_file_finish) struct ofs_call_file file = { 0 };
	struct piece *p = arg;
	struct ofs_call_run c = { .access = access, .err = err };
	int r = ofs_call_find_file(&c, p->raw->id, &file);

	if (r == 0 && !is_same(&file.attr, &p->raw->attr))
		r = -ESTALE;
	if (r < 0)
		return r;
	return read_range(access->backend, file.path, p->raw->at,
			  (size_t)OFS_MIN(p->raw->end - p->raw->at, PIECE), p->out);
}

/*
 * Opens the tree anew for each piece, so that it is not kept open while a slow client reads. If the
 * file has changed, the connection is cut, so that old and new content are never mixed.
 */
static int raw_next(struct ofs_http_source *s, void (*wake)(void *arg), void *arg,
		    struct ofs_buf *out)
{
	struct raw *raw = (struct raw *)s;
	struct piece p = { raw, out };
	struct ofs_error err;
	size_t before = out->len;
	int r = 0;

	if (raw->at < raw->end)
		r = ofs_service_use(raw->service, raw->agent, false, read_piece, &p, &err);
	raw->at += out->len - before;
	return r;
}

static void raw_destroy(struct ofs_http_source *s)
{
	struct raw *raw = (struct raw *)s;

	free(raw->agent);
	free(raw->id);
	free(raw);
}

/* ---- ranges */

/* A number that is too large becomes the largest, which is past any end as well. */
static bool read_number(const char **at, uint64_t *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

/*
 * Parses a Range of a file of `size` bytes. Returns 1 and [*ret_from, *ret_to), or 0 if the field
 * is not supported and all bytes are sent. -ERANGE: the range begins past the end.
 */
static int parse_range(const char *text, uint64_t size, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t from = 0, last = UINT64_MAX;
	bool has_from, has_last;

	if (!text || strncmp(text, "bytes=", 6) != 0)
		return 0;
	text += 6;
	has_from = read_number(&text, &from);
	if (*text++ != '-')
		return 0;
	has_last = read_number(&text, &last);
	if (*text || (!has_from && !has_last) || (has_from && last < from))
		return 0;
	if (!has_from) {
		from = size - OFS_MIN(last, size);
		last = UINT64_MAX;
	}
	if (from >= size)
		return -ERANGE;
	*ret_from = from;
	*ret_to = OFS_MIN(last, size - 1) + 1;
	return 1;
}

/* ---- the reply */

struct found {
	const char *id;
	struct stat attr;
	bool is_text;
};

static int find(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_call_file_finish) struct ofs_call_file file = { 0 };
	OFS_FREE char *mime = NULL;
	struct found *f = arg;
	struct ofs_call_run c = { .access = access, .err = err };
	int r = ofs_call_find_file(&c, f->id, &file);

	if (r < 0)
		return r;
	if (!S_ISREG(file.attr.st_mode))
		return ofs_error_set(err, EISDIR, "'%s' is not a file", f->id);
	f->attr = file.attr;
	if (ofs_backend_attribute(access->backend, file.path, "mime", &mime) == 0)
		f->is_text = strncmp(mime, "text/", 5) == 0 ||
			     strncmp(mime, "application/json", 16) == 0;
	return 0;
}

static char *make_etag(const struct stat *st)
{
	return ofs_format("\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 ".%lx\"", (uint64_t)st->st_ino,
			  (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
			  (unsigned long)st->st_mtim.tv_nsec);
}

static void send_range(struct ofs_http_exchange *x, const struct found *f, uint64_t from,
		       uint64_t to, struct ofs_http_reply *ret)
{
	struct raw *raw = ofs_alloc(sizeof(*raw));
	const char *agent = ofs_http_agent(x);
	int r;

	*raw = (struct raw){
		.source = { .next = raw_next, .destroy = raw_destroy, .size = (int64_t)(to - from) },
		.service = x->site->service,
		.agent = agent ? ofs_strdup(agent) : NULL,
		.id = ofs_strdup(f->id),
		.attr = f->attr,
		.at = from,
		.end = to,
	};
	ret->type = f->is_text ? "text/plain; charset=utf-8" : "application/octet-stream";
	ret->policy = POLICY;
	if (to - from > PIECE) {
		ret->source = &raw->source;
		return;
	}
	/* A single piece is read at once, without a further job. */
	r = raw_next(&raw->source, NULL, NULL, &ret->body);
	raw_destroy(&raw->source);
	if (r < 0) {
		ofs_http_reply_finish(ret);
		ofs_http_reply_error(ret, 503, "the content changed while it was read");
	}
}

void ofs_raw_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	bool is_get = strcmp(x->request->method, "GET") == 0; /* ranges are for GET alone */
	const char *range = is_get ? ofs_http_request_field(x->request, "Range") : NULL;
	const char *when = ofs_http_request_field(x->request, "If-Range");
	const char *unless = ofs_http_request_field(x->request, "If-None-Match");
	OFS_FREE char *etag = NULL;
	struct found f = { .id = x->id };
	uint64_t size, from = 0, to;
	int r;

	if (x->target.n_parameters) {
		ofs_http_reply_error(ret, 400, "content takes no parameters: send Range");
		return;
	}
	if (ofs_http_use_tree(x, find, &f, ret) < 0)
		return;
	etag = make_etag(&f.attr);
	/* Nobody else's tag has ours in it, which is quoted. */
	if (unless && (strcmp(unless, "*") == 0 || strstr(unless, etag))) {
		ret->status = 304;
		ofs_http_reply_field(ret, "ETag", ofs_steal(etag));
		return;
	}
	size = to = (uint64_t)f.attr.st_size;
	r = when && strcmp(when, etag) != 0 ? 0 : parse_range(range, size, &from, &to);
	ret->status = r > 0 ? 206 : 200;
	if (r < 0) {
		ofs_http_reply_error(ret, 416, "the range begins past the end of the content");
		ofs_http_reply_field(ret, "Content-Range", ofs_format("bytes */%" PRIu64, size));
		return;
	}
	ofs_http_reply_field(ret, "Accept-Ranges", ofs_strdup("bytes"));
	if (r > 0)
		ofs_http_reply_field(ret, "Content-Range",
				     ofs_format("bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from,
						to - 1, size));
	ofs_http_reply_field(ret, "ETag", ofs_steal(etag));
	send_range(x, &f, from, to, ret);
}
