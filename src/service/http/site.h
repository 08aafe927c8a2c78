/* SPDX-License-Identifier: MIT */
/*
 * From a request to its reply, apart from the server: first by its head alone, before a body is
 * taken from somebody, then with the body.
 */
#pragma once

#include "service/http/admission.h"
#include "service/http/exchange.h"

/* The limits of bodies; 0: there may be none. */
struct ofs_http_limits {
	size_t body, content;
};

/*
 * Judges the head of a request. True: it takes a body of up to *ret_body bytes, and goes on with
 * ofs_http_handle(); false: `ret` is the reply. `x` is to be finished in either case; it borrows
 * `request` and `site`.
 */
bool ofs_http_admit(const struct ofs_http_site *site, const struct ofs_admission *admission,
		    const struct ofs_http_limits *limits, const struct ofs_http_request *request,
		    struct ofs_http_exchange *x, size_t *ret_body, struct ofs_http_reply *ret);

/* Makes the reply of one that was admitted, with x->body. May take as long as a tree does. */
void ofs_http_handle(struct ofs_http_exchange *x, struct ofs_http_reply *ret);

void ofs_http_exchange_finish(struct ofs_http_exchange *x);
