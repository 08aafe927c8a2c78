/* SPDX-License-Identifier: MIT */
/* A request on its way through the site: which route it takes, and with what. */
#pragma once

#include "service/asset.h"
#include "service/http/message.h"
#include "service/service.h"

struct ofs_admission;
struct ofs_events;
struct ofs_http_exchange;
struct ofs_http_route;

/* What all requests share; borrowed. */
struct ofs_http_site {
	struct ofs_service *service;
	const struct ofs_http_route *routes; /* up to one without a method */
	const struct ofs_asset *page;
	struct ofs_events *events;
	/* Appends the server's own metrics; NULL: it has none. */
	void (*measure)(void *arg, struct ofs_buf *out);
	void *measure_arg;
};

enum {
	OFS_ROUTE_OPEN = 1 << 0, /* for everybody: it tells nothing of the tree */
	OFS_ROUTE_QUICK = 1 << 1, /* it does not touch the tree, so it needs no worker */
	OFS_ROUTE_CREATED = 1 << 2, /* success is 201 */
	OFS_ROUTE_CONTENT = 1 << 3, /* its body may hold a whole content */
	OFS_ROUTE_REME = 1 << 4, /* it refuses bodies as ReMe's service does */
};

struct ofs_http_route {
	const char *method; /* "GET", which is HEAD, too */
	const char *path; /* "{id}" is any segment */
	unsigned int flags;
	void (*handle)(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
	const char *call; /* of the table of calls; NULL: it is none of them */
	const char *summary; /* of one that is none; NULL: nothing for OpenAPI */
	/* Replies in place of `handle`, which may still run; NULL: 503. */
	void (*late)(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
};

struct ofs_http_exchange {
	const struct ofs_http_site *site;
	const struct ofs_http_request *request;
	const struct ofs_http_route *route;
	struct ofs_http_target target;
	const char *id; /* the segment that {id} stands for; NULL: there is none */
	const void *body;
	size_t body_len;
};

/* The agent whose tree is meant; NULL: the site's own tree. */
static inline const char *ofs_http_agent(const struct ofs_http_exchange *x)
{
	return ofs_http_request_field(x->request, "Offload-Agent");
}

/* Whether the body is said to be JSON: what a page elsewhere can send unasked is something else. */
bool ofs_http_is_json(const struct ofs_http_exchange *x);

/* The body as a JSON object. 0, or -errno with the reply made. */
int ofs_http_read_json(struct ofs_http_exchange *x, struct ofs_http_reply *ret, json_t **ret_json);

/*
 * Uses the tree that is meant, as ofs_service_use() does; on failure the reply is made.
 */
int ofs_http_use_tree(struct ofs_http_exchange *x,
		      int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err),
		      void *arg, struct ofs_http_reply *ret);
