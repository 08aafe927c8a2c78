/* SPDX-License-Identifier: MIT */
/* Translates FUSE requests to calls of the tree, and the results to replies. */
#pragma once

#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include <offloadfs/tree.h>

#include "fuse/awake.h"
#include "fuse/worker.h"

/* The userdata of every request. */
struct ofs_serving {
	struct ofs_tree *tree; /* set before the first request */
	struct ofs_worker *syncs; /* see ofs_adapter_sync() */
	struct ofs_worker *writes; /* requests that wait for room in the journal */
	struct ofs_worker *searches; /* slow, and run one at a time anyway */
	struct ofs_worker *fetches; /* requests for content that only the remote has */
	struct ofs_awake *awake;
	struct ofs_relist *listings;
	struct ofs_notify *notify;
	atomic_bool over_uring; /* set once a request comes over io_uring */
};

/*
 * create, flush and release are missing on purpose, and open and opendir are refused. The kernel
 * then opens files without a message (docs/ARCHITECTURE.md, "Zero-message open").
 */
extern const struct fuse_lowlevel_ops ofs_adapter_ops;

/* Functions of workers. One sync answers every waiting fsync; other requests are served in turn. */
void ofs_adapter_sync(struct ofs_tree *t, const struct ofs_work *list, size_t n);
void ofs_adapter_serve(struct ofs_tree *t, const struct ofs_work *list, size_t n);
