/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/content.h"
#include "client/deposit.h"
#include "client/naming.h"
#include "client/offload.h"
#include "client/spool.h"
#include "client/target.h"
#include "io/process.h"

#define RUN_MAX_BYTES 2048
#define RUN_MAX_LINES 50
/* As shells have it. */
#define RUN_EXIT_CANNOT 126
#define RUN_EXIT_NOT_FOUND 127

struct run_options {
	struct ofs_target_options target;
	struct ofs_deposit deposit;
	uint64_t max_bytes;
	uint64_t max_lines;
};

/* What the command writes: spooled, until that fails; from then on it goes straight on. */
struct run_output {
	struct ofs_spool spool;
	bool passing;
};

static void run_warn(const char *reason)
{
	ofs_report("the output was not offloaded and follows whole: %s", reason);
}

static int run_take(void *arg, int fd, const void *data, size_t len)
{
	struct run_output *o = arg;
	int r = o->passing ? 0 : ofs_spool_append(&o->spool, data, len);

	if (!o->passing && r == 0)
		return 0;
	if (!o->passing) {
		char reason[256];

		snprintf(reason, sizeof(reason), "cannot keep it in a temporary file: %s",
			 strerror(-r));
		run_warn(reason);
		ofs_spool_copy(&o->spool, STDOUT_FILENO);
		o->passing = true;
	}
	/* When nobody reads any more there is nobody to tell. */
	ofs_spool_write_all(STDOUT_FILENO, data, len);
	return 0;
}

/* Prints the pointer, or says why not. */
static int run_offload(const struct run_options *opts, const char *const argv[],
		       const struct ofs_process_end *end, const struct ofs_spool *spool,
		       struct ofs_error *err)
{
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	OFS_FREE char *what = ofs_text_command(argv);
	struct ofs_offload_request request = {
		.deposit = &opts->deposit,
		.what = what,
		.has_exit = true,
		.exit_code = end->exit_code,
		.signal = end->signal,
	};
	struct ofs_content content;
	int r;

	ofs_access_init(&access, &opts->target);
	r = ofs_content_scan(spool, &content);
	if (r < 0)
		return ofs_error_set(err, -r, "%s", strerror(-r));
	r = ofs_offload(&request, &content, &access, err, &done);
	if (r < 0)
		return r;
	ofs_spool_write_all(STDOUT_FILENO, done.pointer, strlen(done.pointer));
	return 0;
}

/* Whatever fails, the output gets out. */
static void run_finish(const struct run_options *opts, const char *const argv[],
		       const struct ofs_process_end *end, const struct ofs_spool *spool)
{
	struct ofs_error err;

	if (spool->size > opts->max_bytes || ofs_spool_lines(spool) > opts->max_lines) {
		if (run_offload(opts, argv, end, spool, &err) == 0)
			return;
		run_warn(err.text);
	}
	ofs_spool_copy(spool, STDOUT_FILENO);
}

static int run_command(const struct run_options *opts, const char *const argv[])
{
	struct run_output output = { .spool = OFS_SPOOL_INIT };
	const struct ofs_process process = {
		.kind = OFS_PROCESS_FOREGROUND,
		.argv = argv,
		.take = run_take,
		.arg = &output,
	};
	struct ofs_process_end end;
	int r = ofs_process_run(&process, &end);

	if (r == -ENOENT || r == -ENOTDIR) {
		ofs_report("'%s': command not found", argv[0]);
		end.exit_code = RUN_EXIT_NOT_FOUND;
	} else if (r < 0) {
		ofs_report("cannot run '%s': %s", argv[0], strerror(-r));
		end.exit_code = RUN_EXIT_CANNOT;
	} else if (!output.passing) {
		run_finish(opts, argv, &end, &output.spool);
	}
	ofs_spool_finish(&output.spool);
	return end.exit_code;
}

static int run_run(const struct ofs_command *self, int argc, char **argv)
{
	struct run_options opts = {
		.deposit.category = "shell",
		.max_bytes = RUN_MAX_BYTES,
		.max_lines = RUN_MAX_LINES,
	};
	const struct ofs_option options[] = {
		OFS_TEXT('c', "category", "CATEGORY", &opts.deposit.category,
			 "what kind of output it is (default: shell)"),
		OFS_TEXT('t', "task", "TASK", &opts.deposit.task, "the task that it belongs to"),
		OFS_COUNT(0, "max-bytes", "N", &opts.max_bytes, "bytes", UINT64_MAX,
			  "longest output that passes through (default: 2048)"),
		OFS_COUNT(0, "max-lines", "N", &opts.max_lines, "lines", UINT64_MAX,
			  "likewise, in lines (default: 50)"),
		OFS_COMMON(&opts.target),
	};
	struct ofs_error err;
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	if (ofs_naming_check("category", opts.deposit.category, &err) < 0 ||
	    (opts.deposit.task && ofs_naming_check("task", opts.deposit.task, &err) < 0))
		return ofs_report_usage("%s", err.text);
	return run_command(&opts, (const char *const *)argv);
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
