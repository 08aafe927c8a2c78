/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>

int ofs_thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}
