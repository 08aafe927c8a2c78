/* SPDX-License-Identifier: MIT */
/*
 * Garbage collection: a thread runs the collector when a file of the working tier can be due, or
 * when room is short. Files go on probation first, and are removed unless they are used during it
 * (the rules are in verdict.h).
 */
#pragma once

#include <jansson.h>

#include "tree/core/root.h"
#include "tree/expiry/lifetime.h"

struct ofs_gc;

struct ofs_gc_options {
	int64_t interval; /* nanoseconds between two runs at least */
	uint64_t working_max; /* bytes on disk of the working tier; 0: no limit */
	uint64_t working_keep; /* the same with what is evictable; 0: by the disk */
	int64_t tombstones; /* how long they are kept, nanoseconds; OFS_TTL_NEVER: for good */
};

/* Of a job that an attribute of the root starts, and its names. */
enum ofs_work_state {
	OFS_WORK_NONE,
	OFS_WORK_RUNNING,
	OFS_WORK_DONE,
	OFS_WORK_STOPPED,
	OFS_WORK_FAILED
};
extern const char *const ofs_work_states[];

struct ofs_gc *ofs_gc_create(struct ofs_tree *t, const struct ofs_gc_options *opts);

/* Starts the thread. In a tree that is not served it runs only when asked to. */
int ofs_gc_start(struct ofs_gc *g);

/* Ends the thread. NULL is allowed. */
void ofs_gc_destroy(struct ofs_gc *g);

/* The content of a file was used: ofs_store_use(), which a rule may count (promote.h). */
void ofs_gc_note_use(struct ofs_gc *g, uint64_t ino);

/* A file was given this lifetime, which may be the shortest so far. */
void ofs_gc_note(struct ofs_gc *g, int64_t ttl);

/*
 * Appends one sentence on what will become of a file, for the caller (NULL: may know all). 0 or
 * -errno.
 */
int ofs_gc_explain(struct ofs_gc *g, const struct ofs_attr *file, const struct ofs_cred *cred,
		   struct ofs_buf *out);

/* The same in a word, as of ofs_lifetime_word(); `p` is of its directory. */
int ofs_gc_word(struct ofs_gc *g, const struct ofs_attr *file, const struct ofs_lifetime_place *p,
		const char **ret);

/*
 * The value of user.offload.gc of a tree's directory, and what follows its name: "" or ".K". See
 * <offloadfs/tree.h>. Each tree has a job of its own; one waits for those of others.
 */
int ofs_gc_set(struct ofs_gc *g, struct ofs_root *root, const char *value, size_t size);
int ofs_gc_get(struct ofs_gc *g, const struct ofs_root *root, const char *which,
	       struct ofs_buf *out);

/* The lifecycle object of .offload/status.json. */
json_t *ofs_gc_stats(struct ofs_gc *g);
