/* SPDX-License-Identifier: MIT */
/*
 * The signals that ask to stop: SIGTERM, SIGINT and SIGHUP, except those that were ignored when the
 * program started. One object per process.
 */
#pragma once

#include <signal.h>

#include "base/util.h"

struct ofs_signals;

/* These signals. */
void ofs_signals_choose(sigset_t *ret);

/*
 * Blocks them for good, in this thread and in all that it starts from then on, so that a second one
 * cannot cut the shutdown short. A thread waits for the first one and calls `stop`, once. 0 or
 * -errno.
 */
int ofs_signals_create(void (*stop)(void *arg), void *arg, struct ofs_signals **ret);

/* True once one has arrived. */
bool ofs_signals_caught(struct ofs_signals *s);

/*
 * Enclose a wait of this thread that checks for the end only when it is interrupted: once `stop`
 * has returned, it is interrupted again and again until it is over. System calls in it may fail
 * with EINTR (SIGUSR1, which does nothing else).
 */
void ofs_signals_enter(struct ofs_signals *s);
void ofs_signals_leave(struct ofs_signals *s);

/* Waits until a running `stop` has returned; it is not called after that. NULL is allowed. */
void ofs_signals_destroy(struct ofs_signals *s);
