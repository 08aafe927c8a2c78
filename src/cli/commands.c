/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/report.h"

/* clang-format off */
/* In the order in which help lists them. */
#define COMMANDS(X) \
	X(up) \
	X(down) \
	X(put) \
	X(run) \
	X(show) \
	X(slice) \
	X(search) \
	X(promote) \
	X(archive) \
	X(pin) \
	X(unpin) \
	X(task) \
	X(reduce) \
	X(compact) \
	X(context) \
	X(hook) \
	X(gc) \
	X(stats) \
	X(verify) \
	X(doctor)

#define DECLARE(name) extern const struct ofs_command ofs_cmd_##name;
#define ENTER(name) &ofs_cmd_##name,

COMMANDS(DECLARE)

static const struct ofs_command help;

static const struct ofs_command *const commands[] = {
	COMMANDS(ENTER)
	&help,
};
/* clang-format on */

const struct ofs_command *ofs_commands_find(const char *name)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static void print_overview(void)
{
	puts("usage: offload COMMAND [OPTION...] [ARGUMENT...]\n\n"
	     "Keeps large tool results outside the prompt: stores them, prints short pointers and\n"
	     "reads back the lines that are needed.\n");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(commands); i++)
		printf("  %-7s  %s\n", commands[i]->name, commands[i]->summary);
	puts("\n'offload help COMMAND' tells more; so does offload(1).");
}

static int help_run(const struct ofs_command *self, int argc, char **argv)
{
	const struct ofs_command *about = argc > 1 ? ofs_commands_find(argv[1]) : NULL;

	(void)self;
	if (argc > 1 && !about)
		return ofs_report_usage("there is no command '%s'", argv[1]);
	if (about)
		return about->run(about, 2, (char *[]){ argv[1], (char[]){ "--help" }, NULL });
	print_overview();
	return OFS_EXIT_OK;
}

static const struct ofs_command help = {
	.name = "help",
	.synopsis = "[COMMAND]",
	.summary = "Tells what the tool, or one command, does",
	.help = "",
	.run = help_run,
};
