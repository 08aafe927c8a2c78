/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/settings_file.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/access.h"
#include "client/naming.h"
#include "client/spool.h"
#include "client/target.h"
#include "context/settings.h"
#include "io/file.h"
#include "io/path.h"

#define HOOK_PROGRAM "offload"
#define HOOK_TASK_SESSION "session"
struct hook_options {
	const struct ofs_agent *agent;
	struct ofs_target_options target;
	struct ofs_settings settings;
	struct ofs_hook_options engine;
	const char *task;
	uint64_t read_bytes; /* OFS_COUNT_NONE: not given; so are the limits of the engine */
	int place; /* enum ofs_agent_place */
	int form; /* enum ofs_hook_form */
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
	char *save = NULL, *folder;
	struct ofs_text_stream s;
	struct stat st;

	if (!self || stat(self, &st) < 0)
		return ofs_strdup(HOOK_PROGRAM);
	for (folder = strtok_r(path, ":", &save); folder; folder = strtok_r(NULL, ":", &save)) {
		OFS_FREE char *file = ofs_path_join(folder, HOOK_PROGRAM);

		if (is_same_file(&st, file))
			return ofs_strdup(HOOK_PROGRAM);
		if (access(file, X_OK) == 0)
			break; /* another one is found first */
	}
	ofs_text_shell_word(ofs_text_open(&s), self);
	return ofs_text_close(&s);
}

static void print_option(FILE *out, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(out, " %s ", name);
	ofs_text_shell_word(out, value);
}

static void print_count(FILE *out, const char *name, uint64_t value)
{
	if (value != OFS_COUNT_NONE)
		fprintf(out, " %s %" PRIu64, name, value);
}

/* Allocated: "offload run", with the options that lead it to the same tree. */
static char *run_command(const struct hook_options *opts)
{
	OFS_FREE char *program = program_word();
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	fprintf(out, "%s run", program);
	print_option(out, "--dir", opts->target.dir);
	print_option(out, "--store", opts->target.store);
	print_count(out, "--max-bytes", opts->engine.max_bytes);
	print_count(out, "--max-lines", opts->engine.max_lines);
	return ofs_text_close(&s);
}

/* Allocated: what the settings are to run. */
static char *hook_command(const struct hook_options *opts)
{
	OFS_FREE char *program = program_word();
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	fprintf(out, "%s hook %s --answer tool", program, opts->agent->name);
	print_option(out, "--dir", opts->target.dir);
	print_option(out, "--store", opts->target.store);
	print_option(out, "--task", opts->task);
	print_count(out, "--max-bytes", opts->engine.max_bytes);
	print_count(out, "--max-lines", opts->engine.max_lines);
	print_count(out, "--read-bytes", opts->read_bytes);
	return ofs_text_close(&s);
}

/* ---- events */

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
	if (opts->engine.max_bytes == OFS_COUNT_NONE)
		opts->engine.max_bytes = opts->settings.max_bytes;
	if (opts->engine.max_lines == OFS_COUNT_NONE)
		opts->engine.max_lines = opts->settings.max_lines;
	return 0;
}

static int run_event(struct hook_options *opts)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf input = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf answer = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_hook_event_finish) struct ofs_hook_event event = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	OFS_FREE char *dir = opts->target.dir ? ofs_path_absolute(opts->target.dir) : NULL;
	OFS_FREE char *store = opts->target.store ? ofs_path_absolute(opts->target.store) : NULL;
	OFS_FREE char *run = NULL;
	struct ofs_error err;
	int r = ofs_io_read_fd(STDIN_FILENO, SIZE_MAX, &input);

	opts->target.dir = dir;
	opts->target.store = store;
	ofs_access_init(&access, &opts->target);
	if (r < 0)
		return ofs_report_failure("cannot read the event: %s", strerror(-r));
	if (!input.len)
		return ofs_report_failure(
			"no event on standard input: it is a hook, for %s to run; "
			"see offload hook install",
			opts->agent->title);
	r = opts->agent->read_event((char *)input.data, input.len, &err, &event);
	if (r < 0)
		return ofs_report_failure("the event was left alone: %s", err.text);
	/* The folder may be gone by now. */
	if (event.cwd && event.cwd[0] == '/' && chdir(event.cwd) < 0)
		errno = 0;
	run = event.kind == OFS_HOOK_PRE ? run_command(opts) : NULL;
	opts->engine.run = run ? run : HOOK_PROGRAM " run";
	r = event.kind == OFS_HOOK_POST ? take_settings(opts, &access, &err) : 0;
	if (r == 0)
		r = ofs_hook_answer(opts->agent, &event, &opts->engine, &access, &err, &answer);
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

static int read_settings(const struct hook_options *opts, struct ofs_settings_file *ret)
{
	OFS_FREE char *path = NULL;
	struct ofs_error err;
	int r = opts->agent->settings_path((enum ofs_agent_place)opts->place, &err, &path);

	if (r < 0)
		return ofs_report_failure("%s", err.text);
	r = ofs_settings_file_read(path, &err, ret);
	if (r == -EINVAL)
		return ofs_report_usage("'%s' was left as it is: %s", ret->path, err.text);
	return r < 0 ? ofs_report_failure("%s", err.text) : OFS_EXIT_OK;
}

/* OFS_EXIT_OK: go on. */
static int ask(const struct hook_options *opts)
{
	char line[16];

	if (opts->yes)
		return OFS_EXIT_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return ofs_report_usage("nothing was written: there is no terminal to ask on; say "
					"--yes to go without");
	fputs("Write it? [y/N] ", stderr);
	if (fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y'))
		return OFS_EXIT_OK;
	return ofs_report_failure("nothing was written");
}

static int write_settings(const struct hook_options *opts, const struct ofs_settings_file *s)
{
	int r = ask(opts);

	if (r != OFS_EXIT_OK)
		return r;
	r = ofs_settings_file_write(s);
	if (r == -ESTALE)
		return ofs_report_failure(
			"'%s' was changed meanwhile; nothing was written, try again", s->path);
	if (r < 0)
		return ofs_report_failure("cannot write '%s': %s", s->path, strerror(-r));
	printf("wrote %s\n", s->path);
	return OFS_EXIT_OK;
}

/* Adds the entries that are wanted. The number of changes, or -1: the settings do not allow it. */
static int add_entries(const struct hook_options *opts, const char *command,
		       struct ofs_settings_file *s)
{
	struct ofs_error err;
	int changes = 0;

	for (size_t i = 0; i < opts->agent->n_entries; i++) {
		const struct ofs_agent_entry *entry = &opts->agent->entries[i];
		int r;

		if (entry->before && !opts->pre)
			continue;
		r = ofs_settings_file_add(s, opts->agent, entry, command, &err);
		if (r < 0) {
			ofs_report("'%s' was left as it is: %s", s->path, err.text);
			return -1;
		}
		if (r && !changes++ && !opts->print)
			fprintf(stderr, "In %s:\n", s->path);
		if (r && !opts->print)
			fprintf(stderr, "  %s for %s\n    %s\n", entry->event, entry->matcher,
				command);
	}
	return changes;
}

static int run_install(struct hook_options *opts)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	OFS_FREE char *command = hook_command(opts);
	int r;

	if (opts->print) {
		OFS_FREE char *text = NULL;

		s.json = json_object();
		add_entries(opts, command, &s);
		text = ofs_settings_file_format(&s);
		fputs(text, stdout);
		return OFS_EXIT_OK;
	}
	r = read_settings(opts, &s);
	if (r != OFS_EXIT_OK)
		return r;
	r = add_entries(opts, command, &s);
	if (r < 0)
		return OFS_EXIT_USAGE;
	if (!r) {
		printf("%s has it already\n", s.path);
		return OFS_EXIT_OK;
	}
	r = write_settings(opts, &s);
	if (r == OFS_EXIT_OK)
		printf("Sessions of %s that start from now on use it (version %s or later).\n",
		       opts->agent->title, opts->agent->minimal_version);
	return r;
}

static int run_uninstall(struct hook_options *opts)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	int r = read_settings(opts, &s);

	if (r != OFS_EXIT_OK)
		return r;
	if (!ofs_settings_file_remove(&s, opts->agent)) {
		printf("%s has none of ours\n", s.path);
		return OFS_EXIT_OK;
	}
	fprintf(stderr, "The hooks of offload are removed from %s.\n", s.path);
	return write_settings(opts, &s);
}

/* ---- options */

static int check_task(struct hook_options *opts)
{
	struct ofs_error err;

	if (!opts->task)
		return -1;
	opts->engine.task_is_session = strcmp(opts->task, HOOK_TASK_SESSION) == 0;
	opts->engine.task = opts->engine.task_is_session ? NULL : opts->task;
	return ofs_naming_check("task", opts->task, &err) < 0 ? ofs_report_usage("%s", err.text)
							      : -1;
}

/* -1: go on; else the exit code. */
static int parse(const struct ofs_command *self, int argc, char **argv, struct hook_options *opts)
{
	static const char *const forms[] = {
		[OFS_HOOK_TEXT] = "text", [OFS_HOOK_TOOL] = "tool", NULL
	};
	const struct ofs_option options[] = {
		OFS_TEXT('t', "task", "NAME", &opts->task,
			 "the task that outputs belong to; 'session': that of the chat"),
		OFS_COUNT(0, "max-bytes", "N", &opts->engine.max_bytes, "bytes", UINT64_MAX - 1,
			  "longest output that stays (default: 2048)"),
		OFS_COUNT(0, "max-lines", "N", &opts->engine.max_lines, "lines", UINT64_MAX - 1,
			  "likewise, in lines (default: 50)"),
		OFS_COUNT(0, "read-bytes", "N", &opts->read_bytes, "bytes", UINT64_MAX - 1,
			  "longest output of a file that is read and stays (default: 65536)"),
		OFS_CHOICE(0, "answer", "FORM", &opts->form, "form of answers", forms,
			   "text: the pointer alone (default); tool: in the form of the\n"
			   "tool's own output, which Claude Code asks for"),
		OFS_SET("project", &opts->place, OFS_AGENT_PROJECT,
			"install and uninstall: in the settings of the project (default),"),
		OFS_SET("local", &opts->place, OFS_AGENT_LOCAL,
			"in one's own settings of the project,"),
		OFS_SET("user", &opts->place, OFS_AGENT_USER, "or in those of the user"),
		OFS_FLAG(0, "pre", &opts->pre,
			 "also run Bash commands through 'offload run' at once"),
		OFS_FLAG(0, "print", &opts->print, "print the entries and write nothing"),
		OFS_FLAG('y', "yes", &opts->yes, "do not ask"),
		OFS_COMMON(&opts->target),
	};
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	opts->engine.form = (enum ofs_hook_form)opts->form;
	if (opts->read_bytes != OFS_COUNT_NONE)
		opts->engine.read_bytes = opts->read_bytes;
	return check_task(opts);
}

/* The operand after "install" and "uninstall" that names the agent, if there is one. */
static bool take_agent(int *argc, char ***argv, struct hook_options *opts)
{
	const struct ofs_agent *named = *argc > 1 ? ofs_agent_find((*argv)[1]) : NULL;

	if (named) {
		opts->agent = named;
		++*argv;
		--*argc;
	}
	return named != NULL;
}

static int hook_dispatch(const struct ofs_command *self, int argc, char **argv,
			 struct hook_options *opts)
{
	int (*work)(struct hook_options * opts) = run_event;
	const char *what = argc > 1 ? argv[1] : "";
	int r;

	opts->agent = ofs_agent_number(0);
	if (strcmp(what, "install") == 0 || strcmp(what, "uninstall") == 0) {
		work = *what == 'i' ? run_install : run_uninstall;
		argv++;
		argc--;
		take_agent(&argc, &argv, opts);
	} else if (!take_agent(&argc, &argv, opts) && what[0] != '-') {
		return ofs_report_usage("%s%s%s: what there is: claude-code, install, uninstall",
					*what ? "unknown hook '" : "no hook given", what,
					*what ? "'" : "");
	}
	r = parse(self, argc, argv, opts);
	/* An exit with 2 would stop the agent's tool. */
	if (r == OFS_EXIT_USAGE && work == run_event && what[0] != '-')
		return OFS_EXIT_FAILURE;
	return r < 0 ? work(opts) : r;
}

static int hook_run(const struct ofs_command *self, int argc, char **argv)
{
	struct hook_options opts = {
		.read_bytes = OFS_COUNT_NONE,
		.engine = { .max_bytes = OFS_COUNT_NONE,
			    .max_lines = OFS_COUNT_NONE,
			    .read_bytes = OFS_HOOK_READ_BYTES },
	};
	int r;

	ofs_settings_init(&opts.settings);
	r = hook_dispatch(self, argc, argv, &opts);
	ofs_settings_finish(&opts.settings);
	return r;
}

const struct ofs_command ofs_cmd_hook = {
	.name = "hook",
	.synopsis =
		"claude-code [OPTION...] < EVENT\n"
		"       offload hook install [claude-code] [--project | --local | --user] [--pre] [--yes]\n"
		"       offload hook uninstall [claude-code] [--project | --local | --user] [--yes]",
	.summary = "Offloads long tool outputs in Claude Code, which runs it as a hook",
	.help = "claude-code reads an event: a long output is stored and answered with its pointer, and\n"
		"where nothing is to change nothing is printed. install writes the entry into the\n"
		"settings of the project (.claude/settings.json, or settings.local.json) or of the user\n"
		"(~/.claude/settings.json); it shows it and asks first. uninstall takes it out again.\n",
	.run = hook_run,
};
