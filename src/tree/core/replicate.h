/* SPDX-License-Identifier: MIT */
/*
 * The tree's store in object storage: replica/replicator.h, or replica/follower.h where the tree
 * follows another one, as the options want it.
 */
#pragma once

#include <jansson.h>

#include "tree/core/tree_state.h"

/* Before the store is opened: a follower's is made. Nothing when no remote is named. */
int ofs_replicate_prepare(struct ofs_tree *t, const char *store,
			  const struct ofs_tree_options *opts, struct ofs_error *err);

/* After it was opened, and before anything is read. */
int ofs_replicate_open(struct ofs_tree *t, const char *store, const struct ofs_tree_options *opts,
		       struct ofs_error *err);

/* Starts to send, or to ask for what is new, where the store is served. */
int ofs_replicate_start(struct ofs_tree *t);

/* As ofs_tree_interrupt(). */
void ofs_replicate_interrupt(struct ofs_tree *t);

/* Sends what is left, for a while; before the store is closed. */
void ofs_replicate_stop(struct ofs_tree *t);

/* After it was closed. */
void ofs_replicate_close(struct ofs_tree *t);

/* How it goes; NULL: no remote is named. */
json_t *ofs_replicate_status(struct ofs_tree *t);

/* user.offload.remote of the root: "push" sends at once. -ENODATA: no remote is named. */
int ofs_replicate_set(struct ofs_tree *t, const char *value, size_t size);
int ofs_replicate_get(struct ofs_tree *t, struct ofs_buf *out);
