/* SPDX-License-Identifier: MIT */
/*
 * A command. Each has a file cmd_<name>.c that defines its ofs_cmd_<name> (two that differ in a word
 * share one); to add one, list it in commands.c. It takes its options with ofs_options_parse()
 * and returns an exit code of cli/report.h.
 */
#ifndef OFS_CLI_COMMAND_H
#define OFS_CLI_COMMAND_H

#include <stdbool.h>

struct ofs_command {
	const char *name;
	const char *synopsis; /* what follows the name */
	const char *summary; /* one line */
	const char *help; /* paragraphs before the options in the help, each line ended; may be "" */
	const char *notes; /* the same after them; NULL: none */
	const char *unknown; /* what is said after "unknown option '-x'"; NULL: nothing */
	bool wraps; /* the operands are a command, so options end with the first of them */
	int (*run)(const struct ofs_command *self, int argc, char **argv); /* argv[0] is the name */
};

#endif
