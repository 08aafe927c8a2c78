/* SPDX-License-Identifier: MIT */
/* A command that does the same with each of its operands. */
#pragma once

#include "client/operand.h"

/*
 * Calls `fn` for each operand of a command, named `arg`. It returns how much of it failed, which it
 * has reported, and prints the rest with ofs_print_item(); `list` is NULL without --json. Returns
 * the exit code.
 */
int ofs_operand_each(int argc, char *const argv[],
		     int (*fn)(const void *arg, const struct ofs_operand *o, const char *name,
			       json_t *list),
		     const void *arg);
