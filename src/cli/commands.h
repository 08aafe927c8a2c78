/* SPDX-License-Identifier: MIT */
/* All commands. */
#ifndef OFS_CLI_COMMANDS_H
#define OFS_CLI_COMMANDS_H

#include "cli/command.h"

/* NULL when there is none of that name. */
const struct ofs_command *ofs_commands_find(const char *name);

#endif
