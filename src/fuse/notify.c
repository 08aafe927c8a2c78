/* SPDX-License-Identifier: MIT */
/*
 * Letting go of content waits for the locks of its pages, and letting go of a name for the lock of its
 * directory: locks that the kernel holds while it waits for a request. So that is told by a thread
 * that serves none, and that thread ends while requests are still served. Attributes need no such
 * lock.
 */
#include "fuse/notify.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/util.h"

/* What is to be let go of, one behind the other: a struct item and the name, NUL-terminated. */
struct queue {
	char *data;
	size_t len, cap;
	size_t last; /* where the last one begins */
};

struct item {
	ofs_node node;
	ofs_node parent;
};

struct ofs_notify {
	/*
	 * Through this one attributes are told of: NULL before the mount and again before it is undone.
	 * The lock is held through a notification, so that none is on its way when the device closes.
	 */
	pthread_mutex_t attr_lock;
	struct fuse_session *attr_fuse;

	pthread_mutex_t lock; /* guards what follows; not held through a notification */
	pthread_cond_t changed;
	struct queue queue;
	bool running; /* the thread may tell something */
	bool stopping;
	bool joinable;
	pthread_t thread;
	struct fuse_session *fuse; /* constant while the thread runs */
};

static bool queue_ends_with(const struct queue *q, const struct item *item, const char *name)
{
	const char *last = q->data + q->last;

	return q->len && memcmp(last, item, sizeof(*item)) == 0 &&
	       strcmp(last + sizeof(*item), name) == 0;
}

static void queue_add(struct queue *q, const struct item *item, const char *name)
{
	size_t size = strlen(name) + 1;

	if (queue_ends_with(q, item, name))
		return;
	q->data = ofs_grow(q->data, &q->cap, q->len + sizeof(*item) + size, 1);
	memcpy(q->data + q->len, item, sizeof(*item));
	memcpy(q->data + q->len + sizeof(*item), name, size);
	q->last = q->len;
	q->len += sizeof(*item) + size;
}

static bool is_stopping(struct ofs_notify *n)
{
	bool stopping;

	pthread_mutex_lock(&n->lock);
	stopping = n->stopping;
	pthread_mutex_unlock(&n->lock);
	return stopping;
}

/* What the kernel does not know is no error. Content goes once for all names in a row. */
static void tell_all(struct ofs_notify *n, const struct queue *q)
{
	ofs_node told = 0;
	struct item item;
	size_t at = 0;

	while (at < q->len && !is_stopping(n)) {
		const char *name = q->data + at + sizeof(item);
		size_t len = strlen(name);

		memcpy(&item, q->data + at, sizeof(item));
		if (item.node != told)
			fuse_lowlevel_notify_inval_inode(n->fuse, item.node, 0, 0);
		fuse_lowlevel_notify_inval_entry(n->fuse, item.parent, name, len);
		told = item.node;
		at += sizeof(item) + len + 1;
	}
}

static void *notify_main(void *arg)
{
	struct ofs_notify *n = arg;

	pthread_mutex_lock(&n->lock);
	while (!n->stopping) {
		struct queue q = n->queue;

		if (!q.len) {
			pthread_cond_wait(&n->changed, &n->lock);
			continue;
		}
		n->queue = (struct queue){ 0 };
		pthread_mutex_unlock(&n->lock);
		tell_all(n, &q);
		free(q.data);
		pthread_mutex_lock(&n->lock);
	}
	n->running = false;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

struct ofs_notify *ofs_notify_create(void)
{
	struct ofs_notify *n = ofs_alloc(sizeof(*n));

	pthread_mutex_init(&n->attr_lock, NULL);
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	return n;
}

static void set_attr_fuse(struct ofs_notify *n, struct fuse_session *fuse)
{
	pthread_mutex_lock(&n->attr_lock);
	n->attr_fuse = fuse;
	pthread_mutex_unlock(&n->attr_lock);
}

int ofs_notify_start(struct ofs_notify *n, struct fuse_session *fuse)
{
	int r = 0;

	set_attr_fuse(n, fuse);
	pthread_mutex_lock(&n->lock);
	if (!n->stopping) {
		n->fuse = fuse;
		r = pthread_create(&n->thread, NULL, notify_main, n);
		n->running = n->joinable = r == 0;
	}
	pthread_mutex_unlock(&n->lock);
	return -r;
}

void ofs_notify_attr(struct ofs_notify *n, ofs_node node)
{
	pthread_mutex_lock(&n->attr_lock);
	/* A negative offset: the attributes alone. What the kernel does not know is no error. */
	if (n->attr_fuse)
		fuse_lowlevel_notify_inval_inode(n->attr_fuse, node, -1, 0);
	pthread_mutex_unlock(&n->attr_lock);
}

void ofs_notify_release(struct ofs_notify *n, ofs_node node, ofs_node parent, const char *name)
{
	struct item item = { .node = node, .parent = parent };

	pthread_mutex_lock(&n->lock);
	if (n->running && !n->stopping) {
		queue_add(&n->queue, &item, name);
		pthread_cond_broadcast(&n->changed);
	}
	pthread_mutex_unlock(&n->lock);
}

void ofs_notify_stop(struct ofs_notify *n)
{
	pthread_mutex_lock(&n->lock);
	n->stopping = true;
	pthread_cond_broadcast(&n->changed);
	while (n->running)
		pthread_cond_wait(&n->changed, &n->lock);
	pthread_mutex_unlock(&n->lock);
}

void ofs_notify_finish(struct ofs_notify *n)
{
	set_attr_fuse(n, NULL);
}

void ofs_notify_destroy(struct ofs_notify *n)
{
	if (!n)
		return;
	if (n->joinable)
		pthread_join(n->thread, NULL);
	free(n->queue.data);
	pthread_cond_destroy(&n->changed);
	pthread_mutex_destroy(&n->lock);
	pthread_mutex_destroy(&n->attr_lock);
	free(n);
}
