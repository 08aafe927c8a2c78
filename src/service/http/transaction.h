/* SPDX-License-Identifier: MIT */
/*
 * One request and its reply, between the server's thread, which has it from the first line to the
 * end of the reply, and the workers. The connection is suspended while a worker has it; who of worker
 * and deadline comes first answers.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "service/http/connection.h"
#include "service/http/mhd.h"
#include "service/http/site.h"
#include "service/pool.h"

/* What transactions share. */
struct ofs_transactions {
	const struct ofs_http_site *site;
	struct ofs_connections *connections;
	struct ofs_pool *pool;
	struct ofs_http_limits limits;
	size_t bodies_max;
	int64_t patience, idle;
	bool lax; /* libmicrohttpd takes for a request what is none: see strict.h */
	atomic_size_t bodies; /* bytes that are held */
	atomic_uint open; /* transactions */
	atomic_uint jobs; /* that the pool has */
	atomic_uint late; /* jobs that were answered for */
	atomic_uint replies[6]; /* by the hundreds of their status */
	atomic_bool ending;
};

struct ofs_transaction;

/* Begins one with the target of its request. */
struct ofs_transaction *ofs_transaction_begin(struct ofs_transactions *all,
					      struct ofs_connection *peer, const char *target);

/*
 * Takes what libmicrohttpd's access handler is given. `first` is where the head begins in memory:
 * the method as it was given.
 */
enum MHD_Result ofs_transaction_go_on(struct ofs_transaction *t, struct MHD_Connection *connection,
				      const struct ofs_admission *admission, const char *method,
				      const char *version, const char *data, size_t *size);

/* The server's thread is done with it. */
void ofs_transaction_end(struct ofs_transaction *t);
