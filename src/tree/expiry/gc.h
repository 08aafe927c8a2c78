/* SPDX-License-Identifier: MIT */
/*
 * Garbage collection: a thread looks at the files of the working tier when something can be due, puts
 * those whose time is over on probation, and removes those that were not used through it
 * (verdict.h has the rules). What it does for all files it can be asked to tell of one.
 */
#ifndef OFS_TREE_EXPIRY_GC_H
#define OFS_TREE_EXPIRY_GC_H

#include <jansson.h>

#include "tree/core/tree_state.h"

struct ofs_gc;

struct ofs_gc_options {
	int64_t interval; /* nanoseconds between two looks at least */
	uint64_t working_max; /* bytes on disk of the working tier; 0: no limit */
	int64_t tombstones; /* for how long they are kept, nanoseconds; OFS_TTL_NEVER: for good */
};

struct ofs_gc *ofs_gc_create(struct ofs_tree *t, const struct ofs_gc_options *opts);

/* From now on it works by itself; a tree that nobody serves is looked at when that is asked for. */
int ofs_gc_start(struct ofs_gc *k);

/* Ends the thread. NULL is allowed. */
void ofs_gc_destroy(struct ofs_gc *k);

/* A file got that time to live, which may be shorter than those there were. */
void ofs_gc_note(struct ofs_gc *k, int64_t ttl);

/* One sentence on what becomes of a file. 0 or -errno. */
int ofs_gc_explain(struct ofs_gc *k, const struct ofs_attr *file, struct ofs_buf *out);

/* The value of user.offload.gc, and what follows its name: "" or ".K". See <offloadfs/tree.h>. */
int ofs_gc_set(struct ofs_gc *k, const char *value, size_t size);
int ofs_gc_get(struct ofs_gc *k, const char *which, struct ofs_buf *out);

/* The lifecycle object of .offload/status.json. */
json_t *ofs_gc_stats(struct ofs_gc *k);

#endif
