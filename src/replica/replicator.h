/* SPDX-License-Identifier: MIT */
/*
 * Replicates a store that is open: a thread that sends the log as it grows, what is sealed, and now
 * and then a checkpoint; and what brings content back that is not on this disk.
 */
#pragma once

#include "replica/bucket.h"
#include "store/replication.h"

struct ofs_replicator;

struct ofs_replicator_settings {
	const char *store; /* its directory */
	int64_t every; /* nanoseconds between two objects of the log at least */
	bool on_sync; /* a sync waits until the remote has what it covers */
	uint64_t local_max; /* bytes of packs on this disk; 0: all stay */
};

/*
 * Nothing is asked yet; content can be brought from now on, and the log is kept for the remote. The
 * caller keeps `remote`, and closes the store after ofs_replicator_stop() and before
 * ofs_replicator_destroy().
 */
int ofs_replicator_create(struct ofs_store *s, const struct ofs_remote_access *remote,
			  const struct ofs_replicator_settings *set, struct ofs_error *err,
			  struct ofs_replicator **ret);

/* Starts to send. 0 or -errno. */
int ofs_replicator_start(struct ofs_replicator *rp);

/*
 * Sends what is left, for `wait` nanoseconds at most, and ends; content can still be brought. NULL
 * is allowed.
 */
void ofs_replicator_stop(struct ofs_replicator *rp, int64_t wait);
void ofs_replicator_destroy(struct ofs_replicator *rp); /* NULL is allowed */

/* Sends at once, with a checkpoint; ofs_replicator_status() tells when it has. */
void ofs_replicator_push(struct ofs_replicator *rp);

enum ofs_replication_phase {
	OFS_REPLICATION_OFF, /* only content is brought */
	OFS_REPLICATION_CONNECTING, /* it is not known yet who has the log */
	OFS_REPLICATION_CURRENT, /* the last round has sent all there was */
	OFS_REPLICATION_BEHIND, /* it has not: `error` says why */
	OFS_REPLICATION_DEPOSED, /* another host has taken over */
	OFS_REPLICATION_REFUSED, /* the remote cannot be used: `error` says why */
};

/* Times are nanoseconds since 1970; 0: never. */
struct ofs_replication_status {
	enum ofs_replication_phase phase;
	uint32_t epoch;
	uint64_t pending; /* bytes of the log that the remote lacks */
	int64_t complete_at; /* the remote has all that was written before */
	int64_t checkpoint_at;
	uint64_t pushes; /* that were done */
	uint64_t writes, reads; /* requests since the start */
	uint64_t brought; /* bytes of content that came back */
	uint64_t local,
		local_max; /* bytes of packs on this disk, when last looked at; 0: not bounded */
	char error[256]; /* why the last round failed; "": it did not */
};

void ofs_replicator_status(struct ofs_replicator *rp, struct ofs_replication_status *ret);

/* The phase as a word. */
const char *ofs_replication_phase_name(enum ofs_replication_phase phase);
