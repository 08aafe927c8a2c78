/* SPDX-License-Identifier: MIT */
/* offload hook: handles the events of an agent, and installs itself in its settings. */
#include <inttypes.h>

#include "agent/agent.h"
#include "agent/settings_file.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/daemon.h"
#include "cli/guard.h"
#include "cli/report.h"
#include "cli/settings_change.h"
#include "client/pointer.h"
#include "context/settings.h"
#include "io/file.h"
#include "io/path.h"
#include "io/probe.h"
#include "io/process.h"

#define HOOK_TASK_SESSION "session"
/* Time limit for the work on an event. Claude Code gives a hook a minute. */
#define HOOK_WAIT_S 30

static const struct ofs_agent *agent;
static struct ofs_hook_options engine;
/* OFS_COUNT_NONE: not given. */
static uint64_t max_bytes = OFS_COUNT_NONE, read_bytes = OFS_COUNT_NONE;
static const char *task;
static int place; /* enum ofs_agent_place */
static int form; /* enum ofs_hook_form */
static bool yes, print;

static const char *const forms[] = { [OFS_HOOK_TEXT] = "text", [OFS_HOOK_TOOL] = "tool", NULL };
static const struct ofs_option options[] = {
	OFS_TEXT('t', "task", "TASK", &task,
		 "the task that outputs belong to (default: session, the one of\n"
		 "the chat; if an event names none: OFFLOAD_TASK)"),
	OFS_COUNT(0, "max-bytes", "N", &max_bytes, "bytes", UINT64_MAX - 1,
		  "longest output that stays (default: 4096, and more if a\n"
		  "pointer would not be much shorter)"),
	OFS_COUNT(0, "read-bytes", "N", &read_bytes, "bytes", UINT64_MAX - 1,
		  "the same for a file that is read (default: 16384)"),
	OFS_CHOICE(0, "answer", "FORM", &form, "form of answers", forms,
		   "text: the pointer alone (default); tool: in the form of the\n"
		   "tool's own output, which Claude Code asks for"),
	OFS_SET("project", &place, OFS_AGENT_PROJECT,
		"install and uninstall: in the settings of the project (default),"),
	OFS_SET("local", &place, OFS_AGENT_LOCAL, "in your own settings of the project,"),
	OFS_SET("user", &place, OFS_AGENT_USER, "or in those of the user"),
	OFS_FLAG(0, "print", &print, "print the entries and write nothing"),
	OFS_FLAG('y', "yes", &yes, "do not ask"),
	OFS_OPTIONS_END,
};

/* ---- command lines */

static void print_text(FILE *out, const char *option, const char *value)
{
	if (!value)
		return;
	fprintf(out, " %s ", option);
	ofs_text_shell_word(out, value);
}

static void print_count(FILE *out, const char *option, uint64_t value)
{
	if (value != OFS_COUNT_NONE)
		fprintf(out, " %s %" PRIu64, option, value);
}

/* Returns the allocated command that the agent is to run, with the options given. */
static char *command_line(void)
{
	OFS_FREE char *path = ofs_settings_program();
	OFS_FREE char *program = ofs_text_command((const char *const[]){ path, NULL });
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	fprintf(out, "%s hook %s%s", program, agent->name,
		agent->takes_form ? " --answer tool" : "");
	print_text(out, "--dir", ofs_command_target.dir);
	print_text(out, "--store", ofs_command_target.store);
	print_text(out, "--task", task);
	print_count(out, "--max-bytes", max_bytes);
	print_count(out, "--read-bytes", read_bytes);
	return ofs_text_close(&s);
}

/* ---- events */

/* Takes the store's settings where no option says otherwise. */
static int take_settings(struct ofs_access *access, struct ofs_settings *settings,
			 struct ofs_error *err)
{
	int r = ofs_access_find(access, err);

	if (r == 0)
		r = ofs_settings_load(settings, access->target.store, err);
	if (r < 0)
		return r;
	engine.ttl = settings->ttl;
	return 0;
}

/* The folder may no longer exist, or be in a tree. */
static void enter_folder(const char *folder)
{
	ofs_probe_enter();
	if (folder && folder[0] == '/' && chdir(folder) < 0)
		errno = 0;
	ofs_probe_leave();
}

static int answer_event(const void *arg)
{
	const struct ofs_hook_event *event = arg;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf answer = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings settings = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access = { 0 };
	OFS_FREE char *dir = ofs_command_target.dir ? ofs_path_absolute(ofs_command_target.dir)
						    : NULL;
	OFS_FREE char *store =
		ofs_command_target.store ? ofs_path_absolute(ofs_command_target.store) : NULL;
	const char *project = agent->project_variable ? getenv(agent->project_variable) : NULL;
	struct ofs_error err;
	int r;

	ofs_command_target.dir = dir;
	ofs_command_target.store = store;
	/* Wherever a command changed to, its output belongs to the project. */
	ofs_command_target.from = project && project[0] == '/' ? project : NULL;
	ofs_access_init(&access, &ofs_command_target);
	ofs_settings_init(&settings);
	enter_folder(event->cwd);
	r = take_settings(&access, &settings, &err);
	if (r == 0)
		r = ofs_hook_answer(agent, event, &engine, &access, &err, &answer);
	if (r < 0) {
		ofs_report("the output was left as it is: %s", err.text);
	} else if (answer.len) {
		printf("%s\n", ofs_buf_str(&answer));
		ofs_report_stale(&access.target);
	}
	return OFS_EXIT_OK;
}

/* Most events have short outputs, which pass before a tree is looked for. */
static int run_event(void)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf input = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_hook_event_finish) struct ofs_hook_event event = { 0 };
	struct ofs_error err;
	int r = ofs_io_read_fd(STDIN_FILENO, SIZE_MAX, &input);

	if (r < 0)
		return ofs_report("cannot read the event: %s", strerror(-r));
	if (!input.len)
		return ofs_report("no event on standard input: this is a hook for %s to run; "
				  "see offload hook install",
				  agent->title);
	if (agent->read_event((char *)input.data, input.len, &err, &event) < 0)
		return ofs_report("the event was left alone: %s", err.text);
	if (event.kind != OFS_HOOK_POST ||
	    (event.response.len <= OFS_HOOK_SHORT && !ofs_hook_may_read_back(&event)))
		return OFS_EXIT_OK;
	r = ofs_guard_work(answer_event, &event, HOOK_WAIT_S * OFS_NS_PER_S);
	if (r >= 0)
		return r;
	ofs_report("the output was left as it is: %s", ofs_guard_reason(r));
	return OFS_EXIT_OK;
}

/* ---- install and uninstall */

/* Returns the allocated workspace that the settings lie in, or NULL if they are the user's. */
static char *workspace_of(const char *path)
{
	OFS_FREE char *folder = ofs_path_parent(path);

	/* The agent's folder may have several components. Only they are cut off. */
	return place == OFS_AGENT_USER
		       ? NULL
		       : ofs_strndup(folder, strlen(folder) - OFS_MIN(strlen(agent->folder),
								      strlen(folder)));
}

static int read_settings(struct ofs_settings_file *ret)
{
	OFS_FREE char *path = NULL, *workspace = NULL;
	struct ofs_error err;
	int r = ofs_agent_settings_path(agent, (enum ofs_agent_place)place, &err, &path);

	if (r == -EINVAL)
		return ofs_report_usage("%s", err.text);
	workspace = r == 0 ? workspace_of(path) : NULL;
	if (r < 0 || ofs_settings_check_place(path, workspace, &err) < 0)
		return ofs_report("%s", err.text);
	r = agent->plugin ? ofs_settings_file_load(path, &err, ret)
			  : ofs_settings_file_read(path, &err, ret);
	if (r == -EINVAL)
		return ofs_report_usage("'%s' was left as it is: %s", ret->path, err.text);
	return r < 0 ? ofs_report("%s", err.text) : OFS_EXIT_OK;
}

/* Adds missing entries. Returns the number of changes, or -1 if the settings do not allow it. */
static int add_entries(const char *command, struct ofs_settings_file *s)
{
	struct ofs_error err;
	int changes = 0;

	if (ofs_settings_file_prune(s, agent)) {
		ofs_report_line(stderr, "In %s:", s->path);
		fputs("  entries of offload for other events are removed\n", stderr);
		changes++;
	}
	for (size_t i = 0; i < agent->n_entries; i++) {
		const struct ofs_agent_entry *entry = &agent->entries[i];
		int r;

		r = ofs_settings_file_add(s, agent, entry, command, &err);
		if (r < 0) {
			ofs_report("'%s' was left as it is: %s", s->path, err.text);
			return -1;
		}
		if (r && !changes++ && !print)
			ofs_report_line(stderr, "In %s:", s->path);
		if (r && !print)
			fprintf(stderr, "  %s for %s\n    %s\n", entry->event, entry->matcher,
				command);
	}
	return changes;
}

static void tell_version(void)
{
	OFS_FREE char *version = NULL;

	printf("Sessions of %s that start from now on use it (version %s or later).\n",
	       agent->title, agent->minimal_version);
	if (agent->todo)
		printf("%s\n", agent->todo);
	if (agent->allow)
		printf("To let it read back without asking, allow that: %s\n", agent->allow);
	fflush(stdout);
	if (ofs_agent_is_too_old(agent, &version))
		ofs_report("%s is version %s here, which drops the hook's answers: update it to %s "
			   "or later",
			   agent->title, version, agent->minimal_version);
}

/* Returns true if the file was made by install. */
static bool is_our_plugin(const struct ofs_settings_file *s, const char *text)
{
	size_t line = strcspn(text, "\n");

	return s->text.len >= line && memcmp(s->text.data, text, line) == 0;
}

static int install_plugin(const char *command)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	OFS_FREE char *text = agent->plugin(command);
	int r;

	if (print) {
		fputs(text, stdout);
		return OFS_EXIT_OK;
	}
	r = read_settings(&s);
	if (r != OFS_EXIT_OK)
		return r;
	if (s.text.len == strlen(text) && memcmp(s.text.data, text, s.text.len) == 0) {
		ofs_report_line(stdout, "%s already has it", s.path);
		return OFS_EXIT_OK;
	}
	if (s.st.st_ino && !is_our_plugin(&s, text))
		return ofs_report_usage("'%s' is not one of ours and was left as it is", s.path);
	ofs_report_line(stderr, "In %s, a plugin that runs:", s.path);
	ofs_report_line(stderr, "  %s", command);
	s.whole = text;
	r = ofs_settings_change(&s, OFS_SETTINGS_WRITE, yes);
	if (r == OFS_EXIT_OK)
		tell_version();
	return r;
}

static int uninstall_plugin(void)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	OFS_FREE char *text = agent->plugin("");
	int r = read_settings(&s);

	if (r != OFS_EXIT_OK)
		return r;
	if (!s.st.st_ino || !is_our_plugin(&s, text)) {
		ofs_report_line(stdout, "%s is not one of ours", s.path);
		return OFS_EXIT_OK;
	}
	return ofs_settings_change(&s, OFS_SETTINGS_REMOVE_ALL, yes);
}

static int run_install(void)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	OFS_FREE char *command = command_line();
	int r;

	if (agent->plugin)
		return install_plugin(command);
	if (print) {
		OFS_FREE char *text = NULL;

		s.json = json_object();
		add_entries(command, &s);
		text = ofs_settings_file_format(&s);
		fputs(text, stdout);
		return OFS_EXIT_OK;
	}
	r = read_settings(&s);
	if (r != OFS_EXIT_OK)
		return r;
	r = add_entries(command, &s);
	if (r < 0)
		return OFS_EXIT_USAGE;
	if (!r) {
		ofs_report_line(stdout, "%s already has it", s.path);
		return OFS_EXIT_OK;
	}
	r = ofs_settings_change(&s, OFS_SETTINGS_WRITE, yes);
	if (r == OFS_EXIT_OK)
		tell_version();
	return r;
}

static int run_uninstall(void)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	int r;

	if (agent->plugin)
		return uninstall_plugin();
	r = read_settings(&s);

	if (r != OFS_EXIT_OK)
		return r;
	if (!ofs_settings_file_remove(&s, agent)) {
		ofs_report_line(stdout, "%s has no hooks of offload", s.path);
		return OFS_EXIT_OK;
	}
	ofs_report_line(stderr, "The hooks of offload are removed from %s.", s.path);
	/* A file without anything else was made by install. */
	return ofs_settings_change(
		&s, !json_object_size(s.json) ? OFS_SETTINGS_REMOVE_ALL : OFS_SETTINGS_WRITE, yes);
}

/* Returns true if the agent's program is here or, with `installed`, its settings. */
static bool is_there(const struct ofs_agent *a, bool installed)
{
	OFS_FREE char *program = NULL, *path = NULL;

	if (!installed) {
		program = a->program ? ofs_program_find(a->program) : NULL;
		return program != NULL;
	}
	return ofs_agent_settings_path(a, (enum ofs_agent_place)place, NULL, &path) == 0 &&
	       access(path, F_OK) == 0;
}

/* Calls `work` for each agent here, or else for the first. Returns the first nonzero exit code. */
static int run_for_all(int (*work)(void), bool installed)
{
	int code = OFS_EXIT_OK;
	bool some = false;

	for (size_t i = 0; ofs_agent_number(i); i++) {
		int r;

		agent = ofs_agent_number(i);
		if (!is_there(agent, installed))
			continue;
		some = true;
		r = work();
		code = code == OFS_EXIT_OK ? r : code;
	}
	agent = ofs_agent_number(0);
	return some ? code : work();
}

/* ---- the command */

/* Returns allocated text: "claude-code, " and so on. */
static char *agent_names(void)
{
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	for (size_t i = 0; ofs_agent_number(i); i++)
		fprintf(out, "%s, ", ofs_agent_number(i)->name);
	return ofs_text_close(&s);
}

static int hook_run(const struct ofs_command *self, int argc, char **argv)
{
	int (*work)(void) = run_event;
	const char *what = argc > 1 ? argv[1] : "";
	OFS_FREE char *names = NULL;
	bool named;
	int code;

	if (strcmp(what, "install") == 0 || strcmp(what, "uninstall") == 0) {
		work = *what == 'i' ? run_install : run_uninstall;
		argv++;
		argc--;
	}
	agent = argc > 1 ? ofs_agent_find(argv[1]) : NULL;
	named = agent != NULL;
	if (agent) {
		argv++;
		argc--;
	} else if (work == run_event && what[0] != '-') {
		names = agent_names();
		ofs_report_usage("%s%s%s: there are %sinstall, uninstall",
				 *what ? "unknown hook '" : "no hook given", what, *what ? "'" : "",
				 names);
		/* Exit code 2 would stop the agent's tool. */
		return *what ? OFS_EXIT_FAILURE : OFS_EXIT_USAGE;
	} else {
		agent = ofs_agent_number(0);
	}
	code = ofs_command_parse(self, &argc, &argv);
	if (code < 0)
		code = ofs_command_check_names(NULL, task, NULL);
	if (code < 0) {
		engine.form = (enum ofs_hook_form)form;
		engine.given = max_bytes != OFS_COUNT_NONE || read_bytes != OFS_COUNT_NONE;
		engine.max_bytes = max_bytes != OFS_COUNT_NONE ? max_bytes : OFS_OFFLOAD_BYTES;
		engine.read_bytes = read_bytes != OFS_COUNT_NONE ? read_bytes
								 : OFS_OFFLOAD_READ_BYTES;
		engine.task = task && strcmp(task, HOOK_TASK_SESSION) != 0 ? task : NULL;
		if (named || work == run_event || print)
			return work();
		return run_for_all(work, work == run_uninstall);
	}
	return code == OFS_EXIT_USAGE && work == run_event && what[0] != '-' ? OFS_EXIT_FAILURE
									     : code;
}

const struct ofs_command ofs_cmd_hook = {
	.name = "hook",
	.synopsis =
		"HARNESS [OPTION...] < EVENT\n"
		"       offload hook install [HARNESS] [--project | --local | --user] [--yes]\n"
		"       offload hook uninstall [HARNESS] [--project | --local | --user] [--yes]",
	.summary = "Offloads the long tool outputs of an agent, which runs it as a hook",
	.help = "HARNESS is claude-code, codex, gemini or opencode. Run by the agent, it reads an\n"
		"event, stores a long output and answers with its pointer; if there is nothing to\n"
		"change, it prints nothing. install writes the entry into the agent's settings\n"
		"for the project or the user (.claude/settings.json, .codex/hooks.json,\n"
		".gemini/settings.json; for opencode a plugin in .opencode/plugin); it shows the\n"
		"entry and asks first. uninstall removes it. Without HARNESS, both work on all of\n"
		"these agents that are installed.\n",
	.options = options,
	.parses = true,
	.run = hook_run,
};
