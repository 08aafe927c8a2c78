/* SPDX-License-Identifier: MIT */
#include "service/http/message.h"

#include <strings.h>

#include "base/text.h"
#include "service/code.h"

/* ---- fields */

size_t ofs_http_request_count(const struct ofs_http_request *r, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_fields; i++)
		n += strcasecmp(r->fields[i].name, name) == 0;
	return n;
}

const char *ofs_http_request_field(const struct ofs_http_request *r, const char *name)
{
	const char *value = NULL;

	for (size_t i = 0; i < r->n_fields; i++) {
		if (strcasecmp(r->fields[i].name, name) != 0)
			continue;
		if (value)
			return NULL;
		value = r->fields[i].value;
	}
	return value;
}

/* True for a token of RFC 9110, which names of fields and methods must be. */
static bool is_token(const char *text)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (const char *p = text; *p; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9');

		if (!plain && !strchr(marks, *p))
			return false;
	}
	return *text;
}

static bool is_value(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if ((*p < ' ' && *p != '\t') || *p == 0x7f)
			return false;
	return true;
}

static int check_length(const struct ofs_http_request *r, struct ofs_error *err)
{
	size_t lengths = ofs_http_request_count(r, "Content-Length");
	size_t codings = ofs_http_request_count(r, "Transfer-Encoding");
	const char *coding = ofs_http_request_field(r, "Transfer-Encoding");
	const char *length = ofs_http_request_field(r, "Content-Length");

	if (lengths + codings > 1)
		return ofs_error_set(err, EINVAL,
				     "the length of the body is given more than once: send one "
				     "Content-Length, or Transfer-Encoding: chunked");
	if (codings && (!coding || strcasecmp(coding, "chunked") != 0 || r->http_1_0))
		return ofs_error_set(err, EINVAL,
				     "the only Transfer-Encoding allowed is chunked, in "
				     "HTTP/1.1");
	if (length && (!*length || strspn(length, "0123456789") != strlen(length)))
		return ofs_error_set(err, EINVAL, "Content-Length must be a number");
	return 0;
}

int ofs_http_request_check(const struct ofs_http_request *r, struct ofs_error *err)
{
	size_t hosts = ofs_http_request_count(r, "Host");

	if (!is_token(r->method))
		return ofs_error_set(err, EINVAL, "the method is malformed");
	for (size_t i = 0; i < r->n_fields; i++)
		if (!is_token(r->fields[i].name) || !is_value(r->fields[i].value))
			return ofs_error_set(err, EINVAL, "a header field is malformed");
	if (hosts > 1 || (hosts == 0 && !r->http_1_0))
		return ofs_error_set(err, EINVAL, "there must be exactly one Host");
	return check_length(r, err);
}

/* ---- targets */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes `len` bytes, allocated; NULL if they are malformed. `plus`: '+' is a blank. */
static char *decode(const char *text, size_t len, bool plus)
{
	OFS_FREE char *out = ofs_alloc(len + 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '%') {
			int high = len - i > 2 ? hex(text[i + 1]) : -1;
			int low = len - i > 2 ? hex(text[i + 2]) : -1;

			if (high < 0 || low < 0 || !(high | low))
				return NULL;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (plus && c == '+') {
			c = ' ';
		}
		out[n++] = c;
	}
	return ofs_text_is_utf8(out) ? ofs_steal(out) : NULL;
}

static int refuse(struct ofs_error *err, const char *what)
{
	return ofs_error_set(err, EINVAL,
			     "the %s is malformed: it must be UTF-8, percent-encoded, without NUL",
			     what);
}

static int parse_path(const char *path, size_t len, struct ofs_error *err,
		      struct ofs_http_target *ret)
{
	const char *end = path + len;

	for (const char *at = path + 1; at <= end;) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t n = (size_t)((slash ? slash : end) - at);
		char *segment;

		if (ret->n_segments == OFS_HTTP_SEGMENTS)
			return ofs_error_set(err, EINVAL,
					     "the path has too many parts: write a '/' in "
					     "the id of a memory as %%2F");
		segment = decode(at, n, false);
		if (!segment)
			return refuse(err, "path");
		ret->segments[ret->n_segments++] = segment;
		if (strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
			return ofs_error_set(err, EINVAL, "the path may not have '.' or '..'");
		at += n + 1;
	}
	return 0;
}

static int parse_query(const char *query, struct ofs_error *err, struct ofs_http_target *ret)
{
	for (const char *at = query; *at;) {
		size_t len = strcspn(at, "&"), name = strcspn(at, "&=");
		struct ofs_http_parameter *p = &ret->parameters[ret->n_parameters];

		if (!len) {
			at++;
			continue;
		}
		if (ret->n_parameters == OFS_HTTP_PARAMETERS)
			return ofs_error_set(err, EINVAL, "the query has too many parameters");
		ret->n_parameters++;
		p->name = decode(at, name, true);
		p->value = name < len ? decode(at + name + 1, len - name - 1, true)
				      : ofs_strdup("");
		if (!p->name || !p->value)
			return refuse(err, "query");
		if (ofs_http_target_parameter(ret, p->name) != p->value)
			return ofs_error_set(err, EINVAL, "'%s' is in the query twice", p->name);
		at += len + (at[len] == '&');
	}
	return 0;
}

/* Takes the host of "http://host:port/path", the form for proxies. Returns the rest of `target`. */
static const char *parse_host(const char *target, struct ofs_http_target *ret)
{
	size_t scheme = strncasecmp(target, "http://", 7) == 0 ? 7 : 0;
	size_t len = strcspn(target + scheme, "/?#");

	if (!scheme || !len)
		return target;
	ret->host = ofs_strndup(target + scheme, len);
	return target + scheme + len;
}

int ofs_http_target_parse(const char *target, struct ofs_error *err, struct ofs_http_target *ret)
{
	OFS_CLEANUP(ofs_http_target_finish) struct ofs_http_target t = { 0 };
	const char *path = parse_host(target, &t);
	size_t len = strcspn(path, "?");
	int r = 0;

	for (const char *p = path; *p; p++)
		if (*p <= ' ' || *p >= 0x7f || strchr("\"#<>\\^`{|}", *p))
			r = refuse(err, "target");
	if (r == 0 && *path != '/')
		r = ofs_error_set(err, EINVAL, "the target must begin with '/'");
	if (r == 0)
		r = parse_path(path, len, err, &t);
	if (r == 0 && path[len])
		r = parse_query(path + len + 1, err, &t);
	if (r == 0)
		*ret = ofs_steal(t);
	return r;
}

void ofs_http_target_finish(struct ofs_http_target *t)
{
	free(t->host);
	for (size_t i = 0; i < t->n_segments; i++)
		free(t->segments[i]);
	for (size_t i = 0; i < t->n_parameters; i++) {
		free(t->parameters[i].name);
		free(t->parameters[i].value);
	}
	*t = (struct ofs_http_target){ 0 };
}

const char *ofs_http_target_parameter(const struct ofs_http_target *t, const char *name)
{
	for (size_t i = 0; i < t->n_parameters; i++)
		if (strcmp(t->parameters[i].name, name) == 0)
			return t->parameters[i].value;
	return NULL;
}

/* ---- replies */

static const struct {
	unsigned int status;
	const char *word;
} words[] = {
	{ 400, "invalid" },
	{ 401, "unauthorized" },
	{ 403, "forbidden" },
	{ 404, "not_found" },
	{ 405, "method_not_allowed" },
	{ 406, "not_acceptable" },
	{ 408, "timeout" },
	{ 409, "exists" },
	{ 410, "expired" },
	{ 413, "too_large" },
	{ 415, "media_type" },
	{ 416, "range" },
	{ 422, "unprocessable" },
	{ 429, "too_many" },
	{ 431, "too_large" },
	{ 500, "failed" },
	{ 503, "unavailable" },
	{ 507, "no_space" },
};

const char *ofs_http_status_word(unsigned int status)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++)
		if (words[i].status == status)
			return words[i].word;
	return "failed";
}

/* Returns the first status whose word is that of a failed call. */
static unsigned int status_of(int r)
{
	const char *word = ofs_service_code(r == -EAGAIN ? -EBUSY : r);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].status;
	return 500;
}

void ofs_http_reply_finish(struct ofs_http_reply *r)
{
	ofs_buf_finish(&r->body);
	if (r->source)
		r->source->destroy(r->source);
	for (size_t i = 0; i < r->n_fields; i++)
		free(r->fields[i].value);
	*r = (struct ofs_http_reply){ 0 };
}

void ofs_http_reply_field(struct ofs_http_reply *r, const char *name, char *value)
{
	if (r->n_fields == OFS_HTTP_FIELDS)
		abort();
	r->fields[r->n_fields].name = name;
	r->fields[r->n_fields++].value = value;
}

void ofs_http_reply_json(struct ofs_http_reply *r, unsigned int status, json_t *json)
{
	r->body.len = 0;
	r->type = "application/json";
	r->status = status;
	if (ofs_json_append(json, JSON_COMPACT, &r->body) < 0) {
		r->body.len = 0;
		r->status = 500;
		ofs_buf_append_str(&r->body, "{\"error\":{\"code\":\"failed\",\"message\":"
					     "\"the answer is not UTF-8\"}}");
	}
	ofs_buf_append_str(&r->body, "\n");
}

void ofs_http_reply_error(struct ofs_http_reply *r, unsigned int status, const char *message)
{
	OFS_FREE char *shown = ofs_text_shown(message);

	ofs_http_reply_json(r, status,
			    json_pack("{s:{s:s, s:s}}", "error", "code",
				      ofs_http_status_word(status), "message", shown));
}

void ofs_http_reply_failed(struct ofs_http_reply *r, int code, const struct ofs_error *err)
{
	unsigned int status = status_of(code);

	ofs_http_reply_error(r, status, err->text);
	if (status == 503)
		ofs_http_reply_field(r, "Retry-After", ofs_strdup("1"));
}
