/* SPDX-License-Identifier: MIT */
/*
 * Worker threads for calls on a tree, whose daemon may never answer: a job that is late is answered
 * by somebody else, and its thread replaced until it comes back.
 */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "base/util.h"

/* Part of a larger struct; the pool has it from submit until `end` was called. */
struct ofs_pool_job {
	/* On a worker. */
	void (*run)(struct ofs_pool_job *job);
	/*
	 * Once, on the pool's own thread, if run() has not returned by the deadline; it may return
	 * meanwhile, or, if no worker was free until then, never be called. NULL: nothing is done about it.
	 */
	void (*late)(struct ofs_pool_job *job);
	/* Once, after run() and late(), if that is called, have returned: to free it. */
	void (*end)(struct ofs_pool_job *job);

	/* The pool's. */
	TAILQ_ENTRY(ofs_pool_job) entry;
	int64_t deadline;
	bool is_late, in_late, done;
};

struct ofs_pool;

/* `threads` run jobs at once; as many more replace those that are late. */
int ofs_pool_create(unsigned int threads, struct ofs_pool **ret);

/*
 * Runs a job when a worker is free; it is to be done in `patience` nanoseconds from now. -EBUSY: too
 * many wait already; then it stays the caller's.
 */
int ofs_pool_submit(struct ofs_pool *p, struct ofs_pool_job *job, int64_t patience);

/*
 * Waits for all jobs that are not late, and ends. Threads of those that are late are left behind,
 * with what they use. NULL is allowed.
 */
void ofs_pool_destroy(struct ofs_pool *p);
