/* SPDX-License-Identifier: MIT */
/* An exchange: a request with its route, target and body. */
#pragma once

#include "service/asset.h"
#include "service/http/message.h"
#include "service/service.h"

struct ofs_admission;
struct ofs_events;
struct ofs_http_exchange;
struct ofs_http_route;

/* Shared by all requests; all borrowed. */
struct ofs_http_site {
	struct ofs_service *service;
	const struct ofs_http_route *routes; /* ended by one without a method */
	const struct ofs_asset *page;
	struct ofs_events *events;
	/* Appends the server's own metrics; NULL: there are none. */
	void (*measure)(void *arg, struct ofs_buf *out);
	void *measure_arg;
};

enum {
	OFS_ROUTE_OPEN = 1 << 0, /* needs no token, since it reveals nothing of the tree */
	OFS_ROUTE_QUICK = 1 << 1, /* does not use the tree, and so needs no worker */
	OFS_ROUTE_CREATED = 1 << 2, /* the status of success is 201 */
	OFS_ROUTE_CONTENT = 1 << 3, /* the body may have whole contents, so it may be larger */
	OFS_ROUTE_REME = 1 << 4, /* refuses bodies as ReMe's service does */
};

struct ofs_http_route {
	const char *method; /* "GET" includes HEAD */
	const char *path; /* "{id}" stands for any segment */
	unsigned int flags;
	void (*handle)(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
	const char *call; /* name in the table of calls; NULL: none */
	const char *summary; /* of a route without a call; NULL: not in OpenAPI */
	/* Makes the reply if `handle`, which may still run, is late; NULL: 503. */
	void (*late)(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
};

struct ofs_http_exchange {
	const struct ofs_http_site *site;
	const struct ofs_http_request *request;
	const struct ofs_http_route *route;
	struct ofs_http_target target;
	const char *id; /* the segment for {id}; NULL: none */
	const void *body;
	size_t body_len;
};

/* Returns the agent whose tree is meant; NULL: the site's own tree. */
static inline const char *ofs_http_agent(const struct ofs_http_exchange *x)
{
	return ofs_http_request_field(x->request, "Offload-Agent");
}

/* True if the type of the body is JSON, which pages of other origins cannot send unasked. */
bool ofs_http_is_json(const struct ofs_http_exchange *x);

/* Reads the body as a JSON object. 0, or -EINVAL with the reply made. */
int ofs_http_read_json(struct ofs_http_exchange *x, struct ofs_http_reply *ret, json_t **ret_json);

/* As ofs_service_use() for the tree that is meant. 0, or -errno with the reply made. */
int ofs_http_use_tree(struct ofs_http_exchange *x,
		      int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err),
		      void *arg, struct ofs_http_reply *ret);
