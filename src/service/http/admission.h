/* SPDX-License-Identifier: MIT */
/*
 * Who is let in. A peer on a Unix socket is known by its credentials; over TCP it must have the
 * token. Host and Origin keep out pages of the web that a browser of the user shows.
 */
#pragma once

#include "service/http/message.h"

struct ofs_admission {
	const char *token; /* NULL: there is no TCP */
	const char *const *hosts; /* "127.0.0.1:8377", up to NULL: those that Host may name */
	bool any_host; /* it may name any */
};

/* Whether a token was given, and is the right one; takes the same time wherever two differ. */
bool ofs_admission_has_token(const struct ofs_admission *a, const struct ofs_http_request *r);

/*
 * Whether the request may come from where it comes from. `host` is that of its target, NULL: none.
 * 0; -EACCES with the reason in `err`.
 */
int ofs_admission_check_origin(const struct ofs_admission *a, const struct ofs_http_request *r,
			       const char *host, struct ofs_error *err);
