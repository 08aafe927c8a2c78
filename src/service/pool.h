/* SPDX-License-Identifier: MIT */
/*
 * Worker threads for calls on a tree whose daemon may never answer. When a job is late, the pool
 * calls its late() on another thread and replaces the worker until it returns.
 */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "base/util.h"

/* Part of a larger struct. The pool owns it from ofs_pool_submit() until end() is called. */
struct ofs_pool_job {
	/* Called on a worker. */
	void (*run)(struct ofs_pool_job *job);
	/*
	 * Called once, on the pool's own thread, if run() has not returned by the deadline. run()
	 * may return meanwhile; it is never called if no worker was free in time. May be NULL.
	 */
	void (*late)(struct ofs_pool_job *job);
	/* Called once, after run() and late() have returned. Frees the job. */
	void (*end)(struct ofs_pool_job *job);

	bool owed; /* part of an answer that has begun, so not one too many */

	/* Private to the pool; guarded by its lock. */
	TAILQ_ENTRY(ofs_pool_job) entry;
	int64_t deadline;
	bool is_late, in_late, done;
};

struct ofs_pool;

/* `threads` workers run jobs at once; up to as many more replace late ones. 0 or -errno. */
int ofs_pool_create(unsigned int threads, struct ofs_pool **ret);

/*
 * Runs a job when a worker is free. Its deadline is `patience` nanoseconds from now. -EBUSY: too
 * many jobs are waiting, and the caller keeps this one.
 */
int ofs_pool_submit(struct ofs_pool *p, struct ofs_pool_job *job, int64_t patience);

/*
 * Waits for all jobs that are not late and frees the pool. Leaves the threads of late jobs behind,
 * with all that they use. NULL is allowed.
 */
void ofs_pool_destroy(struct ofs_pool *p);
