/* SPDX-License-Identifier: MIT */
#include "service/http/site.h"

#include "client/naming.h"
#include "service/http/route.h"

static void refuse_token(struct ofs_http_reply *ret)
{
	ofs_http_reply_error(ret, 401,
			     "send the token of this server: Authorization: Bearer TOKEN");
	ofs_http_reply_field(ret, "WWW-Authenticate", ofs_strdup("Bearer"));
}

/* Checks what does not depend on the route. Returns false with the reply made. */
static bool check_head(const struct ofs_admission *admission, const struct ofs_http_request *r,
		       struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	struct ofs_error err = { "" };

	if (ofs_http_request_check(r, &err) < 0 ||
	    ofs_http_target_parse(r->target, &err, &x->target) < 0) {
		ofs_http_reply_error(ret, 400, err.text);
		return false;
	}
	if (ofs_admission_check_origin(admission, r, x->target.host, &err) < 0) {
		ofs_http_reply_error(ret, 403, err.text);
		return false;
	}
	return true;
}

/* Finds the route. Without a token, a client cannot tell which paths exist. */
static bool find_route(const struct ofs_admission *admission, const struct ofs_http_request *r,
		       struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	OFS_FREE char *allowed = NULL;
	bool in = r->known || ofs_admission_has_token(admission, r);

	x->route = ofs_http_route_find(x->site->routes, r->method, &x->target, &x->id, &allowed);
	if (!in && !(x->route && x->route->flags & OFS_ROUTE_OPEN)) {
		refuse_token(ret);
	} else if (!x->route && allowed) {
		ofs_http_reply_error(ret, 405, "this path does not have that method");
		ofs_http_reply_field(ret, "Allow", ofs_steal(allowed));
	} else if (!x->route) {
		ofs_http_reply_error(ret, 404, "there is no such path; /openapi.json lists all");
	} else {
		return true;
	}
	return false;
}

static bool check_agent(const struct ofs_http_request *r, struct ofs_http_reply *ret)
{
	const char *agent = ofs_http_request_field(r, "Offload-Agent");
	OFS_FREE char *directory = NULL;
	struct ofs_error err = { "" };

	if (ofs_http_request_count(r, "Offload-Agent") > 1)
		ofs_error_set(&err, EINVAL, "there may be only one Offload-Agent");
	else if (!agent || ofs_naming_agent("Offload-Agent", agent, &err, &directory) == 0)
		return true;
	ofs_http_reply_error(ret, 400, err.text);
	return false;
}

bool ofs_http_admit(const struct ofs_http_site *site, const struct ofs_admission *admission,
		    const struct ofs_http_limits *limits, const struct ofs_http_request *request,
		    struct ofs_http_exchange *x, size_t *ret_body, struct ofs_http_reply *ret)
{
	*x = (struct ofs_http_exchange){ .site = site, .request = request };
	if (!check_head(admission, request, x, ret)) {
		/* The end of such a request is uncertain. */
		ret->close = true;
		return false;
	}
	if (!find_route(admission, request, x, ret) || !check_agent(request, ret))
		return false;
	*ret_body = x->route->flags & OFS_ROUTE_CONTENT ? limits->content : limits->body;
	return true;
}

void ofs_http_handle(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	x->route->handle(x, ret);
}

void ofs_http_exchange_finish(struct ofs_http_exchange *x)
{
	ofs_http_target_finish(&x->target);
}
