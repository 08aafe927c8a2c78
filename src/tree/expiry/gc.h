/* SPDX-License-Identifier: MIT */
/*
 * Garbage collection: a thread runs the collector when a file of the working tier can be due, or
 * when room is short. Files first go on probation, and are removed unless they are used during it
 * (verdict.h has the rules).
 */
#pragma once

#include <jansson.h>

#include "tree/core/root.h"
#include "tree/expiry/lifetime.h"

struct ofs_gc;

struct ofs_gc_options {
	int64_t interval; /* minimum nanoseconds between two runs */
	uint64_t working_max; /* bytes on disk of the working tier; 0: no limit */
	uint64_t working_keep; /* above it, evictable files are removed; 0: by the disk */
	int64_t tombstones; /* nanoseconds for which they are kept; OFS_TTL_NEVER: for ever */
};

/* The state of a job that is started by an attribute of the root, and the states' names. */
enum ofs_work_state {
	OFS_WORK_NONE,
	OFS_WORK_RUNNING,
	OFS_WORK_DONE,
	OFS_WORK_STOPPED,
	OFS_WORK_FAILED
};
extern const char *const ofs_work_states[];

/* Never NULL. */
struct ofs_gc *ofs_gc_create(struct ofs_tree *t, const struct ofs_gc_options *opts);

/* Starts the thread; in a tree that is not served, it acts only on request. 0 or -errno. */
int ofs_gc_start(struct ofs_gc *g);

/* Ends the thread. NULL is allowed. */
void ofs_gc_destroy(struct ofs_gc *g);

/*
 * Notes that the content of a file was used: ofs_store_use(), and counts the read if a rule needs
 * that (promote.h).
 */
void ofs_gc_note_use(struct ofs_gc *g, uint64_t ino);

/* Notes that a file was given this lifetime, which may be the shortest so far. */
void ofs_gc_note(struct ofs_gc *g, int64_t ttl);

/* Appends a sentence on what will happen to a file, for the caller (NULL: may know all). */
int ofs_gc_explain(struct ofs_gc *g, const struct ofs_attr *file, const struct ofs_cred *cred,
		   struct ofs_buf *out);

/* Sets *ret to a word for the same (ofs_lifetime_word()); `p`: the facts for its directory. */
int ofs_gc_word(struct ofs_gc *g, const struct ofs_attr *file, const struct ofs_lifetime_place *p,
		const char **ret);

/*
 * These set and get user.offload.gc of a tree's directory (<offloadfs/tree.h>); `which` is what
 * follows the name: "" or ".K". Each tree has a job of its own, "running" also while it waits
 * for those of others. They return 0 or -errno.
 */
int ofs_gc_set(struct ofs_gc *g, struct ofs_root *root, const char *value, size_t size);
int ofs_gc_get(struct ofs_gc *g, const struct ofs_root *root, const char *which,
	       struct ofs_buf *out);

/* Returns the lifecycle object of .offload/status.json. */
json_t *ofs_gc_stats(struct ofs_gc *g);
