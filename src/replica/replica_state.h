/* SPDX-License-Identifier: MIT */
/* What a store knows about its replication: its file `remote/state`, which is not replicated. */
#pragma once

#include "replica/lineage.h"

#define OFS_WRITERS_MAX 16 /* mounts that ended before they knew whether they had an epoch */

struct ofs_replica_state {
	char *location; /* the remote, in the form of ofs_location_text(); owned */
	/* Names of mounts of this store, newest first. Objects of these writers are ours. */
	char writers[OFS_WRITERS_MAX][OFS_WRITER_SIZE];
	size_t nwriters;
	bool named; /* the first name is that of this mount; not saved */
	/*
	 * Where the log on this disk ended when the mounts with these names ended; 0 if one has
	 * not. Log after that may come from a mount of a copy of the directory, which has the same
	 * name.
	 */
	ofs_lsn logged_to;
	/* a place known to be in the log of the remote; epoch 0: nothing is yet */
	struct ofs_log_place at;
	uint32_t checkpoint; /* newest manifest acknowledged in that epoch; 0: none */
	bool deposed; /* another host has taken the store over */
	bool based; /* the log of the remote starts with a manifest */
	uint64_t durable; /* highest object id that a manifest lists */
};

void ofs_replica_state_finish(struct ofs_replica_state *st);

/*
 * Loads the state from the directory of a store. -ENOENT: nothing was replicated yet; -EUCLEAN: the
 * file is damaged.
 */
int ofs_replica_state_load(int dirfd, struct ofs_replica_state *ret);

/* Saves the state durably. */
int ofs_replica_state_save(int dirfd, const struct ofs_replica_state *st);

/*
 * Adds a new random name before the others, unless this mount has one, and saves it to `dirfd` (-1:
 * does not save). Drops the oldest name if there are too many.
 */
int ofs_replica_state_add_writer(int dirfd, struct ofs_replica_state *st);

/* Removes the saved state, as if nothing had been replicated. */
int ofs_replica_state_remove(int dirfd);

/* True if this mount, or an earlier one of this store, made the object. */
bool ofs_replica_state_is_ours(const struct ofs_replica_state *st, const struct ofs_link *link);
