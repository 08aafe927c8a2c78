/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/content.h"
#include "client/deposit.h"
#include "client/offload.h"
#include "client/spool.h"
#include "io/process.h"

#define RUN_MAX_BYTES 2048
#define RUN_MAX_LINES 50
/* As shells have it. */
#define RUN_EXIT_CANNOT 126
#define RUN_EXIT_NOT_FOUND 127

struct run {
	struct ofs_target_options target;
	struct ofs_deposit deposit;
	uint64_t max_bytes, max_lines;
	struct ofs_spool spool; /* what the command writes */
	bool passing; /* spooling failed: it goes straight on */
};

static void run_warn(const char *reason)
{
	ofs_report("the output was not offloaded and follows whole: %s", reason);
}

static int run_take(void *arg, int fd, const void *data, size_t len)
{
	struct run *run = arg;
	int r = run->passing ? 0 : ofs_spool_append(&run->spool, data, len);

	if (!run->passing && r == 0)
		return 0;
	if (!run->passing) {
		OFS_FREE char *reason =
			ofs_format("cannot keep it in a temporary file: %s", strerror(-r));

		run_warn(reason);
		ofs_spool_copy(&run->spool, STDOUT_FILENO);
		run->passing = true;
	}
	/* When nobody reads any more there is nobody to tell. */
	ofs_spool_write_all(STDOUT_FILENO, data, len);
	return 0;
}

/* Prints the pointer; or -errno with the reason in `err`. */
static int run_offload(const struct run *run, const char *const argv[],
		       const struct ofs_process_end *end, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	OFS_FREE char *what = ofs_text_command(argv);
	const struct ofs_offload_request request = {
		.deposit = &run->deposit,
		.what = what,
		.has_exit = true,
		.exit_code = end->exit_code,
		.signal = end->signal,
	};
	struct ofs_content content;
	int r;

	ofs_access_init(&access, &run->target);
	r = ofs_content_scan(&run->spool, &content);
	if (r < 0)
		return ofs_error_set(err, -r, "%s", strerror(-r));
	r = ofs_offload(&request, &content, &access, err, &done);
	if (r == 0)
		ofs_spool_write_all(STDOUT_FILENO, done.pointer, strlen(done.pointer));
	return r;
}

/* The output gets out, even if it cannot be offloaded. */
static void run_finish(const struct run *run, const char *const argv[],
		       const struct ofs_process_end *end)
{
	struct ofs_error err;

	if (run->spool.size > run->max_bytes || ofs_spool_lines(&run->spool) > run->max_lines) {
		if (run_offload(run, argv, end, &err) == 0)
			return;
		run_warn(err.text);
	}
	ofs_spool_copy(&run->spool, STDOUT_FILENO);
}

static int run_command(struct run *run, const char *const argv[])
{
	const struct ofs_process process = {
		.kind = OFS_PROCESS_FOREGROUND,
		.argv = argv,
		.take = run_take,
		.arg = run,
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
	if (!run->passing)
		run_finish(run, argv, &end);
	return end.exit_code;
}

static int run_run(const struct ofs_command *self, int argc, char **argv)
{
	struct run run = {
		.deposit.category = "shell",
		.max_bytes = RUN_MAX_BYTES,
		.max_lines = RUN_MAX_LINES,
		.spool = OFS_SPOOL_INIT,
	};
	const struct ofs_option options[] = {
		OFS_TEXT('c', "category", "CATEGORY", &run.deposit.category,
			 "what kind of output it is (default: shell)"),
		OFS_TEXT('t', "task", "TASK", &run.deposit.task, "the task that it belongs to"),
		OFS_COUNT(0, "max-bytes", "N", &run.max_bytes, "bytes", UINT64_MAX,
			  "longest output that passes through (default: 2048)"),
		OFS_COUNT(0, "max-lines", "N", &run.max_lines, "lines", UINT64_MAX,
			  "likewise, in lines (default: 50)"),
		OFS_COMMON(&run.target),
	};
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code < 0)
		code = ofs_command_check_names(run.deposit.category, run.deposit.task, NULL);
	if (code < 0)
		code = run_command(&run, (const char *const *)argv);
	ofs_spool_finish(&run.spool);
	return code;
}

const struct ofs_command ofs_cmd_run = {
	.name = "run",
	.synopsis = "[-c CATEGORY] [-t TASK] [--max-bytes N] [--max-lines N] [--] CMD...",
	.summary = "Runs a command; long output is stored and its pointer printed instead",
	.help = "Standard output and standard error are taken together, in their order. Output within both\n"
		"limits passes through unchanged. The exit code is the command's.\n",
	.operands = OFS_OPERANDS_ANY,
	.missing = "no command given: offload run -- CMD...",
	.wraps = true,
	.run = run_run,
};
