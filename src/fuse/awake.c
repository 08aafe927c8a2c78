/* SPDX-License-Identifier: MIT */
#include "fuse/awake.h"

#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/thread.h"
#include "io/wakeup.h"

#define NS_PER_US INT64_C(1000)

/*
 * Requests keep coming once there was none for BEGIN that came later than GAP after the one before;
 * that ends GAP after the last one. To the microsecond nobody needs it: a time within TICK is the
 * same, which spares processors to hand it to each other.
 */
#define BEGIN (200 * NS_PER_US)
#define GAP (400 * NS_PER_US)
#define TICK (20 * NS_PER_US)

/* A processor of more than two that no request came from for so long is nobody's concern. */
#define RECENT (100 * OFS_NS_PER_MS)

/*
 * Guards look so often whether other programs keep the processors busy, and rest so long when they
 * do. Beside those a guard would only take time: a processor that has one is not idle to the
 * kernel, and takes over no work from others.
 */
#define BUSY_LOOK OFS_NS_PER_MS
#define BUSY_REST (20 * OFS_NS_PER_MS)

/* The mains may be plugged in or out, a quota set, a processor added. */
#define LOOK_AGAIN (60 * OFS_NS_PER_S)

enum state {
	STATE_RESTS, /* the guard sleeps */
	STATE_GUARDS,
	STATE_FAILED /* there is no guard */
};

/* One processor. */
struct watch {
	_Alignas(64) _Atomic int64_t used;
	_Atomic int state;
	bool started; /* `thread` and `wanted` are valid; set by whoever has set STATE_GUARDS */
	sem_t wanted;
	pthread_t thread;
	struct ofs_awake *awake;
};

struct ofs_awake {
	enum ofs_awake_mode mode;
	int loadavg; /* /proc/loadavg, or -1; constant once a guard has looked */
	atomic_bool stop;
	atomic_int processors; /* that are online, when a guard last looked */
	atomic_int guarding; /* guards that are awake */
	_Alignas(64) _Atomic int64_t since; /* requests have kept coming */
	_Atomic int64_t last; /* request */
	_Atomic int64_t rests_until; /* processors may halt until then */
	_Alignas(64) pthread_mutex_t lock; /* guards `looked` */
	int64_t looked; /* 0: not yet */
	struct watch *watches; /* one a processor; constant */
	unsigned int n;
};

/*
 * Of two processors it is the one that requests do not come from: as it is not idle to the kernel,
 * an answer leaves the program where the thread runs that gave it. Of more the kernel would find
 * another one that is idle, so those are kept awake that the program goes to and fro between.
 */
static bool needs_guard(const struct watch *w, int64_t now)
{
	return w->awake->n == 2 ? now > w->used + GAP : now < w->used + RECENT;
}

/* Zeroed; each struct begins a cache line. */
static void *alloc_aligned(size_t size)
{
	void *p = aligned_alloc(64, size);

	if (!p)
		ofs_out_of_memory();
	return memset(p, 0, size);
}

struct ofs_awake *ofs_awake_create(enum ofs_awake_mode mode)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct ofs_awake *a;

	if (mode == OFS_AWAKE_OFF || n < 2)
		return NULL;
	a = alloc_aligned(sizeof(*a));
	a->mode = mode;
	a->loadavg = -1;
	a->n = (unsigned int)n;
	a->watches = alloc_aligned(a->n * sizeof(*a->watches));
	for (unsigned int i = 0; i < a->n; i++)
		a->watches[i].awake = a;
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

/* By a guard; one looks for all. */
static bool keeps_awake(struct ofs_awake *a)
{
	OFS_LOCKED(&a->lock);
	if (!a->looked || ofs_clock_monotonic() - a->looked > LOOK_AGAIN) {
		/* Not before: the daemon may not have left its keeper, which is to hold nothing. */
		if (!a->looked)
			a->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
		a->looked = ofs_clock_monotonic();
		a->processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
		if (a->mode == OFS_AWAKE_AUTO && ofs_wakeup_obstacle())
			a->rests_until = a->looked + LOOK_AGAIN;
	}
	return ofs_clock_monotonic() >= a->rests_until;
}

/*
 * "0.40 0.50 0.60 RUNNABLE/ALL ...", the guards among them, and the program that asks as well as the
 * thread that answers it. False where that cannot be read.
 */
static bool others_are_busy(struct ofs_awake *a)
{
	char text[64];
	ssize_t len = pread(a->loadavg, text, sizeof(text) - 1, 0);
	int runnable = 0;

	text[len > 0 ? len : 0] = '\0';
	return sscanf(text, "%*s %*s %*s %d", &runnable) == 1 &&
	       runnable - a->guarding > a->processors;
}

static void guard(struct watch *w)
{
	struct ofs_awake *a = w->awake;
	int64_t now = ofs_clock_monotonic(), look = now;

	do {
		if (now >= look) {
			look = now + BUSY_LOOK;
			if (others_are_busy(a))
				a->rests_until = now + BUSY_REST;
		}
		ofs_wakeup_spin();
		now = ofs_clock_monotonic();
	} while (now < a->last + GAP && needs_guard(w, now) && now >= a->rests_until && !a->stop);
}

static void *guard_main(void *arg)
{
	struct watch *w = arg;
	struct ofs_awake *a = w->awake;
	int processor = (int)(w - a->watches);
	int r = a->n == 2 ? ofs_wakeup_occupy(processor) : ofs_wakeup_guard(processor);

	if (r < 0) {
		w->state = STATE_FAILED;
		return NULL;
	}
	while (!a->stop) {
		if (keeps_awake(a)) {
			a->guarding++;
			guard(w);
			a->guarding--;
		}
		w->state = STATE_RESTS;
		while (sem_wait(&w->wanted) < 0)
			continue;
	}
	return NULL;
}

static void wake_guard(struct watch *w)
{
	int rests = STATE_RESTS;

	if (w->state != STATE_RESTS ||
	    !atomic_compare_exchange_strong(&w->state, &rests, STATE_GUARDS))
		return;
	if (w->started) {
		sem_post(&w->wanted);
		return;
	}
	sem_init(&w->wanted, 0, 0);
	w->started = true;
	if (ofs_thread_start(&w->thread, "awake", guard_main, w) < 0) {
		w->started = false;
		w->state = STATE_FAILED;
	}
}

/* They end together, so that they begin together as well. */
static void wake_guards(struct ofs_awake *a, int64_t now)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (needs_guard(&a->watches[i], now))
			wake_guard(&a->watches[i]);
}

void ofs_awake_note(struct ofs_awake *a)
{
	int processor = a ? sched_getcpu() : -1;
	int64_t now, last;
	struct watch *w;

	if (processor < 0 || (unsigned int)processor >= a->n)
		return;
	w = &a->watches[processor];
	now = ofs_clock_monotonic();
	if (now < a->rests_until)
		return;
	last = a->last;
	if (now - last > GAP)
		a->since = now;
	if (now - last > TICK)
		a->last = now;
	if (now - w->used > TICK)
		w->used = now;
	if (now - a->since > BEGIN)
		wake_guards(a, now);
}

void ofs_awake_destroy(struct ofs_awake *a)
{
	if (!a)
		return;
	a->stop = true;
	for (unsigned int i = 0; i < a->n; i++) {
		struct watch *w = &a->watches[i];

		if (!w->started)
			continue;
		sem_post(&w->wanted);
		pthread_join(w->thread, NULL);
		sem_destroy(&w->wanted);
	}
	if (a->loadavg >= 0)
		close(a->loadavg);
	pthread_mutex_destroy(&a->lock);
	free(a->watches);
	free(a);
}
