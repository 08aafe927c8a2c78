/* SPDX-License-Identifier: MIT */
/* HTTP requests, through libcurl. */
#pragma once

#include <stdatomic.h>
#include <stdio.h>

#include "base/buf.h"

struct ofs_http; /* a set of kept connections, for one thread at a time */

/*
 * True if libcurl can be used. Loaded on first use, as it makes a program start ten times slower.
 */
bool ofs_http_is_possible(void);

/* Requires ofs_http_is_possible(). */
struct ofs_http *ofs_http_open(void);

/* Accepts NULL. */
void ofs_http_close(struct ofs_http *h);

/* All members are borrowed. Times are in nanoseconds, 0 for no limit of ours. */
struct ofs_http_call {
	const char *method; /* GET, HEAD or DELETE; POST or PUT, which have a body */
	const char *url;
	const char *const *headers; /* "Name: value", ending with NULL */
	const void *body;
	size_t body_len;
	/*
	 * A body above 1 MiB is held back, for up to a second, until the server agrees. A server
	 * that refuses an unread body may close the connection, and its refusal is lost.
	 */
	bool asks_first;
	/* file of CA certificates instead of $SSL_CERT_FILE; NULL or "" for none */
	const char *authorities;
	size_t answer_max; /* largest body of an answer, in bytes */
	size_t refusal_max; /* bytes kept if the status is not 2xx; 0: as answer_max */
	int64_t connect_timeout;
	int64_t timeout; /* limit of the whole request */
	int64_t stall_timeout; /* limit while nothing is transferred */
	const atomic_bool *cancel; /* once true, ends the request within 1 s; may be NULL */
};

/* Zero-initialised and owned by the caller. */
struct ofs_http_answer {
	int status; /* HTTP status; 0 if there was no answer */
	struct ofs_buf body;
	struct ofs_buf headers; /* for ofs_http_header() */
	char *redirect; /* target of a redirect, or NULL */
	/* above 1 if a kept connection broke without an answer and libcurl sent again */
	unsigned int sent;
	char reason[256]; /* libcurl's message for -ECONNREFUSED */
};

void ofs_http_answer_finish(struct ofs_http_answer *a);

/*
 * Sends a request and reads its answer into *ret, which must be initialised and is emptied first.
 * For https it verifies the certificate by `authorities`, $SSL_CERT_FILE or libcurl's own list.
 * Requests to this machine bypass proxies. Redirects are not followed. Returns 0 if there is an
 * answer, whatever its status; -ETIMEDOUT; -EFBIG: the answer is too large; -ECANCELED;
 * -ECONNREFUSED: there is no complete answer. *ret then holds what came.
 */
int ofs_http_ask(struct ofs_http *h, const struct ofs_http_call *call, struct ofs_http_answer *ret);

/* Returns the value of a header of the answer, or NULL. Ignores the case of `name`. */
const char *ofs_http_header(const struct ofs_http_answer *a, const char *name);

/* The parts of a URL, each allocated, or NULL if missing. */
struct ofs_http_url {
	char *scheme;
	char *host; /* an IPv6 address is in brackets */
	char *port;
	char *path;
	bool has_user; /* has a user or a password */
};

/* Requires ofs_http_is_possible(). Returns -EINVAL if `url` is not a URL. */
int ofs_http_url_split(const char *url, struct ofs_http_url *ret);
void ofs_http_url_finish(struct ofs_http_url *u);

/* Returns `url`, which must be valid, with another path and no fragment. The caller frees it. */
char *ofs_http_url_with_path(const char *url, const char *path);

/* True if a host, as written in a URL, is this machine whatever a resolver says. */
bool ofs_http_is_loopback(const char *host);

/* True for printable ASCII without blanks. A line break would start another header. */
bool ofs_http_is_token(const char *text);

/*
 * Prints the words of a server or of libcurl on one line of bounded length, without the `n` secrets
 * (each may be NULL).
 */
void ofs_http_print_said(FILE *out, const char *said, const char *const *secrets, size_t n);
