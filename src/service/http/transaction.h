/* SPDX-License-Identifier: MIT */
/*
 * A transaction is one request and its reply. The server's thread handles it from the first line to
 * the end of the reply, except for the work of making the reply, which a worker does while the
 * connection is suspended. The worker or the deadline answers, whichever comes first.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "service/http/connection.h"
#include "service/http/mhd.h"
#include "service/http/site.h"
#include "service/pool.h"

/* Shared by all transactions. */
struct ofs_transactions {
	const struct ofs_http_site *site;
	struct ofs_connections *connections;
	struct ofs_pool *pool;
	struct ofs_http_limits limits;
	size_t bodies_max;
	int64_t patience, idle;
	bool lax; /* libmicrohttpd accepts malformed heads: see strict.h */
	atomic_size_t bodies; /* bytes of bodies held */
	atomic_uint open; /* number of transactions */
	atomic_uint jobs; /* number of jobs in the pool */
	atomic_uint late; /* number of jobs that missed their deadline */
	atomic_uint replies[6]; /* number of replies, by status / 100 */
	atomic_bool ending;
};

struct ofs_transaction;

/* Begins a transaction. Copies `target`. */
struct ofs_transaction *ofs_transaction_begin(struct ofs_transactions *all,
					      struct ofs_connection *peer, const char *target);

/*
 * Continues with the arguments of libmicrohttpd's access handler. `method` and `version` point into
 * the head in memory, which begins with the method.
 */
enum MHD_Result ofs_transaction_go_on(struct ofs_transaction *t, struct MHD_Connection *connection,
				      const struct ofs_admission *admission, const char *method,
				      const char *version, const char *data, size_t *size);

/* Ends the part of the server's thread; a late job may still use the transaction. */
void ofs_transaction_end(struct ofs_transaction *t);
