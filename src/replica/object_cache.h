/* SPDX-License-Identifier: MIT */
/*
 * Objects of a remote, those that fit into memory at once, which several threads read before they
 * are asked for. They are kept for whoever asks again. That one is missing is not remembered.
 */
#pragma once

#include "replica/bucket.h"

struct ofs_object_cache; /* its functions may be called from any thread */

/*
 * `remote` is borrowed; `timeout` is that of a request in nanoseconds, `max` the most bytes of an
 * object. Nothing is read yet.
 */
struct ofs_object_cache *ofs_object_cache_create(const struct ofs_remote_access *remote,
						 int64_t timeout, size_t max);

/* Ends what is being read. NULL is allowed. */
void ofs_object_cache_destroy(struct ofs_object_cache *c);

/* Has the object read, unless it is here or so many are that there is no room. Does not wait. */
void ofs_object_cache_expect(struct ofs_object_cache *c, const char *key);

/*
 * Gives the object, and waits for it while it is being read. false: it was not expected, or could
 * not be read, and the caller has to ask for it.
 */
bool ofs_object_cache_get(struct ofs_object_cache *c, const char *key, struct ofs_buf *ret);
