/* SPDX-License-Identifier: MIT */
/*
 * One look at the working tier, and what is remembered from one to the next: which files are on
 * probation, what steps refer to, how much there is. ofs_collector_run() belongs to one thread; the
 * others may come from any.
 */
#ifndef OFS_TREE_EXPIRY_COLLECTOR_H
#define OFS_TREE_EXPIRY_COLLECTOR_H

#include <jansson.h>

#include "tree/core/tree_state.h"

struct ofs_collector;

struct ofs_collect_request {
	bool dry; /* tell what would be done, and do nothing */
	uint64_t task; /* with `dry`: as if that task were ended; 0: none */
};

/* `working_max`: bytes on disk, 0: no limit. */
struct ofs_collector *ofs_collector_create(struct ofs_tree *t, uint64_t working_max);
void ofs_collector_destroy(struct ofs_collector *c);

/*
 * Looks, and removes what is to go. With a request the single files are told of afterwards. `ret_next`:
 * when, by the age clock, the next look is worth while as far as the files there are go;
 * OFS_TTL_NEVER: not for those. -ECANCELED: ofs_collector_stop() was called.
 */
int ofs_collector_run(struct ofs_collector *c, const struct ofs_collect_request *request,
		      int64_t *ret_next);

/* Ends a run that is under way and, with `for_good`, every later one. */
void ofs_collector_stop(struct ofs_collector *c, bool for_good);

/* Forgets what the last run with a request had to tell. */
void ofs_collector_clear(struct ofs_collector *c);

/* The working tier is larger than it may be, and something can be done about it. */
bool ofs_collector_is_pressed(struct ofs_collector *c);

/* When the next file can go, by the age clock, as far as the last run has seen; OFS_TTL_NEVER: none. */
int64_t ofs_collector_due(struct ofs_collector *c);

int ofs_collector_explain(struct ofs_collector *c, const struct ofs_attr *file,
			  struct ofs_buf *out);

/* Objects as <offloadfs/tree.h> and offloadfs(8) have them; NULL: there is no such item. */
json_t *ofs_collector_status(struct ofs_collector *c);
json_t *ofs_collector_item(struct ofs_collector *c, size_t i);
json_t *ofs_collector_stats(struct ofs_collector *c);

#endif
