/* SPDX-License-Identifier: MIT */
/*
 * FUSE_NOTIFY_PRUNE drops an unused node from the kernel's caches and waits for nothing. A kernel
 * that lacks it, and a file in use, need the two invalidations instead. The one of content waits
 * for the locks of pages, the one of a name for the lock of its directory; the kernel holds these
 * while it waits for a request. So
 * - a thread that serves no request sends them, and it ends while requests are still served;
 * - they are avoided. If a daemon is killed while one waits, the daemon stays a zombie, and the
 *   requests that it waits for hang until somebody aborts the connection. The invalidation of
 *   attributes needs no such lock.
 */
#include "fuse/notify.h"

#include <sys/uio.h>

#include "base/clock.h"
#include "base/thread.h"

/* Leaves whoever removes the file's name or looks at the file time to finish. */
#define IN_USE_AFTER OFS_NS_PER_S

/* As in <linux/fuse.h> of Linux 6.18, protocol 7.45. */
#define NOTIFY_PRUNE 9

struct notify_header {
	uint32_t len;
	int32_t code;
	uint64_t unique; /* always 0 */
};

struct notify_prune {
	uint32_t count;
	uint32_t padding;
	uint64_t spare;
	uint64_t nodes[1];
};

/* Entries in sequence: a struct item, then the NUL-terminated name. */
struct queue {
	char *data;
	size_t len, cap;
	size_t last; /* offset of the last entry */
};

struct item {
	uint64_t node; /* number that the kernel knows it by; likewise `parent` */
	uint64_t parent; /* 0: drop the content of `node`, or its listing */
	int64_t due; /* monotonic, ns; 0: at once */
};

struct ofs_notify {
	/*
	 * For notifications of attributes; NULL before the mount, and again before it is undone.
	 * The lock is held during a notification, so that none is under way when the device closes.
	 */
	pthread_mutex_t attr_lock;
	struct fuse_session *attr_fuse;
	const struct ofs_tree *tree; /* constant while notifications may be sent */

	pthread_mutex_t lock; /* guards what follows, up to `thread`; not held meanwhile */
	pthread_cond_t changed;
	struct queue queue;
	bool running; /* the thread may send notifications */
	bool stopping;
	bool joinable;
	pthread_t thread;

	/* Used by the thread alone. */
	struct fuse_session *fuse;
	struct queue busy; /* nodes found in use, in the order of `due` */
	bool cannot_prune;
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
	OFS_LOCKED(&n->lock);
	return n->stopping;
}

/* Invalidates the attributes of the node. Returns false if the kernel does not have it. */
static bool is_known(struct ofs_notify *n, uint64_t node)
{
	return fuse_lowlevel_notify_inval_inode(n->fuse, node, -1, 0) != -ENOENT;
}

/* Drops all names of a file that is not in use. Returns false if the kernel cannot prune. */
static bool prune(struct ofs_notify *n, uint64_t node)
{
	struct notify_prune what = { .count = 1, .nodes = { node } };
	struct notify_header header = { .len = sizeof(header) + sizeof(what),
					.code = NOTIFY_PRUNE };
	struct iovec iov[] = { { &header, sizeof(header) }, { &what, sizeof(what) } };

	if (!n->cannot_prune && writev(fuse_session_fd(n->fuse), iov, 2) < 0 && errno == EINVAL)
		n->cannot_prune = true;
	return !n->cannot_prune;
}

/* Ignores errors: the kernel may not have the node. */
static void invalidate(struct ofs_notify *n, const struct item *item, const char *name)
{
	fuse_lowlevel_notify_inval_inode(n->fuse, item->node, 0, 0);
	fuse_lowlevel_notify_inval_entry(n->fuse, item->parent, name, strlen(name));
}

static void release(struct ofs_notify *n, struct item *item, const char *name)
{
	if (!item->parent) {
		fuse_lowlevel_notify_inval_inode(n->fuse, item->node, 0, 0);
	} else if (!item->node) { /* a name that the kernel may remember as absent */
		fuse_lowlevel_notify_inval_entry(n->fuse, item->parent, name, strlen(name));
	} else if (!prune(n, item->node)) {
		invalidate(n, item, name);
	} else if (is_known(n, item->node)) {
		item->due = ofs_clock_monotonic() + IN_USE_AFTER;
		queue_add(&n->busy, item, name);
	}
}

/* When due, a node that the kernel still has is in use, or was looked up again. */
static void release_busy(struct ofs_notify *n, struct item *item, const char *name)
{
	if (item->due > ofs_clock_monotonic())
		queue_add(&n->busy, item, name);
	else if (is_known(n, item->node))
		invalidate(n, item, name);
}

/* Calls `fn` for the entries of the queue until the thread is to stop, and frees the queue. */
static void for_all(struct ofs_notify *n, struct queue q,
		    void (*fn)(struct ofs_notify *n, struct item *item, const char *name))
{
	struct item item;
	size_t at = 0;

	while (at < q.len && !is_stopping(n)) {
		const char *name = q.data + at + sizeof(item);

		memcpy(&item, q.data + at, sizeof(item));
		fn(n, &item, name);
		at += sizeof(item) + strlen(name) + 1;
	}
	free(q.data);
}

/* Returns when the first node in use is due, or INT64_MAX if there is none. */
static int64_t busy_due(const struct ofs_notify *n)
{
	struct item first;

	if (!n->busy.len)
		return INT64_MAX;
	memcpy(&first, n->busy.data, sizeof(first));
	return first.due;
}

static void *notify_main(void *arg)
{
	struct ofs_notify *n = arg;

	pthread_mutex_lock(&n->lock);
	while (!n->stopping) {
		struct queue fresh = n->queue, busy = n->busy;
		int64_t busy_at = busy_due(n);
		bool due = busy_at <= ofs_clock_monotonic();

		if (!fresh.len && !due) {
			ofs_cond_wait_until(&n->changed, &n->lock, busy_at);
			continue;
		}
		n->queue = (struct queue){ 0 };
		if (due)
			n->busy = (struct queue){ 0 };
		pthread_mutex_unlock(&n->lock);
		if (due)
			for_all(n, busy, release_busy);
		for_all(n, fresh, release);
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
	ofs_cond_init(&n->changed);
	return n;
}

static void set_attr_fuse(struct ofs_notify *n, struct fuse_session *fuse)
{
	OFS_LOCKED(&n->attr_lock);
	n->attr_fuse = fuse;
}

int ofs_notify_start(struct ofs_notify *n, struct fuse_session *fuse, const struct ofs_tree *tree)
{
	int r = 0;

	n->tree = tree;
	set_attr_fuse(n, fuse);
	OFS_LOCKED(&n->lock);
	if (!n->stopping) {
		n->fuse = fuse;
		r = ofs_thread_start(&n->thread, "notify", notify_main, n);
		n->running = n->joinable = r == 0;
	}
	return r;
}

void ofs_notify_attr(struct ofs_notify *n, ofs_node node)
{
	OFS_LOCKED(&n->attr_lock);
	/* A negative offset stands for the attributes alone. */
	if (n->attr_fuse)
		fuse_lowlevel_notify_inval_inode(n->attr_fuse, ofs_tree_show_node(n->tree, node),
						 -1, 0);
}

void ofs_notify_release(struct ofs_notify *n, ofs_node node, ofs_node parent, const char *name)
{
	struct item item = { 0 };

	OFS_LOCKED(&n->lock);
	if (n->running && !n->stopping) {
		item.node = ofs_tree_show_node(n->tree, node);
		item.parent = parent ? ofs_tree_show_node(n->tree, parent) : 0;
		queue_add(&n->queue, &item, name);
		pthread_cond_broadcast(&n->changed);
	}
}

void ofs_notify_content(struct ofs_notify *n, ofs_node node)
{
	ofs_notify_release(n, node, 0, "");
}

void ofs_notify_stop(struct ofs_notify *n)
{
	OFS_LOCKED(&n->lock);
	n->stopping = true;
	pthread_cond_broadcast(&n->changed);
	while (n->running)
		pthread_cond_wait(&n->changed, &n->lock);
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
	free(n->busy.data);
	free(n->queue.data);
	pthread_cond_destroy(&n->changed);
	pthread_mutex_destroy(&n->lock);
	pthread_mutex_destroy(&n->attr_lock);
	free(n);
}
