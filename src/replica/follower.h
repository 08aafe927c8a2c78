/* SPDX-License-Identifier: MIT */
/*
 * Follows a store that another host replicates (docs/REPLICATION.md, Readers): a directory is made a
 * copy of it, in which content comes when it is read, and a thread keeps it up to date. Needs the
 * right to read alone.
 */
#pragma once

#include "replica/bucket.h"
#include "replica/replicator.h"
#include "store/replication.h"

struct ofs_follower;

/*
 * Makes the directory `path`, made if it is missing, the store as it is there now, for
 * ofs_store_open() with `follow`. What it has of that store already is not fetched again. The
 * caller keeps `remote`. -ENODATA: there is no store; -EBUSY: another process follows it there.
 */
int ofs_follower_create(const char *path, const struct ofs_remote_access *remote,
			struct ofs_error *err, struct ofs_follower **ret);

/* The store is open: content can be brought; packs take `local_max` bytes, or more (0). */
void ofs_follower_attach(struct ofs_follower *f, struct ofs_store *s, uint64_t local_max);

/* Begins to ask for what is new. 0 or -errno. */
int ofs_follower_start(struct ofs_follower *f);

/* Whoever waits for content that is not on this disk gets -EIO within a second, from now on. */
void ofs_follower_interrupt(struct ofs_follower *f);

/* Ends both, within a second; before the store is closed. NULL is allowed, as below. */
void ofs_follower_stop(struct ofs_follower *f);

/* After it was closed. */
void ofs_follower_destroy(struct ofs_follower *f);

/* `epoch`, `complete_at`, `reads`, `brought`, `error` and the phase are set. */
void ofs_follower_status(struct ofs_follower *f, struct ofs_replication_status *ret);
