/* SPDX-License-Identifier: MIT */
/*
 * Signals that ask for the end: SIGTERM, SIGINT and SIGHUP, but those that were ignored when the
 * program started. One for a process.
 */
#ifndef OFS_FUSE_SIGNALS_H
#define OFS_FUSE_SIGNALS_H

#include <stdbool.h>

struct ofs_signals;

/*
 * Blocks them, in this thread and in all that it starts from then on, for good: no second one cuts
 * the end short. A thread waits for them; when the first one comes it calls `stop`, once. 0 or -errno.
 */
int ofs_signals_create(void (*stop)(void *arg), void *arg, struct ofs_signals **ret);

/* Whether one has come. */
bool ofs_signals_caught(struct ofs_signals *s);

/*
 * Around a wait of this thread that looks for the end only when it is interrupted: once `stop` has
 * returned, it is interrupted again and again until it is over. System calls in it may fail with
 * EINTR (SIGUSR1, which does nothing else).
 */
void ofs_signals_enter(struct ofs_signals *s);
void ofs_signals_leave(struct ofs_signals *s);

/* Waits for `stop`, when it was called, to return; it is not called after that. NULL is allowed. */
void ofs_signals_destroy(struct ofs_signals *s);

#endif
