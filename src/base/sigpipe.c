/* SPDX-License-Identifier: MIT */
#include "base/sigpipe.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

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
	/* The kernel sends it to the thread that writes, where it has been pending since. */
	while (!s->pending && (sigtimedwait(&set, NULL, &now) >= 0 || errno == EINTR))
		continue;
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
	errno = saved;
}
