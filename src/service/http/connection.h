/* SPDX-License-Identifier: MIT */
/*
 * The connections of a server, and the time that each may take for what it does: libmicrohttpd
 * knows only how long one was silent, which a client that sends a byte now and then never is.
 */
#pragma once

#include <pthread.h>
#include <sys/queue.h>

#include "service/http/listener.h"

struct ofs_connection {
	LIST_ENTRY(ofs_connection) entry;
	const struct ofs_listener *listener;
	int fd; /* borrowed; open while it is in the list */
	bool known; /* the peer, by its credentials */
	int64_t deadline; /* guarded by the lock of the list; 0: none */
};

struct ofs_connections {
	pthread_mutex_t lock; /* guards all that follows */
	pthread_cond_t changed;
	LIST_HEAD(, ofs_connection) list;
	unsigned int n;
	uint64_t cut; /* for being late */
	bool ending;
	pthread_t thread;
};

int ofs_connections_start(struct ofs_connections *all);
void ofs_connections_stop(struct ofs_connections *all);

/* Adds one, which is to be done with its first request by then. */
struct ofs_connection *ofs_connections_add(struct ofs_connections *all,
					   const struct ofs_listener *listener, int fd,
					   int64_t patience);
/* Removes and frees it. */
void ofs_connections_remove(struct ofs_connections *all, struct ofs_connection *c);

/* What it does next is to be done in that time; 0: it waits for us. */
void ofs_connections_expect(struct ofs_connections *all, struct ofs_connection *c,
			    int64_t patience);
