/* SPDX-License-Identifier: MIT */
/*
 * The signals that ask to stop: SIGTERM, SIGINT and SIGHUP, except those that were ignored when the
 * program started. One object per process.
 */
#pragma once

#include <signal.h>

#include "base/util.h"

struct ofs_signals;

/* Sets *ret to these signals. */
void ofs_signals_choose(sigset_t *ret);

/*
 * Blocks these signals for good, in this thread and in all that it starts afterwards, so that a
 * second one cannot cut the shutdown short. A thread waits for the first one and calls `stop` once.
 * 0 or -errno.
 */
int ofs_signals_create(void (*stop)(void *arg), void *arg, struct ofs_signals **ret);

/* Returns true once one has arrived. */
bool ofs_signals_caught(struct ofs_signals *s);

/*
 * Enclose a wait of this thread that checks for the end only when it is interrupted. Once `stop`
 * has returned, the wait is interrupted with SIGUSR1 again and again until it is over, so system
 * calls in it may fail with EINTR.
 */
void ofs_signals_enter(struct ofs_signals *s);
void ofs_signals_leave(struct ofs_signals *s);

/* Waits for a running `stop` to return. It is not called afterwards. NULL is allowed. */
void ofs_signals_destroy(struct ofs_signals *s);
