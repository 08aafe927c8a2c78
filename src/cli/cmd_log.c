/* SPDX-License-Identifier: MIT */
/*
 * offload log: what became of files, tasks and agents. A mounted tree is asked for its log; that of
 * a store at rest is read where it lies, so that following it holds no lock.
 */
#include <inttypes.h>
#include <poll.h>

#include "base/clock.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/access.h"
#include "io/trust.h"
#include "tree/core/audit_disk.h"

#define POLL_MS 250
#define LINES_DEFAULT 100
#define COUNT_MAX 1000000000
#define PAGE OFS_AUDIT_PAGE_MAX

static const char *const events[] = {
	"offload",	"rewrite",	"promote", "archive",  "demote",      "move",
	"expire",	"evict",	"repair",  "task-end", "task-reopen", "agent-end",
	"agent-reopen", "agent-remove", "lost",	   NULL,
};
static const char *since, *task;
static uint64_t count = OFS_COUNT_NONE;
static int event = -1;
static bool follow;
static uint64_t agent_dir; /* whose log is meant, where the store is at rest; 0: none */

static const struct ofs_option options[] = {
	OFS_COUNT('n', "lines", "N", &count, "lines", COUNT_MAX,
		  "the newest N (default: 100; with --since, all)"),
	OFS_TEXT(0, "since", "AGE", &since, "those of the last 7d, 12h or 30m"),
	OFS_TEXT(0, "task", "T", &task, "those of a task"),
	OFS_CHOICE(0, "event", "E", &event, "kind of event", events,
		   "those of one kind: offload, rewrite, promote, archive, demote,\n"
		   "move, expire, evict, repair, task-end, task-reopen, agent-end,\n"
		   "agent-reopen, agent-remove, lost"),
	OFS_FLAG('f', "follow", &follow, "print new lines as they come"),
	OFS_OPTIONS_END,
};

/* ---- where the log is */

struct source {
	struct ofs_access access;
	int store; /* the directory of a store at rest */
	uint64_t start, end; /* of the log, when it was opened */
};

static void source_close(struct source *s)
{
	ofs_access_finish(&s->access);
	ofs_cleanup_close(&s->store);
}

static int mounted_bounds(struct source *s, struct ofs_error *err)
{
	OFS_FREE char *text = NULL;
	int r = ofs_backend_attribute(s->access.backend, "", "log", &text);

	if (r == 0 && sscanf(text, "%" SCNu64 " %" SCNu64, &s->start, &s->end) != 2)
		r = -EPROTO;
	if (r == -ENODATA || r == -EPROTO)
		return ofs_error_set(err, -r,
				     "the daemon of '%s' shows you no log: it is of an "
				     "older version, or another user's",
				     s->access.target.mountpoint);
	return r < 0 ? ofs_error_set(err, -r, "cannot read the log: %s", ofs_backend_strerror(-r)) : 0;
}

/* Finds the directory. The store is open just for that, unless it has been mounted since. */
static int find_agent(struct source *s, struct ofs_error *err)
{
	struct stat st;
	int r;

	s->access.read_only = true;
	r = ofs_access_open(&s->access, false, err);
	if (r < 0 || s->access.target.mounted)
		return r;
	r = s->access.backend->ops->lstat(s->access.backend, "", &st);
	ofs_backend_close(s->access.backend);
	s->access.backend = NULL;
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read the log: %s", strerror(-r));
	agent_dir = st.st_ino;
	return 0;
}

static int source_open(struct source *s, struct ofs_error *err)
{
	int r;

	*s = (struct source){ .store = -1 };
	ofs_access_init(&s->access, &ofs_command_target);
	r = ofs_access_find(&s->access, err);
	if (r == 0 && !s->access.target.mounted && s->access.target.agent && !agent_dir)
		r = find_agent(s, err);
	if (r == 0 && s->access.target.mounted) {
		r = ofs_access_open(&s->access, false, err);
		return r < 0 ? r : mounted_bounds(s, err);
	}
	if (r < 0)
		return r;
	s->store = ofs_trust_open_store(s->access.target.store, err);
	if (s->store < 0)
		return s->store;
	r = ofs_audit_disk_bounds(s->store, agent_dir, &s->start, &s->end);
	return r < 0 ? ofs_error_set(err, -r, "cannot read the log: %s", strerror(-r)) : 0;
}

/* The lines that begin in [from, to), at most a page of it; *ret is allocated. */
static int source_read(struct source *s, uint64_t from, uint64_t to, char **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_FREE char *name = NULL;
	int r;

	if (s->access.backend) {
		name = ofs_format(".offload/log.%" PRIu64 "-%" PRIu64, from, to);
		return ofs_backend_read_text(s->access.backend, name, ret);
	}
	r = ofs_audit_disk_read(s->store, agent_dir, from, to, &text);
	if (r == 0)
		*ret = ofs_buf_steal_str(&text);
	return r;
}

/* ---- lines */

/* Which of the matching lines are printed. */
struct printer {
	char after[32]; /* no earlier time; "": any */
	uint64_t skip; /* so many are not printed */
	char day[sizeof("2026-01-31")]; /* of the last line */
	bool silent; /* they are counted only */
	uint64_t matched;
	bool recent; /* one was not too early */
};

static bool has(const json_t *line, const char *key, const char *value)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text && strcmp(text, value) == 0;
}

/* The rest of a line, after time, event and ref. */
static const char line_form[] = "[{from} -> ][{path}][{lines:line} could not be written]"
				"[  {+size:size}][, stored in {stored:size}][  \"{title}\"]";

/* Allocated: a member, made harmless; "-": there is none. */
static char *shown(const json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	return ofs_text_shown(text ? text : "-");
}

static void print_line(struct printer *p, const json_t *line)
{
	OFS_FREE char *time = shown(line, "time"), *name = shown(line, "event");
	OFS_FREE char *ref = shown(line, "ref");

	if (strncmp(p->day, time, strlen("2026-01-31")) != 0) {
		snprintf(p->day, sizeof(p->day), "%s", time);
		printf("%s UTC\n", p->day);
	}
	printf("%.8s  %-12s  %-8s  ", strlen(time) > 11 ? time + 11 : time, name, ref);
	ofs_text_form(stdout, line, line_form);
	ofs_text_form(stdout, line, "[: {cause}]\n");
}

/* As it is in the log: in that of another it may be in a form that deceives. */
static void print_json(json_t *line)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (ofs_json_append(json_incref(line), JSON_COMPACT, &text) == 0)
		puts(ofs_buf_str(&text));
}

static void take_line(struct printer *p, const char *text, size_t len)
{
	json_t *line = json_loadb(text, len, 0, NULL);
	const char *time = json_string_value(json_object_get(line, "time"));
	bool in_time = time && strcmp(time, p->after) >= 0;

	p->recent = p->recent || in_time;
	if (in_time && (event < 0 || has(line, "event", events[event])) &&
	    (!task || has(line, "task", task)) && ++p->matched > p->skip && !p->silent) {
		if (ofs_command_json)
			print_json(line);
		else
			print_line(p, line);
	}
	json_decref(line);
}

/* The lines that begin in [from, to) of one page. */
static int take_page(struct source *s, uint64_t from, uint64_t to, struct printer *p)
{
	OFS_FREE char *text = NULL;
	const char *eol, *at;
	int r = source_read(s, from, to, &text);

	for (at = text; r == 0 && (eol = strchr(at, '\n')); at = eol + 1)
		take_line(p, at, (size_t)(eol - at));
	return r;
}

/* All pages of [from, to). */
static int take_range(struct source *s, uint64_t from, uint64_t to, struct printer *p)
{
	int r = 0;

	for (uint64_t end; from < to && r == 0; from = end) {
		end = OFS_MIN(to, from - from % PAGE + PAGE);
		r = take_page(s, from, end, p);
	}
	return r;
}

/* Prints the newest lines, up to the end of the log as it was when it was opened. */
static int print_newest(struct source *s, struct printer *p)
{
	uint64_t from = s->end, before;
	int r = 0;

	/* How far back they reach. */
	p->silent = true;
	p->recent = true;
	while (from > s->start && p->matched < count && p->recent && r == 0) {
		before = OFS_MAX(s->start, (from - 1) - (from - 1) % PAGE);
		p->recent = false;
		r = take_page(s, before, from, p);
		from = before;
	}
	p->silent = false;
	p->skip = p->matched > count ? p->matched - count : 0;
	p->matched = 0;
	if (r == 0)
		r = take_range(s, from, s->end, p);
	p->skip = 0;
	return r;
}

/* ---- following */

/* Waits. False: nobody reads the output any more. */
static bool wait_a_moment(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return fflush(stdout) == 0 && !(poll(&out, 1, POLL_MS) > 0 && out.revents & POLLERR);
}

/* Until it is interrupted; a tree that is not there for a while is waited for. */
static void follow_from(uint64_t at, struct printer *p)
{
	while (wait_a_moment()) {
		OFS_CLEANUP(source_close) struct source s = { .store = -1 };
		struct ofs_error ignored;

		if (source_open(&s, &ignored) < 0)
			continue;
		at = OFS_MAX(at, s.start);
		if (at > s.end || take_range(&s, at, s.end, p) == 0)
			at = s.end;
	}
}

static int log_run(const struct ofs_command *self, int argc, char **argv)
{
	static const struct ofs_quantity age = { OFS_UNIT_S, 1, INT64_C(36500) * 86400, NULL,
						 true };
	OFS_CLEANUP(source_close) struct source s = { .store = -1 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf after = OFS_BUF_INIT;
	struct printer p = { 0 };
	struct ofs_error err;
	uint64_t seconds, end;
	int r;

	if (since && !ofs_quantity_parse(&age, since, &seconds))
		return ofs_report_usage("'%s' is not an age: give 7d, 12h or 30m", since);
	if (since && ofs_text_time(ofs_clock_wall() - (int64_t)seconds * OFS_NS_PER_S, &after) == 0)
		snprintf(p.after, sizeof(p.after), "%s", ofs_buf_str(&after));
	if (count == OFS_COUNT_NONE && !since)
		count = LINES_DEFAULT;
	if (source_open(&s, &err) < 0)
		return ofs_report("%s", err.text);
	r = print_newest(&s, &p);
	if (r < 0)
		return ofs_report("cannot read the log: %s", ofs_backend_strerror(-r));
	end = s.end;
	source_close(&s);
	s = (struct source){ .store = -1 };
	if (follow)
		follow_from(end, &p);
	return OFS_EXIT_OK;
}

const struct ofs_command ofs_cmd_log = {
	.name = "log",
	.synopsis = "[--follow] [--task T] [--event E] [-n N] [--since AGE] [--json]",
	.summary = "Tells what became of files: offloaded, moved, expired, removed",
	.help = "One line each: time (UTC), event, ref, path, sizes, cause.\n",
	.options = options,
	.json = "print the lines of the log, a JSON object each",
	.run = log_run,
};
