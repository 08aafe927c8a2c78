/* SPDX-License-Identifier: MIT */
/*
 * A command. Each has a file cmd_<name>.c that defines its ofs_cmd_<name> (two that differ in a word
 * share one); to add one, list it in commands.c. It parses its own options and returns an exit code
 * of cli/report.h.
 */
#ifndef OFS_CLI_COMMAND_H
#define OFS_CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ofs_command {
	const char *name;
	const char *synopsis; /* what follows the name */
	const char *summary; /* one line */
	const char *help; /* paragraphs and options, each line ended; printed under the synopsis */
	int (*run)(const struct ofs_command *self, int argc, char **argv); /* argv[0] is the name */
};

/* A count as options have it: digits alone, at most `max`. False: it is none. */
bool ofs_command_parse_count(const char *text, uint64_t max, uint64_t *ret);

/* Prints the help of a command. */
void ofs_command_print_help(const struct ofs_command *c, FILE *out);

#endif
