/* SPDX-License-Identifier: MIT */
#include "service/http/transaction.h"

#include <strings.h>

#include "service/http/strict.h"

#define FIELDS_MAX 100
#define BLOCK ((size_t)64 << 10)
/* Minimum rate at which a client must send a long body or read a long reply, in bytes a second. */
#define PACE 16384

static const char too_large[] = "the body is larger than this server takes";
static const char too_many[] = "too many bodies are being received; try again";

enum stage {
	BEGUN, /* the target is known */
	READING, /* the body is being received */
	DRAINING, /* the body is being received and dropped; the reply is ready */
	WORKING, /* a worker makes the reply, or has made it */
	ANSWERED, /* the reply is being sent */
};

/* A job; allocated, since the pool may end one after the next one of a transaction has begun. */
struct task {
	struct ofs_pool_job job;
	struct ofs_transaction *transaction;
};

struct ofs_transaction {
	struct ofs_transactions *all;
	atomic_uint users; /* the server's thread, the body of the reply, and jobs */
	struct MHD_Connection *connection;
	struct ofs_connection *peer;
	enum stage stage;
	struct ofs_http_request request; /* borrows copies below, which a late job may still read */
	struct ofs_http_field fields[FIELDS_MAX];
	char *method, *target;
	struct ofs_http_exchange exchange;
	size_t body_max, held; /* bytes; `held` is counted in all->bodies */
	size_t drained; /* bytes of the body received */
	struct ofs_buf body;
	atomic_bool answered; /* by the worker or by the deadline */
	struct ofs_http_reply reply; /* from the one that answered */
	struct ofs_http_source *source;

	pthread_mutex_t lock; /* guards what follows, for a reply sent piece by piece */
	struct ofs_buf piece;
	size_t used; /* bytes of `piece` sent */
	bool fetching; /* the connection is suspended until the next piece */
	bool over, failed;
};

/* ---- begin and end */

struct ofs_transaction *ofs_transaction_begin(struct ofs_transactions *all,
					      struct ofs_connection *peer, const char *target)
{
	struct ofs_transaction *t = ofs_alloc(sizeof(*t));

	t->all = all;
	t->peer = peer;
	t->target = ofs_strdup(target);
	atomic_init(&t->users, 1);
	pthread_mutex_init(&t->lock, NULL);
	atomic_fetch_add(&all->open, 1);
	return t;
}

static void release(struct ofs_transaction *t)
{
	if (atomic_fetch_sub(&t->users, 1) > 1)
		return;
	if (t->source)
		t->source->destroy(t->source);
	ofs_http_reply_finish(&t->reply);
	ofs_http_exchange_finish(&t->exchange);
	for (size_t i = 0; i < t->request.n_fields; i++)
		free((char *)t->fields[i].name);
	atomic_fetch_sub(&t->all->bodies, t->held);
	ofs_buf_finish(&t->body);
	ofs_buf_finish(&t->piece);
	pthread_mutex_destroy(&t->lock);
	free(t->method);
	free(t->target);
	free(t);
}

void ofs_transaction_end(struct ofs_transaction *t)
{
	atomic_fetch_sub(&t->all->open, 1);
	ofs_connections_expect(t->all->connections, t->peer, t->all->idle, true);
	release(t);
}

static struct ofs_transaction *of_job(struct ofs_pool_job *job)
{
	return ((struct task *)job)->transaction;
}

static void end_job(struct ofs_pool_job *job)
{
	struct ofs_transaction *t = of_job(job);
	struct ofs_transactions *all = t->all;

	release(t);
	atomic_fetch_sub(&all->jobs, 1);
	free(job);
}

/* False: the last user is freeing the transaction, which a source may wake until then. */
static bool add_user(struct ofs_transaction *t)
{
	unsigned int users = atomic_load(&t->users);

	while (users && !atomic_compare_exchange_weak(&t->users, &users, users + 1))
		;
	return users;
}

static int submit(struct ofs_transaction *t, bool owed, void (*run)(struct ofs_pool_job *job),
		  void (*late)(struct ofs_pool_job *job))
{
	struct task *task;
	int r;

	if (!add_user(t))
		return 0;
	task = ofs_alloc(sizeof(*task));
	task->job = (struct ofs_pool_job){ .run = run, .late = late, .end = end_job, .owed = owed };
	task->transaction = t;
	atomic_fetch_add(&t->all->jobs, 1);
	r = ofs_pool_submit(t->all->pool, &task->job, t->all->patience);
	if (r < 0)
		end_job(&task->job);
	return r;
}

/* ---- replies sent piece by piece */

static void fetch(struct ofs_transaction *t);

static void take_piece(struct ofs_transaction *t, struct ofs_buf *piece, int r)
{
	pthread_mutex_lock(&t->lock);
	t->failed = t->failed || r < 0;
	t->over = t->over || !piece->len;
	ofs_buf_finish(&t->piece);
	t->piece = ofs_buf_steal(piece);
	t->used = 0;
	if (t->fetching)
		ofs_mhd.resume_connection(t->connection);
	t->fetching = false;
	pthread_mutex_unlock(&t->lock);
}

static void wake(void *arg)
{
	struct ofs_transaction *t = arg;

	fetch(t);
}

static void run_fetch(struct ofs_pool_job *job)
{
	struct ofs_transaction *t = of_job(job);
	struct ofs_buf piece = OFS_BUF_INIT;
	int r = t->source->next(t->source, wake, t, &piece);

	if (r != -EAGAIN)
		take_piece(t, &piece, r);
}

static void late_fetch(struct ofs_pool_job *job)
{
	struct ofs_buf none = OFS_BUF_INIT;

	atomic_fetch_add(&of_job(job)->all->late, 1);
	take_piece(of_job(job), &none, -ETIMEDOUT);
}

/*
 * A source may call this, by wake(), with locks that its destroy() takes, and the transaction may
 * lose its other users meanwhile. So submit() must not fail then: it would end the last one here.
 */
static void fetch(struct ofs_transaction *t)
{
	struct ofs_buf none = OFS_BUF_INIT;

	if (submit(t, true, run_fetch, late_fetch) < 0)
		take_piece(t, &none, -EBUSY);
}

static ssize_t read_body(void *arg, uint64_t at, char *buf, size_t max)
{
	struct ofs_transaction *t = arg;
	ssize_t n = 0;
	bool wanted = false;

	(void)at;
	pthread_mutex_lock(&t->lock);
	if (t->used < t->piece.len) {
		n = (ssize_t)OFS_MIN(max, t->piece.len - t->used);
		memcpy(buf, t->piece.data + t->used, (size_t)n);
		t->used += (size_t)n;
	} else if (t->failed) {
		n = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (t->over) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else if (!t->fetching) {
		t->fetching = wanted = true;
		ofs_mhd.suspend_connection(t->connection);
	}
	pthread_mutex_unlock(&t->lock);
	if (wanted)
		fetch(t);
	return n;
}

/* Called when the client of an endless body has closed the connection. */
static void leave_body(void *arg)
{
	struct ofs_buf none = OFS_BUF_INIT;

	take_piece(arg, &none, -EPIPE);
}

static void end_body(void *arg)
{
	release(arg);
}

/* ---- replies */

static struct MHD_Response *make_response(struct ofs_transaction *t)
{
	struct ofs_http_reply *r = &t->reply;
	uint64_t size;

	if (r->source) {
		t->source = ofs_steal(r->source);
		size = t->source->size < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)t->source->size;
		atomic_fetch_add(&t->users, 1);
		return ofs_mhd.create_response_from_callback(size, BLOCK, read_body, t, end_body);
	}
	if (r->asset)
		return ofs_mhd.create_response_from_buffer(r->asset->len, (void *)r->asset->data,
							   MHD_RESPMEM_PERSISTENT);
	if (!r->body.len)
		return ofs_mhd.create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
	return ofs_mhd.create_response_from_buffer_with_free_callback(
		r->body.len, ofs_steal(r->body.data), free);
}

static void add_fields(struct MHD_Response *response, const struct ofs_http_reply *r)
{
	static const struct ofs_http_field always[] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cache-Control", "no-store" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(always); i++)
		ofs_mhd.add_response_header(response, always[i].name, always[i].value);
	ofs_mhd.add_response_header(response, "Content-Security-Policy",
				    r->policy ? r->policy
					      : "default-src 'none'; frame-ancestors 'none'");
	if (r->type)
		ofs_mhd.add_response_header(response, "Content-Type", r->type);
	for (size_t i = 0; i < r->n_fields; i++)
		ofs_mhd.add_response_header(response, r->fields[i].name, r->fields[i].value);
	if (r->close)
		ofs_mhd.add_response_header(response, "Connection", "close");
}

/* Returns the time in which the client must read the reply, in nanoseconds; 0: no limit. */
static int64_t reply_patience(const struct ofs_transaction *t, size_t len)
{
	int64_t size = t->source ? t->source->size : (int64_t)len;

	return size < 0 ? 0 : t->all->idle + size / PACE * INT64_C(1000000000);
}

static enum MHD_Result answer(struct ofs_transaction *t)
{
	struct MHD_Response *response;
	enum MHD_Result done;
	size_t len = t->reply.body.len;

	/* After a chunked body it is uncertain where the next request begins. */
	t->reply.close = t->reply.close || atomic_load(&t->all->ending) ||
			 ofs_http_request_count(&t->request, "Transfer-Encoding");
	t->stage = ANSWERED;
	atomic_fetch_add(&t->all->replies[OFS_MIN(t->reply.status / 100, 5u)], 1);
	response = make_response(t);
	if (!response)
		return MHD_NO;
	add_fields(response, &t->reply);
	ofs_connections_expect(t->all->connections, t->peer, reply_patience(t, len), false);
	if (t->source && t->source->size < 0)
		ofs_connections_watch(t->all->connections, t->peer, leave_body, t);
	done = ofs_mhd.queue_response(t->connection, t->reply.status, response);
	ofs_mhd.destroy_response(response);
	return done;
}

/* Returns the maximum bytes of a body that are read although they are dropped. */
static size_t drain_max(const struct ofs_transaction *t)
{
	return 2 * t->all->limits.content;
}

/*
 * Sends the ready reply once the client has sent its body, since most clients do not read a reply
 * earlier. A client that sends Expect, or too much, gets it at once.
 */
static enum MHD_Result refuse(struct ofs_transaction *t)
{
	const char *length = ofs_http_request_field(&t->request, "Content-Length");
	uint64_t size = length ? strtoull(length, NULL, 10) : 0;

	if (t->reply.close || size > drain_max(t) || ofs_http_request_count(&t->request, "Expect"))
		return answer(t);
	t->stage = DRAINING;
	return MHD_YES;
}

static enum MHD_Result refuse_with(struct ofs_transaction *t, unsigned int status, const char *why)
{
	ofs_http_reply_finish(&t->reply);
	ofs_http_reply_error(&t->reply, status, why);
	return refuse(t);
}

/* Refuses at once what may not be a request, and closes the connection. */
static enum MHD_Result cut(struct ofs_transaction *t, unsigned int status, const char *why)
{
	t->reply.close = true;
	ofs_http_reply_error(&t->reply, status, why);
	return answer(t);
}

/* ---- making the reply */

/* Takes `reply`. Uses it and resumes the connection if no other was given before. */
static void give(struct ofs_transaction *t, struct ofs_http_reply *reply)
{
	if (atomic_exchange(&t->answered, true)) {
		ofs_http_reply_finish(reply);
		return;
	}
	t->reply = ofs_steal(*reply);
	ofs_mhd.resume_connection(t->connection);
}

static void run_work(struct ofs_pool_job *job)
{
	struct ofs_transaction *t = of_job(job);
	struct ofs_http_reply reply = { 0 };

	ofs_http_handle(&t->exchange, &reply);
	give(t, &reply);
}

static void late_work(struct ofs_pool_job *job)
{
	struct ofs_transaction *t = of_job(job);
	struct ofs_http_reply reply = { 0 };

	atomic_fetch_add(&t->all->late, 1);
	if (t->exchange.route->late) {
		t->exchange.route->late(&t->exchange, &reply);
	} else {
		ofs_http_reply_error(&reply, 503,
				     "the tree does not answer in time; the request may still "
				     "be carried out");
		ofs_http_reply_field(&reply, "Retry-After", ofs_strdup("5"));
	}
	give(t, &reply);
}

static enum MHD_Result work(struct ofs_transaction *t)
{
	t->stage = WORKING;
	ofs_connections_expect(t->all->connections, t->peer, 0, false);
	t->exchange.body = t->body.data;
	t->exchange.body_len = t->body.len;
	if (t->exchange.route->flags & OFS_ROUTE_QUICK) {
		ofs_http_handle(&t->exchange, &t->reply);
		return answer(t);
	}
	ofs_mhd.suspend_connection(t->connection);
	if (submit(t, false, run_work, late_work) == 0)
		return MHD_YES;
	ofs_mhd.resume_connection(t->connection);
	ofs_http_reply_error(&t->reply, 503, "too many requests are in progress; try again");
	ofs_http_reply_field(&t->reply, "Retry-After", ofs_strdup("1"));
	return MHD_YES; /* the handler is called again, and answers */
}

/* ---- reading the request */

static enum MHD_Result take_field(void *arg, enum MHD_ValueKind kind, const char *name,
				  size_t name_len, const char *value, size_t value_len)
{
	struct ofs_transaction *t = arg;
	char *both;

	(void)kind;
	if (t->request.n_fields == FIELDS_MAX)
		return MHD_NO;
	both = ofs_alloc(name_len + value_len + 2);
	memcpy(both, name, name_len);
	memcpy(both + name_len + 1, value ? value : "", value ? value_len : 0);
	t->fields[t->request.n_fields++] = (struct ofs_http_field){ both, both + name_len + 1 };
	return MHD_YES;
}

/* True if the bytes of the head are well-formed. */
static bool is_strict(const struct ofs_transaction *t, const char *method, const char *version)
{
	const union MHD_ConnectionInfo *size =
		ofs_mhd.get_connection_info(t->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	if (!t->all->lax)
		return true;
	/* libmicrohttpd passed the target up to a NUL, which may not be its end. */
	return size && strlen(method) + strlen(t->target) + 2 == (size_t)(version - method) &&
	       ofs_strict_check(method, size->header_size, version);
}

/* Takes the fields. Returns what is wrong with the head, or NULL. */
static const char *check_head(struct ofs_transaction *t, const char *method, const char *version)
{
	if (ofs_mhd.get_connection_values_n(t->connection, MHD_HEADER_KIND, take_field, t) < 0 ||
	    t->request.n_fields == FIELDS_MAX)
		return "there are too many header fields";
	if (!is_strict(t, method, version))
		return "a line of the head does not end with CR LF, or has a NUL";
	return NULL;
}

/* Reserves `more` bytes for the body. Returns false if all bodies together would be too large. */
static bool hold(struct ofs_transaction *t, size_t more)
{
	if (atomic_fetch_add(&t->all->bodies, more) + more > t->all->bodies_max) {
		atomic_fetch_sub(&t->all->bodies, more);
		return false;
	}
	t->held += more;
	return true;
}

/* Returns the time in which the client must send the body, in nanoseconds. */
static int64_t body_patience(const struct ofs_transaction *t)
{
	const char *length = ofs_http_request_field(&t->request, "Content-Length");
	uint64_t size = length ? strtoull(length, NULL, 10) : t->all->limits.content;

	return t->all->idle + (int64_t)(OFS_MIN(size, drain_max(t)) / PACE) * INT64_C(1000000000);
}

static enum MHD_Result begin(struct ofs_transaction *t, struct MHD_Connection *connection,
			     const struct ofs_admission *admission, const char *method,
			     const char *version)
{
	const char *wrong, *length;
	uint64_t size;

	t->stage = READING;
	t->connection = connection;
	t->method = ofs_strdup(method);
	wrong = check_head(t, method, version);
	t->request = (struct ofs_http_request){
		.method = t->method,
		.target = t->target,
		.fields = t->fields,
		.n_fields = t->request.n_fields,
		.http_1_0 = strcmp(version, "HTTP/1.0") == 0,
		.known = t->peer->known,
	};
	ofs_connections_expect(t->all->connections, t->peer, body_patience(t), true);
	if (wrong)
		return cut(t, 400, wrong);
	if (t->peer->listener->path && !t->peer->known)
		return cut(t, 403, "this socket is for its owner alone, and not in a sandbox");
	if (!ofs_http_admit(t->all->site, admission, &t->all->limits, &t->request, &t->exchange,
			    &t->body_max, &t->reply))
		return refuse(t);
	if (atomic_load(&t->all->ending))
		return cut(t, 503, "the server is ending");
	length = ofs_http_request_field(&t->request, "Content-Length");
	size = length ? strtoull(length, NULL, 10) : 0;
	if (size > t->body_max)
		return refuse_with(t, 413, too_large);
	if (!hold(t, (size_t)size))
		return refuse_with(t, 503, too_many);
	return MHD_YES;
}

static enum MHD_Result take_data(struct ofs_transaction *t, const char *data, size_t *size)
{
	size_t len = t->body.len + *size;

	if (t->stage == READING && len > t->body_max)
		refuse_with(t, 413, too_large);
	else if (t->stage == READING && len > t->held && !hold(t, len - t->held))
		refuse_with(t, 503, too_many);
	t->drained += *size;
	/* While a body is being received no answer is possible, so the connection is cut. */
	if ((t->stage != READING && t->stage != DRAINING) || t->drained > drain_max(t))
		return MHD_NO;
	if (t->stage == READING)
		ofs_buf_append(&t->body, data, *size);
	*size = 0;
	return MHD_YES;
}

enum MHD_Result ofs_transaction_go_on(struct ofs_transaction *t, struct MHD_Connection *connection,
				      const struct ofs_admission *admission, const char *method,
				      const char *version, const char *data, size_t *size)
{
	if (t->stage == BEGUN)
		return begin(t, connection, admission, method, version);
	if (*size)
		return take_data(t, data, size);
	return t->stage == READING ? work(t) : answer(t);
}
