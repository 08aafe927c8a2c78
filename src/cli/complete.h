/* SPDX-License-Identifier: MIT */
/* Completion of command lines, from the tables of commands and options. */
#pragma once

#include "cli/candidates.h"

/*
 * Offers what the last word of the line can become. The line starts with one of our programs:
 * `offload`, which has these commands, or `offloadfs`.
 */
void ofs_complete(const struct ofs_command *const *commands, size_t n, struct ofs_candidates *c);

/* Does the same for offloadfs (complete_daemon.c), whose name is word `at`. */
void ofs_complete_daemon(struct ofs_candidates *c, size_t at);
