/* SPDX-License-Identifier: MIT */
/* Does the same with each operand of a command. */
#pragma once

#include "client/operand.h"

/*
 * Calls fn(arg, ...) for each operand. `fn` reports failures and returns their number; it prints
 * results with ofs_print_item(). `list` is NULL without --json. Returns the exit code.
 */
int ofs_operand_each(int argc, char *const argv[],
		     int (*fn)(const void *arg, const struct ofs_operand *o, const char *name,
			       json_t *list),
		     const void *arg);
