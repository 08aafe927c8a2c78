/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server. libmicrohttpd receives requests in threads of its own, and a pool of workers
 * makes the replies. A call that never returns occupies a connection and, for a while, a worker.
 */
#pragma once

#include <offloadfs/error.h>

#include "service/http/listener.h"
#include "service/http/site.h"

struct ofs_server;

/* All is borrowed until ofs_server_destroy(), which closes the sockets of the listeners. */
struct ofs_server_options {
	struct ofs_service *service;
	const struct ofs_target_options *target; /* its tree */
	struct ofs_listener *listeners;
	size_t n_listeners;
	const char *token; /* for TCP; NULL: none */
	unsigned int connections; /* maximum for each listener */
	unsigned int per_address; /* maximum of these from one address */
	struct ofs_http_limits limits;
	size_t bodies; /* maximum bytes of all bodies held at once */
	int64_t patience; /* nanoseconds for a call */
	int64_t idle; /* nanoseconds for a head, between requests, and for each step of a client */
};

#define OFS_SERVER_OPTIONS_INIT                                                               \
	{                                                                                     \
		.connections = 512, .per_address = 256,                                       \
		.limits = { (size_t)1 << 20, (size_t)64 << 20 }, .bodies = (size_t)256 << 20, \
		.patience = INT64_C(30) * 1000000000, .idle = INT64_C(30) * 1000000000,       \
	}

/* Starts a server. 0, or -errno with `err` set; -ENOSYS: there is no libmicrohttpd. */
int ofs_server_create(const struct ofs_server_options *options, struct ofs_error *err,
		      struct ofs_server **ret);

/*
 * Accepts no more requests, finishes those in progress, and ends. Returns false if calls on a tree
 * that does not answer are left behind: then the service and the strings of its target, which they
 * use, must not be freed.
 */
bool ofs_server_destroy(struct ofs_server *s);
