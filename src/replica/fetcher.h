/* SPDX-License-Identifier: MIT */
/* Brings content that is not on this disk from the remote: for any number of readers at once. */
#pragma once

#include "replica/bucket.h"
#include "store/replication.h"

struct ofs_fetcher;

/* `remote` is borrowed. Nothing is asked yet. */
struct ofs_fetcher *ofs_fetcher_create(const struct ofs_remote_access *remote);

/*
 * From now on the store's content is had from there. Packs are to take `local_max` bytes on this
 * disk (0: whatever they need): whoever brings something makes room for it.
 */
void ofs_fetcher_attach(struct ofs_fetcher *f, struct ofs_store *s, uint64_t local_max);

/* See ofs_store_evict_frames(); 0 at first. */
void ofs_fetcher_set_durable(struct ofs_fetcher *f, uint64_t durable);

/* Brings packs below their bound, if there is one. 0 or -errno. */
int ofs_fetcher_evict(struct ofs_fetcher *f);
void ofs_fetcher_destroy(struct ofs_fetcher *f); /* NULL is allowed */

/* Requests end, now and from now on. */
void ofs_fetcher_cancel(struct ofs_fetcher *f);

struct ofs_fetcher_counts {
	uint64_t requests, bytes; /* that were sent, and of content that came */
	uint64_t local, local_max; /* bytes of packs, when last looked at, and their bound */
};

void ofs_fetcher_count(struct ofs_fetcher *f, struct ofs_fetcher_counts *ret);
