/* SPDX-License-Identifier: MIT */
/*
 * Follows a store that another host replicates (docs/REPLICATION.md, "Followers"). A directory
 * becomes a copy of it, whose content is fetched when it is read, and a thread keeps the copy up to
 * date. Needs only the right to read.
 */
#pragma once

#include "replica/bucket.h"
#include "replica/replicator.h"
#include "store/replication.h"

struct ofs_follower;

/*
 * Makes the directory `path`, created if missing, a copy of the store's present state, for
 * ofs_store_open() with `follow`. What it already has of that store is not fetched again. Borrows
 * `remote`. -ENODATA: there is no store; -EBUSY: another process uses the directory.
 */
int ofs_follower_create(const char *path, const struct ofs_remote_access *remote,
			struct ofs_error *err, struct ofs_follower **ret);

/* Enables fetching for the open store. Packs take at most `local_max` bytes (0: no bound). */
void ofs_follower_attach(struct ofs_follower *f, struct ofs_store *s, uint64_t local_max);

/* Starts asking for new data. Returns 0 or -errno. */
int ofs_follower_start(struct ofs_follower *f);

/* From now on, readers of content not on this disk fail with -EIO within a second. */
void ofs_follower_interrupt(struct ofs_follower *f);

/* Ends fetching and following within a second. Call it before closing the store. Accepts NULL. */
void ofs_follower_stop(struct ofs_follower *f);

/* Frees the follower, after the store was closed. Accepts NULL. */
void ofs_follower_destroy(struct ofs_follower *f);

/* Sets phase, `epoch`, `complete_at`, `reads`, `brought`, `local`, `local_max` and `error`. */
void ofs_follower_status(struct ofs_follower *f, struct ofs_replication_status *ret);
