/* SPDX-License-Identifier: MIT */
#include "fuse/signals.h"

#include <signal.h>

#include "base/clock.h"
#include "base/thread.h"

/* Interrupts the wait, and wakes the thread of the signals when it is to end. */
#define WAKE SIGUSR1
#define WAKE_AGAIN_NS (10 * OFS_NS_PER_MS)

struct ofs_signals {
	void (*stop)(void *arg);
	void *arg;
	sigset_t set; /* the signals that ask to stop, and WAKE */
	pthread_t thread;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	bool caught;
	bool ending;
	bool waits; /* `waiter` is to be interrupted */
	pthread_t waiter;
};

static void do_nothing(int number)
{
	(void)number;
}

static bool is_ignored(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
	       now.sa_handler == SIG_IGN;
}

/* Ignored signals are left out: even those would be delivered to a thread that waits for them. */
void ofs_signals_choose(sigset_t *ret)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };

	sigemptyset(ret);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(numbers); i++)
		if (!is_ignored(numbers[i]))
			sigaddset(ret, numbers[i]);
}

static void mask_wake(int how)
{
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, WAKE);
	pthread_sigmask(how, &wake, NULL);
}

/* Returns true if a signal asks to stop, false if ofs_signals_destroy() was called. */
static bool wait_for_one(struct ofs_signals *s)
{
	bool ending;
	int number;

	for (;;) {
		if (sigwait(&s->set, &number) != 0)
			continue;
		pthread_mutex_lock(&s->lock);
		ending = s->ending;
		s->caught = !ending && number != WAKE;
		pthread_mutex_unlock(&s->lock);
		if (ending || number != WAKE)
			return !ending;
	}
}

/* An interruption is lost if the wait has not quite started, so it is repeated. */
static void interrupt_until_end(struct ofs_signals *s)
{
	OFS_LOCKED(&s->lock);
	while (!s->ending) {
		if (!s->waits) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		pthread_kill(s->waiter, WAKE);
		ofs_cond_wait_until(&s->changed, &s->lock, ofs_clock_monotonic() + WAKE_AGAIN_NS);
	}
}

static void *signals_main(void *arg)
{
	struct ofs_signals *s = arg;

	if (wait_for_one(s)) {
		s->stop(s->arg);
		interrupt_until_end(s);
	}
	return NULL;
}

static void destroy(struct ofs_signals *s)
{
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int ofs_signals_create(void (*stop)(void *arg), void *arg, struct ofs_signals **ret)
{
	struct sigaction wake = { .sa_handler = do_nothing };
	struct ofs_signals *s = ofs_alloc(sizeof(*s));
	int r;

	s->stop = stop;
	s->arg = arg;
	pthread_mutex_init(&s->lock, NULL);
	ofs_cond_init(&s->changed);
	ofs_signals_choose(&s->set);
	sigaddset(&s->set, WAKE);
	/* Without SA_RESTART, because the wait would go on. */
	sigemptyset(&wake.sa_mask);
	sigaction(WAKE, &wake, NULL);
	pthread_sigmask(SIG_BLOCK, &s->set, NULL);
	r = pthread_create(&s->thread, NULL, signals_main, s);
	if (r) {
		destroy(s);
		return -r;
	}
	*ret = s;
	return 0;
}

bool ofs_signals_caught(struct ofs_signals *s)
{
	OFS_LOCKED(&s->lock);
	return s->caught;
}

static void set_waits(struct ofs_signals *s, bool waits)
{
	OFS_LOCKED(&s->lock);
	s->waiter = pthread_self();
	s->waits = waits;
	pthread_cond_broadcast(&s->changed);
}

void ofs_signals_enter(struct ofs_signals *s)
{
	set_waits(s, true);
	mask_wake(SIG_UNBLOCK);
}

void ofs_signals_leave(struct ofs_signals *s)
{
	mask_wake(SIG_BLOCK);
	set_waits(s, false);
}

void ofs_signals_destroy(struct ofs_signals *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_kill(s->thread, WAKE);
	pthread_join(s->thread, NULL);
	destroy(s);
}
