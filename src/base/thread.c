/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"

int ofs_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	cpu_set_t processors;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		return -r;
	pthread_setname_np(*ret, name);
	/* The processors of the first thread. */
	if (sched_getaffinity(getpid(), sizeof(processors), &processors) == 0)
		pthread_setaffinity_np(*ret, sizeof(processors), &processors);
	return 0;
}

/* On Linux each thread has its own nice value, see setpriority(2). */
void ofs_thread_give_way(void)
{
	id_t self = (id_t)gettid();

	setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + 5);
}

int64_t ofs_thread_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * OFS_NS_PER_S + ts.tv_nsec;
}

void ofs_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

bool ofs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until)
{
	struct timespec ts = { .tv_sec = until / OFS_NS_PER_S, .tv_nsec = until % OFS_NS_PER_S };

	return pthread_cond_timedwait(cond, lock, &ts) != ETIMEDOUT;
}

void ofs_sigpipe_hold(struct ofs_sigpipe *ret)
{
	sigset_t set;

	sigpending(&set);
	ret->pending = sigismember(&set, SIGPIPE);
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &ret->before);
}

void ofs_sigpipe_release(const struct ofs_sigpipe *s)
{
	const struct timespec now = { 0 };
	int saved = errno;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	/* The kernel sends SIGPIPE to the thread that writes, where it is now pending. */
	while (!s->pending && (sigtimedwait(&set, NULL, &now) >= 0 || errno == EINTR))
		continue;
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
	errno = saved;
}
