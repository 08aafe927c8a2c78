/* SPDX-License-Identifier: MIT */
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* In the order in which help lists them. */
/* clang-format off */
static const struct ofs_command *const commands[] = {
	&ofs_cmd_up,
	&ofs_cmd_down,
	&ofs_cmd_put,
	&ofs_cmd_run,
	&ofs_cmd_show,
	&ofs_cmd_slice,
	&ofs_cmd_search,
	&ofs_cmd_promote,
	&ofs_cmd_archive,
	&ofs_cmd_pin,
	&ofs_cmd_unpin,
	&ofs_cmd_task,
	&ofs_cmd_reduce,
	&ofs_cmd_compact,
	&ofs_cmd_context,
	&ofs_cmd_hook,
	&ofs_cmd_gc,
	&ofs_cmd_stats,
	&ofs_cmd_verify,
	&ofs_cmd_doctor,
	&ofs_cmd_help,
};
/* clang-format on */

bool ofs_command_parse_count(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t n;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || n > max)
		return false;
	*ret = n;
	return true;
}

const struct ofs_command *ofs_command_find(const char *name)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

void ofs_command_print_help(const struct ofs_command *c, FILE *out)
{
	if (c) {
		fprintf(out, "usage: offload %s %s\n\n%s.\n\n%s", c->name, c->synopsis, c->summary,
			c->help);
		return;
	}
	fputs("usage: offload COMMAND [OPTION...] [ARGUMENT...]\n\n"
	      "Keeps large tool results outside the prompt: stores them, prints short pointers and\n"
	      "reads back the lines that are needed.\n\n",
	      out);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-7s  %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n'offload help COMMAND' tells more; so does offload(1).\n", out);
}
