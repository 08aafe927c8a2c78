/* SPDX-License-Identifier: MIT */
/* offload compact: the history section of a prompt, made of the steps of a task or of those given. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/tasks.h"
#include "client/access.h"
#include "client/steps.h"
#include "context/steps/recap.h"
#include "io/file.h"

#define COMPACT_INPUT_MAX ((size_t)64 << 20)

struct compact_options {
	struct ofs_target_options target;
	const char *task; /* NULL: the steps are given */
	bool has_keep, has_budget, json;
	uint64_t keep, budget;
};

/* ---- steps that are given */

/* Reports what is wrong. `name` is NULL for standard input. */
static int compact_take_input(const char *name, struct ofs_step_list *steps)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf input = OFS_BUF_INIT;
	OFS_CLOSE int opened = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	const char *shown = name ? name : "standard input";
	struct ofs_error err = { "" };
	int r = name && opened < 0 ? -errno : 0;

	if (r == 0)
		r = ofs_io_read_fd(name ? opened : STDIN_FILENO, COMPACT_INPUT_MAX, &input);
	if (r == -EFBIG) {
		ofs_report("'%s' is larger than %zu MiB: give the newest steps alone", shown,
			   COMPACT_INPUT_MAX >> 20);
		return OFS_EXIT_USAGE;
	}
	if (r < 0) {
		ofs_report("cannot read '%s': %s", shown, ofs_report_errno(-r));
		return OFS_EXIT_USAGE;
	}
	if (ofs_step_list_parse(steps, (char *)input.data, input.len, &err) < 0) {
		ofs_report("'%s': %s", shown, err.text);
		return OFS_EXIT_USAGE;
	}
	return OFS_EXIT_OK;
}

/* "-" stands for standard input, which is read when no file is named, too. */
static int compact_take_inputs(int argc, char **argv, struct ofs_step_list *steps)
{
	int code = OFS_EXIT_OK;

	if (!argc)
		return compact_take_input(NULL, steps);
	for (int i = 0; i < argc && code == OFS_EXIT_OK; i++)
		code = compact_take_input(strcmp(argv[i], "-") == 0 ? NULL : argv[i], steps);
	return code;
}

/* ---- steps of a task */

static int compact_take_task(const char *task, struct ofs_access *a, struct ofs_step_list *steps)
{
	OFS_CLEANUP(ofs_step_files_finish) struct ofs_step_files files = OFS_STEP_FILES_INIT;
	struct ofs_error err;
	int r;

	if (ofs_access_open(a, false, &err) < 0 || ofs_task_check(a->backend, task, &err) < 0)
		return ofs_report_failure("%s", err.text);
	r = ofs_step_files_load(a->backend, task, &files);
	if (r < 0 && r != -ENOENT)
		return ofs_report_failure("cannot read the history of the task '%s': %s", task,
					  ofs_report_errno(-r));
	if (r == -ENOENT || !files.n)
		return ofs_report_failure("the task '%s' has no steps: tasks/%s/history has no "
					  "step_*.json; 'offload reduce -t' writes them",
					  task, task);
	for (size_t i = 0; i < files.n; i++)
		ofs_step_list_add_file(steps, &files.list[i]);
	return OFS_EXIT_OK;
}

/* ---- what is printed */

/* Each once, in the order of the steps. */
static json_t *compact_refs(const struct ofs_step_list *steps)
{
	json_t *refs = json_array(), *seen = json_object();

	for (size_t i = 0; i < steps->n; i++) {
		const char *ref = steps->steps[i].outcome_ref;

		if (!ref || json_object_get(seen, ref))
			continue;
		json_object_set_new(seen, ref, json_true());
		json_array_append_new(refs, json_string(ref));
	}
	json_decref(seen);
	return refs;
}

static void compact_print_json(const struct ofs_step_list *steps, const struct ofs_buf *text,
			       const struct ofs_recap_info *info)
{
	ofs_text_json(stdout,
		      json_pack("{s:s%, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "text",
				text->len ? (const char *)text->data : "", text->len, "steps",
				(json_int_t)steps->n, "skipped", (json_int_t)steps->n_skipped,
				"folded", (json_int_t)info->folded, "tokens_before",
				(json_int_t)info->tokens_before, "tokens_after",
				(json_int_t)info->tokens_after, "compacted", info->compacted,
				"refs", compact_refs(steps)));
}

static void compact_print(const struct compact_options *opts, const struct ofs_settings *s,
			 const struct ofs_step_list *steps)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_recap_info info;

	ofs_recap_write(steps, s, &text, &info);
	if (opts->json)
		compact_print_json(steps, &text, &info);
	else if (text.len)
		fwrite(text.data, 1, text.len, stdout);
}

/* ---- the command */

/* Those of the store, if there is one: steps that are given need none. */
static int compact_load_settings(const struct compact_options *opts, struct ofs_access *a,
				 struct ofs_settings *s)
{
	bool named = opts->task || opts->target.dir || opts->target.store;
	struct ofs_error err;

	if (ofs_access_find(a, &err) < 0)
		return named ? ofs_report_failure("%s", err.text) : OFS_EXIT_OK;
	if (ofs_settings_load_store(s, a->target.store, &err) < 0) {
		ofs_report("%s", err.text);
		return OFS_EXIT_USAGE;
	}
	return OFS_EXIT_OK;
}

static int compact_steps(const struct compact_options *opts, int argc, char **argv)
{
	OFS_CLEANUP(ofs_step_list_finish) struct ofs_step_list steps = OFS_STEP_LIST_INIT;
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings s;
	OFS_CLEANUP(ofs_access_finish) struct ofs_access a;
	int code;

	ofs_access_init(&a, &opts->target);
	ofs_settings_init(&s);
	code = compact_load_settings(opts, &a, &s);
	if (code == OFS_EXIT_OK)
		code = opts->task ? compact_take_task(opts->task, &a, &steps)
				  : compact_take_inputs(argc, argv, &steps);
	if (code != OFS_EXIT_OK)
		return code;
	if (opts->has_keep)
		s.keep = opts->keep;
	if (opts->has_budget)
		s.budget = opts->budget;
	compact_print(opts, &s, &steps);
	return OFS_EXIT_OK;
}

/* 0, or the exit code after reporting what is wrong. */
static int compact_take_option(struct compact_options *opts, int c, char **argv)
{
	switch (c) {
	case 't':
		opts->task = optarg;
		return OFS_EXIT_OK;
	case 'k':
		opts->has_keep = true;
		if (ofs_command_parse_count(optarg, UINT64_MAX, &opts->keep))
			return OFS_EXIT_OK;
		return ofs_report_usage("--keep needs a number of steps, not '%s'", optarg);
	case 'b':
		opts->has_budget = true;
		if (ofs_command_parse_count(optarg, UINT64_MAX, &opts->budget))
			return OFS_EXIT_OK;
		return ofs_report_usage("--budget needs a number of tokens, not '%s'", optarg);
	case 'j':
		opts->json = true;
		return OFS_EXIT_OK;
	default:
		return ofs_report_option(c, argv);
	}
}

static int compact_run(const struct ofs_command *self, int argc, char **argv)
{
	static const struct option options[] = {
		OFS_TARGET_LONG,
		{ "task", required_argument, NULL, 't' },
		{ "keep", required_argument, NULL, 'k' },
		{ "budget", required_argument, NULL, 'b' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	struct compact_options opts = { .task = NULL };
	int c, code = OFS_EXIT_OK;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":t:" OFS_TARGET_SHORT, options, NULL)) != -1) {
		if (ofs_target_take_option(&opts.target, c, optarg))
			continue;
		if (c == 'h') {
			ofs_command_print_help(self, stdout);
			return OFS_EXIT_OK;
		}
		code = compact_take_option(&opts, c, argv);
		if (code != OFS_EXIT_OK)
			return code;
	}
	if (opts.task && optind < argc)
		return ofs_report_usage("-t reads the steps of a task: unexpected argument '%s'",
					argv[optind]);
	return compact_steps(&opts, argc - optind, argv + optind);
}

const struct ofs_command ofs_cmd_compact = {
	.name = "compact",
	.synopsis = "[-t TASK | FILE...] [--keep K] [--budget N] [--json]",
	.summary = "Writes the history section of a prompt",
	.help = "Of steps in JSON (lines, an array, or {\"steps\": [...]}) from files or standard\n"
		"input, or of those in tasks/TASK/history: older ones in a line each, the last ones in\n"
		"full. Over the budget the oldest become counts; failures and refs always stay.\n\n"
		"  -t, --task TASK         the steps of a task\n"
		"      --keep K            steps in full (default: 3)\n"
		"      --budget N          tokens of the section (default: 500)\n"
		"      --json              print a JSON object\n" OFS_TARGET_HELP "\n"
		"The file context.ini in the store has other defaults: see offload(1).\n",
	.run = compact_run,
};
