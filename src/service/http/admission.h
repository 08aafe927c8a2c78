/* SPDX-License-Identifier: MIT */
/*
 * Access control. A peer on a Unix socket is known by its credentials; over TCP it must have the
 * token. Host and Origin keep out web pages that a browser of the user shows.
 */
#pragma once

#include "service/http/message.h"

struct ofs_admission {
	const char *token; /* NULL: there is no TCP */
	const char *const *hosts; /* the allowed values of Host, "127.0.0.1:8377"; ended by NULL */
	bool any_host; /* allow any Host */
};

/* True if the request has the right token. Takes the same time wherever two tokens differ. */
bool ofs_admission_has_token(const struct ofs_admission *a, const struct ofs_http_request *r);

/*
 * Checks Host and Origin. `host` is the one in the target, or NULL. 0, or -EACCES with `err` set.
 */
int ofs_admission_check_origin(const struct ofs_admission *a, const struct ofs_http_request *r,
			       const char *host, struct ofs_error *err);
