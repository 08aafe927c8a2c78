/* SPDX-License-Identifier: MIT */
/* The command line that `up` and `down` share: [WORKSPACE]. */
#ifndef OFS_CLI_MOUNTING_H
#define OFS_CLI_MOUNTING_H

#include "cli/command.h"
#include "client/target.h"

/*
 * Parses it and hands what it says to `work`; `workspace` is absolute, without symbolic links, and
 * a folder, or NULL when none was named. Returns the exit status.
 */
int ofs_mounting_run(const struct ofs_command *self, int argc, char **argv,
		     int (*work)(const struct ofs_target_options *opts, const char *workspace));

#endif
