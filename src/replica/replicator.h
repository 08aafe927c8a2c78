/* SPDX-License-Identifier: MIT */
/*
 * Replicates an open store: a thread sends the log as it grows, sealed content and, now and then, a
 * checkpoint. Also fetches content that is not on this disk.
 */
#pragma once

#include "replica/bucket.h"
#include "store/replication.h"

struct ofs_replicator;

struct ofs_replicator_settings {
	const char *store; /* directory of the store */
	int64_t every; /* least time between two objects of the log, in nanoseconds */
	bool on_sync; /* a sync waits until the remote has what it covers */
	uint64_t local_max; /* bytes of packs on this disk; 0: no bound */
};

/*
 * Prepares replication and sends no request yet. From now on content can be fetched, and the log is
 * kept for the remote. Borrows `remote`. Close the store after ofs_replicator_stop() and before
 * ofs_replicator_destroy().
 */
int ofs_replicator_create(struct ofs_store *s, const struct ofs_remote_access *remote,
			  const struct ofs_replicator_settings *set, struct ofs_error *err,
			  struct ofs_replicator **ret);

/* Starts sending. Returns 0 or -errno. */
int ofs_replicator_start(struct ofs_replicator *rp);

/* From now on, readers of content not on this disk fail with -EIO within a second. Accepts NULL. */
void ofs_replicator_interrupt(struct ofs_replicator *rp);

/*
 * Sends what is left, for up to `wait` nanoseconds, and stops. Content can still be fetched, unless
 * that was interrupted. Accepts NULL.
 */
void ofs_replicator_stop(struct ofs_replicator *rp, int64_t wait);
void ofs_replicator_destroy(struct ofs_replicator *rp); /* accepts NULL */

/* Sends everything at once, with a checkpoint; ofs_replicator_status() tells when it is done. */
void ofs_replicator_push(struct ofs_replicator *rp);

enum ofs_replication_phase {
	OFS_REPLICATION_OFF, /* content is only fetched */
	OFS_REPLICATION_CONNECTING, /* not known yet who has the log */
	OFS_REPLICATION_CURRENT, /* the last round sent all there was */
	OFS_REPLICATION_BEHIND, /* the last round failed: `error` says why */
	OFS_REPLICATION_DEPOSED, /* another host has taken over */
	OFS_REPLICATION_REFUSED, /* the remote cannot be used: `error` says why */
};

/* Times are nanoseconds since 1970, or 0 for never. */
struct ofs_replication_status {
	enum ofs_replication_phase phase;
	uint32_t epoch;
	uint64_t pending; /* bytes of the log that the remote lacks */
	int64_t complete_at; /* the remote has everything written before */
	int64_t checkpoint_at;
	uint64_t pushes, pushes_due; /* pushes done; done and requested */
	uint64_t writes, reads; /* requests since the start */
	uint64_t brought; /* bytes of content fetched */
	uint64_t local, local_max; /* bytes of packs when last checked, and their bound (0: none) */
	char error[256]; /* why the last round failed, or "" */
};

void ofs_replicator_status(struct ofs_replicator *rp, struct ofs_replication_status *ret);

/* Returns the phase as a word. */
const char *ofs_replication_phase_name(enum ofs_replication_phase phase);
