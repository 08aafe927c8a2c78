/* SPDX-License-Identifier: MIT */
/* A server with OpenAI's API, asked through libcurl. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <offloadfs/error.h>

#include "base/buf.h"
#include "context/summarizer/completion.h"

/* All borrowed. */
struct ofs_endpoint {
	const char *url; /* base of the API: "https://host/v1"; a query stays */
	const char *key; /* sent to it alone, and shown nowhere; NULL: none */
	uint64_t timeout_s; /* 0: none */
};

/*
 * Whether there is a libcurl. It is looked for when it is first needed, since a program takes ten
 * times as long to start with it.
 */
bool ofs_endpoint_is_possible(void);

/*
 * Asks for a completion; `c` may be changed to a form that the model takes. Goes over TLS with the
 * server's certificate verified (by $SSL_CERT_FILE, where that is set), or without TLS to this
 * machine itself; follows no redirect. Appends the answer's text. Else `err` says what is wrong,
 * with -EOPNOTSUPP: there is no libcurl, -EINVAL: URL or key cannot be used, -ETIMEDOUT, -EFBIG:
 * the answer is over 4 MiB, -EBADMSG: there is none in it, -ECONNREFUSED: the server cannot be
 * reached, or -EREMOTEIO: it refuses.
 */
int ofs_endpoint_ask(const struct ofs_endpoint *e, struct ofs_completion *c, struct ofs_error *err,
		     struct ofs_buf *ret_text);
