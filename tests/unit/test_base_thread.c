/* SPDX-License-Identifier: MIT */
/* Our own threads: processors, signals, names and priority. */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/thread.h"

struct seen {
	sigset_t blocked;
	int nice;
};

static void *look(void *arg)
{
	struct seen *seen = arg;

	pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
	ofs_thread_give_way();
	seen->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	return NULL;
}

/* The affinity may be set only after the thread has started. */
static void *wait_for_processors(void *arg)
{
	cpu_set_t *all = arg, mine;

	do
		sched_getaffinity(0, sizeof(mine), &mine);
	while (!CPU_EQUAL(&mine, all));
	return NULL;
}

/* Starts a thread from one that is bound to a single processor, as those of libfuse's rings are. */
static void *start_bound(void *arg)
{
	pthread_t thread;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	cr_assert_eq(ofs_thread_start(&thread, "waits", wait_for_processors, arg), 0);
	pthread_join(thread, NULL);
	return NULL;
}

Test(base_thread, may_run_where_the_program_may)
{
	pthread_t thread;
	cpu_set_t all;

	cr_assert_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	cr_assert_eq(pthread_create(&thread, NULL, start_bound, &all), 0);
	pthread_join(thread, NULL);
}

Test(base_thread, takes_no_signals_and_gives_way_alone)
{
	struct seen seen = { .nice = -1 };
	int before = getpriority(PRIO_PROCESS, 0);
	pthread_t thread;

	cr_assert_eq(ofs_thread_start(&thread, "looks", look, &seen), 0);
	pthread_join(thread, NULL);
	cr_expect(sigismember(&seen.blocked, SIGTERM));
	cr_expect(sigismember(&seen.blocked, SIGUSR1));
	cr_expect_eq(seen.nice, before + 5 > 19 ? 19 : before + 5);
	cr_expect_eq(getpriority(PRIO_PROCESS, 0), before);
}

static void *wait_for_name(void *arg)
{
	char name[16];

	do
		pthread_getname_np(pthread_self(), name, sizeof(name));
	while (strcmp(name, arg) != 0);
	return NULL;
}

Test(base_thread, has_a_name)
{
	char name[] = "sealer";
	pthread_t thread;

	cr_assert_eq(ofs_thread_start(&thread, name, wait_for_name, name), 0);
	pthread_join(thread, NULL);
}
