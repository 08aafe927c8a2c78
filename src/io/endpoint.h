/* SPDX-License-Identifier: MIT */
/* A client of a server with OpenAI's API, over libcurl. */
#pragma once

#include <stdatomic.h>

#include <offloadfs/error.h>

#include "base/buf.h"

struct ofs_endpoint;

/*
 * True if libcurl can be used. Loaded on first use, as it makes a program start ten times slower.
 */
bool ofs_endpoint_is_possible(void);

/* All members are borrowed. */
struct ofs_endpoint_settings {
	const char *url; /* base URL of the API ("https://host/v1"); a query is kept */
	const char *key; /* API key or NULL; sent only to the server, never shown */
	int64_t timeout; /* limit for all requests together, in nanoseconds; 0 for none */
	size_t answer_max; /* largest answer in bytes, a multiple of 1 MiB */
	const char *content; /* what is sent, as named in errors: "chat" */
	const char *instead; /* alternative without libcurl, as named in errors: "a command" */
	/* once true, ends a request within 1 s with -ECONNREFUSED; may be NULL */
	const atomic_bool *cancel;
};

/*
 * Prepares an endpoint; sends nothing. The strings of `s` must outlive it. -EINVAL: the URL or the
 * key is unusable. -EOPNOTSUPP: there is no libcurl.
 */
int ofs_endpoint_open(const struct ofs_endpoint_settings *s, struct ofs_error *err,
		      struct ofs_endpoint **ret);

/* Accepts NULL. */
void ofs_endpoint_close(struct ofs_endpoint *e);

/*
 * Posts `body` (JSON) to the call `name` ("/chat/completions") of the API and sets *ret_answer to
 * the answer. Uses TLS and verifies the server's certificate (by $SSL_CERT_FILE if set); plain HTTP
 * is for this machine only. Follows no redirects. On failure sets *err and returns -ETIMEDOUT;
 * -EFBIG: the answer is too large; -ECONNREFUSED: the server cannot be reached; -EREMOTEIO: it
 * refuses, for the reason in *ret_answer.
 */
int ofs_endpoint_post(struct ofs_endpoint *e, const char *name, const struct ofs_buf *body,
		      struct ofs_error *err, struct ofs_buf *ret_answer);

/*
 * Sets *err to "the endpoint ORIGIN WHAT: SAID" on one line, without the key. `said` may be NULL.
 * Returns -code.
 */
int ofs_endpoint_fail(const struct ofs_endpoint *e, int code, const char *what, const char *said,
		      struct ofs_error *err);

/*
 * Returns the message in the body of a refusal, otherwise its first line that is not empty, or
 * NULL. The caller frees it.
 */
char *ofs_endpoint_refusal(const void *body, size_t len);
