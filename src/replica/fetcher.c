/* SPDX-License-Identifier: MIT */
#include "replica/fetcher.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "replica/lineage.h"

#define TIMEOUT (20 * OFS_NS_PER_S) /* a reader waits meanwhile */
#define TRIES 3
#define KEPT 4 /* idle connections kept */
#define BROUGHT_MAX (UINT64_C(8) << 20) /* bytes fetched before the bound is checked */

struct ofs_fetcher {
	const struct ofs_remote_access *remote;
	atomic_bool cancel;
	struct ofs_store *store;
	uint64_t local_max;
	_Atomic uint64_t durable, local, brought;
	_Atomic uint64_t requests, bytes;
	pthread_mutex_t lock; /* guards the members below */
	struct ofs_bucket *idle[KEPT];
	size_t nidle;
};

struct ofs_fetcher *ofs_fetcher_create(const struct ofs_remote_access *remote)
{
	struct ofs_fetcher *f = ofs_alloc(sizeof(*f));

	f->remote = remote;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

void ofs_fetcher_destroy(struct ofs_fetcher *f)
{
	if (!f)
		return;
	while (f->nidle)
		ofs_bucket_close(f->idle[--f->nidle]);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void ofs_fetcher_cancel(struct ofs_fetcher *f)
{
	f->cancel = true;
}

static int take(struct ofs_fetcher *f, struct ofs_error *err, struct ofs_bucket **ret)
{
	pthread_mutex_lock(&f->lock);
	*ret = f->nidle ? f->idle[--f->nidle] : NULL;
	pthread_mutex_unlock(&f->lock);
	return *ret ? 0 : ofs_bucket_open(f->remote, TIMEOUT, &f->cancel, err, ret);
}

static void give(struct ofs_fetcher *f, struct ofs_bucket *b)
{
	pthread_mutex_lock(&f->lock);
	if (f->nidle < KEPT) {
		f->idle[f->nidle++] = b;
		b = NULL;
	}
	pthread_mutex_unlock(&f->lock);
	ofs_bucket_close(b);
}

int ofs_fetcher_evict(struct ofs_fetcher *f)
{
	uint64_t left;
	int r;

	if (!f->local_max)
		return 0;
	f->brought = 0;
	r = ofs_store_evict_frames(f->store, f->local_max - f->local_max / 4, f->durable, &left);
	if (r == 0)
		f->local = left;
	return r;
}

static void make_room(void *arg)
{
	struct ofs_fetcher *f = arg;

	if (f->brought >= BROUGHT_MAX)
		ofs_fetcher_evict(f);
}

/* Fetches part of an object; an ofs_object_get_fn. */
static int get_object(void *arg, const struct ofs_index_object *object, uint64_t at, void *buf,
		      size_t len)
{
	OFS_FREE char *key = ofs_key_pack(object->epoch, object->number);
	struct ofs_fetcher *f = arg;
	struct ofs_error err = { "" };
	struct ofs_bucket *b;
	int r;

	if (f->cancel)
		return -ECANCELED;
	f->brought += len;
	r = take(f, &err, &b);
	if (r == 0) {
		for (int i = 0; i < TRIES; i++) {
			f->requests++;
			r = ofs_bucket_get_range(b, key, object->size, at, len, buf, &err);
			if (r != -EAGAIN)
				break;
		}
		give(f, b);
	}
	if (r == 0)
		f->bytes += len;
	else if (r != -ECANCELED)
		ofs_log(LOG_ERR, "cannot fetch content from the remote: %s", err.text);
	return r;
}

void ofs_fetcher_attach(struct ofs_fetcher *f, struct ofs_store *s, uint64_t local_max)
{
	f->store = s;
	f->local_max = local_max;
	ofs_store_set_room(s, make_room);
	ofs_store_set_objects(s, get_object, f);
}

void ofs_fetcher_set_durable(struct ofs_fetcher *f, uint64_t durable)
{
	f->durable = durable;
}

void ofs_fetcher_count(struct ofs_fetcher *f, struct ofs_fetcher_counts *ret)
{
	*ret = (struct ofs_fetcher_counts){ f->requests, f->bytes, f->local, f->local_max };
}
