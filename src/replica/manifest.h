/* SPDX-License-Identifier: MIT */
/*
 * Manifests of checkpoints in the remote: finding the one to build on, and laying its parts into
 * the directory of a store.
 */
#pragma once

#include "replica/lineage.h"

struct ofs_manifest {
	struct ofs_remote_object object;
	char *key;
	uint32_t n;
	struct ofs_log_place at; /* its place: the log continues here */
	struct ofs_log_place log; /* place from which it needs the log: `at` or earlier */
	uint64_t pages; /* pages of the index */
};

void ofs_manifest_finish(struct ofs_manifest *m);

/* Reads manifest `n` of an epoch, whether or not it is sound. -ENOENT: it does not exist. */
int ofs_manifest_read(struct ofs_lineage *l, uint32_t epoch, uint32_t n, struct ofs_error *err,
		      struct ofs_manifest *ret);

/*
 * Finds the newest manifest in or before `epoch` that is sound, which means that the log has its
 * place. -ENOENT: there is none.
 */
int ofs_manifest_newest(struct ofs_lineage *l, uint32_t epoch, struct ofs_error *err,
			struct ofs_manifest *ret);

/* Where a checkpoint is laid: an index.db open for writing, and the directory of a journal. */
struct ofs_manifest_target {
	int index_fd, journal_fd;
	size_t skip; /* parts of the index that are there already */
	bool drafts; /* fetch the data of drafts, too */
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* in bytes; may be NULL */
	void *arg;
};

/* Fetches the pages of the index and, if asked for, the data of drafts. */
int ofs_manifest_fetch(struct ofs_lineage *l, const struct ofs_manifest *m,
		       const struct ofs_manifest_target *to, struct ofs_error *err);

/*
 * Completes the index at `path` with the objects that its pages do not list yet. `leaps` hosts,
 * including this one, have continued from there, so numbers of packs and inodes are raised beyond
 * any that they can have given out. Sets *ret_durable to the highest object id.
 */
int ofs_manifest_finish_index(const struct ofs_manifest *m, const char *path, uint64_t leaps,
			      uint64_t *ret_durable, struct ofs_error *err);
