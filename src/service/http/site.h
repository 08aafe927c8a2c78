/* SPDX-License-Identifier: MIT */
/*
 * Turns a request into a reply, independent of the server. The head is judged first, before any of
 * the body is read.
 */
#pragma once

#include "service/http/admission.h"
#include "service/http/exchange.h"

/* Maximum bytes of bodies, without and with OFS_ROUTE_CONTENT; 0: no body is allowed. */
struct ofs_http_limits {
	size_t body, content;
};

/*
 * Judges the head of a request. Returns true if it is admitted: then it may have a body of up to
 * *ret_body bytes, and ofs_http_handle() makes the reply. Returns false with the reply in `ret`.
 * `x` must be finished in either case; it borrows `request` and `site`.
 */
bool ofs_http_admit(const struct ofs_http_site *site, const struct ofs_admission *admission,
		    const struct ofs_http_limits *limits, const struct ofs_http_request *request,
		    struct ofs_http_exchange *x, size_t *ret_body, struct ofs_http_reply *ret);

/* Makes the reply to an admitted request with x->body. May wait for the tree. */
void ofs_http_handle(struct ofs_http_exchange *x, struct ofs_http_reply *ret);

void ofs_http_exchange_finish(struct ofs_http_exchange *x);
