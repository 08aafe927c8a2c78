/* SPDX-License-Identifier: MIT */
#include "service/pool.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

#define WAITING_MAX 1024 /* jobs */

TAILQ_HEAD(jobs, ofs_pool_job);

struct ofs_pool {
	pthread_mutex_t lock; /* guards all that follows, and the private part of jobs */
	pthread_cond_t work; /* a job is waiting, or the pool is ending */
	pthread_cond_t change; /* a deadline or count has changed: for watch() and destroy */
	struct jobs waiting; /* in order of submission */
	struct jobs running; /* including late ones */
	size_t n_waiting, n_late;
	unsigned int threads, started,
		idle; /* wanted threads, existing threads, threads without a job */
	pthread_t *ended; /* threads to be joined, which no longer take the lock */
	size_t n_ended, ended_cap;
	bool ending;
	pthread_t watch;
};

static void *work(void *arg);

/* Called with the lock held: by then all threads in the list have released it. */
static void join_ended(struct ofs_pool *p)
{
	for (size_t i = 0; i < p->n_ended; i++)
		pthread_join(p->ended[i], NULL);
	p->n_ended = 0;
}

static void start_worker(struct ofs_pool *p)
{
	pthread_attr_t attr;
	pthread_t thread;

	join_ended(p);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)512 << 10);
	if (pthread_create(&thread, &attr, work, p) == 0)
		p->started++;
	pthread_attr_destroy(&attr);
}

/* True if a thread should be started. At most `threads` replacements for late ones exist. */
static bool wants_worker(const struct ofs_pool *p)
{
	unsigned int late = (unsigned int)OFS_MIN(p->n_late, (size_t)p->threads);

	return p->n_waiting > p->idle && p->started < p->threads + late;
}

/* Ends a job. Called with the lock held, and releases it for job->end(). */
static void end(struct ofs_pool *p, struct ofs_pool_job *job)
{
	TAILQ_REMOVE(&p->running, job, entry);
	p->n_late -= job->is_late;
	pthread_mutex_unlock(&p->lock);
	job->end(job);
	pthread_mutex_lock(&p->lock);
	pthread_cond_broadcast(&p->change);
}

static void run_next(struct ofs_pool *p)
{
	struct ofs_pool_job *job = TAILQ_FIRST(&p->waiting);

	TAILQ_REMOVE(&p->waiting, job, entry);
	p->n_waiting--;
	TAILQ_INSERT_TAIL(&p->running, job, entry);
	pthread_mutex_unlock(&p->lock);
	job->run(job);
	pthread_mutex_lock(&p->lock);
	job->done = true;
	if (!job->in_late)
		end(p, job);
}

static void *work(void *arg)
{
	struct ofs_pool *p = arg;
	OFS_LOCKED(&p->lock);

	for (;;) {
		while (!p->n_waiting && !p->ending) {
			p->idle++;
			pthread_cond_wait(&p->work, &p->lock);
			p->idle--;
		}
		/* A thread whose job was late ends if enough replacements exist. */
		if (!p->n_waiting || p->started > p->threads + p->n_late)
			break;
		run_next(p);
	}
	/* Pass on a signal that this thread may have taken for a job that it leaves to others. */
	pthread_cond_signal(&p->work);
	p->started--;
	*ofs_append(p->ended, p->n_ended, p->ended_cap) = pthread_self();
	pthread_cond_broadcast(&p->change);
	return NULL;
}

/* ---- deadlines */

static void tell_late(struct ofs_pool *p, struct ofs_pool_job *job)
{
	job->is_late = true;
	p->n_late++;
	if (!job->late)
		return;
	job->in_late = true;
	pthread_mutex_unlock(&p->lock);
	job->late(job);
	pthread_mutex_lock(&p->lock);
	job->in_late = false;
	if (job->done)
		end(p, job);
}

/* Drops a job that has waited too long, without running it. */
static void drop(struct ofs_pool *p, struct ofs_pool_job *job)
{
	TAILQ_REMOVE(&p->waiting, job, entry);
	p->n_waiting--;
	pthread_mutex_unlock(&p->lock);
	if (job->late)
		job->late(job);
	job->end(job);
	pthread_mutex_lock(&p->lock);
}

/* Returns the first job that became late, or NULL. Lowers *ret_next to the next deadline. */
static struct ofs_pool_job *find_late(struct jobs *jobs, int64_t now, int64_t *ret_next)
{
	struct ofs_pool_job *job;

	TAILQ_FOREACH(job, jobs, entry)
	{
		if (job->is_late || job->done)
			continue;
		if (job->deadline <= now)
			return job;
		*ret_next = OFS_MIN(*ret_next, job->deadline);
	}
	return NULL;
}

static void wait_until(struct ofs_pool *p, int64_t when)
{
	const struct timespec at = { .tv_sec = when / OFS_NS_PER_S,
				     .tv_nsec = when % OFS_NS_PER_S };

	if (when == INT64_MAX)
		pthread_cond_wait(&p->change, &p->lock);
	else
		pthread_cond_timedwait(&p->change, &p->lock, &at);
}

static void *watch(void *arg)
{
	struct ofs_pool *p = arg;
	OFS_LOCKED(&p->lock);

	while (!p->ending || p->n_waiting || !TAILQ_EMPTY(&p->running)) {
		int64_t now = ofs_clock_monotonic(), next = INT64_MAX;
		struct ofs_pool_job *job = find_late(&p->running, now, &next);
		struct ofs_pool_job *waits = job ? NULL : find_late(&p->waiting, now, &next);

		if (job) {
			tell_late(p, job);
			if (wants_worker(p))
				start_worker(p);
		} else if (waits) {
			drop(p, waits);
		} else if (p->ending && !p->n_waiting && next == INT64_MAX) {
			break; /* only late jobs still run */
		} else {
			wait_until(p, next);
		}
	}
	return NULL;
}

/* ---- the pool */

int ofs_pool_create(unsigned int threads, struct ofs_pool **ret)
{
	struct ofs_pool *p = ofs_alloc(sizeof(*p));
	pthread_condattr_t attr;
	int r;

	p->threads = threads;
	TAILQ_INIT(&p->waiting);
	TAILQ_INIT(&p->running);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->change, &attr);
	pthread_condattr_destroy(&attr);
	r = pthread_create(&p->watch, NULL, watch, p);
	if (r) {
		free(p);
		return -r;
	}
	*ret = p;
	return 0;
}

int ofs_pool_submit(struct ofs_pool *p, struct ofs_pool_job *job, int64_t patience)
{
	OFS_LOCKED(&p->lock);

	if ((p->n_waiting >= WAITING_MAX && !job->owed) || p->ending)
		return -EBUSY;
	job->deadline = ofs_clock_monotonic() + patience;
	job->is_late = job->in_late = job->done = false;
	TAILQ_INSERT_TAIL(&p->waiting, job, entry);
	p->n_waiting++;
	if (wants_worker(p))
		start_worker(p);
	pthread_cond_signal(&p->work);
	pthread_cond_broadcast(&p->change);
	return 0;
}

void ofs_pool_destroy(struct ofs_pool *p)
{
	bool left;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_broadcast(&p->work);
	pthread_cond_broadcast(&p->change);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->watch, NULL);
	pthread_mutex_lock(&p->lock);
	while (p->started > p->n_late)
		pthread_cond_wait(&p->change, &p->lock);
	join_ended(p);
	left = p->started;
	pthread_mutex_unlock(&p->lock);
	if (left) /* late threads still use the pool */
		return;
	free(p->ended);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->change);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
