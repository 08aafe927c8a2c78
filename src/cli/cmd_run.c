/* SPDX-License-Identifier: MIT */
/* offload run: runs a command and prints a pointer in place of long output. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/report.h"
#include "client/pointer.h"
#include "io/process.h"

/* Exit codes, as shells have them. */
#define RUN_EXIT_CANNOT 126
#define RUN_EXIT_NOT_FOUND 127

static struct ofs_deposit deposit = { .category = "shell", .way = "run" };
static uint64_t max_bytes = OFS_COUNT_NONE; /* OFS_COUNT_NONE: not given */

static const struct ofs_option options[] = {
	OFS_TEXT('c', "category", "CATEGORY", &deposit.category,
		 "what kind of output it is (default: shell)"),
	OFS_TEXT('t', "task", "TASK", &deposit.task,
		 "the task that it belongs to (default: the session of the agent,\n"
		 "or OFFLOAD_TASK)"),
	OFS_COUNT(0, "max-bytes", "N", &max_bytes, "bytes", UINT64_MAX - 1,
		  "longest output that passes through (default: 4096, and\n"
		  "more if a pointer would not be much shorter)"),
	OFS_OPTIONS_END,
};

struct output {
	struct ofs_spool spool;
	bool passing; /* spooling failed, so output goes straight to ours */
};

static void run_warn(const char *reason)
{
	ofs_report("the output was not offloaded, and follows in full: %s", reason);
}

static int run_take(void *arg, int fd, const void *data, size_t len)
{
	struct output *o = arg;
	int r = o->passing ? 0 : ofs_spool_append(&o->spool, data, len);

	if (!o->passing && r == 0)
		return 0;
	if (!o->passing) {
		OFS_FREE char *reason =
			ofs_format("cannot keep it in a temporary file: %s", strerror(-r));

		run_warn(reason);
		ofs_spool_copy(&o->spool, STDOUT_FILENO);
		o->passing = true;
	}
	/* If nobody reads any more, there is nobody to tell. */
	ofs_spool_write_all(STDOUT_FILENO, data, len);
	return 0;
}

struct finished {
	const struct ofs_spool *spool;
	const char *const *argv;
	const struct ofs_process_end *end;
};

/* Prints the pointer. If there is none, reports why, unless it would not have paid. */
static int run_offload(const void *arg)
{
	const struct finished *f = arg;
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access = { 0 };
	OFS_FREE char *what = ofs_text_command(f->argv);
	struct ofs_content content;
	const struct ofs_pointer pointer = {
		.what = what,
		.has_exit = true,
		.exit_code = f->end->exit_code,
		.signal = f->end->signal,
		.content = &content,
	};
	struct ofs_error err;
	int r;

	ofs_access_init(&access, &ofs_command_target);
	r = ofs_content_scan(f->spool, &content);
	if (r < 0)
		ofs_error_set(&err, -r, "%s", strerror(-r));
	else if (max_bytes == OFS_COUNT_NONE)
		r = ofs_offload_if_it_pays(&deposit, &pointer, &access, &err, &done);
	else
		r = ofs_offload(&deposit, &pointer, &access, &err, &done);
	if (r < 0)
		run_warn(err.text);
	if (!done.pointer)
		return OFS_EXIT_FAILURE;
	fputs(done.pointer, stdout);
	ofs_report_stale(&access.target);
	return OFS_EXIT_OK;
}

/* Passes the output on if it is short or cannot be offloaded. */
static void run_finish(const struct finished *f)
{
	if (f->spool->size > (max_bytes == OFS_COUNT_NONE ? OFS_OFFLOAD_BYTES : max_bytes)) {
		int r = ofs_guard_work(run_offload, f, INT64_MAX);

		if (r == OFS_EXIT_OK)
			return;
		if (r < 0)
			run_warn(ofs_guard_reason(r));
	}
	ofs_spool_copy(f->spool, STDOUT_FILENO);
}

static int run_command(const char *const argv[], struct output *output)
{
	const struct ofs_process process = {
		.kind = OFS_PROCESS_FOREGROUND,
		.argv = argv,
		.take = run_take,
		.arg = output,
	};
	struct ofs_process_end end;
	int r = ofs_process_run(&process, &end);

	if (r == -ENOENT || r == -ENOTDIR) {
		ofs_report("'%s': command not found", argv[0]);
		return RUN_EXIT_NOT_FOUND;
	}
	if (r < 0) {
		ofs_report("cannot run '%s': %s", argv[0], strerror(-r));
		return RUN_EXIT_CANNOT;
	}
	if (!output->passing)
		run_finish(&(struct finished){ &output->spool, argv, &end });
	return end.exit_code;
}

static int run_run(const struct ofs_command *self, int argc, char **argv)
{
	struct output output = { .spool = OFS_SPOOL_INIT };
	int code = ofs_command_check_names(deposit.category, deposit.task, NULL);

	if (code < 0)
		code = ofs_command_default_task(&deposit.task, true);
	if (code < 0)
		code = run_command((const char *const *)argv, &output);
	ofs_spool_finish(&output.spool);
	return code;
}

const struct ofs_command ofs_cmd_run = {
	.name = "run",
	.synopsis = "[-c CATEGORY] [-t TASK] [--max-bytes N] [--] CMD...",
	.summary = "Runs a command; long output is stored and its pointer printed instead",
	.help = "Standard output and standard error are taken together, in their order.\n"
		"Output within the limit passes through unchanged. The exit code is the\n"
		"command's.\n",
	.options = options,
	.operands = OFS_OPERANDS_ANY,
	.missing = "no command given: offload run -- CMD...",
	.wraps = true,
	.run = run_run,
};
