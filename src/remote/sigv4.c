/* SPDX-License-Identifier: MIT */
#include "remote/sigv4.h"

#include <time.h>

#include "base/clock.h"
#include "codec/hash.h"

#define SERVICE "s3"

void ofs_sigv4_time(int64_t ns, char ret[OFS_SIGV4_TIME_SIZE])
{
	time_t seconds = (time_t)ofs_seconds(ns);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(ret, OFS_SIGV4_TIME_SIZE, "%Y%m%dT%H%M%SZ", &tm))
		memcpy(ret, "19700101T000000Z", OFS_SIGV4_TIME_SIZE);
}

void ofs_sigv4_encode(const char *text, struct ofs_buf *out)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

	for (; *text; text++)
		if (strchr(plain, *text))
			ofs_buf_append(out, text, 1);
		else
			ofs_buf_printf(out, "%%%02X", (unsigned char)*text);
}

/* Appends the names of the headers: "host;x-amz-date". */
static void append_names(const char *const *headers, struct ofs_buf *out)
{
	for (size_t i = 0; headers[i]; i++) {
		if (i)
			ofs_buf_append_str(out, ";");
		ofs_buf_append(out, headers[i], strcspn(headers[i], ":"));
	}
}

static int hash_canonical(const struct ofs_sigv4_request *r, char ret[2 * OFS_SHA256_SIZE + 1])
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	uint8_t sha[OFS_SHA256_SIZE];
	int err;

	ofs_buf_printf(&text, "%s\n%s\n%s\n", r->method, r->path, r->query);
	for (size_t i = 0; r->headers[i]; i++)
		ofs_buf_printf(&text, "%s\n", r->headers[i]);
	ofs_buf_append_str(&text, "\n");
	append_names(r->headers, &text);
	ofs_buf_printf(&text, "\n%s", r->payload_sha256);
	err = ofs_sha256(text.data, text.len, sha);
	if (err == 0)
		ofs_sha256_hex(sha, ret);
	explicit_bzero(text.data, text.len); /* a session token is a header */
	return err;
}

/* Derives the key of a day, a region and the service. */
static int derive_key(const char *secret, const char *day, const char *region,
		      uint8_t ret[OFS_SHA256_SIZE])
{
	const char *const parts[] = { day, region, SERVICE, "aws4_request" };
	OFS_CLEANUP(ofs_credentials_wipe) char *first = ofs_format("AWS4%s", secret);
	uint8_t key[OFS_SHA256_SIZE];
	int r = 0;

	for (size_t i = 0; r == 0 && i < OFS_ARRAY_SIZE(parts); i++) {
		r = ofs_hmac(i ? (const char *)key : first, i ? sizeof(key) : strlen(first),
			     parts[i], strlen(parts[i]), ret);
		memcpy(key, ret, sizeof(key));
	}
	explicit_bzero(key, sizeof(key));
	return r;
}

int ofs_sigv4_sign(const struct ofs_sigv4_request *r, const struct ofs_credentials *c,
		   struct ofs_buf *ret)
{
	OFS_FREE char *scope = NULL, *to_sign = NULL;
	char time[OFS_SIGV4_TIME_SIZE], day[9] = { 0 }, hex[2 * OFS_SHA256_SIZE + 1];
	uint8_t key[OFS_SHA256_SIZE], signature[OFS_SHA256_SIZE];
	int err = hash_canonical(r, hex);

	ofs_sigv4_time(r->time, time);
	memcpy(day, time, sizeof(day) - 1);
	scope = ofs_format("%s/%s/" SERVICE "/aws4_request", day, r->region);
	if (err == 0)
		err = derive_key(c->secret, day, r->region, key);
	if (err < 0)
		return err;
	to_sign = ofs_format("AWS4-HMAC-SHA256\n%s\n%s\n%s", time, scope, hex);
	err = ofs_hmac(key, sizeof(key), to_sign, strlen(to_sign), signature);
	explicit_bzero(key, sizeof(key));
	if (err < 0)
		return err;
	ofs_buf_printf(ret, "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=", c->access_key,
		       scope);
	append_names(r->headers, ret);
	ofs_sha256_hex(signature, hex);
	ofs_buf_printf(ret, ",Signature=%s", hex);
	return 0;
}
