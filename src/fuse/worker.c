/* SPDX-License-Identifier: MIT */
#include "fuse/worker.h"

#include "base/thread.h"

struct ofs_worker {
	ofs_worker_fn fn; /* constant, as is `max` */
	unsigned int max;
	pthread_key_t givers; /* set in every thread that has queued a request */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct ofs_tree *tree;
	struct ofs_work *queue;
	size_t n, cap;
	unsigned int busy; /* threads whose requests are not answered yet */
	bool stop;
	pthread_t threads[OFS_WORKER_THREADS_MAX];
	unsigned int running;
};

/* Called under the lock, which is released while `fn` runs. */
static void serve_queue(struct ofs_worker *w)
{
	size_t n = w->max == 1 ? w->n : 1;
	OFS_FREE struct ofs_work *taken = ofs_alloc(n * sizeof(*taken));
	struct ofs_tree *tree = w->tree;

	memcpy(taken, w->queue, n * sizeof(*taken));
	w->n -= n;
	memmove(w->queue, w->queue + n, w->n * sizeof(*taken));
	w->busy++;
	pthread_mutex_unlock(&w->lock);
	w->fn(tree, taken, n);
	for (size_t i = 0; i < n; i++)
		free((char *)taken[i].name);
	pthread_mutex_lock(&w->lock);
	w->busy--;
	pthread_cond_broadcast(&w->changed);
}

static void *worker_main(void *arg)
{
	struct ofs_worker *w = arg;

	OFS_LOCKED(&w->lock);
	while (!w->stop) {
		if (w->n)
			serve_queue(w);
		else
			pthread_cond_wait(&w->changed, &w->lock);
	}
	return NULL;
}

/* Runs when a thread that has queued requests ends, because what they point to may end with it. */
static void wait_for_all(void *arg)
{
	struct ofs_worker *w = arg;

	OFS_LOCKED(&w->lock);
	while (w->n || w->busy)
		pthread_cond_wait(&w->changed, &w->lock);
}

struct ofs_worker *ofs_worker_create(ofs_worker_fn fn, unsigned int max)
{
	struct ofs_worker *w = ofs_alloc(sizeof(*w));

	if (pthread_key_create(&w->givers, wait_for_all) != 0) {
		free(w);
		return NULL;
	}
	w->fn = fn;
	w->max = OFS_MIN(max, (unsigned int)OFS_WORKER_THREADS_MAX);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	return w;
}

bool ofs_worker_add(struct ofs_worker *w, struct ofs_tree *t, const struct ofs_work *work)
{
	bool taken = pthread_getspecific(w->givers) || pthread_setspecific(w->givers, w) == 0;

	OFS_LOCKED(&w->lock);
	w->tree = t;
	if (w->n + w->busy >= w->running && w->running < w->max &&
	    ofs_thread_start(&w->threads[w->running], "worker", worker_main, w) == 0)
		w->running++;
	taken = taken && w->running;
	if (taken) {
		struct ofs_work *queued = ofs_append(w->queue, w->n, w->cap);

		*queued = *work;
		queued->name = work->name ? ofs_strdup(work->name) : NULL;
		pthread_cond_broadcast(&w->changed);
	}
	return taken;
}

void ofs_worker_destroy(struct ofs_worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	while (w->running)
		pthread_join(w->threads[--w->running], NULL);
	free(w->queue);
	pthread_key_delete(w->givers);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
