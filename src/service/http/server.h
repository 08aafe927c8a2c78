/* SPDX-License-Identifier: MIT */
/*
 * The server: libmicrohttpd takes requests off the sockets in a thread of its own, a pool of workers
 * makes the replies. What is never answered costs a connection and at most its worker, for a while.
 */
#pragma once

#include <offloadfs/error.h>

#include "service/http/listener.h"
#include "service/http/site.h"

struct ofs_server;

/* Borrowed until the server is destroyed, which closes the sockets of the listeners. */
struct ofs_server_options {
	struct ofs_service *service;
	const struct ofs_target_options *target; /* its tree */
	struct ofs_listener *listeners;
	size_t n_listeners;
	const char *token; /* for TCP; NULL: there is none */
	unsigned int connections; /* at most, to each listener */
	unsigned int per_address; /* of these */
	struct ofs_http_limits limits;
	size_t bodies; /* bytes of all bodies that are held at once */
	int64_t patience; /* nanoseconds for a call */
	int64_t idle; /* for a head, between requests, and for each step of a client */
};

#define OFS_SERVER_OPTIONS_INIT                                                               \
	{                                                                                     \
		.connections = 512, .per_address = 256,                                       \
		.limits = { (size_t)1 << 20, (size_t)64 << 20 }, .bodies = (size_t)256 << 20, \
		.patience = INT64_C(30) * 1000000000, .idle = INT64_C(30) * 1000000000,       \
	}

int ofs_server_create(const struct ofs_server_options *options, struct ofs_error *err,
		      struct ofs_server **ret);

/*
 * Takes nothing new, finishes what runs, and ends. False: calls on a tree that does not answer were
 * left behind, and the service that they use must stay.
 */
bool ofs_server_destroy(struct ofs_server *s);
