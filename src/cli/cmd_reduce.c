/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/naming.h"
#include "client/target.h"
#include "context/steps/call.h"
#include "context/steps/reduce.h"
#include "io/file.h"

struct reduce_options {
	struct ofs_target_options target;
	const char *task;
	const char *category;
};

/* All calls of the input. */
struct reduce_calls {
	struct ofs_tool_call *calls;
	size_t n, cap;
};

static void reduce_calls_finish(struct reduce_calls *c)
{
	while (c->n)
		ofs_tool_call_finish(&c->calls[--c->n]);
	free(c->calls);
}

/* ---- input */

static size_t reduce_blanks(const char *p, size_t len)
{
	size_t i = 0;

	while (i < len && (p[i] == ' ' || p[i] == '\n' || p[i] == '\r' || p[i] == '\t'))
		i++;
	return i;
}

/* Says which object it was; the first of all needs no name. */
static int reduce_refuse(const struct ofs_buf *in, size_t at, size_t index, const char *why)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += in->data[i] == '\n';
	if (index == 0)
		return ofs_report_usage("%s", why);
	return ofs_report_usage("in object %zu, which begins at line %zu: %s", index + 1, line,
				why);
}

/* Reads and checks all of the input, so that nothing is stored of one that is wrong. An exit code. */
static int reduce_parse(const struct ofs_buf *in, struct reduce_calls *c)
{
	const char *data = (const char *)in->data;
	size_t at = reduce_blanks(data, in->len), used;
	struct ofs_error err;
	struct ofs_span span;

	if (at == in->len)
		return ofs_report_usage(
			"the input is empty: give {\"tool\": NAME, \"args\": {...}, \"result\": ...}");
	while (at < in->len) {
		if (ofs_span_parse_at(data + at, in->len - at, 0, &err, &span, &used) < 0)
			return reduce_refuse(in, at, c->n, err.text);
		c->calls = ofs_grow(c->calls, &c->cap, c->n + 1, sizeof(*c->calls));
		if (ofs_tool_call_parse(span, &err, &c->calls[c->n]) < 0)
			return reduce_refuse(in, at, c->n, err.text);
		c->n++;
		at += used;
		at += reduce_blanks(data + at, in->len - at);
	}
	return OFS_EXIT_OK;
}

/* ---- output */

static int reduce_settings(struct ofs_access *access, struct ofs_settings *settings,
			   struct ofs_error *err)
{
	int r = ofs_access_find(access, err);

	return r < 0 ? r : ofs_settings_load_store(settings, access->target.store, err);
}

static void reduce_print(const struct ofs_step *step)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	ofs_step_print(step, &line);
	ofs_buf_append_str(&line, "\n");
	/* What was stored is said at once: the next may fail. */
	fwrite(line.data, 1, line.len, stdout);
	fflush(stdout);
}

static int reduce_all(const struct reduce_options *opts, const struct reduce_calls *c)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings settings;
	struct ofs_reduce_request request = {
		.settings = &settings,
		.access = &access,
		.task = opts->task,
		.category = opts->category,
	};
	struct ofs_error err;
	int r;

	ofs_access_init(&access, &opts->target);
	ofs_settings_init(&settings);
	r = reduce_settings(&access, &settings, &err);
	if (r == -EINVAL)
		return ofs_report_usage("%s", err.text);
	for (size_t i = 0; i < c->n && r == 0; i++) {
		OFS_CLEANUP(ofs_step_finish) struct ofs_step step = { 0 };

		r = ofs_reduce(&request, &c->calls[i], &err, &step);
		if (r == 0)
			reduce_print(&step);
	}
	return r < 0 ? ofs_report_failure("%s", err.text) : OFS_EXIT_OK;
}

static int reduce_standard_input(const struct reduce_options *opts)
{
	OFS_CLEANUP(reduce_calls_finish) struct reduce_calls calls = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf in = OFS_BUF_INIT;
	int r = ofs_io_read_fd(STDIN_FILENO, SIZE_MAX, &in);

	if (r < 0)
		return ofs_report_failure("cannot take in standard input: %s", strerror(-r));
	r = reduce_parse(&in, &calls);
	return r == OFS_EXIT_OK ? reduce_all(opts, &calls) : r;
}

static int reduce_run(const struct ofs_command *self, int argc, char **argv)
{
	struct reduce_options opts = { 0 };
	const struct ofs_option options[] = {
		OFS_TEXT('t', "task", "TASK", &opts.task,
			 "the task whose history gets the steps, and whose outputs the results"),
		OFS_TEXT('c', "category", "CATEGORY", &opts.category,
			 "what kind of output it is (default: by the tool)"),
		OFS_COMMON(&opts.target),
	};
	struct ofs_error err;
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	if ((opts.category && ofs_naming_check("category", opts.category, &err) < 0) ||
	    (opts.task && ofs_naming_check("task", opts.task, &err) < 0))
		return ofs_report_usage("%s", err.text);
	return reduce_standard_input(&opts);
}

const struct ofs_command ofs_cmd_reduce = {
	.name = "reduce",
	.synopsis = "[-t TASK] [-c CATEGORY] < INPUT",
	.summary =
		"Turns tool calls and results, as JSON, into short steps; long results are stored",
	.help = "The input is {\"tool\": NAME, \"args\": {...}, \"result\": ...}, or several of these one after\n"
		"the other. Each gives one line: a step as JSON, with what was observed in a sentence and the\n"
		"ref of the result where it was stored. All of the input is checked before anything is stored.\n",
	.unexpected = ": what is reduced comes from standard input",
	.run = reduce_run,
};
