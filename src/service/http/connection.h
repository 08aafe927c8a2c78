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
	void *transaction; /* that is under way; the server's thread's own */
	int64_t deadline; /* guarded by the lock of the list, as what follows; 0: none */
	bool listening; /* to the peer: nothing else will happen */
	bool silent; /* and it had closed its end already when it was last looked at */
	void (*gone)(void *arg); /* NULL: nobody asks */
	void *gone_arg;
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

/*
 * Calls gone(arg), once and with the lock held, when the peer has closed its end, though nobody
 * listens to it as it waits; until something else is expected of it.
 */
void ofs_connections_watch(struct ofs_connections *all, struct ofs_connection *c,
			   void (*gone)(void *arg), void *arg);

/*
 * What it does next is to be done in that time; 0: it waits for us. `listening`: that is to send
 * something, so it is cut when it has closed its end, which libmicrohttpd may miss.
 */
void ofs_connections_expect(struct ofs_connections *all, struct ofs_connection *c, int64_t patience,
			    bool listening);
