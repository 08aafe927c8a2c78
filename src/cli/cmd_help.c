/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/command.h"
#include "cli/report.h"

static int help_run(const struct ofs_command *self, int argc, char **argv)
{
	const struct ofs_command *about = argc > 1 ? ofs_command_find(argv[1]) : NULL;

	(void)self;
	if (argc > 1 && !about)
		return ofs_report_usage("there is no command '%s'", argv[1]);
	ofs_command_print_help(about, stdout);
	return OFS_EXIT_OK;
}

const struct ofs_command ofs_cmd_help = {
	.name = "help",
	.synopsis = "[COMMAND]",
	.summary = "Tells what the tool, or one command, does",
	.help = "",
	.run = help_run,
};
