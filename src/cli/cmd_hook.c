/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/hook_entry.h"
#include "cli/hook_install.h"
#include "cli/report.h"
#include "client/access.h"
#include "client/input.h"
#include "client/naming.h"
#include "client/spool.h"
#include "client/target.h"
#include "base/text.h"
#include "context/hook/hook.h"
#include "context/settings.h"
#include "io/path.h"

#define HOOK_PROGRAM "offload"
#define HOOK_TASK_SESSION "session"
/* The tools whose output can be offloaded; what has more than names and "|" is a regular expression. */
#define HOOK_POST_MATCHER \
	"^(Bash|BashOutput|TaskOutput|Read|Grep|Glob|LS|WebFetch|WebSearch|Task|Agent|mcp__.*)$"
#define HOOK_PRE_MATCHER "Bash"

struct hook_options {
	struct ofs_target_options target;
	struct ofs_settings settings;
	struct ofs_hook_options engine;
	/* As given, for the command that install writes; each NULL where it was not. */
	const char *task;
	const char *max_bytes;
	const char *max_lines;
	const char *read_bytes;
	enum ofs_hook_place place;
	bool pre;
	bool yes;
	bool print;
};

/* ---- the program's name */

static bool is_same_file(const struct stat *self, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == self->st_dev && st.st_ino == self->st_ino;
}

/* Allocated: how a shell starts this program: by its name when PATH leads to it, else by its path. */
static char *program_word(void)
{
	OFS_FREE char *self = realpath("/proc/self/exe", NULL);
	OFS_FREE char *path = ofs_strdup(getenv("PATH") ? getenv("PATH") : "");
	char *save = NULL, *folder, *text = NULL;
	size_t len = 0;
	struct stat st;
	FILE *out;

	if (!self || stat(self, &st) < 0)
		return ofs_strdup(HOOK_PROGRAM);
	for (folder = strtok_r(path, ":", &save); folder; folder = strtok_r(NULL, ":", &save)) {
		OFS_FREE char *file = ofs_path_join(folder, HOOK_PROGRAM);

		if (is_same_file(&st, file))
			return ofs_strdup(HOOK_PROGRAM);
		if (access(file, X_OK) == 0)
			break; /* another one is found first */
	}
	out = open_memstream(&text, &len);
	if (!out)
		return ofs_strdup(HOOK_PROGRAM);
	ofs_text_shell_word(out, self);
	fclose(out);
	return text;
}

static void print_option(FILE *out, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(out, " %s ", name);
	ofs_text_shell_word(out, value);
}

/* Allocated: "offload run", with the options that lead it to the same tree. */
static char *run_command(const struct hook_options *opts)
{
	OFS_FREE char *program = program_word();
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "%s run", program);
	print_option(out, "--dir", opts->target.dir);
	print_option(out, "--store", opts->target.store);
	print_option(out, "--max-bytes", opts->max_bytes);
	print_option(out, "--max-lines", opts->max_lines);
	fclose(out);
	return text;
}

/* Allocated: what the settings are to run. */
static char *hook_command(const struct hook_options *opts)
{
	OFS_FREE char *program = program_word();
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "%s hook claude-code --answer tool", program);
	print_option(out, "--dir", opts->target.dir);
	print_option(out, "--store", opts->target.store);
	print_option(out, "--task", opts->task);
	print_option(out, "--max-bytes", opts->max_bytes);
	print_option(out, "--max-lines", opts->max_lines);
	print_option(out, "--read-bytes", opts->read_bytes);
	fclose(out);
	return text;
}

/* ---- claude-code */

/* What the store's settings say, where no option says otherwise. */
static int take_settings(struct hook_options *opts, struct ofs_access *access,
			 struct ofs_error *err)
{
	int r = ofs_access_find(access, err);

	if (r == 0)
		r = ofs_settings_load_store(&opts->settings, access->target.store, err);
	if (r < 0)
		return r;
	opts->engine.ttl = opts->settings.ttl;
	if (!opts->max_bytes)
		opts->engine.max_bytes = opts->settings.max_bytes;
	if (!opts->max_lines)
		opts->engine.max_lines = opts->settings.max_lines;
	return 0;
}

static int run_claude_code(struct hook_options *opts)
{
	OFS_CLEANUP(ofs_input_finish) struct ofs_input input = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf answer = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_hook_event_finish) struct ofs_hook_event event = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	OFS_FREE char *dir = opts->target.dir ? ofs_path_absolute(opts->target.dir) : NULL;
	OFS_FREE char *store = opts->target.store ? ofs_path_absolute(opts->target.store) : NULL;
	OFS_FREE char *run = NULL;
	struct ofs_error err;
	int r = ofs_input_read(STDIN_FILENO, SIZE_MAX, &input);

	opts->target.dir = dir;
	opts->target.store = store;
	ofs_access_init(&access, &opts->target);
	if (r < 0)
		return ofs_report_failure("cannot read the event: %s", strerror(-r));
	if (!input.len)
		return ofs_report_failure("no event on standard input: it is a hook, for Claude "
					  "Code to run; see offload hook install");
	r = ofs_hook_event_read(input.data, input.len, &err, &event);
	if (r < 0)
		return ofs_report_failure("the event was left alone: %s", err.text);
	/* The folder may be gone by now. */
	if (event.cwd && event.cwd[0] == '/' && chdir(event.cwd) < 0)
		errno = 0;
	run = event.kind == OFS_HOOK_PRE ? run_command(opts) : NULL;
	opts->engine.run = run ? run : HOOK_PROGRAM " run";
	r = event.kind == OFS_HOOK_POST ? take_settings(opts, &access, &err) : 0;
	if (r == 0)
		r = ofs_hook_answer(&event, &opts->engine, &access, &err, &answer);
	if (r < 0) {
		ofs_report("the output was left as it is: %s", err.text);
		return OFS_EXIT_OK;
	}
	if (answer.len) {
		ofs_buf_append(&answer, "\n", 1);
		fwrite(answer.data, 1, answer.len, stdout);
	}
	return OFS_EXIT_OK;
}

/* ---- install and uninstall */

static int run_install(const struct hook_options *opts)
{
	OFS_FREE char *command = hook_command(opts), *path = NULL;
	const struct ofs_hook_entry entries[] = {
		{ "PostToolUse", HOOK_POST_MATCHER, command },
		{ "PreToolUse", HOOK_PRE_MATCHER, command },
	};
	size_t n = opts->pre ? 2 : 1;
	struct ofs_error err;

	if (!command)
		return ofs_report_failure("%s", strerror(ENOMEM));
	if (opts->print) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

		for (size_t i = 0; i < n; i++) {
			OFS_CLEANUP(ofs_buf_finish) struct ofs_buf next = OFS_BUF_INIT;

			ofs_hook_entry_add((const char *)text.data, text.len, &entries[i], &err,
					   &next);
			ofs_buf_finish(&text);
			text = next;
			next = (struct ofs_buf)OFS_BUF_INIT;
		}
		fwrite(text.data, 1, text.len, stdout);
		return OFS_EXIT_OK;
	}
	if (ofs_hook_settings_path(opts->place, &err, &path) < 0)
		return ofs_report_failure("%s", err.text);
	return ofs_hook_install(path, entries, n, opts->yes);
}

static int run_uninstall(const struct hook_options *opts)
{
	OFS_FREE char *path = NULL;
	struct ofs_error err;

	if (ofs_hook_settings_path(opts->place, &err, &path) < 0)
		return ofs_report_failure("%s", err.text);
	return ofs_hook_uninstall(path, opts->yes);
}

/* ---- options */

static int take_count(const char *text, const char *unit, const char **given, uint64_t *ret)
{
	if (!ofs_command_parse_count(text, UINT64_MAX, ret))
		return ofs_report_usage("'%s' is not a count of %s", text, unit);
	*given = text;
	return OFS_EXIT_OK;
}

static int take_task(const char *text, struct hook_options *opts)
{
	struct ofs_error err;

	opts->task = text;
	opts->engine.task_is_session = strcmp(text, HOOK_TASK_SESSION) == 0;
	opts->engine.task = opts->engine.task_is_session ? NULL : text;
	if (ofs_naming_check("task", text, &err) < 0)
		return ofs_report_usage("%s", err.text);
	return OFS_EXIT_OK;
}

static int take_form(const char *text, struct hook_options *opts)
{
	if (strcmp(text, "text") == 0)
		opts->engine.form = OFS_HOOK_TEXT;
	else if (strcmp(text, "tool") == 0)
		opts->engine.form = OFS_HOOK_TOOL;
	else
		return ofs_report_usage("'%s' is not a form of answers: text, tool", text);
	return OFS_EXIT_OK;
}

/* Options of claude-code, which install takes and hands on as well. */
static int take_common(int c, const char *value, struct hook_options *opts)
{
	switch (c) {
	case 't':
		return take_task(value, opts);
	case 'B':
		return take_count(value, "bytes", &opts->max_bytes, &opts->engine.max_bytes);
	case 'L':
		return take_count(value, "lines", &opts->max_lines, &opts->engine.max_lines);
	case 'R':
		return take_count(value, "bytes", &opts->read_bytes, &opts->engine.read_bytes);
	default:
		return -1;
	}
}

#define HOOK_COMMON_LONG                                           \
	OFS_TARGET_LONG, { "task", required_argument, NULL, 't' }, \
		{ "max-bytes", required_argument, NULL, 'B' },     \
		{ "max-lines", required_argument, NULL, 'L' },     \
	{                                                          \
		"read-bytes", required_argument, NULL, 'R'         \
	}

/* -1: go on; else the exit code. */
static int parse(const struct ofs_command *self, const char *letters, const struct option options[],
		 int argc, char **argv, struct hook_options *opts)
{
	int c, r;
	opterr = 0;
	while ((c = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (ofs_target_take_option(&opts->target, c, optarg))
			continue;
		r = take_common(c, optarg, opts);
		if (r > 0)
			return r;
		if (r == 0)
			continue;
		switch (c) {
		case 'a':
			r = take_form(optarg, opts);
			if (r != OFS_EXIT_OK)
				return r;
			break;
		case 'U':
			opts->place = OFS_HOOK_USER;
			break;
		case 'P':
			opts->place = OFS_HOOK_PROJECT;
			break;
		case 'O':
			opts->place = OFS_HOOK_LOCAL;
			break;
		case 'E':
			opts->pre = true;
			break;
		case 'y':
			opts->yes = true;
			break;
		case 'p':
			opts->print = true;
			break;
		case 'h':
			ofs_command_print_help(self, stdout);
			return OFS_EXIT_OK;
		default:
			return ofs_report_option(c, argv);
		}
	}
	if (optind < argc)
		return ofs_report_usage("unexpected argument '%s'", argv[optind]);
	return -1;
}

static const struct option claude_code_options[] = {
	HOOK_COMMON_LONG,
	{ "answer", required_argument, NULL, 'a' },
	{ 0 },
};

static const struct option install_options[] = {
	HOOK_COMMON_LONG,
	{ "user", no_argument, NULL, 'U' },
	{ "project", no_argument, NULL, 'P' },
	{ "local", no_argument, NULL, 'O' },
	{ "pre", no_argument, NULL, 'E' },
	{ "print", no_argument, NULL, 'p' },
	{ "yes", no_argument, NULL, 'y' },
	{ 0 },
};

static const struct option uninstall_options[] = {
	{ "help", no_argument, NULL, 'h' },    { "user", no_argument, NULL, 'U' },
	{ "project", no_argument, NULL, 'P' }, { "local", no_argument, NULL, 'O' },
	{ "yes", no_argument, NULL, 'y' },     { 0 },
};

static int hook_dispatch(const struct ofs_command *self, int argc, char **argv,
			 struct hook_options *opts)
{
	const char *what = argc > 1 ? argv[1] : "";
	int r;

	if (strcmp(what, "claude-code") == 0) {
		r = parse(self, ":" OFS_TARGET_SHORT "t:", claude_code_options, argc - 1, argv + 1,
			  opts);
		if (r == OFS_EXIT_USAGE)
			return OFS_EXIT_FAILURE;
		return r < 0 ? run_claude_code(opts) : r;
	}
	if (strcmp(what, "install") == 0) {
		r = parse(self, ":" OFS_TARGET_SHORT "t:y", install_options, argc - 1, argv + 1,
			  opts);
		return r < 0 ? run_install(opts) : r;
	}
	if (strcmp(what, "uninstall") == 0) {
		r = parse(self, ":hy", uninstall_options, argc - 1, argv + 1, opts);
		return r < 0 ? run_uninstall(opts) : r;
	}
	if (strcmp(what, "-h") == 0 || strcmp(what, "--help") == 0) {
		ofs_command_print_help(self, stdout);
		return OFS_EXIT_OK;
	}
	return ofs_report_usage("%s%s%s: what there is: claude-code, install, uninstall",
				*what ? "unknown hook '" : "no hook given", what, *what ? "'" : "");
}

static int hook_run(const struct ofs_command *self, int argc, char **argv)
{
	struct hook_options opts = { 0 };
	int r;

	ofs_settings_init(&opts.settings);
	opts.engine = (struct ofs_hook_options){
		.read_bytes = OFS_HOOK_READ_BYTES,
	};
	r = hook_dispatch(self, argc, argv, &opts);
	ofs_settings_finish(&opts.settings);
	return r;
}

const struct ofs_command ofs_cmd_hook = {
	.name = "hook",
	.synopsis = "claude-code [OPTION...] < EVENT\n"
		    "       offload hook install [--project | --local | --user] [--pre] [--yes]\n"
		    "       offload hook uninstall [--project | --local | --user] [--yes]",
	.summary = "Offloads long tool outputs in Claude Code, which runs it as a hook",
	.help = "claude-code reads an event: a long output is stored and answered with its pointer, and\n"
		"where nothing is to change nothing is printed. install writes the entry into the\n"
		"settings of the project (.claude/settings.json, or settings.local.json) or of the user\n"
		"(~/.claude/settings.json); it shows it and asks first. uninstall takes it out again.\n\n"
		"claude-code, and install for it:\n"
		"  -t, --task NAME         the task that outputs belong to; 'session': that of the chat\n"
		"      --max-bytes N       longest output that stays (default: 2048)\n"
		"      --max-lines N       likewise, in lines (default: 50)\n"
		"      --read-bytes N      longest output of Read that stays (default: 65536)\n"
		"      --answer FORM       text: the pointer alone (default); tool: in the form of the\n"
		"                          tool's own output, which Claude Code asks for\n" OFS_TARGET_HELP
		"\ninstall and uninstall:\n"
		"      --project, --local, --user   whose settings (default: --project)\n"
		"      --pre               also run Bash commands through 'offload run' at once\n"
		"      --print             print the entry and write nothing\n"
		"  -y, --yes               do not ask\n",
	.run = hook_run,
};
