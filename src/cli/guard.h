/* SPDX-License-Identifier: MIT */
/*
 * Work on a tree, for commands that an agent waits for: a daemon that does not answer must not hold
 * it up.
 */
#pragma once

#include <stdint.h>

/*
 * Does work(arg) in a child and passes on what it prints. Returns its exit code; or, with nothing
 * printed, -ETIMEDOUT: a call on the tree took too long, or all of it longer than `limit`
 * nanoseconds (INT64_MAX: none); -ECHILD: a signal ended it; or another -errno.
 */
int ofs_guard_work(int (*work)(const void *arg), const void *arg, int64_t limit);

/* The same for a command that does nothing else: failures are reported. */
int ofs_guard_command(int (*work)(const void *arg), const void *arg);

/* What ofs_guard_work() returned, as a reason. */
const char *ofs_guard_reason(int r);
