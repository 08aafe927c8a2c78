/* SPDX-License-Identifier: MIT */
#ifndef OFS_BASE_THREAD_H
#define OFS_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Starts a thread that takes no signals: those are for the program's other threads. It may run on all
 * processors that the program may, also where its starter is bound to one, as the threads are that
 * libfuse serves io_uring with. `name` (up to 15 bytes) is what ps(1) and top(1) show. 0 or -errno.
 */
int ofs_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg);

/*
 * The calling thread works in the background: where processors are scarce it gets about a third of
 * what those that serve requests get. Not less, since it holds locks that they wait for.
 */
void ofs_thread_give_way(void);

/* One that ofs_cond_wait_until() can wait for. */
void ofs_cond_init(pthread_cond_t *cond);

/* Waits until it is signalled, or that time by ofs_clock_monotonic(): then false. `lock` is held. */
bool ofs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);

struct ofs_sigpipe {
	sigset_t before; /* what the thread blocked */
	bool pending; /* a SIGPIPE that is not ours */
};

/* From here on, writing where nobody reads fails with EPIPE alone. Other threads are as they were. */
void ofs_sigpipe_hold(struct ofs_sigpipe *ret);

/* Ends that and drops what the writes raised. By the same thread, the last held first. */
void ofs_sigpipe_release(const struct ofs_sigpipe *s);

#endif
