/* SPDX-License-Identifier: MIT */
#include "service/http/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "service/http/events.h"
#include "service/http/route.h"
#include "service/http/transaction.h"

#define WORKERS 8
#define FOLLOWERS 64 /* clients of /v1/events */
#define HEAD_MAX ((size_t)32 << 10) /* bytes of a head, and of a body that are read at once */
#define END_WAIT (10 * OFS_NS_PER_S)
#define OTHER_FILES 128 /* descriptors other than those of connections */

#if MHD_VERSION >= 0x00097601
#define STRICTNESS MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1
#else
#define STRICTNESS MHD_OPTION_STRICT_FOR_CLIENT, 1
#endif

struct ear {
	struct ofs_server *server;
	const struct ofs_listener *listener;
	struct ofs_admission admission;
	struct MHD_Daemon *daemon;
};

struct ofs_server {
	struct ofs_server_options options;
	struct ofs_http_site site;
	struct ofs_connections connections;
	struct ofs_transactions transactions;
	struct ear *ears;
};

/* ---- libmicrohttpd's callbacks */

/* Also called for the previous request: libmicrohttpd does not report the end of all it refuses. */
static void end_transaction(struct ofs_connection *peer)
{
	if (peer->transaction)
		ofs_transaction_end(peer->transaction);
	peer->transaction = NULL;
}

static void *log_target(void *arg, const char *target, struct MHD_Connection *connection)
{
	struct ear *ear = arg;
	struct ofs_connection *peer =
		ofs_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context;

	end_transaction(peer);
	peer->transaction = ofs_transaction_begin(&ear->server->transactions, peer, target);
	return peer->transaction;
}

/* Leaves targets encoded: ofs_http_target_parse() decodes them. */
static size_t leave_escaped(void *arg, struct MHD_Connection *connection, char *text)
{
	(void)arg;
	(void)connection;
	return strlen(text);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **state)
{
	struct ear *ear = arg;

	(void)url;
	return ofs_transaction_go_on(*state, connection, &ear->admission, method, version, data,
				     size);
}

static void end_request(void *arg, struct MHD_Connection *connection, void **state,
			enum MHD_RequestTerminationCode how)
{
	(void)arg;
	(void)how;
	if (*state)
		end_transaction(
			ofs_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
				->socket_context);
	*state = NULL;
}

static void notify(void *arg, struct MHD_Connection *connection, void **state,
		   enum MHD_ConnectionNotificationCode what)
{
	struct ear *ear = arg;
	struct ofs_server *s = ear->server;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		info = ofs_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		*state = ofs_connections_add(&s->connections, ear->listener, info->connect_fd,
					     s->options.idle);
	} else if (*state) {
		end_transaction(*state);
		ofs_connections_remove(&s->connections, *state);
		*state = NULL;
	}
}

/* ---- metrics */

static void say(struct ofs_buf *out, const char *name, const char *type, const char *help,
		uint64_t n)
{
	ofs_buf_printf(out, "# HELP offloadfs_serve_%s %s\n# TYPE offloadfs_serve_%s %s\n", name,
		       help, name, type);
	ofs_buf_printf(out, "offloadfs_serve_%s %" PRIu64 "\n", name, n);
}

static void measure(void *arg, struct ofs_buf *out)
{
	struct ofs_server *s = arg;
	struct ofs_transactions *t = &s->transactions;
	unsigned int connections;
	uint64_t cut;

	pthread_mutex_lock(&s->connections.lock);
	connections = s->connections.n;
	cut = s->connections.cut;
	pthread_mutex_unlock(&s->connections.lock);
	ofs_buf_append_str(out, "# HELP offloadfs_serve_replies_total Replies, by status.\n"
				"# TYPE offloadfs_serve_replies_total counter\n");
	for (unsigned int i = 2; i < OFS_ARRAY_SIZE(t->replies); i++)
		ofs_buf_printf(out, "offloadfs_serve_replies_total{status=\"%uxx\"} %u\n", i,
			       atomic_load(&t->replies[i]));
	say(out, "late_total", "counter", "Calls that were not answered in time.",
	    atomic_load(&t->late));
	say(out, "cut_total", "counter", "Connections that were cut for being slow.", cut);
	say(out, "connections", "gauge", "Open connections.", connections);
	say(out, "requests", "gauge", "Requests that are being served.", atomic_load(&t->open));
	say(out, "followers", "gauge", "Clients that follow the events.",
	    ofs_events_count(s->site.events));
	say(out, "body_bytes", "gauge", "Bytes of bodies that are held.", atomic_load(&t->bodies));
}

/* ---- starting */

/* True for versions that need strict.h. Later ones refuse bad heads, and store them differently. */
static bool is_lax(void)
{
	unsigned int major, minor, patch;

	return sscanf(ofs_mhd.get_version(), "%u.%u.%u", &major, &minor, &patch) == 3 &&
	       major == 0 && minor == 9 && patch < 77;
}

static void raise_files(const struct ofs_server_options *o)
{
	struct rlimit limit;
	rlim_t want = (rlim_t)o->connections * o->n_listeners + OTHER_FILES;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= want)
		return;
	limit.rlim_cur = OFS_MIN(want, limit.rlim_max);
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int start_ear(struct ofs_server *s, struct ear *ear, struct ofs_error *err)
{
	const struct ofs_server_options *o = &s->options;
	const struct ofs_listener *l = ear->listener;
	const unsigned int idle = (unsigned int)(o->idle / OFS_NS_PER_S);

	ear->admission = (struct ofs_admission){
		.token = l->path ? NULL : o->token,
		.hosts = (const char *const *)l->hosts,
		.any_host = l->any_host,
	};
	ear->daemon = ofs_mhd.start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle,
		ear, MHD_OPTION_LISTEN_SOCKET, l->fd, STRICTNESS, MHD_OPTION_CONNECTION_LIMIT,
		o->connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT, l->path ? 0 : o->per_address,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEAD_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		OFS_MAX(idle, 1u), MHD_OPTION_URI_LOG_CALLBACK, log_target, ear,
		MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_NOTIFY_COMPLETED,
		end_request, NULL, MHD_OPTION_NOTIFY_CONNECTION, notify, ear,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
	if (!ear->daemon)
		return ofs_error_set(err, EIO, "cannot serve at %s: %s",
				     l->path ? l->path : l->address, strerror(errno));
	return 0;
}

static int start(struct ofs_server *s, struct ofs_error *err)
{
	const struct ofs_server_options *o = &s->options;
	int r = ofs_pool_create(WORKERS, &s->transactions.pool);

	if (r == 0)
		r = ofs_events_create(o->target, FOLLOWERS, &s->site.events);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot start threads: %s", strerror(-r));
	for (size_t i = 0; i < o->n_listeners && r == 0; i++) {
		s->ears[i].server = s;
		s->ears[i].listener = &o->listeners[i];
		r = start_ear(s, &s->ears[i], err);
	}
	return r;
}

int ofs_server_create(const struct ofs_server_options *options, struct ofs_error *err,
		      struct ofs_server **ret)
{
	struct ofs_server *s;
	int r;

	if (!ofs_mhd_load())
		return ofs_error_set(err, ENOSYS,
				     "libmicrohttpd is not installed, which 'offload serve' needs");
	s = ofs_alloc(sizeof(*s));
	r = ofs_connections_start(&s->connections);
	if (r < 0) {
		free(s);
		return ofs_error_set(err, -r, "cannot start threads: %s", strerror(-r));
	}
	s->options = *options;
	s->ears = ofs_alloc(options->n_listeners * sizeof(*s->ears));
	s->site = (struct ofs_http_site){
		.service = options->service,
		.routes = ofs_http_routes,
		.page = ofs_page_assets,
		.measure = measure,
		.measure_arg = s,
	};
	s->transactions.site = &s->site;
	s->transactions.connections = &s->connections;
	s->transactions.limits = options->limits;
	s->transactions.bodies_max = options->bodies;
	s->transactions.patience = options->patience;
	s->transactions.idle = options->idle;
	s->transactions.lax = is_lax();
	raise_files(options);
	r = start(s, err);
	if (r < 0)
		ofs_server_destroy(s);
	else
		*ret = s;
	return r;
}

/* ---- ending */

static void wait_for_requests(struct ofs_server *s)
{
	int64_t until = ofs_clock_monotonic() + END_WAIT;
	const struct timespec step = { .tv_nsec = 20 * OFS_NS_PER_MS };

	while (atomic_load(&s->transactions.open) && ofs_clock_monotonic() < until)
		nanosleep(&step, NULL);
}

bool ofs_server_destroy(struct ofs_server *s)
{
	atomic_store(&s->transactions.ending, true);
	for (size_t i = 0; i < s->options.n_listeners; i++) {
		const struct ofs_listener *l = &s->options.listeners[i];

		if (s->ears[i].daemon)
			ofs_mhd.quiesce_daemon(s->ears[i].daemon);
		/* Not closed yet, since the thread of libmicrohttpd may still be using it. */
		if (!l->inherited)
			shutdown(l->fd, SHUT_RDWR);
	}
	if (s->site.events)
		ofs_events_end(s->site.events);
	wait_for_requests(s);
	/* All jobs end or are answered by their deadline, so no connection stays suspended. */
	ofs_pool_destroy(s->transactions.pool);
	for (size_t i = 0; i < s->options.n_listeners; i++) {
		if (s->ears[i].daemon)
			ofs_mhd.stop_daemon(s->ears[i].daemon);
		ofs_cleanup_close(&s->options.listeners[i].fd);
		s->options.listeners[i].fd = -1;
	}
	if (atomic_load(&s->transactions.jobs) || !ofs_events_destroy(s->site.events))
		return false;
	ofs_connections_stop(&s->connections);
	free(s->ears);
	free(s);
	return true;
}
