/* SPDX-License-Identifier: MIT */
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

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

void ofs_command_print_help(const struct ofs_command *c, FILE *out)
{
	fprintf(out, "usage: offload %s %s\n\n%s.\n\n%s", c->name, c->synopsis, c->summary,
		c->help);
}
