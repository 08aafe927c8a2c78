/* SPDX-License-Identifier: MIT */
#include "fuse/syncer.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/thread.h"

struct ofs_syncer {
	pthread_key_t givers; /* set in every thread that has given a request */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct ofs_tree *tree;
	fuse_req_t *queue;
	size_t n, cap;
	bool busy; /* requests that were taken from the queue are not answered yet */
	bool stop;
	bool runs;
	pthread_t thread;
};

/* Answers what is in the queue; `lock` held. */
static void answer(struct ofs_syncer *s)
{
	struct ofs_tree *tree = s->tree;
	fuse_req_t *queue = s->queue;
	size_t n = s->n;
	int r;

	s->queue = NULL;
	s->n = s->cap = 0;
	s->busy = true;
	pthread_mutex_unlock(&s->lock);
	r = ofs_tree_sync(tree);
	for (size_t i = 0; i < n; i++)
		fuse_reply_err(queue[i], r < 0 ? -r : 0);
	free(queue);
	pthread_mutex_lock(&s->lock);
	s->busy = false;
	pthread_cond_broadcast(&s->changed);
}

static void *syncer_main(void *arg)
{
	struct ofs_syncer *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		if (s->n)
			answer(s);
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* A thread that has given requests ends, and what they point to may go with it. */
static void wait_for_answers(void *arg)
{
	struct ofs_syncer *s = arg;

	pthread_mutex_lock(&s->lock);
	while (s->n || s->busy)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

struct ofs_syncer *ofs_syncer_create(void)
{
	struct ofs_syncer *s = ofs_alloc(sizeof(*s));

	if (pthread_key_create(&s->givers, wait_for_answers) != 0) {
		free(s);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	return s;
}

bool ofs_syncer_add(struct ofs_syncer *s, struct ofs_tree *t, fuse_req_t req)
{
	bool taken = pthread_getspecific(s->givers) || pthread_setspecific(s->givers, s) == 0;

	pthread_mutex_lock(&s->lock);
	s->tree = t;
	if (!s->runs)
		s->runs = ofs_thread_start(&s->thread, syncer_main, s) == 0;
	taken = taken && s->runs;
	if (taken) {
		s->queue = ofs_grow(s->queue, &s->cap, s->n + 1, sizeof(*s->queue));
		s->queue[s->n++] = req;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return taken;
}

void ofs_syncer_destroy(struct ofs_syncer *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (s->runs)
		pthread_join(s->thread, NULL);
	free(s->queue);
	pthread_key_delete(s->givers);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
