/* SPDX-License-Identifier: MIT */
#include "store/compress_pool.h"

#include <sched.h>

#include "base/thread.h"
#include "pack/frame.h"

#define ROOM_FOR_EACH 2u /* frames for each thread */

struct job {
	struct ofs_buf data; /* a copy, into which the chunks point */
	struct ofs_frame_chunk *chunks;
	size_t n, cap;
	int level;
	struct ofs_frame_build build;
	int error;
	bool built; /* guarded by `lock`; the rest is the builder's, then the taker's */
};

struct ofs_compress_pool {
	struct ofs_compressor *own;
	unsigned int threads;
	unsigned int nhelpers;
	pthread_t helpers[OFS_COMPRESS_THREADS_MAX - 1];
	struct job jobs[OFS_COMPRESS_THREADS_MAX * ROOM_FOR_EACH]; /* job `i` is at i % size */
	uint64_t taken; /* number of jobs taken */
	uint64_t given; /* number of jobs given; changed by the caller, under `lock` */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wanted; /* there is a job to start, or the pool ends */
	pthread_cond_t built; /* a job was built */
	uint64_t started;
	bool stop;
};

unsigned int ofs_compress_pool_threads(void)
{
	cpu_set_t set;

	/* Fails if there are more processors than fit. */
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return OFS_COMPRESS_THREADS_MAX;
	return OFS_MIN((unsigned int)CPU_COUNT(&set), OFS_COMPRESS_THREADS_MAX);
}

struct ofs_compress_pool *ofs_compress_pool_create(struct ofs_compressor *own, unsigned int threads)
{
	struct ofs_compress_pool *p = ofs_alloc(sizeof(*p));

	p->own = own;
	p->threads = OFS_MAX(1u, OFS_MIN(threads, OFS_COMPRESS_THREADS_MAX));
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wanted, NULL);
	pthread_cond_init(&p->built, NULL);
	return p;
}

void ofs_compress_pool_destroy(struct ofs_compress_pool *p)
{
	int saved = errno;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wanted);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < p->nhelpers; i++)
		pthread_join(p->helpers[i], NULL);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(p->jobs); i++) {
		ofs_buf_finish(&p->jobs[i].data);
		ofs_frame_build_finish(&p->jobs[i].build);
		free(p->jobs[i].chunks);
	}
	pthread_cond_destroy(&p->wanted);
	pthread_cond_destroy(&p->built);
	pthread_mutex_destroy(&p->lock);
	free(p);
	errno = saved;
}

static struct job *job_at(struct ofs_compress_pool *p, uint64_t i)
{
	return &p->jobs[i % OFS_ARRAY_SIZE(p->jobs)];
}

/* Builds the oldest job that nobody has started; `lock` is held, but released meanwhile. */
static void do_next(struct ofs_compress_pool *p, struct ofs_compressor *c)
{
	struct job *job = job_at(p, p->started++);

	pthread_mutex_unlock(&p->lock);
	job->error = ofs_frame_build(&job->build, c, job->level, job->chunks, job->n);
	pthread_mutex_lock(&p->lock);
	job->built = true;
	pthread_cond_signal(&p->built);
}

static void *helper_main(void *arg)
{
	struct ofs_compress_pool *p = arg;
	struct ofs_compressor *c = ofs_compressor_create();

	/* Lowers the priority inherited from the sealer: nobody waits for a lock held here. */
	ofs_thread_give_way();
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		if (p->started < p->given)
			do_next(p, c);
		else
			pthread_cond_wait(&p->wanted, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	ofs_compressor_destroy(c);
	return NULL;
}

bool ofs_compress_pool_is_full(const struct ofs_compress_pool *p)
{
	return p->given - p->taken == (uint64_t)p->threads * ROOM_FOR_EACH;
}

bool ofs_compress_pool_is_empty(const struct ofs_compress_pool *p)
{
	return p->given == p->taken;
}

void ofs_compress_pool_give(struct ofs_compress_pool *p, int level,
			    const struct ofs_frame_chunk *chunks, size_t n)
{
	struct job *job = job_at(p, p->given);
	size_t len = 0;
	bool others;

	for (size_t i = 0; i < n; i++)
		len += chunks[i].len;
	job->data.len = 0;
	ofs_buf_reserve(&job->data, len);
	job->chunks = ofs_grow(job->chunks, &job->cap, n, sizeof(*job->chunks));
	for (size_t i = 0; i < n; i++) {
		job->chunks[i].data = job->data.data + job->data.len;
		job->chunks[i].len = chunks[i].len;
		ofs_buf_append(&job->data, chunks[i].data, chunks[i].len);
	}
	job->n = n;
	job->level = level;
	job->built = false;
	pthread_mutex_lock(&p->lock);
	others = ++p->given - p->started > 1;
	pthread_cond_signal(&p->wanted);
	pthread_mutex_unlock(&p->lock);
	if (others && p->nhelpers < p->threads - 1 &&
	    ofs_thread_start(&p->helpers[p->nhelpers], "compress", helper_main, p) == 0)
		p->nhelpers++;
}

int ofs_compress_pool_take(struct ofs_compress_pool *p, struct ofs_frame_build **ret)
{
	struct job *job = job_at(p, p->taken);

	pthread_mutex_lock(&p->lock);
	while (!job->built) {
		if (p->started < p->given)
			do_next(p, p->own);
		else
			pthread_cond_wait(&p->built, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	p->taken++;
	if (job->error < 0)
		return job->error;
	*ret = &job->build;
	return 0;
}
