/* SPDX-License-Identifier: MIT */
/*
 * Garbage collection of a tree, asked for and told of by its attribute user.offload.gc. Its items
 * are objects with path, ref, size, action ("remove", "probation", "open", "important",
 * "referenced"), why and at.
 */
#ifndef OFS_CLI_COLLECTION_H
#define OFS_CLI_COLLECTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include <offloadfs/error.h>

#include "cli/job.h"
#include "client/target.h"

struct ofs_collection {
	struct ofs_job job;
	char *where; /* the tree, in messages */
	bool dry_run;
};

/*
 * Of the tree that `backend` is open on, which is borrowed until finish. `item` is that of struct
 * ofs_job.
 */
void ofs_collection_init(struct ofs_collection *c, const struct ofs_target *target,
			 struct ofs_backend *backend, int (*item)(void *arg, json_t *item),
			 void *arg);
void ofs_collection_finish(struct ofs_collection *c);

/*
 * Collects, or with `dry_run` only looks at what would go, also if the task `task` (NULL: none) had
 * ended. Waits for one that runs already, and says so on standard error if that takes long. 0;
 * -EINTR: a signal stopped it; or -errno with the reason in `err`.
 */
int ofs_collection_run(struct ofs_collection *c, bool dry_run, const char *task,
		       struct ofs_error *err);

bool ofs_collected_is(const json_t *item, const char *action);
/* "" where it has none. */
const char *ofs_collected_path(const json_t *item);

/* "would remove cache/shell/x (4.2 KB): unused for 41m, its time is 30m", and a newline. */
void ofs_collection_print_item(const struct ofs_collection *c, const json_t *item, FILE *out);

/* What was done, on one line: "offload: 12 files removed, 48.2 KB; 2 on probation". */
void ofs_collection_print_summary(const struct ofs_collection *c, FILE *out);

/* Allocated: the tree's last answer, with `items` in place of their number. */
json_t *ofs_collection_json(const struct ofs_collection *c, json_t *items);

#endif
