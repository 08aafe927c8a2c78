/* SPDX-License-Identifier: MIT */
/* Fetches content that is not on this disk from the remote, for any number of readers at once. */
#pragma once

#include "replica/bucket.h"
#include "store/replication.h"

struct ofs_fetcher;

/* Borrows `remote`. Sends no request yet. */
struct ofs_fetcher *ofs_fetcher_create(const struct ofs_remote_access *remote);

/*
 * Makes the store fetch content through `f`. Packs are to take at most `local_max` bytes on this
 * disk (0: no bound): whoever fetches content makes room for it.
 */
void ofs_fetcher_attach(struct ofs_fetcher *f, struct ofs_store *s, uint64_t local_max);

/* Sets the `durable` of ofs_store_evict_frames(), initially 0. */
void ofs_fetcher_set_durable(struct ofs_fetcher *f, uint64_t durable);

/* Evicts frames until packs are below their bound, if there is one. Returns 0 or -errno. */
int ofs_fetcher_evict(struct ofs_fetcher *f);
void ofs_fetcher_destroy(struct ofs_fetcher *f); /* accepts NULL */

/* Cancels all requests, present and future. */
void ofs_fetcher_cancel(struct ofs_fetcher *f);

struct ofs_fetcher_counts {
	uint64_t requests, bytes; /* requests sent, and bytes of content received */
	uint64_t local, local_max; /* bytes of packs when last checked, and their bound */
};

void ofs_fetcher_count(struct ofs_fetcher *f, struct ofs_fetcher_counts *ret);
