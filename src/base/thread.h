/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <signal.h>

#include "base/util.h"

static inline pthread_mutex_t *ofs_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void ofs_cleanup_unlock(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

/* Holds `mutex` until the end of the block. */
#define OFS_LOCKED(mutex) \
	OFS_CLEANUP(ofs_cleanup_unlock) pthread_mutex_t *locked_mutex = ofs_lock(mutex)

/*
 * Starts a thread with all signals blocked. It may run on all processors of the program, even if
 * the calling thread is bound to one, as libfuse's are over io_uring. ps(1) and top(1) show `name`
 * (at most 15 bytes). Returns 0 or -errno.
 */
int ofs_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg);

/*
 * Lowers the priority of the calling thread to that of background work: on a busy machine it gets
 * about a third of the time of a thread that serves requests. It must not get less, since such
 * threads wait for locks that it holds.
 */
void ofs_thread_give_way(void);

/* Processor time used by the calling thread, in nanoseconds. */
int64_t ofs_thread_time(void);

/* Initialises a condition variable for ofs_cond_wait_until(). */
void ofs_cond_init(pthread_cond_t *cond);

/* Waits with `lock` held for a signal; false once ofs_clock_monotonic() has reached `until`. */
bool ofs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);

struct ofs_sigpipe {
	sigset_t before; /* the thread's signal mask */
	bool pending; /* a SIGPIPE was pending before */
};

/* Makes this thread's writes to a closed pipe fail with EPIPE without raising SIGPIPE. */
void ofs_sigpipe_hold(struct ofs_sigpipe *ret);

/* Undoes ofs_sigpipe_hold() in the same thread; nested calls end in reverse order. */
void ofs_sigpipe_release(const struct ofs_sigpipe *s);
