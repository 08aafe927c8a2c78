/* SPDX-License-Identifier: MIT */
#ifndef OFS_BASE_THREAD_H
#define OFS_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread that takes no signals: those are for the program's other threads. 0 or -errno. */
int ofs_thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);

#endif
