/* SPDX-License-Identifier: MIT */
/* HTTP requests, through libcurl. */
#pragma once

#include <stdatomic.h>
#include <stdio.h>

#include "base/buf.h"

struct ofs_http; /* connections that are kept between requests; for one thread at a time */

/*
 * True if there is a libcurl. It is looked for when it is first needed, since a program takes ten
 * times as long to start with it.
 */
bool ofs_http_is_possible(void);

/* Requires ofs_http_is_possible(). */
struct ofs_http *ofs_http_open(void);

/* NULL is allowed. */
void ofs_http_close(struct ofs_http *h);

/* All borrowed. Times are in nanoseconds; 0: no limit of ours. */
struct ofs_http_call {
	const char *method; /* GET, HEAD, DELETE; POST and PUT, which have a body */
	const char *url;
	const char *const *headers; /* "Name: value", up to NULL */
	const void *body;
	size_t body_len;
	/*
	 * A body above 1 MiB waits, up to a second, for the server's word: one that refuses it
	 * unread may close the connection, and the refusal gets lost.
	 */
	bool asks_first;
	const char *authorities; /* a file; instead of $SSL_CERT_FILE; NULL or "": none */
	size_t answer_max; /* bytes of an answer */
	size_t refusal_max; /* of one whose status is not 2xx: the rest is left out; 0: as above */
	int64_t connect_timeout;
	int64_t timeout; /* of the whole request */
	int64_t stall_timeout; /* while nothing is transferred */
	const atomic_bool *cancel; /* true ends the request within a second; or NULL */
};

/* Begins as zeros; owned by the caller. */
struct ofs_http_answer {
	int status; /* 0: none came */
	struct ofs_buf body;
	struct ofs_buf headers; /* for ofs_http_header() */
	char *redirect; /* the URL that a redirect leads to; NULL: none */
	/* Above 1, a kept connection broke without an answer and the request was sent once more. */
	unsigned int sent;
	char reason[256]; /* libcurl's words for -ECONNREFUSED */
};

void ofs_http_answer_finish(struct ofs_http_answer *a);

/*
 * Sends a request and reads its answer. Goes over TLS with the server's certificate verified (by
 * `authorities` or $SSL_CERT_FILE, where there is one) if the URL says https; to this machine itself never through a
 * proxy; follows no redirect. 0: an answer came, whatever its status. -ETIMEDOUT; -EFBIG: the
 * answer is too large; -ECANCELED; -ECONNREFUSED: there is no answer or not all of it. In each case
 * `ret`, which is emptied first, holds what came.
 */
int ofs_http_ask(struct ofs_http *h, const struct ofs_http_call *call, struct ofs_http_answer *ret);

/* The value of a header of the answer, whose name is compared without case; NULL: there is none. */
const char *ofs_http_header(const struct ofs_http_answer *a, const char *name);

/* The parts of a URL, allocated; NULL: it has none. */
struct ofs_http_url {
	char *scheme;
	char *host; /* an IPv6 address in brackets */
	char *port;
	char *path;
	bool has_user; /* or a password */
};

/* Requires ofs_http_is_possible(). -EINVAL: it is none. */
int ofs_http_url_split(const char *url, struct ofs_http_url *ret);
void ofs_http_url_finish(struct ofs_http_url *u);

/* Allocated: `url`, which ofs_http_url_split() takes, with another path and without a fragment. */
char *ofs_http_url_with_path(const char *url, const char *path);

/* A host, as in a URL, that is this machine whatever a resolver says. */
bool ofs_http_is_loopback(const char *host);

/* Printable ASCII without blanks: a line break would start another header. */
bool ofs_http_is_token(const char *text);

/*
 * Prints what a server, or libcurl, says as one line of bounded length in which the `n` secrets
 * (each may be NULL) do not occur.
 */
void ofs_http_print_said(FILE *out, const char *said, const char *const *secrets, size_t n);
