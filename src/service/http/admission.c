/* SPDX-License-Identifier: MIT */
#include "service/http/admission.h"

#include <strings.h>

#include "codec/base64.h"

/* ---- the token */

static bool same(const char *token, const void *given, size_t len)
{
	size_t want = strlen(token);
	unsigned int differ = want != len;

	for (size_t i = 0; i < len; i++)
		differ |= (unsigned char)token[i % (want ? want : 1)] ^
			  ((const unsigned char *)given)[i];
	return want && !differ;
}

/* Decodes the password of "user:password" in base64, which programs send that only know a URL. */
static void decode_basic(const char *text, struct ofs_buf *ret)
{
	uint8_t *colon;

	if (!ofs_base64_decode(text, strlen(text), ret))
		ret->len = 0;
	colon = ret->len ? memchr(ret->data, ':', ret->len) : NULL;
	ret->len = colon ? ret->len - (size_t)(colon + 1 - ret->data) : 0;
	if (colon)
		memmove(ret->data, colon + 1, ret->len);
}

/* Returns what follows the scheme, or NULL if `value` has another one. */
static const char *after_scheme(const char *value, const char *scheme)
{
	size_t len = strlen(scheme);

	if (!value || strncasecmp(value, scheme, len) != 0 || value[len] != ' ')
		return NULL;
	return value + len + strspn(value + len, " ");
}

bool ofs_admission_has_token(const struct ofs_admission *a, const struct ofs_http_request *r)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf password = OFS_BUF_INIT;
	const char *value = ofs_http_request_field(r, "Authorization");
	const char *bearer = after_scheme(value, "Bearer");
	const char *basic = after_scheme(value, "Basic");

	if (!a->token)
		return false;
	if (bearer)
		return same(a->token, bearer, strlen(bearer));
	if (basic)
		decode_basic(basic, &password);
	return password.len && same(a->token, password.data, password.len);
}

/* ---- the origin */

static bool is_ours(const struct ofs_admission *a, const char *host)
{
	if (a->any_host)
		return true;
	for (const char *const *each = a->hosts; each && *each; each++)
		if (strcasecmp(*each, host) == 0)
			return true;
	return false;
}

/* True if the origin of a page, "http://host:port", is this host. */
static bool is_origin(const char *origin, const char *host)
{
	const char *rest = strstr(origin, "://");
	bool is_http = strncmp(origin, "http:", 5) == 0 || strncmp(origin, "https:", 6) == 0;

	return rest && is_http && strcasecmp(rest + 3, host) == 0;
}

int ofs_admission_check_origin(const struct ofs_admission *a, const struct ofs_http_request *r,
			       const char *host, struct ofs_error *err)
{
	const char *named = ofs_http_request_field(r, "Host");
	size_t origins = ofs_http_request_count(r, "Origin");
	const char *origin = ofs_http_request_field(r, "Origin");

	if (!r->known && (!named || !is_ours(a, named)))
		return ofs_error_set(err, EACCES,
				     "Host must be the address that this server listens on");
	if (host && (!named || strcasecmp(host, named) != 0))
		return ofs_error_set(err, EACCES, "Host must be that of the target");
	if (origins && (!named || !origin || !is_origin(origin, named)))
		return ofs_error_set(err, EACCES, "pages of other origins have no access");
	return 0;
}
