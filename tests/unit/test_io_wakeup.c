/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "io/wakeup.h"

Test(io_wakeup, both_ways_are_measured)
{
	struct ofs_wakeup w = { 0 };
	int r = ofs_wakeup_measure(&w);

	if (r == -ENOTSUP)
		return;
	cr_assert_eq(r, 0);
	cr_expect(w.halted > 0 && w.awake > 0);
	cr_expect(w.halted < OFS_NS_PER_S && w.awake < OFS_NS_PER_S);
}

static void *guard_one(void *arg)
{
	int processor = *(int *)arg;
	cpu_set_t may;

	cr_assert_eq(ofs_wakeup_guard(processor), 0);
	cr_expect_eq(sched_getscheduler(0), SCHED_IDLE);
	cr_assert_eq(sched_getaffinity(0, sizeof(may), &may), 0);
	cr_expect_eq(CPU_COUNT(&may), 1);
	cr_expect(CPU_ISSET((size_t)processor, &may));
	return NULL;
}

Test(io_wakeup, a_guard_runs_only_where_nobody_else_wants_to)
{
	int processor = sched_getcpu();
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, guard_one, &processor), 0);
	pthread_join(thread, NULL);
	cr_expect_eq(sched_getscheduler(0), SCHED_OTHER);
	cr_expect_eq(ofs_wakeup_guard(CPU_SETSIZE - 1), -EINVAL);
}
