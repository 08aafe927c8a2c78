/* SPDX-License-Identifier: MIT */
/* offload mcp: serves one client of the Model Context Protocol on standard input and output. */
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "agent/mcp_entry.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/settings_change.h"
#include "io/process.h"
#include "service/mcp/mcp_stdio.h"

#define WORDS_MAX 16
/* How long the child may take to end after a signal. */
#define END_WAIT_S 3

static const char *task;
static bool user, project, yes, print;

static const struct ofs_option options[] = {
	OFS_TEXT('t', "task", "TASK", &task,
		 "the task of what is stored, where a call names none\n"
		 "(default: OFFLOAD_TASK)"),
	OFS_FLAG(0, "project", &project,
		 "install and uninstall: in the settings of the project (default),"),
	OFS_FLAG(0, "user", &user, "or in those of the user"),
	OFS_FLAG(0, "print", &print, "print the entry and write nothing"),
	OFS_FLAG('y', "yes", &yes, "do not ask"),
	OFS_OPTIONS_END,
};

/* ---- serving */

static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
static int wake = -1; /* in the child: an eventfd that ends it */
static pid_t child; /* in the parent */

static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(caught); i++)
		sigaddset(&set, caught[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Handles the signals. Those that were held arrive now. */
static void take_signals(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(caught); i++) {
		sigaction(caught[i], &action, NULL);
		sigaddset(&set, caught[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void end_by_signal(int number)
{
	static const uint64_t one = 1;
	int saved = errno;

	if (write(wake, &one, sizeof(one)) < 0)
		errno = 0;
	errno = saved;
}

/* The child may be stuck, in the tree or in a write that nobody reads: SIGALRM kills it. */
static void pass_signal(int number)
{
	kill(child, number == SIGALRM ? SIGKILL : number);
	if (number == SIGALRM)
		_exit(OFS_EXIT_FAILURE);
	alarm(END_WAIT_S);
}

/* Other output must not get among the messages. */
static int take_output(void)
{
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	return out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? -errno : out;
}

static int serve(void)
{
	const struct ofs_service_options with = { ofs_command_target, task };
	struct ofs_service *service;
	OFS_CLOSE int out = -1;
	struct ofs_error err;
	int r;

	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	take_signals(end_by_signal);
	if (ofs_service_create(&with, &err, &service) < 0)
		return ofs_report("%s", err.text);
	out = take_output();
	r = wake < 0 ? -EMFILE : out;
	if (r >= 0)
		r = ofs_mcp_serve(service, STDIN_FILENO, out, wake);
	return r < 0 ? ofs_report("cannot serve: %s", strerror(-r)) : OFS_EXIT_OK;
}

/* Serves and ends the child. Standard files left open would keep its client waiting. */
static _Noreturn void serve_in_child(pid_t parent, int done)
{
	char code = OFS_EXIT_FAILURE;

	if (ofs_process_end_with(parent, SIGTERM))
		code = (char)serve();
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	if (write(done, &code, 1) < 0)
		code = OFS_EXIT_FAILURE;
	_exit(code);
}

/*
 * A call to a tree whose daemon does not answer may keep its process from ending, whatever signal
 * it gets. So a child makes the calls, and this process ends once the child has no more to do.
 */
static int serve_apart(void)
{
	pid_t parent = getpid();
	int done[2], status;
	char code;
	ssize_t n;

	if (pipe2(done, O_CLOEXEC) < 0)
		return ofs_report("cannot make a pipe: %s", strerror(errno));
	hold_signals();
	child = fork();
	if (child < 0)
		return ofs_report("cannot make a process: %s", strerror(errno));
	if (!child)
		serve_in_child(parent, done[1]);
	take_signals(pass_signal);
	signal(SIGALRM, pass_signal);
	close(done[1]);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	do
		n = read(done[0], &code, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(code);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : OFS_EXIT_FAILURE);
}

/* ---- install and uninstall */

static const struct ofs_mcp_client *client;

static void add_option(const char **words, size_t *n, const char *option, const char *value)
{
	if (!value)
		return;
	words[(*n)++] = option;
	words[(*n)++] = value;
}

/* Stores the command that the agent is to run, with the options given, in `words`. */
static void command_line(char *program, const char *words[WORDS_MAX])
{
	size_t n = 0;

	words[n++] = program;
	words[n++] = "mcp";
	add_option(words, &n, "--dir", ofs_command_target.dir);
	add_option(words, &n, "--store", ofs_command_target.store);
	add_option(words, &n, "--agent", ofs_command_target.agent);
	add_option(words, &n, "--task", task);
	words[n] = NULL;
}

static int print_entry(FILE *out, const char *const words[])
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf empty = OFS_BUF_INIT, text = OFS_BUF_INIT;
	struct ofs_error err;

	if (ofs_mcp_entry_add(client, &empty, words, &err, &text) < 0)
		return ofs_report("%s", err.text);
	fputs(ofs_buf_str(&text), out);
	return OFS_EXIT_OK;
}

/* Loads the settings. If their folder is the workspace or $HOME, it outlives the file. */
static int read_settings(struct ofs_settings_file *ret)
{
	OFS_FREE char *path = NULL, *workspace = NULL;
	struct ofs_error err;
	int r = ofs_mcp_entry_path(client, user, &err, &path, &workspace);

	if (r == 0)
		r = ofs_settings_check_place(path, workspace, &err);
	if (r == 0)
		r = ofs_settings_file_load(path, &err, ret);
	return r < 0 ? ofs_report("%s", err.text) : OFS_EXIT_OK;
}

static int install(void)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_FREE char *program = ofs_settings_program(), *line = NULL;
	const char *words[WORDS_MAX];
	struct ofs_error err;
	int r;

	command_line(program, words);
	if (print)
		return print_entry(stdout, words);
	r = read_settings(&s);
	if (r != OFS_EXIT_OK)
		return r;
	r = ofs_mcp_entry_add(client, &s.text, words, &err, &text);
	if (r < 0) {
		r = ofs_report_usage("'%s' was left as it is: %s; to be added by hand:", s.path,
				     err.text);
		print_entry(stderr, words);
		return r;
	}
	if (!r) {
		ofs_report_line(stdout, "%s already has it", s.path);
		return OFS_EXIT_OK;
	}
	line = ofs_text_command(words);
	ofs_report_line(stderr, "In %s, the server " OFS_MCP_ENTRY ":", s.path);
	ofs_report_line(stderr, "  %s", line);
	s.whole = ofs_buf_str(&text);
	r = ofs_settings_change(&s, OFS_SETTINGS_WRITE, yes);
	if (r == OFS_EXIT_OK)
		printf("Sessions of %s that start from now on have it.\n", client->title);
	if (r == OFS_EXIT_OK && client->todo)
		puts(client->todo);
	return r;
}

static int uninstall(void)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_error err;
	int r = read_settings(&s);

	if (r != OFS_EXIT_OK)
		return r;
	r = ofs_mcp_entry_remove(client, &s.text, &err, &text);
	if (r < 0)
		return ofs_report_usage("'%s' was left as it is: %s", s.path, err.text);
	if (!r) {
		ofs_report_line(stdout, "%s has no server of offload", s.path);
		return OFS_EXIT_OK;
	}
	ofs_report_line(stderr, "The server " OFS_MCP_ENTRY " is removed from %s.", s.path);
	s.whole = ofs_buf_str(&text);
	/* A file without anything else was made by install. */
	if (text.len)
		return ofs_settings_change(&s, OFS_SETTINGS_WRITE, yes);
	return ofs_settings_change(
		&s, strchr(client->file, '/') ? OFS_SETTINGS_REMOVE_ALL : OFS_SETTINGS_REMOVE, yes);
}

/* ---- the command */

static int report_agent(const char *name)
{
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);
	OFS_FREE char *names = NULL;

	for (size_t i = 0; ofs_mcp_client_number(i); i++)
		fprintf(out, "%s%s", i ? ", " : "", ofs_mcp_client_number(i)->name);
	names = ofs_text_close(&s);
	if (name)
		return ofs_report_usage("unknown agent '%s': there are %s", name, names);
	return ofs_report_usage("no agent given: there are %s", names);
}

/* --agent usually names the tree to use. Here it names the client if nothing else does. */
static int find_client(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : ofs_command_target.agent;

	client = name ? ofs_mcp_client_find(name) : NULL;
	if (!client)
		return report_agent(name);
	if (name == ofs_command_target.agent)
		ofs_command_target.agent = NULL;
	return -1;
}

static int mcp_run(const struct ofs_command *self, int argc, char **argv)
{
	int code = ofs_command_check_names(NULL, task, NULL);

	if (code >= 0)
		return code;
	if (!argc) {
		code = ofs_command_default_task(&task, false);
		return code >= 0 ? code : serve_apart();
	}
	if (strcmp(argv[0], "install") != 0 && strcmp(argv[0], "uninstall") != 0)
		return ofs_report_usage("unknown action '%s': there are install and uninstall",
					argv[0]);
	if (user && project)
		return ofs_report_usage("--user and --project exclude each other");
	code = find_client(argc, argv);
	if (code >= 0)
		return code;
	return argv[0][0] == 'i' ? install() : uninstall();
}

const struct ofs_command ofs_cmd_mcp = {
	.name = "mcp",
	.synopsis = "[--task TASK]\n"
		    "       offload mcp install CLIENT [--project | --user] [--print] [--yes]\n"
		    "       offload mcp uninstall CLIENT [--project | --user] [--yes]",
	.summary = "Serves the tree to an agent over the Model Context Protocol",
	.help = "Run by the agent, it reads messages on standard input and answers on standard\n"
		"output, until its input ends. install adds it to the settings of CLIENT, which is\n"
		"claude-code, codex, opencode, gemini, vscode or cursor; it shows the entry and\n"
		"asks first. uninstall removes it. There, too, --dir, --store, --agent and --task\n"
		"say which tree it is to serve; without CLIENT, --agent names the client.\n",
	.options = options,
	.operands = 2,
	.run = mcp_run,
};
