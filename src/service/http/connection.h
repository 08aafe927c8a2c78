/* SPDX-License-Identifier: MIT */
/*
 * The connections of a server and their deadlines. libmicrohttpd only limits how long a connection
 * is silent, which a client that sends a byte now and then never is.
 */
#pragma once

#include <pthread.h>
#include <sys/queue.h>

#include "service/http/listener.h"

struct ofs_connection {
	LIST_ENTRY(ofs_connection) entry;
	const struct ofs_listener *listener;
	int fd; /* borrowed; open while the connection is in the list */
	bool known; /* the peer is the user or root, and in no sandbox */
	void *transaction; /* the current one; only for the server's thread */

	/* What follows is guarded by the lock of the list. */
	int64_t deadline; /* 0: none */
	bool listening; /* the server waits for the peer to send something */
	bool silent; /* `listening`, and the peer had closed its end at the last check */
	void (*gone)(void *arg); /* see ofs_connections_watch(); or NULL */
	void *gone_arg;
};

struct ofs_connections {
	pthread_mutex_t lock; /* guards all that follows */
	pthread_cond_t changed;
	LIST_HEAD(, ofs_connection) list;
	unsigned int n;
	uint64_t cut; /* number of connections cut at their deadline */
	bool ending;
	pthread_t thread;
};

/* Starts and stops the thread that watches the connections. 0 or -errno. */
int ofs_connections_start(struct ofs_connections *all);
void ofs_connections_stop(struct ofs_connections *all);

/* Adds a connection, whose first request must arrive within `patience` nanoseconds. */
struct ofs_connection *ofs_connections_add(struct ofs_connections *all,
					   const struct ofs_listener *listener, int fd,
					   int64_t patience);
/* Removes and frees `c`. */
void ofs_connections_remove(struct ofs_connections *all, struct ofs_connection *c);

/*
 * Calls gone(arg), once and with the lock held, when the peer closes its end, although nothing is
 * expected from it. Ends with the next ofs_connections_expect().
 */
void ofs_connections_watch(struct ofs_connections *all, struct ofs_connection *c,
			   void (*gone)(void *arg), void *arg);

/*
 * Sets the time for the next step of the peer, in nanoseconds; 0: it waits for the server. If the
 * step is to send something (`listening`), the connection is cut when the peer has closed its end,
 * which libmicrohttpd may miss.
 */
void ofs_connections_expect(struct ofs_connections *all, struct ofs_connection *c, int64_t patience,
			    bool listening);
