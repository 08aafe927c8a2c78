/* SPDX-License-Identifier: MIT */
/* offload serve: serves the tree over HTTP. */
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/access.h"
#include "client/naming.h"
#include "codec/hash.h"
#include "io/path.h"
#include "service/http/bearer.h"
#include "service/http/server.h"

#define LISTENERS 8

static const char *socket_path, *listen_address, *token_file;
static bool allow_remote;
static uint64_t timeout_s = 30, idle_s = 30, connections = 512, body_mib = 64;

static const struct ofs_option options[] = {
	OFS_TEXT(0, "socket", "FILE", &socket_path,
		 "a Unix socket, open to its owner alone (default: one in\n"
		 "$XDG_RUNTIME_DIR/offloadfs, unless --listen is given)"),
	OFS_TEXT(0, "listen", "ADDRESS:PORT", &listen_address,
		 "TCP: 127.0.0.1:8377; port 0 picks a free one"),
	OFS_TEXT(0, "token-file", "FILE", &token_file,
		 "has the token for clients of --listen (default: one is made)"),
	OFS_FLAG(0, "allow-remote", &allow_remote,
		 "let --listen name an address that other machines can reach; nothing\n"
		 "is encrypted, not even the token"),
	OFS_COUNT(0, "timeout", "N", &timeout_s, "seconds", 3600,
		  "how long the tree may take to answer (30)"),
	OFS_COUNT(0, "idle", "N", &idle_s, "seconds", 3600,
		  "how long a client may take for each step, or be silent (30)"),
	OFS_COUNT(0, "connections", "N", &connections, "connections", 10000,
		  "at a time, at most half of them from one address (512)"),
	OFS_COUNT(0, "max-body", "MIB", &body_mib, "MiB", 1024, "the largest content (64)"),
	OFS_OPTIONS_END,
};

/* The tree that is served, and the addresses it is served at. */
struct serving {
	struct ofs_access access;
	struct ofs_target_options target; /* the same tree, found from any directory */
	char *dir, *store, *agent; /* borrowed by `target` */
	struct ofs_service *service;
	struct ofs_listener listeners[LISTENERS];
	size_t n;
	char *token, *token_path;
	bool new_token;
};

static void finish(struct serving *s)
{
	for (size_t i = 0; i < s->n; i++)
		ofs_listener_finish(&s->listeners[i]);
	ofs_service_destroy(s->service);
	ofs_access_finish(&s->access);
	free(s->token);
	free(s->token_path);
	free(s->dir);
	free(s->store);
	free(s->agent);
}

/* ---- listening */

static int add_unix(struct serving *s, struct ofs_error *err)
{
	OFS_FREE char *own = socket_path ? NULL : ofs_bearer_file(&s->access.target, "sock");
	const char *path = socket_path ? socket_path : own;
	int r;

	if (!path)
		return ofs_error_set(err, ENOENT,
				     "there is no place for a socket: set "
				     "XDG_RUNTIME_DIR, or give --socket FILE");
	r = ofs_listener_unix(path, err, &s->listeners[s->n]);
	s->n += r == 0;
	return r;
}

static int add_tcp(struct serving *s, struct ofs_error *err)
{
	int r = ofs_listener_tcp(listen_address, allow_remote, err, &s->listeners[s->n]);

	s->n += r == 0;
	return r;
}

static int load_token(struct serving *s, struct ofs_error *err)
{
	bool tcp = false;

	for (size_t i = 0; i < s->n; i++)
		tcp = tcp || !s->listeners[i].path;
	if (!tcp)
		return 0;
	s->token_path = token_file ? ofs_path_absolute(token_file)
				   : ofs_bearer_file(&s->access.target, "token");
	if (!s->token_path)
		return ofs_error_set(err, ENOENT,
				     "there is no place for a token: set "
				     "XDG_RUNTIME_DIR, or give --token-file FILE");
	return ofs_bearer_load(s->token_path, !token_file, err, &s->new_token, &s->token);
}

static int open_listeners(struct serving *s, struct ofs_error *err)
{
	int r = ofs_listener_inherit(s->listeners, LISTENERS - 2, allow_remote, err);

	s->n = r > 0 ? (size_t)r : 0;
	if (r >= 0 && (socket_path || (!listen_address && !s->n)))
		r = add_unix(s, err);
	if (r >= 0 && listen_address)
		r = add_tcp(s, err);
	return r < 0 ? r : load_token(s, err);
}

/* Makes the tree findable from anywhere, and leaves it: to stay could keep it mounted. */
static void leave_directory(struct serving *s)
{
	const struct ofs_target *t = &s->access.target;
	const struct ofs_target_options *o = &ofs_command_target;

	s->dir = o->dir ? ofs_path_absolute(o->dir) : NULL;
	s->store = o->store ? ofs_path_absolute(o->store) : o->dir ? NULL : ofs_strdup(t->store);
	s->agent = t->agent ? ofs_naming_agent_name(t->agent) : NULL;
	s->target =
		(struct ofs_target_options){ .dir = s->dir, .store = s->store, .agent = s->agent };
	if (chdir("/") < 0)
		ofs_report("cannot leave the current directory: %s", strerror(errno));
}

static int prepare(struct serving *s, struct ofs_error *err)
{
	struct ofs_service_options service = { 0 };
	int r;

	ofs_access_init(&s->access, &ofs_command_target);
	r = ofs_access_find(&s->access, err);
	if (r == 0)
		r = open_listeners(s, err);
	if (r < 0)
		return r;
	leave_directory(s);
	service.target = s->target;
	return ofs_service_create(&service, err, &s->service);
}

/* ---- serving */

/* Prints one line, because the program goes on. */
static void tell_json(const struct serving *s)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	json_t *sockets = json_array(), *urls = json_array();

	for (size_t i = 0; i < s->n; i++) {
		if (s->listeners[i].path)
			json_array_append_new(sockets, ofs_json_string(s->listeners[i].path));
		else
			json_array_append_new(urls,
					      json_sprintf("http://%s/", s->listeners[i].address));
	}
	if (ofs_json_append(json_pack("{s:o, s:o, s:o, s:o}", "store",
				      ofs_json_string(s->access.target.store), "sockets", sockets,
				      "urls", urls, "token_file", ofs_json_string(s->token_path)),
			    JSON_COMPACT, &out) == 0)
		puts(ofs_buf_str(&out));
}

static void tell(const struct serving *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct ofs_listener *l = &s->listeners[i];

		if (l->path)
			ofs_report_line(stdout, "Serving at %s", l->path);
		else if (s->new_token || isatty(STDOUT_FILENO))
			ofs_report_line(stdout, "Serving at http://%s/#token=%s", l->address,
					s->token);
		else
			ofs_report_line(stdout, "Serving at http://%s/ (token: %s)", l->address,
					s->token_path);
	}
}

static int serve(struct serving *s, const sigset_t *ends)
{
	struct ofs_server_options o = OFS_SERVER_OPTIONS_INIT;
	struct ofs_server *server;
	struct ofs_error err;
	int number;

	o.service = s->service;
	o.target = &s->target;
	o.listeners = s->listeners;
	o.n_listeners = s->n;
	o.token = s->token;
	o.connections = (unsigned int)OFS_MAX(connections, (uint64_t)2);
	o.per_address = o.connections / 2;
	o.limits.content = (size_t)body_mib << 20;
	o.bodies = OFS_MAX(o.bodies, 2 * o.limits.content);
	o.patience = (int64_t)OFS_MAX(timeout_s, (uint64_t)1) * OFS_NS_PER_S;
	o.idle = (int64_t)OFS_MAX(idle_s, (uint64_t)1) * OFS_NS_PER_S;
	if (ofs_server_create(&o, &err, &server) < 0)
		return ofs_report("%s", err.text);
	(ofs_command_json ? tell_json : tell)(s);
	fflush(stdout);
	sigwait(ends, &number);
	/* Somebody still waits for the tree, and uses these. */
	if (!ofs_server_destroy(server)) {
		s->service = NULL;
		s->dir = s->store = s->agent = NULL;
	}
	return OFS_EXIT_OK;
}

static int serve_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(finish) struct serving s = { .n = 0 };
	struct ofs_error err = { "" };
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (prepare(&s, &err) < 0)
		return ofs_report("%s", err.text);
	return serve(&s, &ends);
}

const struct ofs_command ofs_cmd_serve = {
	.name = "serve",
	.synopsis = "[--socket FILE] [--listen 127.0.0.1:PORT]",
	.summary = "Serves the tree over HTTP: to programs, and as a page to a browser",
	.help = "A Unix socket is open to its owner alone; over TCP clients need the token, which\n"
		"is printed once, as the address of the page, and kept in a file. The server\n"
		"keeps no tree open: trees can be mounted and unmounted meanwhile.\n"
		"/openapi.json describes the requests. Programs written for ReMe's working memory\n"
		"service can use the server, too.\n",
	.options = options,
	.json = "print where it serves as a JSON object, on one line",
	.run = serve_run,
};
