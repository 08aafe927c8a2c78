/* SPDX-License-Identifier: MIT */
#include "replica/object_cache.h"

#include "base/thread.h"

#define THREADS 8
#define EXPECTED_MAX ((size_t)64 << 20) /* bytes at which reading ahead pauses */
#define KEPT_MAX ((size_t)32 << 20) /* bytes above which an object goes once returned */

enum state {
	WAITING, /* waiting for a thread */
	READING,
	READ,
	FAILED,
};

struct object {
	struct object *next;
	char *key;
	enum state state;
	struct ofs_buf bytes;
};

struct ofs_object_cache {
	const struct ofs_remote_access *remote;
	int64_t timeout;
	size_t max;
	atomic_bool over; /* set to end; also cancels requests */
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t wake; /* for threads */
	pthread_cond_t done; /* an object became READ or FAILED */
	struct object *objects; /* in the order in which they are expected */
	size_t bytes;
	pthread_t threads[THREADS];
	size_t nthreads;
};

struct ofs_object_cache *ofs_object_cache_create(const struct ofs_remote_access *remote,
						 int64_t timeout, size_t max)
{
	struct ofs_object_cache *c = ofs_alloc(sizeof(*c));

	c->remote = remote;
	c->timeout = timeout;
	c->max = max;
	pthread_mutex_init(&c->lock, NULL);
	ofs_cond_init(&c->wake);
	ofs_cond_init(&c->done);
	return c;
}

static void object_destroy(struct object *o)
{
	free(o->key);
	ofs_buf_finish(&o->bytes);
	free(o);
}

void ofs_object_cache_destroy(struct ofs_object_cache *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->over = true;
	pthread_cond_broadcast(&c->wake);
	pthread_mutex_unlock(&c->lock);
	while (c->nthreads)
		pthread_join(c->threads[--c->nthreads], NULL);
	while (c->objects) {
		struct object *o = c->objects;

		c->objects = o->next;
		object_destroy(o);
	}
	pthread_cond_destroy(&c->wake);
	pthread_cond_destroy(&c->done);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Returns the address of the pointer to the object, or of the final NULL. With the lock. */
static struct object **find(struct ofs_object_cache *c, const char *key)
{
	struct object **at = &c->objects;

	while (*at && strcmp((*at)->key, key) != 0)
		at = &(*at)->next;
	return at;
}

static void forget(struct ofs_object_cache *c, struct object **at)
{
	struct object *o = *at;

	*at = o->next;
	c->bytes -= o->bytes.len;
	object_destroy(o);
}

/* ---- threads */

/* Returns the next object to read, or NULL at the end. With the lock. */
static struct object *take(struct ofs_object_cache *c)
{
	while (!c->over) {
		struct object *o = c->objects;

		while (o && o->state != WAITING)
			o = o->next;
		if (o && c->bytes < EXPECTED_MAX) {
			o->state = READING;
			return o;
		}
		pthread_cond_wait(&c->wake, &c->lock);
	}
	return NULL;
}

static void *run(void *arg)
{
	struct ofs_object_cache *c = arg;
	struct ofs_bucket *b = NULL;
	struct ofs_error ignored;
	struct object *o;
	int r;

	pthread_mutex_lock(&c->lock);
	while ((o = take(c))) {
		pthread_mutex_unlock(&c->lock);
		r = b ? 0 : ofs_bucket_open(c->remote, c->timeout, &c->over, &ignored, &b);
		if (r == 0)
			r = ofs_bucket_get(b, o->key, c->max, &o->bytes, &ignored);
		pthread_mutex_lock(&c->lock);
		o->state = r < 0 ? FAILED : READ;
		if (r < 0)
			ofs_buf_finish(&o->bytes);
		c->bytes += o->bytes.len;
		pthread_cond_broadcast(&c->done);
	}
	pthread_mutex_unlock(&c->lock);
	ofs_bucket_close(b);
	return NULL;
}

/* ---- for callers */

void ofs_object_cache_expect(struct ofs_object_cache *c, const char *key)
{
	OFS_LOCKED(&c->lock);
	struct object **at = find(c, key);

	if (*at)
		return;
	*at = ofs_alloc(sizeof(**at));
	(*at)->key = ofs_strdup(key);
	if (c->nthreads < THREADS &&
	    ofs_thread_start(&c->threads[c->nthreads], "reader", run, c) == 0)
		c->nthreads++;
	pthread_cond_signal(&c->wake);
}

bool ofs_object_cache_get(struct ofs_object_cache *c, const char *key, struct ofs_buf *ret)
{
	struct object **at, *o;
	bool found;

	OFS_LOCKED(&c->lock);
	/* Other objects may go meanwhile, but not this one: nobody else asks for it. */
	while ((o = *(at = find(c, key))) && o->state == READING)
		pthread_cond_wait(&c->done, &c->lock);
	found = o && o->state == READ;
	ret->len = 0;
	if (found && c->bytes <= KEPT_MAX) {
		ofs_buf_append(ret, o->bytes.data, o->bytes.len);
		return true;
	}
	if (found) {
		c->bytes -= o->bytes.len;
		ofs_buf_finish(ret);
		*ret = ofs_buf_steal(&o->bytes);
		pthread_cond_broadcast(&c->wake);
	}
	if (o)
		forget(c, at);
	return found;
}
