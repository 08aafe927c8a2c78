/* SPDX-License-Identifier: MIT */
/*
 * Work that may wait for somebody who never answers, some of it where no signal reaches it: a child
 * does it, and is left behind when it takes too long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Runs fn(arg) in a child, and gives it up after `patience` nanoseconds. The child has no
 * descriptors but `out` and `err` (-1: nowhere) as its standard output and error. Returns what it
 * returned, from 0 to 255, or 128 and the signal that ended it; -ETIMEDOUT: it was given up;
 * -ECHILD: it ended without an answer, and this program ignores SIGCHLD; or another -errno.
 */
int ofs_process_probe(int (*fn)(const void *arg), const void *arg, int64_t patience, int out,
		      int err);

/*
 * The same for work that takes as long as it must, up to `limit` (INT64_MAX: none), but is given up
 * when a single call takes longer than `patience`. The child also keeps the descriptors that this
 * program has opened itself, which are those that are closed on exec.
 */
int ofs_process_watch(int (*fn)(const void *arg), const void *arg, int64_t limit, int64_t patience,
		      int out, int err);

/*
 * Around a call that ofs_process_watch() is to limit, and around several, of which each is limited.
 * They do nothing elsewhere, and only one thread may use them.
 */
void ofs_probe_enter(void);
void ofs_probe_leave(void);

/* This process is a child of ofs_process_watch(), so its calls are limited. */
bool ofs_probe_is_watched(void);

/* Why a call was given up, if one is from now on; "": no more than that it was. */
void ofs_probe_explain(const char *reason);

/* Of the parent: what was said so of the call for which it has just given up; NULL: nothing. */
const char *ofs_probe_reason(void);
