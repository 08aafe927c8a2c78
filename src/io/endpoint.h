/* SPDX-License-Identifier: MIT */
/* A server with OpenAI's API, asked through libcurl. */
#pragma once

#include <stdatomic.h>

#include <offloadfs/error.h>

#include "base/buf.h"

struct ofs_endpoint;

/*
 * True if there is a libcurl. It is looked for when it is first needed, since a program takes ten
 * times as long to start with it.
 */
bool ofs_endpoint_is_possible(void);

/* All borrowed. */
struct ofs_endpoint_settings {
	const char *url; /* the base of the API ("https://host/v1"); a query stays */
	const char *key; /* NULL: none. Sent to the server alone, and shown nowhere */
	int64_t timeout; /* of all requests together, in nanoseconds; 0: none */
	size_t answer_max; /* bytes of an answer, in whole MiB */
	const char *content; /* what is sent, as errors call it: "chat" */
	const char *instead; /* what serves without libcurl, likewise: "a command" */
	const atomic_bool *cancel; /* true ends a request within a second: -ECONNREFUSED; or NULL */
};

/*
 * Nothing is sent yet. The strings of `s` must live as long as the endpoint. -EINVAL: URL or key
 * cannot be used; -EOPNOTSUPP: there is no libcurl.
 */
int ofs_endpoint_open(const struct ofs_endpoint_settings *s, struct ofs_error *err,
		      struct ofs_endpoint **ret);

/* NULL is allowed. */
void ofs_endpoint_close(struct ofs_endpoint *e);

/*
 * Posts `body` (JSON) to the call `name` ("/chat/completions") of the API; `ret_answer` (emptied
 * first) is what comes back. Goes over TLS with the server's certificate verified (by
 * $SSL_CERT_FILE, where that is set), or without TLS to this machine itself; follows no redirect.
 * Errors, told in `err`: -ETIMEDOUT; -EFBIG: the answer is too large; -ECONNREFUSED: the server
 * cannot be reached; -EREMOTEIO: it refuses, and `ret_answer` says why.
 */
int ofs_endpoint_post(struct ofs_endpoint *e, const char *name, const struct ofs_buf *body,
		      struct ofs_error *err, struct ofs_buf *ret_answer);

/*
 * Sets `err` to "the endpoint ORIGIN WHAT: SAID" on one line, without the key; `said` may be NULL.
 * Returns -code.
 */
int ofs_endpoint_fail(const struct ofs_endpoint *e, int code, const char *what, const char *said,
		      struct ofs_error *err);

/*
 * Allocated: what the body of a refusal says, its message or else its first line that is not
 * empty. NULL: nothing.
 */
char *ofs_endpoint_refusal(const void *body, size_t len);
