/* SPDX-License-Identifier: MIT */
/* Replaces replica/bucket.h and remote/s3.h with a remote in memory that can fail. */
#pragma once

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/text.h"
#include "base/thread.h"
#include "base/util.h"
#include "replica/bucket.h"

#define APPLIED 1 /* a fault of "create": the object is created, but the answer is lost */
#define NOTHING 1 /* a fault of "list": the listing is empty */

struct remote_object {
	char *key;
	struct ofs_buf bytes;
};

static struct {
	pthread_mutex_t lock;
	struct remote_object *at; /* sorted by key */
	size_t n, cap;
	/*
	 * Called before each request: returns 0, -errno to fail it, or one of the faults above.
	 * `what` is the last word of the request's function.
	 */
	int (*_Atomic fault)(const char *what, const char *key);
	atomic_uint requests;
	const atomic_bool *_Atomic cancel; /* of the bucket opened last */
} remote = { .lock = PTHREAD_MUTEX_INITIALIZER };

static inline void remote_finish(void)
{
	for (size_t i = 0; i < remote.n; i++) {
		free(remote.at[i].key);
		ofs_buf_finish(&remote.at[i].bytes);
	}
	free(ofs_steal(remote.at));
	remote.n = remote.cap = 0;
	remote.fault = NULL;
}

/* Returns the index of the first object whose key is not below `key`. Call with the lock held. */
static inline size_t remote_find(const char *key)
{
	size_t i = 0;

	while (i < remote.n && strcmp(remote.at[i].key, key) < 0)
		i++;
	return i;
}

static inline bool remote_has(const char *key)
{
	OFS_LOCKED(&remote.lock);
	size_t i = remote_find(key);

	return i < remote.n && strcmp(remote.at[i].key, key) == 0;
}

static inline void remote_drop(const char *key)
{
	OFS_LOCKED(&remote.lock);
	size_t i = remote_find(key);

	if (i == remote.n || strcmp(remote.at[i].key, key) != 0)
		return;
	free(remote.at[i].key);
	ofs_buf_finish(&remote.at[i].bytes);
	memmove(&remote.at[i], &remote.at[i + 1], (--remote.n - i) * sizeof(*remote.at));
}

static inline int remote_put(const char *key, const void *data, size_t len)
{
	OFS_LOCKED(&remote.lock);
	size_t i = remote_find(key);

	if (i < remote.n && strcmp(remote.at[i].key, key) == 0)
		return -EEXIST;
	ofs_append(remote.at, remote.n, remote.cap);
	memmove(&remote.at[i + 1], &remote.at[i], (remote.n - 1 - i) * sizeof(*remote.at));
	remote.at[i] = (struct remote_object){ ofs_strdup(key), OFS_BUF_INIT };
	ofs_buf_append(&remote.at[i].bytes, data, len);
	return 0;
}

static inline int remote_fault(const char *what, const char *key)
{
	int (*fault)(const char *, const char *) = remote.fault;

	remote.requests++;
	return fault ? fault(what, key) : 0;
}

static inline int remote_fail(struct ofs_error *err, const char *key, int r)
{
	return ofs_error_set(err, -r, "%s: %s", key, strerror(-r));
}

/* ---- in place of the library's functions */

int ofs_remote_access_parse(const char *location, const char *key, struct ofs_error *err,
			    struct ofs_remote_access *ret)
{
	*ret = (struct ofs_remote_access){ 0 };
	return ofs_location_parse(location, err, &ret->location);
}

void ofs_remote_access_finish(struct ofs_remote_access *r)
{
	ofs_location_finish(&r->location);
}

int ofs_bucket_open(const struct ofs_remote_access *access, int64_t timeout,
		    const atomic_bool *cancel, struct ofs_error *err, struct ofs_bucket **ret)
{
	remote.cancel = cancel;
	*ret = ofs_alloc(1);
	return 0;
}

void ofs_bucket_close(struct ofs_bucket *b)
{
	free(b);
}

struct ofs_s3 *ofs_bucket_s3(struct ofs_bucket *b)
{
	return (struct ofs_s3 *)b;
}

int ofs_bucket_create(struct ofs_bucket *b, const char *key, const void *data, size_t len,
		      struct ofs_error *err)
{
	int fault = remote_fault("create", key), r = fault < 0 ? fault : remote_put(key, data, len);

	r = r == 0 && fault ? -EINPROGRESS : r;
	return r < 0 ? remote_fail(err, key, r) : 0;
}

int ofs_bucket_get(struct ofs_bucket *b, const char *key, size_t max, struct ofs_buf *ret,
		   struct ofs_error *err)
{
	int r = remote_fault("get", key);
	size_t i;

	if (r < 0)
		return remote_fail(err, key, r);
	OFS_LOCKED(&remote.lock);
	i = remote_find(key);
	if (i == remote.n || strcmp(remote.at[i].key, key) != 0)
		return remote_fail(err, key, -ENOENT);
	ret->len = 0;
	ofs_buf_append(ret, remote.at[i].bytes.data, remote.at[i].bytes.len);
	return 0;
}

int ofs_bucket_get_range(struct ofs_bucket *b, const char *key, uint64_t size, uint64_t off,
			 size_t len, void *buf, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf whole = OFS_BUF_INIT;
	int r = ofs_bucket_get(b, key, SIZE_MAX, &whole, err);

	if (r == 0 && (whole.len != size || off > size || len > size - off))
		r = remote_fail(err, key, -ENODATA);
	if (r == 0)
		memcpy(buf, whole.data + off, len);
	return r;
}

int ofs_s3_list(struct ofs_s3 *s, const char *prefix, const char *after,
		int (*fn)(void *arg, const char *key, uint64_t size), void *arg,
		struct ofs_error *err)
{
	int r = remote_fault("list", prefix);

	if (r)
		return r < 0 ? remote_fail(err, prefix, r) : 0;
	OFS_LOCKED(&remote.lock);
	for (size_t i = 0; i < remote.n && r == 0; i++)
		if (strncmp(remote.at[i].key, prefix, strlen(prefix)) == 0 &&
		    (!after || strcmp(remote.at[i].key, after) > 0))
			r = fn(arg, remote.at[i].key, remote.at[i].bytes.len);
	return r;
}

int ofs_s3_delete(struct ofs_s3 *s, const char *const *keys, size_t n, struct ofs_error *err)
{
	cr_assert_leq(n, OFS_S3_DELETE_MAX);
	for (size_t i = 0; i < n; i++) {
		int r = remote_fault("delete", keys[i]);

		if (r < 0)
			return remote_fail(err, keys[i], r);
		remote_drop(keys[i]);
	}
	return 0;
}

int ofs_s3_probe(struct ofs_s3 *s, struct ofs_error *err)
{
	int r = remote_fault("probe", "probe");

	return r < 0 ? remote_fail(err, "probe", r) : 0;
}

uint64_t ofs_s3_requests(const struct ofs_s3 *s, enum ofs_s3_kind kind)
{
	return 0;
}
