/* SPDX-License-Identifier: MIT */
/* Brings content that is not on this disk from the remote: for any number of readers at once. */
#pragma once

#include "replica/bucket.h"
#include "store/replication.h"

struct ofs_fetcher;

/* `remote` is borrowed. Nothing is asked yet. */
struct ofs_fetcher *ofs_fetcher_create(const struct ofs_remote_access *remote);
void ofs_fetcher_destroy(struct ofs_fetcher *f); /* NULL is allowed */

/* Requests end, now and from now on. */
void ofs_fetcher_cancel(struct ofs_fetcher *f);

/* An ofs_object_get_fn; `arg` is the fetcher. */
int ofs_fetcher_get(void *arg, const struct ofs_index_object *object, uint64_t at, void *buf,
		    size_t len);

/* Requests that were sent, and bytes of content that came. */
void ofs_fetcher_count(struct ofs_fetcher *f, uint64_t *ret_requests, uint64_t *ret_bytes);
