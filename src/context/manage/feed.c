/* SPDX-License-Identifier: MIT */
#include "context/manage/feed.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "base/util.h"

/* Items that wait, and bytes of them: what waits is memory. One that is larger waits alone. */
#define ITEMS_MAX 64
#define BYTES_MAX ((size_t)8 << 20)

struct ofs_feed {
	const struct ofs_span *strings;
	size_t n;
	struct ofs_literal_style *style; /* the thread's until it has ended */
	pthread_t thread;
	bool threaded; /* without a thread each is made ready when it is asked for */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	size_t made; /* strings that are ready, or were */
	size_t taken; /* of them, those that were asked for; the last is in use */
	size_t bytes; /* of those that wait */
	int result; /* why none is made any more: -errno */
	bool stop;
	struct ofs_shelf_item items[ITEMS_MAX]; /* string i at i % ITEMS_MAX */
};

static struct ofs_shelf_item *item_of(struct ofs_feed *a, size_t i)
{
	return &a->items[i % ITEMS_MAX];
}

/* Whether string i may be made ready now; the lock is held. The place of the one in use is not free. */
static bool has_room(const struct ofs_feed *a, size_t i)
{
	size_t waiting = i - a->taken;

	return waiting + 1 < ITEMS_MAX && (!waiting || a->bytes + a->strings[i].len <= BYTES_MAX);
}

/* Whether so little waits that more is to be made: not for each that is taken, which would cost a switch of threads. */
static bool is_low(const struct ofs_feed *a)
{
	return a->made - a->taken <= ITEMS_MAX / 2 && a->bytes <= BYTES_MAX / 2;
}

static void *make_ready(void *arg)
{
	struct ofs_feed *a = arg;
	int r = 0;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < a->n && r == 0; i++) {
		while (!a->stop && !has_room(a, i))
			pthread_cond_wait(&a->changed, &a->lock);
		if (a->stop)
			break;
		pthread_mutex_unlock(&a->lock);
		r = ofs_shelf_item_init(item_of(a, i), a->strings[i], a->style);
		pthread_mutex_lock(&a->lock);
		a->result = r;
		if (r == 0) {
			a->made++;
			a->bytes += a->strings[i].len;
		}
		/* Nobody waits while there was one before. */
		if (r < 0 || a->made - a->taken == 1)
			pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct ofs_feed *ofs_feed_create(const struct ofs_span strings[], size_t n,
				 struct ofs_literal_style *style)
{
	struct ofs_feed *a = ofs_alloc(sizeof(*a));

	a->strings = strings;
	a->n = n;
	a->style = style;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	/* A thread for one string would only be waited for. */
	a->threaded = n > 1 && ofs_thread_start(&a->thread, "feed", make_ready, a) == 0;
	return a;
}

/* Makes the one that is asked for, when nobody else does. */
static void make_next(struct ofs_feed *a)
{
	a->result = ofs_shelf_item_init(item_of(a, a->made), a->strings[a->made], a->style);
	if (a->result == 0)
		a->bytes += a->strings[a->made++].len;
}

int ofs_feed_next(struct ofs_feed *a, struct ofs_shelf_item **ret)
{
	int r;

	pthread_mutex_lock(&a->lock);
	if (!a->threaded)
		make_next(a);
	while (a->made == a->taken && a->result == 0)
		pthread_cond_wait(&a->changed, &a->lock);
	r = a->made > a->taken ? 0 : a->result;
	if (r == 0) {
		*ret = item_of(a, a->taken);
		a->bytes -= a->strings[a->taken++].len;
		if (is_low(a))
			pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return r;
}

void ofs_feed_destroy(struct ofs_feed *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	if (a->threaded)
		pthread_join(a->thread, NULL);
	for (size_t i = a->taken; i < a->made; i++)
		ofs_shelf_item_finish(item_of(a, i));
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

void ofs_feed_destroy_p(struct ofs_feed **a)
{
	ofs_feed_destroy(*a);
}
