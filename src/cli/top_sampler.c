/* SPDX-License-Identifier: MIT */
#include "cli/top_sampler.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/text_form.h"
#include "client/savings.h"
#include "client/trail.h"
#include "io/process.h"

#define STATUS_PATH ".offload/status.json"
#define GROUPS_PATH ".offload/list/groups:yes"
#define LOG_BYTES (UINT64_C(64) << 10) /* the newest bytes of the log, read at once */
#define TOKENS_MAX 24 /* files whose tokens are asked for at once */
#define ASK_MAX 8192 /* bytes of a question */

/* Limits how often something is read, so that it takes only a part of the time. */
struct pace {
	int64_t part, least; /* one part in `part`; nanoseconds between two */
	int64_t next; /* monotonic */
};

struct sampling {
	const struct ofs_target_options *options;
	int fd;
	struct ofs_trail trail;
	bool open;
	bool shown; /* the store, not mounted, was shown */
	uint64_t agent_dir;
	uint64_t log_end; /* 0: the log has not been read */
	struct pace groups_pace, ledger_pace;
	uint64_t content; /* checksum of what the groups were made of */
	json_t *tokens; /* the sums that the rows were made of */
	json_t *groups; /* not shown yet */
};

/* ---- the child */

static bool is_due(const struct pace *p)
{
	return ofs_clock_monotonic() >= p->next;
}

static void set_pace(struct pace *p, int64_t began)
{
	int64_t now = ofs_clock_monotonic();

	p->next = now + OFS_MAX(p->least, (now - began) * p->part);
}

/* Tells the parent that something goes on. ".": it may take long. */
static void say(const struct sampling *s, const char *text)
{
	for (size_t len = strlen(text); len;) {
		ssize_t n = send(s->fd, text, len, MSG_NOSIGNAL);

		if (n < 0)
			_exit(EXIT_SUCCESS);
		text += n;
		len -= (size_t)n;
	}
}

static struct ofs_backend *tree(const struct sampling *s)
{
	return s->trail.access.backend;
}

static void let_go(struct sampling *s)
{
	ofs_trail_close(&s->trail);
	s->open = false;
}

static json_t *number_at(const json_t *json, const char *part, const char *key)
{
	return json_object_get(json_object_get(json, part), key);
}

/* Returns a checksum that changes with whatever the groups are made of. */
static uint64_t content_of(const json_t *status)
{
	return (uint64_t)json_integer_value(number_at(status, "content", "files")) * 31 +
	       (uint64_t)json_integer_value(number_at(status, "content", "bytes")) * 37 +
	       (uint64_t)json_integer_value(number_at(status, "disk", "packs")) * 41;
}

/* Returns all groups, or NULL. The tree answers in parts if there is a lot. */
static json_t *read_groups(const struct sampling *s)
{
	json_t *list = json_array(), *head = NULL, *line;
	int r = -EAGAIN;

	while (r == -EAGAIN) {
		OFS_FREE char *text = NULL;
		char *rest, *each;

		r = ofs_backend_read_text(tree(s), GROUPS_PATH, &text);
		rest = text;
		head = r == 0 ? json_loads(strsep(&rest, "\n"), 0, NULL) : NULL;
		if (r == 0 && !json_object_get(head, "files"))
			r = head ? -EAGAIN : -EPROTO;
		json_decref(head);
		while (r == 0 && (each = strsep(&rest, "\n"))) {
			line = json_loads(each, 0, NULL);
			if (line)
				json_array_append_new(list, line);
		}
		say(s, "\n");
	}
	if (r == 0)
		return list;
	json_decref(list);
	return NULL;
}

static void renew_groups(struct sampling *s, const json_t *status)
{
	int64_t began = ofs_clock_monotonic();

	if (!is_due(&s->groups_pace) || content_of(status) == s->content)
		return;
	json_decref(s->groups);
	s->groups = read_groups(s);
	s->content = content_of(status);
	set_pace(&s->groups_pace, began);
}

static json_t *rows_by(const char *ledger, enum ofs_savings_column column)
{
	OFS_FREE char *text = ofs_strdup(ledger);
	json_t *sums = ofs_savings_sum(text, "", 1u << column), *rows;

	rows = json_incref(json_object_get(sums, "rows"));
	json_decref(sums);
	return rows;
}

/* Adds tasks and agents if one of their sums has changed. */
static void add_rows(struct sampling *s, const json_t *status, json_t *to)
{
	json_t *tokens = json_object_get(status, "tokens");
	int64_t began = ofs_clock_monotonic();
	OFS_FREE char *ledger = NULL;

	if (!is_due(&s->ledger_pace) || json_equal(tokens, s->tokens) ||
	    ofs_backend_read_text(tree(s), OFS_SAVINGS_PATH, &ledger) < 0)
		return;
	json_object_set_new(to, "tasks", rows_by(ledger, OFS_SAVINGS_TASK));
	json_object_set_new(to, "agents", rows_by(ledger, OFS_SAVINGS_AGENT));
	json_decref(s->tokens);
	s->tokens = json_incref(tokens);
	set_pace(&s->ledger_pace, began);
}

/* Adds the tokens of the newest files, which the log lacks. These are few enough to ask for. */
static void add_tokens(const struct sampling *s, json_t *lines)
{
	size_t n = json_array_size(lines), most = TOKENS_MAX;

	while (n-- && most) {
		json_t *line = json_array_get(lines, n);
		const char *path = json_string_value(json_object_get(line, "path"));
		const char *event = json_string_value(json_object_get(line, "event"));
		OFS_FREE char *text = NULL;

		if (!path || !event || (strcmp(event, "offload") && strcmp(event, "rewrite")))
			continue;
		most--;
		if (ofs_backend_attribute(tree(s), path, "tokens", &text) == 0)
			json_object_set_new(line, "tokens", json_integer(atoll(text)));
	}
}

/* Returns what was added to the log, or the end of that if it is long. */
static json_t *read_log(struct sampling *s)
{
	uint64_t end = s->trail.end, from = OFS_MAX(s->log_end, s->trail.start);
	json_t *lines = json_array(), *line;
	OFS_FREE char *text = NULL;
	char *rest, *each;

	if (from > end)
		from = s->trail.start;
	if (end - from > LOG_BYTES)
		from = end - LOG_BYTES;
	s->log_end = end;
	if (from == end || ofs_trail_read(&s->trail, s->agent_dir, from, end, &text) < 0)
		return lines;
	rest = text;
	while ((each = strsep(&rest, "\n"))) {
		line = json_loads(each, 0, NULL);
		if (line)
			json_array_append_new(lines, line);
	}
	add_tokens(s, lines);
	return lines;
}

static int open_tree(struct sampling *s, struct ofs_error *err)
{
	int r = s->open ? ofs_trail_refresh(&s->trail, s->agent_dir, err)
			: ofs_trail_open(&s->trail, s->options, &s->agent_dir, err);

	s->open = r == 0;
	if (r == 0 && !s->trail.access.target.mounted && !s->shown) {
		say(s, ".\n");
		s->trail.access.read_only = true;
		r = ofs_access_open(&s->trail.access, false, err);
	}
	return r;
}

static json_t *take_sample(struct sampling *s, bool whole, struct ofs_error *err)
{
	const struct ofs_target *target = &s->trail.access.target;
	OFS_FREE char *text = NULL;
	json_t *all, *status;
	int r = open_tree(s, err);

	if (r < 0)
		return NULL;
	all = json_pack("{s:o, s:o}", "store", ofs_json_string(target->store), "mounted",
			ofs_json_string(target->mounted ? target->root : NULL));
	if (!tree(s))
		return all;
	r = ofs_backend_read_text(tree(s), STATUS_PATH, &text);
	status = r == 0 ? json_loads(text, 0, NULL) : NULL;
	if (!json_is_object(status)) {
		json_decref(status);
		json_decref(all);
		ofs_backend_failed(err, r < 0 ? r : -EPROTO, "read", STATUS_PATH);
		return NULL;
	}
	json_object_set_new(all, "status", status);
	json_object_set_new(all, "log", read_log(s));
	add_rows(s, status, all);
	if (whole || !target->mounted)
		renew_groups(s, status);
	if (s->groups)
		json_object_set_new(all, "tiers", ofs_steal(s->groups));
	s->shown = !target->mounted;
	return all;
}

static json_t *take_summary(struct sampling *s, const char *path, struct ofs_error *err)
{
	OFS_FREE char *name = ofs_format("%s:summary", path), *text = NULL, *readable = NULL;
	int r = tree(s) ? 0 : open_tree(s, err);

	if (r < 0)
		return NULL;
	r = tree(s) ? ofs_backend_read_text(tree(s), name, &text) : -ENOTCONN;
	if (r < 0) {
		ofs_backend_failed(err, r, "read", name);
		return NULL;
	}
	readable = ofs_text_readable(text);
	return json_pack("{s:s}", "text", readable);
}

static void answer(struct sampling *s, const char *question)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	bool whole = strcmp(question, OFS_TOP_WHOLE) == 0;
	size_t n = strlen(OFS_TOP_SUMMARY);
	struct ofs_error err = { 0 };
	json_t *all;

	if (strncmp(question, OFS_TOP_SUMMARY, n) == 0)
		all = take_summary(s, question + n, &err);
	else
		all = take_sample(s, whole, &err);
	if (!all) {
		let_go(s);
		all = json_pack("{s:o}", "error", ofs_json_string(err.text));
	}
	if (ofs_json_append(json_incref(all), JSON_COMPACT, &text) < 0)
		ofs_buf_append_str(&text, "{\"error\":\"the tree tells what is not text\"}");
	ofs_buf_append_str(&text, "\n");
	say(s, ofs_buf_str(&text));
	/* Hold a store that is not mounted no longer than it takes to read this. */
	if (!s->trail.access.target.mounted)
		let_go(s);
	else if (json_object_get(all, "status"))
		renew_groups(s, json_object_get(all, "status"));
	json_decref(all);
}

static void serve(const struct ofs_target_options *options, int fd)
{
	struct sampling s = { .options = options,
			      .fd = fd,
			      .trail = OFS_TRAIL_INIT,
			      .groups_pace = { 200, 30 * OFS_NS_PER_S, 0 },
			      .ledger_pace = { 50, 0, 0 },
			      .content = UINT64_MAX };
	char question[ASK_MAX + 1];
	ssize_t n;

	/* There is never more than one question. */
	while ((n = recv(fd, question, ASK_MAX, 0)) > 0) {
		question[n] = '\0';
		answer(&s, question);
	}
}

/* ---- the parent */

static void become_child(const struct ofs_target_options *options, int fd, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), kept = STDERR_FILENO + 1;

	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(null, i);
	dup2(fd, kept);
	fcntl(kept, F_SETFD, FD_CLOEXEC);
	close_range((unsigned int)kept + 1, ~0U, 0);
	/* The terminal must stop and interrupt only the parent. */
	setpgid(0, 0);
	if (ofs_process_end_with(parent, SIGKILL))
		serve(options, kept);
	_exit(EXIT_SUCCESS);
}

int ofs_top_sampler_start(struct ofs_top_sampler *s, const struct ofs_target_options *options)
{
	pid_t parent = getpid();
	int pair[2];

	*s = (struct ofs_top_sampler){ .fd = -1, .in = OFS_BUF_INIT };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	s->pid = fork();
	if (s->pid == 0)
		become_child(options, pair[1], parent);
	close(pair[1]);
	s->fd = pair[0];
	if (s->pid > 0)
		return 0;
	s->pid = 0;
	ofs_top_sampler_stop(s);
	return -EAGAIN;
}

void ofs_top_sampler_stop(struct ofs_top_sampler *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		/* Do not wait for its death: it may be where no signal reaches it. */
		waitpid(s->pid, NULL, WNOHANG);
	}
	ofs_cleanup_close(&s->fd);
	ofs_buf_finish(&s->in);
	*s = (struct ofs_top_sampler){ .fd = -1, .in = OFS_BUF_INIT };
}

int ofs_top_sampler_ask(struct ofs_top_sampler *s, const char *what)
{
	if (s->asked)
		return 0;
	if (strlen(what) > ASK_MAX)
		return -ENAMETOOLONG;
	if (send(s->fd, what, strlen(what), MSG_NOSIGNAL) < 0)
		return -errno;
	s->asked = true;
	s->slow = false;
	s->heard = ofs_clock_monotonic();
	return 0;
}

/* Returns the first answer among the whole lines received, or NULL. */
static json_t *next_answer(struct ofs_top_sampler *s)
{
	const char *text = ofs_buf_str(&s->in), *eol = strchr(text, '\n');
	size_t len = eol ? (size_t)(eol + 1 - text) : 0;
	json_t *answer;

	if (!eol)
		return NULL;
	answer = len > 2 ? json_loadb(text, len, 0, NULL) : NULL;
	s->slow = s->slow || *text == '.';
	memmove(s->in.data, s->in.data + len, s->in.len - len);
	s->in.len -= len;
	return answer ? answer : next_answer(s);
}

int ofs_top_sampler_take(struct ofs_top_sampler *s, json_t **ret)
{
	ssize_t n;

	ofs_buf_reserve(&s->in, 1 << 18);
	n = recv(s->fd, s->in.data + s->in.len, 1 << 18, MSG_DONTWAIT);
	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? -EAGAIN : -EPIPE;
	s->in.len += (size_t)n;
	s->heard = ofs_clock_monotonic();
	*ret = next_answer(s);
	if (!*ret)
		return -EAGAIN;
	s->asked = false;
	return 0;
}
