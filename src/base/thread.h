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
 * Starts a thread that takes no signals. It may run on all processors that the program may, even if
 * the calling thread is bound to one, as libfuse's are over io_uring. `name` (up to 15 bytes) is
 * shown by ps(1) and top(1). 0 or -errno.
 */
int ofs_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg);

/*
 * The calling thread works in the background: on a busy machine it gets about a third of the time
 * of one that serves requests. Not less, since it holds locks that those wait for.
 */
void ofs_thread_give_way(void);

/* Processor time that the calling thread has taken, in nanoseconds. */
int64_t ofs_thread_time(void);

/* One that ofs_cond_wait_until() can wait for. */
void ofs_cond_init(pthread_cond_t *cond);

/* Waits for a signal; false: ofs_clock_monotonic() has reached `until`. `lock` is held. */
bool ofs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);

struct ofs_sigpipe {
	sigset_t before; /* what the thread blocked */
	bool pending; /* a SIGPIPE that is not ours */
};

/* From here on this thread's writes to a closed pipe fail with EPIPE and raise no signal. */
void ofs_sigpipe_hold(struct ofs_sigpipe *ret);

/* Ends that, by the same thread, in the reverse order of holding. */
void ofs_sigpipe_release(const struct ofs_sigpipe *s);
