/* SPDX-License-Identifier: MIT */
/*
 * A cache of objects of a remote that fit into memory. Several threads read expected objects ahead.
 * Objects are kept in case they are asked for again. A missing object is not remembered as missing.
 */
#pragma once

#include "replica/bucket.h"

struct ofs_object_cache; /* callable from any thread */

/*
 * Borrows `remote`. `timeout` limits a request, in nanoseconds; `max` is the largest object in
 * bytes. Reads nothing yet.
 */
struct ofs_object_cache *ofs_object_cache_create(const struct ofs_remote_access *remote,
						 int64_t timeout, size_t max);

/* Cancels requests and frees the cache. Accepts NULL. */
void ofs_object_cache_destroy(struct ofs_object_cache *c);

/* Reads the object ahead, unless it is cached, once there is room. Does not wait. */
void ofs_object_cache_expect(struct ofs_object_cache *c, const char *key);

/*
 * Returns the object in *ret, waiting for it if it is being read. Returns false if it was not
 * expected or could not be read: the caller has to fetch it.
 */
bool ofs_object_cache_get(struct ofs_object_cache *c, const char *key, struct ofs_buf *ret);
