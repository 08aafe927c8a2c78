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
 * A run of requests has no gap longer than GAP. Guards are woken once a run has lasted for BEGIN,
 * and rest GAP after its last request. Times less than TICK apart count as equal and are not
 * written again, so that processors need not pass the cache line to each other.
 */
#define BEGIN (200 * NS_PER_US)
#define GAP (400 * NS_PER_US)
#define TICK (20 * NS_PER_US)

/* With more than two processors, one that no request came from for this long needs no guard. */
#define RECENT (100 * OFS_NS_PER_MS)

/*
 * Every BUSY_LOOK, a guard checks if other programs keep the processors busy. If they do, guards
 * rest for BUSY_REST. A guard would only take time then, and its processor, which is not idle to
 * the kernel, would take over no work from others.
 */
#define BUSY_LOOK OFS_NS_PER_MS
#define BUSY_REST (20 * OFS_NS_PER_MS)

/* How often to check again: power supply, quota and number of processors may change. */
#define LOOK_AGAIN (60 * OFS_NS_PER_S)

enum state {
	STATE_RESTS, /* the guard sleeps */
	STATE_GUARDS,
	STATE_FAILED /* the guard could not be started */
};

/* The guard of one processor. */
struct watch {
	_Alignas(64) _Atomic int64_t used;
	_Atomic int state;
	bool started; /* `thread` and `wanted` are valid; set by whoever set STATE_GUARDS */
	sem_t wanted;
	pthread_t thread;
	struct ofs_awake *awake;
};

struct ofs_awake {
	enum ofs_awake_mode mode;
	int loadavg; /* descriptor of /proc/loadavg, or -1; constant once a guard has looked */
	atomic_bool stop;
	atomic_int processors; /* online when a guard last looked */
	atomic_int guarding; /* guards that are awake */
	_Alignas(64) _Atomic int64_t since; /* start of the current run of requests */
	_Atomic int64_t last; /* time of the last request */
	_Atomic int64_t rests_until; /* processors may halt until then */
	_Alignas(64) pthread_mutex_t lock; /* guards `looked` */
	int64_t looked; /* when obstacles were last checked; 0: never */
	struct watch *watches; /* one per processor; constant */
	unsigned int n;
};

/*
 * Of two processors, the one that no requests come from needs the guard: as the kernel does not see
 * it idle, the program that gets an answer stays where the thread that gave it runs. With more, the
 * kernel would find another idle one, so those that the program moves between are kept awake.
 */
static bool needs_guard(const struct watch *w, int64_t now)
{
	return w->awake->n == 2 ? now > w->used + GAP : now < w->used + RECENT;
}

/* Returns zeroed memory; each struct starts a cache line. */
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

/* Returns true if guards may run. The first guard to ask after LOOK_AGAIN checks for all. */
static bool keeps_awake(struct ofs_awake *a)
{
	OFS_LOCKED(&a->lock);
	if (!a->looked || ofs_clock_monotonic() - a->looked > LOOK_AGAIN) {
		/* Not before the daemon has left its keeper, which must hold nothing. */
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
 * The file reads "0.40 0.50 0.60 RUNNABLE/ALL ...". RUNNABLE includes the guards, the program that
 * sends requests and the thread that answers them. Returns false if it cannot be read.
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

/* Guards end together, so they are also woken together. */
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
