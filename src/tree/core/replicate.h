/* SPDX-License-Identifier: MIT */
/*
 * The tree's store in object storage: by replica/replicator.h or, if the tree follows another
 * host's, by replica/follower.h, as the options say. Functions return 0 or -errno; without a remote
 * they do nothing.
 */
#pragma once

#include <jansson.h>

#include "tree/core/tree_state.h"

/* Called before the store is opened. For a follower, creates the local store. */
int ofs_replicate_prepare(struct ofs_tree *t, const char *store,
			  const struct ofs_tree_options *opts, struct ofs_error *err);

/* Called after the store was opened and before anything is read. */
int ofs_replicate_open(struct ofs_tree *t, const char *store, const struct ofs_tree_options *opts,
		       struct ofs_error *err);

/* Starts to send, or to ask for new data, if a daemon serves the store. */
int ofs_replicate_start(struct ofs_tree *t);

/* See ofs_tree_interrupt(). */
void ofs_replicate_interrupt(struct ofs_tree *t);

/* Sends what is left, for a limited time. Called before the store is closed. */
void ofs_replicate_stop(struct ofs_tree *t);

/* Called after the store was closed. */
void ofs_replicate_close(struct ofs_tree *t);

/* Returns the state as a new object; NULL: there is no remote. */
json_t *ofs_replicate_status(struct ofs_tree *t);

/* The attribute user.offload.remote of the root: "push" sends at once. -ENODATA: no remote. */
int ofs_replicate_set(struct ofs_tree *t, const char *value, size_t size);
int ofs_replicate_get(struct ofs_tree *t, struct ofs_buf *out);
