/* SPDX-License-Identifier: MIT */
/* offload reduce: turns tool calls and their results into short steps. */
#include "cli/command.h"
#include "cli/report.h"
#include "client/access.h"
#include "context/steps/call.h"
#include "context/steps/reduce.h"
#include "io/file.h"

static const char *task, *category;

static const struct ofs_option options[] = {
	OFS_TEXT('t', "task", "TASK", &task,
		 "the task whose history gets the steps, and whose outputs the results\n"
		 "(default: OFFLOAD_TASK)"),
	OFS_TEXT('c', "category", "CATEGORY", &category,
		 "what kind of output it is (default: by the tool)"),
	OFS_OPTIONS_END,
};

struct calls {
	struct ofs_tool_call *list;
	size_t n, cap;
};

static void calls_finish(struct calls *c)
{
	while (c->n)
		ofs_tool_call_finish(&c->list[--c->n]);
	free(c->list);
}

static size_t skip_blanks(const struct ofs_buf *in, size_t at)
{
	while (at < in->len && strchr(" \n\r\t", in->data[at]) && in->data[at])
		at++;
	return at;
}

/* Reports which object is wrong. The first one needs no number. */
static int refuse(const struct ofs_buf *in, size_t at, size_t index, const char *why)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += in->data[i] == '\n';
	if (index == 0)
		return ofs_report_usage("%s", why);
	return ofs_report_usage("in object %zu, which starts at line %zu: %s", index + 1, line,
				why);
}

/* Parses and checks all of the input before anything is stored. Returns an exit code. */
static int parse_calls(const struct ofs_buf *in, struct calls *c)
{
	const char *data = (const char *)in->data;
	size_t at = skip_blanks(in, 0), used;
	struct ofs_error err;
	struct ofs_span span;

	if (at == in->len)
		return ofs_report_usage(
			"the input is empty: give {\"tool\": NAME, \"args\": {...}, "
			"\"result\": ...}");
	for (; at < in->len; at = skip_blanks(in, at + used)) {
		c->list = ofs_grow(c->list, &c->cap, c->n + 1, sizeof(*c->list));
		if (ofs_span_parse_at(data + at, in->len - at, 0, &err, &span, &used) < 0 ||
		    ofs_tool_call_parse(span, &err, &c->list[c->n]) < 0)
			return refuse(in, at, c->n, err.text);
		c->n++;
	}
	return OFS_EXIT_OK;
}

static void print_step(const struct ofs_step *step)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	ofs_step_print(step, &line);
	printf("%s\n", ofs_buf_str(&line));
	/* Report each step at once, as the next may fail. */
	fflush(stdout);
}

static int reduce_all(const struct calls *c)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access = { 0 };
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings settings = { 0 };
	const struct ofs_reduce_request request = {
		.settings = &settings,
		.access = &access,
		.task = task,
		.category = category,
	};
	struct ofs_error err;
	int r;

	ofs_access_init(&access, &ofs_command_target);
	ofs_settings_init(&settings);
	r = ofs_access_find(&access, &err);
	if (r == 0)
		r = ofs_settings_load(&settings, access.target.store, &err);
	if (r == -EINVAL)
		return ofs_report_usage("%s", err.text);
	for (size_t i = 0; i < c->n && r == 0; i++) {
		OFS_CLEANUP(ofs_step_finish) struct ofs_step step = { 0 };

		r = ofs_reduce(&request, &c->list[i], &err, &step);
		if (r == 0)
			print_step(&step);
	}
	return r < 0 ? ofs_report("%s", err.text) : OFS_EXIT_OK;
}

static int reduce_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(calls_finish) struct calls calls = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf in = OFS_BUF_INIT;
	int r = ofs_command_check_names(category, task, NULL);

	if (r < 0)
		r = ofs_command_default_task(&task, false);
	if (r >= 0)
		return r;
	r = ofs_io_read_fd(STDIN_FILENO, SIZE_MAX, &in);
	if (r < 0)
		return ofs_report("cannot read standard input: %s", strerror(-r));
	r = parse_calls(&in, &calls);
	return r == OFS_EXIT_OK ? reduce_all(&calls) : r;
}

const struct ofs_command ofs_cmd_reduce = {
	.name = "reduce",
	.synopsis = "[-t TASK] [-c CATEGORY] < INPUT",
	.summary =
		"Turns tool calls and results, as JSON, into short steps; long results are stored",
	.help = "The input is {\"tool\": NAME, \"args\": {...}, \"result\": ...}, or several of\n"
		"these one after the other. Each gives one line: a step as JSON, with one\n"
		"sentence on what was observed, and the ref of the result if it was stored.\n"
		"All of the input is checked before anything is stored.\n",
	.options = options,
	.unexpected = ": what is reduced comes from standard input",
	.run = reduce_run,
};
