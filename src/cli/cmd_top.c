/* SPDX-License-Identifier: MIT */
/* offload top: shows what happens in a tree, as it happens. */
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/report.h"
#include "cli/top_sampler.h"
#include "cli/top_screen.h"
#include "cli/top_view.h"

#define COUNT_MAX 1000000000
#define MORE_NS (OFS_NS_PER_S / 2) /* time for an answer, beyond the wait for the mount */
#define ONCE_ROWS 10 /* rows of each table */
#define ONCE_LINES 64
#define ONCE_COLS 80 /* if the width is unknown */

static const char *every = "1";
static uint64_t count = OFS_COUNT_NONE;
static bool once;

static const struct ofs_option options[] = {
	OFS_TEXT('d', "interval", "TIME", &every, "between two samples: 1s to 1h (default: 1s)"),
	OFS_COUNT('n', "count", "N", &count, "samples", COUNT_MAX,
		  "end after N lines of --json (default: never)"),
	OFS_FLAG(0, "once", &once, "print two samples' difference as text, and end"),
	OFS_OPTIONS_END,
};

/* ---- without a terminal */

/* Waits for an answer. Returns what ofs_top_sampler_take() does, or -ETIMEDOUT. */
static int await(struct ofs_top_sampler *s, json_t **ret)
{
	int64_t patience = ofs_mount_wait() + MORE_NS;
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };
	int r = -EAGAIN;

	while (r == -EAGAIN) {
		int64_t left = s->heard + patience - ofs_clock_monotonic();

		if (!s->slow && left <= 0)
			return -ETIMEDOUT;
		if (poll(&fd, 1, s->slow ? -1 : (int)(left / OFS_NS_PER_MS) + 1) > 0)
			r = ofs_top_sampler_take(s, ret);
	}
	return r;
}

/* Returns -1, or an exit code after reporting a failure. */
static int next_sample(struct ofs_top_sampler *s, struct ofs_top_model *m)
{
	json_t *sample = NULL;
	int r = ofs_top_sampler_ask(s, OFS_TOP_WHOLE);

	if (r == 0)
		r = await(s, &sample);
	if (r < 0)
		return ofs_report("%s",
				  r == -EPIPE ? ofs_guard_reason(-ECHILD) : ofs_guard_reason(r));
	ofs_top_model_take(m, sample);
	return m->error ? ofs_report("%s", m->error) : -1;
}

static bool print_line(const struct ofs_top_model *m)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	ofs_json_append(ofs_top_model_json(m, ofs_clock_wall()), JSON_COMPACT, &text);
	puts(ofs_buf_str(&text));
	return fflush(stdout) == 0;
}

/* Returns true after the wait, or false once nobody reads the output any more. */
static bool wait_for(unsigned int seconds)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return !(poll(&out, 1, (int)seconds * 1000) > 0 && out.revents & POLLERR);
}

/* A store that is not mounted does not change, so one line is enough. */
static int print_stream(struct ofs_top_sampler *s, struct ofs_top_model *m, unsigned int interval)
{
	int code = -1;

	for (uint64_t i = 0; code < 0 && i < count; i++) {
		if (i && (!m->mounted || !wait_for(interval)))
			break;
		code = next_sample(s, m);
		if (code < 0 && !print_line(m))
			break;
	}
	return code < 0 ? OFS_EXIT_OK : code;
}

static int width_of_output(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return columns && atoi(columns) > 0 ? OFS_MIN(atoi(columns), 1000) : ONCE_COLS;
}

static int print_once(struct ofs_top_sampler *s, struct ofs_top_model *m, unsigned int interval)
{
	OFS_CLEANUP(ofs_canvas_finish) struct ofs_canvas c = { 0 };
	int code = next_sample(s, m), rows;

	if (code < 0 && m->mounted && wait_for(interval))
		code = next_sample(s, m);
	if (code >= 0)
		return code;
	ofs_canvas_init(&c, ONCE_LINES, width_of_output(), setlocale(LC_CTYPE, "C.UTF-8") != NULL);
	rows = ofs_top_view_draw_once(m, interval, ONCE_ROWS, ofs_clock_wall(), &c);
	ofs_canvas_print(&c, rows, stdout);
	return OFS_EXIT_OK;
}

/* ---- on a terminal */

struct watching {
	struct ofs_top_sampler sampler;
	struct ofs_top_model model;
	struct ofs_top_view view;
	int signals;
	int64_t next; /* when the next sample is wanted; monotonic */
	char *wanted; /* file whose summary is to be asked for; NULL: none */
	bool looking; /* the question under way is for a summary */
	bool changed; /* the screen must be redrawn */
	int ended; /* the signal that ended this; 0: none */
	bool quit;
};

/* Asks what is due, if no question is under way. */
static void ask(struct watching *w)
{
	int64_t now = ofs_clock_monotonic();
	OFS_FREE char *question = NULL;

	if (!w->sampler.pid && ofs_top_sampler_start(&w->sampler, &ofs_command_target) < 0)
		return;
	if (w->sampler.asked)
		return;
	w->looking = w->wanted;
	if (w->wanted) {
		question = ofs_format(OFS_TOP_SUMMARY "%s", w->wanted);
		free(ofs_steal(w->wanted));
		ofs_top_sampler_ask(&w->sampler, question);
	} else if (!w->view.paused && now >= w->next) {
		w->next = now + (int64_t)w->view.interval * OFS_NS_PER_S;
		ofs_top_sampler_ask(&w->sampler, OFS_TOP_SAMPLE);
	}
}

static void take_answer(struct watching *w)
{
	json_t *answer = NULL;
	const char *text, *error = ofs_guard_reason(-ECHILD);
	int r = ofs_top_sampler_take(&w->sampler, &answer);

	if (r == -EAGAIN)
		return;
	w->changed = true;
	if (r < 0) {
		ofs_top_sampler_stop(&w->sampler);
		ofs_top_model_fail(&w->model, error);
	} else {
		error = json_string_value(json_object_get(answer, "error"));
	}
	text = json_string_value(json_object_get(answer, "text"));
	if (w->looking) {
		ofs_top_view_show(&w->view, w->view.text_name ? w->view.text_name : "",
				  text	  ? text
				  : error ? error
					  : "");
		json_decref(answer);
	} else if (r == 0) {
		ofs_top_model_take(&w->model, answer);
	}
}

static void take_key(struct watching *w, uint32_t key)
{
	const char *path = NULL;
	unsigned int interval = w->view.interval;
	enum ofs_top_act act = ofs_top_view_key(&w->view, &w->model, key, &path);

	w->changed = true;
	w->quit = w->quit || act == OFS_TOP_QUIT;
	if (act == OFS_TOP_RESUME || interval != w->view.interval)
		w->next = 0;
	if (act == OFS_TOP_OPEN) {
		free(w->wanted);
		w->wanted = ofs_strdup(path);
		ofs_top_view_show(&w->view, path, "...");
	}
}

static void take_signal(struct watching *w)
{
	struct signalfd_siginfo info;

	if (read(w->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH) {
		ofs_screen_resize();
		w->changed = true;
	} else {
		w->ended = (int)info.ssi_signo;
	}
}

/* Returns how long nothing on the screen changes by itself, in milliseconds. */
static int pause_of(const struct watching *w)
{
	int64_t left = w->next - ofs_clock_monotonic();

	if (w->view.paused || w->sampler.asked)
		left = OFS_NS_PER_S;
	return (int)(OFS_MAX(OFS_MIN(left, OFS_NS_PER_S), (int64_t)0) / OFS_NS_PER_MS) + 1;
}

static void note_silence(struct watching *w)
{
	int64_t silent = ofs_clock_monotonic() - w->sampler.heard;
	int seconds = 0;

	if (w->sampler.asked && !w->sampler.slow && silent > ofs_mount_wait() + MORE_NS)
		seconds = (int)(silent / OFS_NS_PER_S);
	w->changed = w->changed || seconds != w->view.silent;
	w->view.silent = seconds;
}

static void draw(struct watching *w)
{
	OFS_CLEANUP(ofs_canvas_finish) struct ofs_canvas c = { 0 };

	ofs_screen_canvas(&c);
	ofs_top_view_draw(&w->view, &w->model, ofs_clock_wall(), &c);
	ofs_screen_show(&c);
	w->changed = false;
}

static void watch(struct watching *w)
{
	uint32_t key;

	while (!w->quit && !w->ended) {
		ask(w);
		note_silence(w);
		if (w->changed)
			draw(w);
		struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
					{ .fd = w->signals, .events = POLLIN },
					{ .fd = w->sampler.fd, .events = POLLIN } };

		if (poll(fds, OFS_ARRAY_SIZE(fds), pause_of(w)) < 0)
			continue;
		if (fds[1].revents)
			take_signal(w);
		if (fds[2].revents)
			take_answer(w);
		/* The terminal is gone. */
		if (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL))
			w->quit = true;
		while (!w->quit && (key = ofs_screen_key()) != OFS_KEY_NONE)
			take_key(w, key);
	}
}

/* Blocks the signals. They are read where the terminal can be restored. */
static int catch_signals(void)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(all); i++)
		sigaddset(&set, all[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int show(struct ofs_top_sampler *sampler, struct ofs_top_model *m, unsigned int interval)
{
	struct watching w = { .sampler = *sampler, .changed = true };
	struct ofs_error err;

	if (ofs_screen_open(&err) < 0)
		return ofs_report("%s", err.text);
	w.signals = catch_signals();
	w.model = *m;
	ofs_top_view_init(&w.view, interval);
	watch(&w);
	ofs_screen_close();
	ofs_top_view_finish(&w.view);
	free(w.wanted);
	ofs_cleanup_close(&w.signals);
	*sampler = w.sampler;
	*m = w.model;
	return w.ended ? 128 + w.ended : OFS_EXIT_OK;
}

static int top_run(const struct ofs_command *self, int argc, char **argv)
{
	static const struct ofs_quantity seconds = { .unit = OFS_UNIT_S,
						     .min = 1,
						     .max = OFS_TOP_INTERVAL_MAX };
	struct ofs_top_sampler sampler;
	struct ofs_top_model model = { 0 };
	uint64_t interval;
	int code;

	if (!ofs_quantity_parse(&seconds, every, &interval))
		return ofs_report_usage("the interval is '%s': it must be %s", every,
					ofs_quantity_describe(&seconds).text);
	if (count != OFS_COUNT_NONE && !ofs_command_json)
		return ofs_report_usage("-n is for --json");
	if (once && ofs_command_json)
		return ofs_report_usage("--once prints text; with --json, -n 1 does the same");
	if (ofs_top_sampler_start(&sampler, &ofs_command_target) < 0)
		return ofs_report("cannot start a process: %s", strerror(errno));
	if (ofs_command_json)
		code = print_stream(&sampler, &model, (unsigned int)interval);
	else if (once)
		code = print_once(&sampler, &model, (unsigned int)interval);
	else
		code = show(&sampler, &model, (unsigned int)interval);
	ofs_top_sampler_stop(&sampler);
	ofs_top_model_finish(&model);
	return code;
}

const struct ofs_command ofs_cmd_top = {
	.name = "top",
	.synopsis = "[--interval TIME] [--once] [--json [-n N]]",
	.summary = "Shows what happens in a tree, as it happens",
	.help = "Requests, caches, journal, sealing, storage, tokens and replication; the newest\n"
		"files and slices; what was kept out of prompts for each task and agent. On a\n"
		"terminal ? explains the keys, and q quits.\n",
	.options = options,
	.json = "print an object a line for each sample",
	.run = top_run,
};
