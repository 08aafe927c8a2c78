/* SPDX-License-Identifier: MIT */
/* The pool of workers: every job ends once, and workers that are stuck are replaced. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "service/pool.h"

struct task {
	struct ofs_pool_job job;
	atomic_bool *gate; /* run() returns once it is open; NULL: at once */
};

/* Long enough for a thread to start. */
#define SOON OFS_NS_PER_S

static atomic_int ran, late, ended;

static void run(struct ofs_pool_job *job)
{
	const struct task *t = (const struct task *)job;

	while (t->gate && !atomic_load(t->gate))
		usleep(1000);
	atomic_fetch_add(&ran, 1);
}

static void is_late(struct ofs_pool_job *job)
{
	(void)job;
	atomic_fetch_add(&late, 1);
}

static void end(struct ofs_pool_job *job)
{
	atomic_fetch_add(&ended, 1);
	free(job);
}

static void submit(struct ofs_pool *p, atomic_bool *gate, int64_t patience)
{
	struct task *t = ofs_alloc(sizeof(*t));

	t->job = (struct ofs_pool_job){ .run = run, .late = is_late, .end = end };
	t->gate = gate;
	cr_assert_eq(ofs_pool_submit(p, &t->job, patience), 0);
}

static void wait_for(atomic_int *count, int n)
{
	while (atomic_load(count) < n)
		usleep(1000);
}

Test(service_pool, all_jobs_run_once)
{
	struct ofs_pool *p;

	cr_assert_eq(ofs_pool_create(4, &p), 0);
	for (int i = 0; i < 1000; i++)
		submit(p, NULL, 3600 * OFS_NS_PER_S);
	ofs_pool_destroy(p);
	cr_expect_eq(ran, 1000);
	cr_expect_eq(ended, 1000);
	cr_expect_eq(late, 0);
}

Test(service_pool, a_late_job_is_told_of_and_replaced)
{
	atomic_bool gate = false;
	struct ofs_pool *p;

	cr_assert_eq(ofs_pool_create(2, &p), 0);
	submit(p, &gate, SOON);
	submit(p, &gate, SOON);
	wait_for(&late, 2);
	cr_expect_eq(ended, 0);
	/* Both workers are stuck, so replacements do the work. */
	for (int i = 0; i < 10; i++)
		submit(p, NULL, 3600 * OFS_NS_PER_S);
	wait_for(&ran, 10);
	atomic_store(&gate, true);
	wait_for(&ended, 12);
	ofs_pool_destroy(p);
	cr_expect_eq(ran, 12);
	cr_expect_eq(late, 2);
}

/* Waits for a gate. Returns false if the pool does not take it. */
static bool offer(struct ofs_pool *p, atomic_bool *gate, bool owed)
{
	struct task *t = ofs_alloc(sizeof(*t));
	int r;

	t->job = (struct ofs_pool_job){ .run = run, .end = end, .owed = owed };
	t->gate = gate;
	r = ofs_pool_submit(p, &t->job, 3600 * OFS_NS_PER_S);
	cr_assert(r == 0 || r == -EBUSY);
	if (r < 0)
		free(t);
	return r == 0;
}

/* Else the client of a reply that has begun would be cut off, or the server stand still. */
Test(service_pool, a_full_pool_takes_what_it_owes)
{
	atomic_bool gate = false;
	struct ofs_pool *p;
	int n = 0;

	cr_assert_eq(ofs_pool_create(1, &p), 0);
	while (offer(p, &gate, false))
		n++;
	cr_assert_gt(n, 100);
	cr_assert(offer(p, &gate, true));
	cr_assert_not(offer(p, &gate, false));
	atomic_store(&gate, true);
	ofs_pool_destroy(p);
	cr_expect_eq(ended, n + 1);
}

Test(service_pool, workers_that_are_too_many_leave_the_work_to_others, .timeout = 60)
{
	atomic_bool stuck = false, busy = false;
	struct ofs_pool *p;

	cr_assert_eq(ofs_pool_create(2, &p), 0);
	for (int i = 0; i < 2; i++)
		submit(p, &stuck, SOON);
	wait_for(&late, 2);
	for (int i = 0; i < 2; i++)
		submit(p, &busy, 3600 * OFS_NS_PER_S);
	usleep(100 * 1000);
	atomic_store(&busy, true);
	wait_for(&ended, 2);
	usleep(100 * 1000);
	atomic_store(&stuck, true);
	wait_for(&ended, 4);
	usleep(100 * 1000);
	/* Now four workers wait for jobs. */
	for (int i = 5; i <= 8; i++) {
		submit(p, NULL, 3600 * OFS_NS_PER_S);
		wait_for(&ended, i);
	}
	ofs_pool_destroy(p);
	cr_expect_eq(ran, 8);
}

Test(service_pool, a_job_that_waits_too_long_does_not_run)
{
	atomic_bool gate = false;
	struct ofs_pool *p;

	cr_assert_eq(ofs_pool_create(1, &p), 0);
	for (int i = 0; i < 3; i++)
		submit(p, &gate, SOON);
	wait_for(&late, 3);
	atomic_store(&gate, true);
	wait_for(&ended, 3);
	cr_expect_leq(ran, 2); /* the first, and the one that the replacement thread took */
	ofs_pool_destroy(p);
}

/* Static, because a thread still uses them after the test has returned. */
Test(service_pool, stuck_jobs_do_not_hold_up_the_end)
{
	static atomic_bool gate = false;
	static struct ofs_pool *p;

	cr_assert_eq(ofs_pool_create(1, &p), 0);
	submit(p, &gate, SOON);
	ofs_pool_destroy(p);
	cr_expect_eq(late, 1);
	cr_expect_eq(ended, 0);
	atomic_store(&gate, true);
	wait_for(&ended, 1);
}
