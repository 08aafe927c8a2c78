/* SPDX-License-Identifier: MIT */
/*
 * Manifests of checkpoints in the remote: finding the one to build on, and laying what it names
 * into the directory of a store.
 */
#pragma once

#include "replica/lineage.h"

struct ofs_manifest {
	struct ofs_remote_object object;
	char *key;
	uint32_t n;
	struct ofs_log_place at; /* the log behind it */
	struct ofs_log_place log; /* the log that it needs, from there on: at or before that */
	uint64_t pages; /* of the index */
};

void ofs_manifest_finish(struct ofs_manifest *m);

/* Manifest `n` of an epoch, whatever the log says. -ENOENT: it is not there. */
int ofs_manifest_read(struct ofs_lineage *l, uint32_t epoch, uint32_t n, struct ofs_error *err,
		      struct ofs_manifest *ret);

/*
 * The newest manifest at or before `epoch` that is sound: with its place in the log. -ENOENT: there
 * is none.
 */
int ofs_manifest_newest(struct ofs_lineage *l, uint32_t epoch, struct ofs_error *err,
			struct ofs_manifest *ret);

/* Where a checkpoint is laid: an index.db open for writing, and the directory of a log. */
struct ofs_manifest_target {
	int index_fd, journal_fd;
	size_t skip; /* so many parts of the index are there already */
	bool drafts; /* the data of drafts is wanted, too */
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* bytes; or NULL */
	void *arg;
};

/* Fetches the pages of the index and the data of drafts. */
int ofs_manifest_fetch(struct ofs_lineage *l, const struct ofs_manifest *m,
		       const struct ofs_manifest_target *to, struct ofs_error *err);

/*
 * Enters what the pages do not know into the index at `path`: the objects that were made after they
 * were copied. `leaps` hosts have begun to go on from there, this one among them: packs and inodes
 * get numbers that none of them can have given. *ret_durable is the highest id of an object.
 */
int ofs_manifest_finish_index(const struct ofs_manifest *m, const char *path, uint64_t leaps,
			      uint64_t *ret_durable, struct ofs_error *err);
