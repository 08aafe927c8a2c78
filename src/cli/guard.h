/* SPDX-License-Identifier: MIT */
/*
 * Runs work on a tree for commands that an agent waits for, which a daemon that does not answer
 * must not hold up.
 */
#pragma once

#include <stdint.h>

/*
 * Runs work(arg) in a child and passes on what it prints. Returns its exit code. Otherwise prints
 * nothing and returns -ETIMEDOUT if a call on the tree took too long, or all of it longer than
 * `limit` nanoseconds (INT64_MAX: none), -ECHILD if a signal ended it, or another -errno.
 */
int ofs_guard_work(int (*work)(const void *arg), const void *arg, int64_t limit);

/* Does the same, without a limit, for a command that does nothing else. Reports failures. */
int ofs_guard_command(int (*work)(const void *arg), const void *arg);

/* Returns the reason for an error of ofs_guard_work(), borrowed. */
const char *ofs_guard_reason(int r);
