/* SPDX-License-Identifier: MIT */
#include "pack/ahead.h"

#include "base/thread.h"

#define THREADS_MIN 2
#define THREADS_MAX 3
#define STREAMS 16
#define WALKS 32

struct place {
	uint32_t pack;
	uint64_t off;
};

/* Loads the next `left` frames from `at` on. */
struct walk {
	struct place at;
	unsigned int left;
};

struct ofs_ahead {
	const struct ofs_ahead_ops *ops; /* constant, like `arg` */
	void *arg;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake; /* there is a walk, or `stop` is set */
	struct place stream[STREAMS]; /* ends of recently read frames */
	unsigned int next_stream; /* the one to replace next */
	struct walk walk[WALKS]; /* a ring; when it is full, the oldest walk is dropped */
	unsigned int first, nwalks;
	pthread_t thread[THREADS_MAX];
	unsigned int nthreads; /* 0 until the first walk */
	bool stop;
};

struct ofs_ahead *ofs_ahead_create(const struct ofs_ahead_ops *ops, void *arg)
{
	struct ofs_ahead *a = ofs_alloc(sizeof(*a));

	a->ops = ops;
	a->arg = arg;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, NULL);
	return a;
}

void ofs_ahead_destroy(struct ofs_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->wake);
	pthread_mutex_unlock(&a->lock);
	for (unsigned int i = 0; i < a->nthreads; i++)
		pthread_join(a->thread[i], NULL);
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* Under the lock. */
static void walk_push(struct ofs_ahead *a, const struct walk *w)
{
	if (a->nwalks == WALKS) {
		a->first = (a->first + 1) % WALKS;
		a->nwalks--;
	}
	a->walk[(a->first + a->nwalks++) % WALKS] = *w;
	pthread_cond_signal(&a->wake);
}

/* Waits for a walk. False: the threads are to end. Under the lock. */
static bool walk_pop(struct ofs_ahead *a, struct walk *ret)
{
	while (!a->nwalks && !a->stop)
		pthread_cond_wait(&a->wake, &a->lock);
	if (a->stop)
		return false;
	*ret = a->walk[a->first];
	a->first = (a->first + 1) % WALKS;
	a->nwalks--;
	return true;
}

static struct place end_of(const struct ofs_frame_loc *loc)
{
	return (struct place){ loc->pack, loc->off + loc->stored };
}

/* Finds the next frame to load. Returns 0, 1 if there is none, or -errno. */
static int walk_on(struct ofs_ahead *a, struct walk *w, struct ofs_frame_loc *ret)
{
	int r;

	do {
		r = a->ops->locate(a->arg, w->at.pack, w->at.off, ret);
		if (r < 0)
			return r;
		w->at = end_of(ret);
		w->left--;
	} while (r > 0 && w->left);
	return r;
}

static void *ahead_run(void *arg)
{
	struct ofs_ahead *a = arg;
	struct walk w;

	pthread_mutex_lock(&a->lock);
	while (walk_pop(a, &w)) {
		struct ofs_frame_loc loc;
		int r;

		pthread_mutex_unlock(&a->lock);
		r = walk_on(a, &w, &loc);
		pthread_mutex_lock(&a->lock);
		if (r != 0)
			continue;
		/* Lets another thread continue the walk meanwhile. */
		if (w.left)
			walk_push(a, &w);
		pthread_mutex_unlock(&a->lock);
		a->ops->load(a->arg, &loc);
		pthread_mutex_lock(&a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/*
 * Leaves one processor to the reader, but starts at least two threads: one may wait for the disk
 * while the other decompresses. Under the lock.
 */
static void start_threads(struct ofs_ahead *a)
{
	long n = OFS_MAX(sysconf(_SC_NPROCESSORS_ONLN) - 1, (long)THREADS_MIN);

	for (; a->nthreads < OFS_MIN(n, (long)THREADS_MAX); a->nthreads++)
		if (ofs_thread_start(&a->thread[a->nthreads], "ahead", ahead_run, a) < 0)
			return;
}

/* True if the frame follows one that was read recently. Remembers where it ends. Under the lock. */
static bool stream_continues(struct ofs_ahead *a, const struct ofs_frame_loc *loc)
{
	for (unsigned int i = 0; i < STREAMS; i++) {
		if (a->stream[i].pack == loc->pack && a->stream[i].off == loc->off) {
			a->stream[i] = end_of(loc);
			return true;
		}
	}
	a->stream[a->next_stream++ % STREAMS] = end_of(loc);
	return false;
}

void ofs_ahead_used(struct ofs_ahead *a, const struct ofs_frame_loc *loc, bool ahead)
{
	struct walk w = { end_of(loc), OFS_AHEAD_FRAMES };

	OFS_LOCKED(&a->lock);
	if (stream_continues(a, loc) || ahead) {
		if (!a->nthreads)
			start_threads(a);
		walk_push(a, &w);
	}
}
