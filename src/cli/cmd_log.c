/* SPDX-License-Identifier: MIT */
/* offload log: prints what happened to files, tasks and agents. */
#include <inttypes.h>
#include <poll.h>

#include "base/clock.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/trail.h"

#define POLL_MS 250
#define LINES_DEFAULT 100
#define COUNT_MAX 1000000000
#define PAGE OFS_TRAIL_PAGE

static const char *const events[] = {
	"offload",	"rewrite",	"promote", "archive",  "demote",      "move",
	"expire",	"evict",	"repair",  "task-end", "task-reopen", "agent-end",
	"agent-reopen", "agent-remove", "lost",	   NULL,
};
static const char *since, *task;
static uint64_t count = OFS_COUNT_NONE;
static int event = -1;
static bool follow;
static uint64_t agent_dir; /* agent whose log is read if not mounted; 0: none */

static const struct ofs_option options[] = {
	OFS_COUNT('n', "lines", "N", &count, "lines", COUNT_MAX,
		  "the newest N (default: 100; with --since, all)"),
	OFS_TEXT(0, "since", "AGE", &since, "those of the last 7d, 12h or 30m"),
	OFS_TEXT(0, "task", "TASK", &task, "those of a task"),
	OFS_CHOICE(0, "event", "EVENT", &event, "kind of event", events,
		   "those of one kind: offload, rewrite, promote, archive, demote,\n"
		   "move, expire, evict, repair, task-end, task-reopen, agent-end,\n"
		   "agent-reopen, agent-remove, lost"),
	OFS_FLAG('f', "follow", &follow, "print new lines as they come"),
	OFS_OPTIONS_END,
};

/* ---- lines */

/* Chooses which lines are printed. */
struct printer {
	char after[32]; /* earliest time; "": any */
	uint64_t skip; /* matching lines to skip */
	char day[sizeof("2026-01-31")]; /* date of the last line printed */
	bool silent; /* only count */
	uint64_t matched;
	bool recent; /* a line was not too early */
};

static bool has(const json_t *line, const char *key, const char *value)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text && strcmp(text, value) == 0;
}

/* The rest of a line, after time, event and ref. */
static const char line_form[] = "[{from} -> ][{path}][{lines:line} could not be written]"
				"[  {+size:size}][, stored in {stored:size}][  \"{title}\"]";

/* Returns an allocated member, made harmless, or "-" if there is none. */
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

/* Prints the line as JSON, written anew: in the log of another host, its form may deceive. */
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

/* Takes the lines that start in [from, to) of one page. */
static int take_page(struct ofs_trail *s, uint64_t from, uint64_t to, struct printer *p)
{
	OFS_FREE char *text = NULL;
	const char *eol, *at;
	int r = ofs_trail_read(s, agent_dir, from, to, &text);

	for (at = text; r == 0 && (eol = strchr(at, '\n')); at = eol + 1)
		take_line(p, at, (size_t)(eol - at));
	return r;
}

/* Takes all pages of [*at, to), and advances *at with each. */
static int take_range(struct ofs_trail *s, uint64_t *at, uint64_t to, struct printer *p)
{
	int r = 0;

	while (*at < to && r == 0) {
		uint64_t end = OFS_MIN(to, *at - *at % PAGE + PAGE);

		r = take_page(s, *at, end, p);
		*at = r == 0 ? end : *at;
	}
	return r;
}

/* Prints the newest lines, up to the end of the log as it was when it was opened. */
static int print_newest(struct ofs_trail *s, struct printer *p)
{
	uint64_t from = s->end, before;
	int r = 0;

	/* Count first, to find how far back they reach. */
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
		r = take_range(s, &from, s->end, p);
	p->skip = 0;
	return r;
}

/* ---- following */

/* Returns false once nobody reads the output any more. */
static bool wait_a_moment(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return fflush(stdout) == 0 && !(poll(&out, 1, POLL_MS) > 0 && out.revents & POLLERR);
}

/* Runs until it is interrupted. Waits for a tree that is away for a while. */
static void follow_from(uint64_t at, struct printer *p)
{
	while (wait_a_moment()) {
		OFS_CLEANUP(ofs_trail_close) struct ofs_trail s = OFS_TRAIL_INIT;
		struct ofs_error ignored;

		if (ofs_trail_open(&s, &ofs_command_target, &agent_dir, &ignored) < 0)
			continue;
		at = OFS_MIN(OFS_MAX(at, s.start), s.end);
		take_range(&s, &at, s.end, p);
	}
}

static int log_run(const struct ofs_command *self, int argc, char **argv)
{
	static const struct ofs_quantity age = { OFS_UNIT_S, 1, INT64_C(36500) * 86400, NULL,
						 true };
	OFS_CLEANUP(ofs_trail_close) struct ofs_trail s = OFS_TRAIL_INIT;
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
	if (ofs_trail_open(&s, &ofs_command_target, &agent_dir, &err) < 0)
		return ofs_report("%s", err.text);
	r = print_newest(&s, &p);
	if (r < 0)
		return ofs_report("cannot read the log: %s", ofs_backend_strerror(-r));
	end = s.end;
	ofs_trail_close(&s);
	if (follow)
		follow_from(end, &p);
	return OFS_EXIT_OK;
}

const struct ofs_command ofs_cmd_log = {
	.name = "log",
	.synopsis = "[--follow] [--task TASK] [--event EVENT] [-n N] [--since AGE] [--json]",
	.summary = "Shows what happened to files: offloaded, moved, expired, removed",
	.help = "One line each: time (UTC), event, ref, path, sizes, cause.\n",
	.options = options,
	.json = "print the lines of the log, a JSON object each",
	.run = log_run,
};
