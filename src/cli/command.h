/* SPDX-License-Identifier: MIT */
/*
 * The commands. Each has a file cmd_<name>.c that defines its ofs_cmd_<name> (two that differ in a
 * word share one); to add one, declare it here and list it in command.c. A command parses its own
 * options and returns an exit code of cli/report.h.
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

extern const struct ofs_command ofs_cmd_up;
extern const struct ofs_command ofs_cmd_down;
extern const struct ofs_command ofs_cmd_put;
extern const struct ofs_command ofs_cmd_run;
extern const struct ofs_command ofs_cmd_context;
extern const struct ofs_command ofs_cmd_reduce;
extern const struct ofs_command ofs_cmd_show;
extern const struct ofs_command ofs_cmd_slice;
extern const struct ofs_command ofs_cmd_search;
extern const struct ofs_command ofs_cmd_compact;
extern const struct ofs_command ofs_cmd_promote;
extern const struct ofs_command ofs_cmd_archive;
extern const struct ofs_command ofs_cmd_pin;
extern const struct ofs_command ofs_cmd_unpin;
extern const struct ofs_command ofs_cmd_task;
extern const struct ofs_command ofs_cmd_gc;
extern const struct ofs_command ofs_cmd_stats;
extern const struct ofs_command ofs_cmd_verify;
extern const struct ofs_command ofs_cmd_doctor;
extern const struct ofs_command ofs_cmd_hook;
extern const struct ofs_command ofs_cmd_help;

/* A count as options have it: digits alone, at most `max`. False: it is none. */
bool ofs_command_parse_count(const char *text, uint64_t max, uint64_t *ret);

/* NULL when there is none of that name. */
const struct ofs_command *ofs_command_find(const char *name);

/* Prints the help of one command; of the tool when `c` is NULL. */
void ofs_command_print_help(const struct ofs_command *c, FILE *out);

#endif
