/* SPDX-License-Identifier: MIT */
/* What a store knows of its replication: the file `remote/state` in it. It is not replicated. */
#pragma once

#include "replica/lineage.h"

#define OFS_WRITERS_MAX 16 /* mounts that ended before they knew whether they had an epoch */

struct ofs_replica_state {
	char *location; /* the remote, as ofs_location_text() has it; allocated */
	/* Names of mounts of this store, the newest first: what bears one of them is ours. */
	char writers[OFS_WRITERS_MAX][OFS_WRITER_SIZE];
	size_t nwriters;
	bool named; /* the first one is of this mount; not saved */
	/*
	 * Where the log on this disk ended when the mounts that have these names were over; 0: they
	 * are not. A copy of the store's directory, whose mount has the same name, may have made
	 * what is behind that.
	 */
	ofs_lsn logged_to;
	struct ofs_log_place at; /* known to be in the log of the remote; epoch 0: nothing is yet */
	uint32_t checkpoint; /* the newest manifest of that epoch that was acknowledged; 0: none */
	bool deposed; /* another host has taken the store over */
	bool based; /* the log of the remote begins with a manifest */
	uint64_t durable; /* the highest id of an object that a manifest knows */
};

void ofs_replica_state_finish(struct ofs_replica_state *st);

/* `dirfd` is the store's directory. -ENOENT: nothing was replicated yet; -EUCLEAN: it is damaged. */
int ofs_replica_state_load(int dirfd, struct ofs_replica_state *ret);

/* Durably, and at once. */
int ofs_replica_state_save(int dirfd, const struct ofs_replica_state *st);

/*
 * Puts a new random name before the others, unless this mount has its name, and saves that to
 * `dirfd` (-1: nowhere). Of too many the oldest one goes.
 */
int ofs_replica_state_add_writer(int dirfd, struct ofs_replica_state *st);

/* Nothing was replicated then. */
int ofs_replica_state_remove(int dirfd);

/* Whether this mount, or an earlier one of this store, has made it. */
bool ofs_replica_state_is_ours(const struct ofs_replica_state *st, const struct ofs_link *link);
