/* SPDX-License-Identifier: MIT */
/* offload: the companion tool of offloadfs. */
#include <fcntl.h>
#include <signal.h>

#include "base/log.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/complete.h"
#include "cli/report.h"
#include "cli/tables.h"
#include "io/exposure.h"
#include "io/mounts.h"
#include "io/redact_file.h"

/* clang-format off */
/* In the order of the help. Each has a manual page in docs/man, which meson.build lists. */
#define COMMANDS(X) \
	X(up) X(down) X(put) X(run) X(show) X(slice) X(search) X(list) X(promote) X(archive) \
	X(export) X(import) \
	X(pin) X(unpin) X(task) X(agent) X(reduce) X(compact) X(context) X(hook) X(mcp) X(serve) \
	X(call) X(gc) X(stats) X(top) X(report) X(log) X(verify) X(remote) X(restore) X(salvage) \
	X(doctor) X(help)

#define DECLARE(name) extern const struct ofs_command ofs_cmd_##name;
#define ENTER(name) &ofs_cmd_##name,

COMMANDS(DECLARE)
DECLARE(complete)

static const struct ofs_command *const commands[] = { COMMANDS(ENTER) ENTER(complete) };
/* clang-format on */

static const struct ofs_command *find_command(const char *name)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static int help_run(const struct ofs_command *self, int argc, char **argv)
{
	const struct ofs_command *about = argc ? find_command(argv[0]) : NULL;

	if (argc && !about)
		return ofs_report_usage("unknown command '%s'", argv[0]);
	if (ofs_command_json)
		return ofs_print_json(about ? ofs_tables_command(about)
					    : ofs_tables_all(commands, OFS_ARRAY_SIZE(commands)),
				      "");
	if (about) {
		ofs_command_print_help(about);
		return OFS_EXIT_OK;
	}
	puts("usage: offload COMMAND [OPTION...] [ARGUMENT...]\n\n"
	     "Keeps large tool results outside the prompt: stores them, prints short pointers and\n"
	     "reads back the lines that are needed.\n");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(commands); i++)
		if (!commands[i]->hidden)
			printf("  %-7s  %s\n", commands[i]->name, commands[i]->summary);
	puts("\n'offload help COMMAND' says more; so do offload(1) and offload-COMMAND(1).");
	return OFS_EXIT_OK;
}

const struct ofs_command ofs_cmd_help = {
	.name = "help",
	.synopsis = "[--json] [COMMAND]",
	.summary = "Describes the tool or one command",
	.json = "print a JSON object: the commands, their options, and all settings",
	.operands = 1,
	.no_content = true,
	.run = help_run,
};

static bool complete_line;
static const char *complete_breaks;

static const struct ofs_option complete_options[] = {
	OFS_FLAG(0, "line", &complete_line, "WORD is the line as it is typed, to be split"),
	OFS_TEXT(0, "bash", "BREAKS", &complete_breaks,
		 "the same, printed for bash to insert; COMP_WORDBREAKS"),
	OFS_OPTIONS_END,
};

static int complete_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_shell_line_finish) struct ofs_shell_line line = { 0 };
	struct ofs_candidates candidates = { .line = &line, .quoted = complete_breaks != NULL };

	if ((complete_line || complete_breaks) && argc > 1)
		return ofs_report_usage("a line is one word");
	if (complete_line || complete_breaks)
		ofs_shell_line_read(argv[0], complete_breaks, &line);
	else
		ofs_shell_line_copy(argc, argv, &line);
	if (!freopen("/dev/null", "w", stderr)) /* messages would go into the middle of the line */
		return OFS_EXIT_FAILURE;
	ofs_complete(commands, OFS_ARRAY_SIZE(commands), &candidates);
	printf(":%s\n", candidates.rest);
	return OFS_EXIT_OK;
}

const struct ofs_command ofs_cmd_complete = {
	.name = "complete",
	.synopsis = "[--line | --bash BREAKS] -- WORD...",
	.summary = "For shells: tells what the last word of a command line can become",
	.help = "WORD... begins with the name of the program, offload or offloadfs. Each\n"
		"line is a candidate and, after a tab, its description; one that ends with '/',\n"
		"'=', ':' or ',' is to be continued. The last line is ':' and what the shell is\n"
		"to offer if there is none: 'files', 'dirs', 'command N' (it starts at word N,\n"
		"counted from 0), or nothing.\n",
	.options = complete_options,
	.operands = OFS_OPERANDS_ANY,
	.missing = "give the words, or the line",
	.wraps = true,
	.hidden = true,
	.no_content = true,
	.run = complete_run,
};

/* Makes sure that a file that is opened never gets the number of a standard descriptor. */
static int fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Sets the time that the tree may take for a call (OFFLOAD_TIMEOUT). -1, or an exit code. */
static int set_patience(void)
{
	static const struct ofs_quantity seconds = { .unit = OFS_UNIT_S, .min = 1, .max = 3600 };
	const char *text = getenv("OFFLOAD_TIMEOUT");
	uint64_t n;

	if (!text || !*text)
		return -1;
	if (!ofs_quantity_parse(&seconds, text, &n))
		return ofs_report_usage("OFFLOAD_TIMEOUT is '%s': it must be %s", text,
					ofs_quantity_describe(&seconds).text);
	ofs_mount_set_wait((int64_t)n * OFS_NS_PER_S);
	return -1;
}

static int finish_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno == EPIPE) /* the reader had enough */
		return code;
	ofs_report("cannot write the output: %s", strerror(errno));
	return code ? code : OFS_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const struct ofs_command *command;
	struct ofs_error err;
	const char *name = argc > 1 ? argv[1] : NULL;
	int code = -1;

	ofs_log_set_program("offload");
	ofs_exposure_end();
	if (fill_standard_descriptors() < 0)
		return OFS_EXIT_FAILURE;
	/* A caller may have left SIGCHLD ignored, which would lose the exit status of a child. */
	signal(SIGCHLD, SIG_DFL);
	if (!name)
		return ofs_report_usage("no command given");
	if (strcmp(name, "--version") == 0) {
		puts("offload " OFS_VERSION);
		return finish_output(OFS_EXIT_OK);
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	argc--;
	argv++;
	command = find_command(name);
	if (!command)
		return ofs_report_usage(
			name[0] == '-' ? "unknown option '%s'" : "unknown command '%s'", name);
	ofs_report_set_command(command->name);
	code = set_patience();
	if (ofs_redact_file_load(&err) < 0) {
		ofs_report("%s", err.text);
		if (!command->no_content)
			return OFS_EXIT_FAILURE;
	}
	if (code < 0 && !command->parses)
		code = ofs_command_parse(command, &argc, &argv);
	return finish_output(code >= 0 ? code : command->run(command, argc, argv));
}
