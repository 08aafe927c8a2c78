/* SPDX-License-Identifier: MIT */
#include "remote/location.h"

#include <ctype.h>
#include <strings.h>

#include "base/buf.h"
#include "io/http.h"

#define FORM "s3://BUCKET[/PREFIX][?endpoint=URL&region=R&style=path|virtual]"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD LETTERS CAPITALS DIGITS "_.-"

#define BUCKET_MAX 255
/* S3 allows keys of 1024 bytes; the rest is for the part below the prefix. */
#define PREFIX_MAX 512

static bool consists_of(const char *text, const char *characters)
{
	return *text && !text[strspn(text, characters)];
}

bool ofs_location_is_path(const char *path)
{
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, "/");
		if (!len || strspn(path, WORD) < len || (len <= 2 && strspn(path, ".") >= len))
			return false;
		if (!path[len])
			return true;
	}
}

/* True if the bucket can precede the name of the host, where TLS requires a single label. */
static bool is_label(const char *bucket)
{
	return consists_of(bucket, LETTERS DIGITS "-") && *bucket != '-' &&
	       bucket[strlen(bucket) - 1] != '-' && strlen(bucket) <= 63;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* ---- the endpoint */

/* The parts of an endpoint. */
struct endpoint {
	bool tls;
	char *host; /* in lower case */
	char *port; /* ":9000"; "": the default port */
	char *path; /* "/a"; "": none */
};

static void endpoint_finish(struct endpoint *e)
{
	free(e->host);
	free(e->port);
	free(e->path);
}

static bool is_host(const char *host)
{
	size_t len = strlen(host);

	if (*host != '[')
		return consists_of(host, LETTERS DIGITS "_.-") && *host != '.' && *host != '-';
	return len > 2 && strspn(host + 1, DIGITS "abcdef:.") == len - 2 && host[len - 1] == ']';
}

/*
 * Sets e->port to a text like ":9000", without the scheme's default port, which libcurl omits too.
 */
static bool parse_port(struct endpoint *e, const char *text, size_t len)
{
	unsigned long port = 0;

	if (len > 1 && len <= 6 && strspn(text + 1, DIGITS) >= len - 1)
		port = strtoul(text + 1, NULL, 10);
	if (len && (!port || port > 65535))
		return false;
	e->port = len && port != (e->tls ? 443 : 80) ? ofs_format(":%lu", port) : ofs_strdup("");
	return true;
}

static bool parse_endpoint(const char *url, struct endpoint *ret)
{
	const char *host, *end;
	size_t len;

	ret->tls = strncasecmp(url, "https://", 8) == 0;
	if (!ret->tls && strncasecmp(url, "http://", 7) != 0)
		return false;
	host = strstr(url, "://") + 3;
	end = host + strcspn(host, "/");
	len = *host == '[' ? strcspn(host, "]/") + 1 : strcspn(host, ":/");
	if (host + len > end)
		return false;
	ret->host = ofs_strndup(host, len);
	for (char *p = ret->host; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (!is_host(ret->host) || (host[len] && host[len] != '/' && host[len] != ':') ||
	    !parse_port(ret, host + len, (size_t)(end - host) - len))
		return false;
	len = strlen(end);
	while (len && end[len - 1] == '/')
		len--;
	ret->path = ofs_strndup(end, len);
	return !*ret->path || ofs_location_is_path(ret->path + 1);
}

/* Sets the members that depend on the endpoint. `from` names its source, for errors. */
static int use_endpoint(struct ofs_location *l, const char *url, const char *from,
			struct ofs_error *err)
{
	OFS_CLEANUP(endpoint_finish) struct endpoint e = { 0 };
	OFS_FREE char *name = NULL;

	if (!parse_endpoint(url, &e))
		return ofs_error_set(err, EINVAL,
				     "%s is not an endpoint: it must be like https://host or "
				     "http://127.0.0.1:9000, without user, password or query",
				     from);
	if (!l->path_style && (*e.host == '[' || consists_of(e.host, DIGITS ".")))
		return ofs_error_set(
			err, EINVAL,
			"the endpoint's host '%s' is an address, which the bucket's name "
			"cannot precede: use style=path",
			e.host);
	name = l->path_style ? ofs_strdup(e.host) : ofs_format("%s.%s", l->bucket, e.host);
	if (!e.tls && !l->insecure && !ofs_http_is_loopback(name))
		return ofs_error_set(err, EINVAL,
				     "the endpoint http://%s is not on this machine, and without "
				     "TLS all could read and change the content on its way: use "
				     "https://, or insecure=1 if the network is trusted",
				     name);
	l->endpoint = ofs_format("%s://%s%s%s", e.tls ? "https" : "http", e.host, e.port, e.path);
	l->host = ofs_format("%s%s", name, e.port);
	l->origin = ofs_format("%s://%s", e.tls ? "https" : "http", l->host);
	l->root = ofs_format("%s%s%s", e.path, l->path_style ? "/" : "",
			     l->path_style ? l->bucket : "");
	return 0;
}

static bool is_amazon(const char *url)
{
	const char *host = strstr(url, "://"), *end;
	static const char domain[] = ".amazonaws.com";
	size_t len = sizeof(domain) - 1;

	if (!host)
		return false;
	host += 3;
	end = host + strcspn(host, ":/");
	return (size_t)(end - host) > len && strncasecmp(end - len, domain, len) == 0;
}

/* ---- the text of a location */

/* The values of the query, allocated; NULL: not given. */
struct query {
	char *endpoint, *region, *style, *insecure;
};

static void query_finish(struct query *q)
{
	free(q->endpoint);
	free(q->region);
	free(q->style);
	free(q->insecure);
}

/* Allocated; NULL: there is a wrong %XX, or a character that is not printable ASCII. */
static char *decode(const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	for (size_t i = 0; i < len; i++) {
		char hex[3] = { 0 }, c = text[i];

		if (c == '%') {
			if (len - i < 3 || !isxdigit((unsigned char)text[i + 1]) ||
			    !isxdigit((unsigned char)text[i + 2]))
				return NULL;
			memcpy(hex, text + i + 1, 2);
			c = (char)strtoul(hex, NULL, 16);
			i += 2;
		}
		if (c <= ' ' || c > '~')
			return NULL;
		ofs_buf_append(&out, &c, 1);
	}
	return ofs_buf_steal_str(&out);
}

static int parse_query(const char *text, struct query *q, struct ofs_error *err)
{
	struct {
		const char *name;
		char **value;
	} const keys[] = {
		{ "endpoint=", &q->endpoint },
		{ "region=", &q->region },
		{ "style=", &q->style },
		{ "insecure=", &q->insecure },
	};
	size_t len, i;

	for (; *text; text += len + (text[len] == '&')) {
		len = strcspn(text, "&");
		for (i = 0; i < OFS_ARRAY_SIZE(keys); i++)
			if (strncmp(text, keys[i].name, strlen(keys[i].name)) == 0)
				break;
		if (i == OFS_ARRAY_SIZE(keys))
			return ofs_error_set(err, EINVAL,
					     "after the '?' of a location only endpoint=, region=, "
					     "style= and insecure=1 are allowed, separated by "
					     "'&'");
		if (*keys[i].value)
			return ofs_error_set(err, EINVAL, "the location has %s twice",
					     keys[i].name);
		*keys[i].value = decode(text + strlen(keys[i].name), len - strlen(keys[i].name));
		if (!*keys[i].value)
			return ofs_error_set(err, EINVAL,
					     "the value of %s in the location has an invalid "
					     "character, or a '%%' without two hexadecimal digits "
					     "after it",
					     keys[i].name);
	}
	return 0;
}

/* Parses `len` bytes of BUCKET[/PREFIX]. */
static int parse_names(const char *text, size_t len, struct ofs_location *l, struct ofs_error *err)
{
	size_t bucket = OFS_MIN(strcspn(text, "/"), len);

	if (memchr(text, '@', len))
		return ofs_error_set(err, EINVAL,
				     "a location has no user and no password: it must be "
				     "like " FORM);
	l->bucket = ofs_strndup(text, bucket);
	if (!consists_of(l->bucket, WORD) || !isalnum((unsigned char)*l->bucket) ||
	    bucket > BUCKET_MAX)
		return ofs_error_set(err, EINVAL,
				     "the bucket of a location must begin with a letter or a digit "
				     "and have only letters, digits, '_', '.' and '-'");
	l->prefix = bucket < len ? ofs_strndup(text + bucket + 1, len - bucket - 1)
				 : ofs_strdup("");
	if (bucket < len && !ofs_location_is_path(l->prefix))
		return ofs_error_set(err, EINVAL,
				     "the prefix of a location must have only letters, digits, "
				     "'_', '.', '-' and, between names other than '.' and "
				     "'..', single slashes: it must be like a/b");
	if (len - bucket > PREFIX_MAX)
		return ofs_error_set(err, EINVAL,
				     "the prefix of a location must have at most %d characters",
				     PREFIX_MAX);
	return 0;
}

static int choose_region(struct ofs_location *l, const struct query *q, struct ofs_error *err)
{
	const char *region = q->region;

	region = region ? region : variable("AWS_REGION");
	region = region ? region : variable("AWS_DEFAULT_REGION");
	l->region = ofs_strdup(region ? region : "us-east-1");
	if (!consists_of(l->region, LETTERS DIGITS "-") || strlen(l->region) > 63)
		return ofs_error_set(err, EINVAL,
				     "the region of a location must have only lower-case letters, "
				     "digits and '-', like us-east-1");
	return 0;
}

static int choose_style(struct ofs_location *l, const struct query *q, const char *url,
			struct ofs_error *err)
{
	const char *style = q->style;

	if (q->insecure && strcmp(q->insecure, "1") != 0)
		return ofs_error_set(err, EINVAL, "insecure= of a location must be 1");
	l->insecure = q->insecure;
	if (!style)
		style = is_amazon(url) && is_label(l->bucket) ? "virtual" : "path";
	l->path_style = strcmp(style, "path") == 0;
	if (!l->path_style && strcmp(style, "virtual") != 0)
		return ofs_error_set(err, EINVAL, "style= of a location must be path or virtual");
	if (!l->path_style && !is_label(l->bucket))
		return ofs_error_set(err, EINVAL,
				     "the bucket '%s' cannot be part of a host name: use "
				     "style=path",
				     l->bucket);
	return 0;
}

static int parse(const char *text, struct ofs_location *l, struct ofs_error *err)
{
	OFS_CLEANUP(query_finish) struct query q = { 0 };
	OFS_FREE char *amazon = NULL;
	const char *from = "the value of endpoint= in the location", *url;
	size_t len;
	int r;

	if (strncmp(text, "s3://", 5) != 0)
		return ofs_error_set(err, EINVAL,
				     "the location is malformed: it must be like " FORM);
	text += 5;
	len = strcspn(text, "?");
	r = parse_names(text, len, l, err);
	if (r == 0 && text[len])
		r = parse_query(text + len + 1, &q, err);
	if (r == 0)
		r = choose_region(l, &q, err);
	if (r < 0)
		return r;
	url = q.endpoint;
	if (!url && (url = variable("AWS_ENDPOINT_URL_S3")))
		from = "AWS_ENDPOINT_URL_S3 in the environment";
	if (!url && (url = variable("AWS_ENDPOINT_URL")))
		from = "AWS_ENDPOINT_URL in the environment";
	if (!url)
		url = amazon = ofs_format("https://s3.%s.amazonaws.com%s", l->region,
					  strncmp(l->region, "cn-", 3) == 0 ? ".cn" : "");
	r = choose_style(l, &q, url, err);
	return r < 0 ? r : use_endpoint(l, url, from, err);
}

int ofs_location_parse(const char *text, struct ofs_error *err, struct ofs_location *ret)
{
	OFS_CLEANUP(ofs_location_finish) struct ofs_location l = { 0 };
	int r = parse(text, &l, err);

	if (r == 0)
		*ret = ofs_steal(l);
	return r;
}

void ofs_location_finish(struct ofs_location *l)
{
	free(l->bucket);
	free(l->prefix);
	free(l->endpoint);
	free(l->region);
	free(l->origin);
	free(l->host);
	free(l->root);
	memset(l, 0, sizeof(*l));
}

char *ofs_location_text(const struct ofs_location *l)
{
	return ofs_format("s3://%s%s%s?endpoint=%s&region=%s&style=%s%s", l->bucket,
			  *l->prefix ? "/" : "", l->prefix, l->endpoint, l->region,
			  l->path_style ? "path" : "virtual", l->insecure ? "&insecure=1" : "");
}
