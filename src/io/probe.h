/* SPDX-License-Identifier: MIT */
/*
 * Runs work that may block for ever, possibly where no signal reaches it, in a child that is left
 * behind if it takes too long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Runs fn(arg) in a child, and gives up after `patience` nanoseconds. The child's only descriptors
 * are `out` and `err` (-1: /dev/null) as its standard output and error. Returns the result of `fn`,
 * from 0 to 255, or 128 plus the signal that ended the child; -ETIMEDOUT if it gave up; -ECHILD if
 * the child ended without an answer and this program ignores SIGCHLD; or another -errno.
 */
int ofs_process_probe(int (*fn)(const void *arg), const void *arg, int64_t patience, int out,
		      int err);

/*
 * As ofs_process_probe(), for work that may take up to `limit` (INT64_MAX: for ever) but is given
 * up if a single call takes longer than `patience`. The child also keeps the descriptors that this
 * program has opened itself, which are those that close on exec.
 */
int ofs_process_watch(int (*fn)(const void *arg), const void *arg, int64_t limit, int64_t patience,
		      int out, int err);

/*
 * Enclose a call that ofs_process_watch() is to limit, or several, each of which is limited.
 * Elsewhere they do nothing. Only one thread may use them.
 */
void ofs_probe_enter(void);
void ofs_probe_leave(void);

/* True in a child of ofs_process_watch(), whose calls are limited. */
bool ofs_probe_is_watched(void);

/* Sets the reason that is reported if a later call is given up; "" for none. */
void ofs_probe_explain(const char *reason);

/* For the parent: returns the reason set for the call just given up, or NULL. */
const char *ofs_probe_reason(void);
