/* SPDX-License-Identifier: MIT */
/*
 * A run of garbage collection over the working tier, and the state kept between runs: files on
 * probation, references of steps, totals. ofs_collector_run() belongs to one thread; the other
 * functions may be called from any.
 */
#pragma once

#include <jansson.h>

#include "tree/core/root.h"
#include "tree/expiry/lifetime.h"

struct ofs_collector;

struct ofs_collect_request {
	struct ofs_root *root; /* only this tree and those in it; paths are as seen from it */
	bool dry; /* only report what would be done */
	uint64_t task; /* with `dry`: as if that task were ended; 0: none */
	bool drop_all; /* and nothing of it were promoted */
};

/*
 * `working_max` is the limit of the working tier in bytes on disk, 0: none; `working_keep` is that
 * above which evictable files are removed, 0: by the size of the disk. Never NULL.
 */
struct ofs_collector *ofs_collector_create(struct ofs_tree *t, uint64_t working_max,
					   uint64_t working_keep);
void ofs_collector_destroy(struct ofs_collector *c);

/*
 * Removes the files that are due. With a request, ofs_collector_item() lists the files afterwards.
 * Sets *ret_next to when, by the age clock, the next run is useful for the files that exist now;
 * OFS_TTL_NEVER: never. Returns 0, -ECANCELED if ofs_collector_stop() was called, or another
 * -errno.
 */
int ofs_collector_run(struct ofs_collector *c, const struct ofs_collect_request *request,
		      int64_t *ret_next);

/* Stops the current run and, with `for_good`, all later ones. */
void ofs_collector_stop(struct ofs_collector *c, bool for_good);

/* Clears the report of the last run with a request; the next report is about `root`. */
void ofs_collector_clear(struct ofs_collector *c, const struct ofs_root *root);

/* Returns whether room is short and there are files to remove for it. */
bool ofs_collector_is_pressed(struct ofs_collector *c);

/* Returns the bytes that can be written before a limit is exceeded, as of the last run. */
uint64_t ofs_collector_room(struct ofs_collector *c);

/* Returns how many bytes the disk lacks of what must be available. */
uint64_t ofs_collector_disk_lacks(struct ofs_collector *c);

/* Returns when the next file can be removed (age clock), as of the last run, or OFS_TTL_NEVER. */
int64_t ofs_collector_due(struct ofs_collector *c);

/* See ofs_gc_explain(). */
int ofs_collector_explain(struct ofs_collector *c, const struct ofs_attr *file,
			  const struct ofs_cred *cred, struct ofs_buf *out);

/* See ofs_gc_word(). */
int ofs_collector_word(struct ofs_collector *c, const struct ofs_attr *file,
		       const struct ofs_lifetime_place *p, const char **ret);

/*
 * These return new objects, described in <offloadfs/tree.h> and offload-gc(1); NULL: there is no
 * such item. The status of a NULL collector is that before any run.
 */
json_t *ofs_collector_status(struct ofs_collector *c);
json_t *ofs_collector_item(struct ofs_collector *c, size_t i);
json_t *ofs_collector_stats(struct ofs_collector *c);
