/* SPDX-License-Identifier: MIT */
/* From FUSE requests to calls of the tree and back; no meaning of its own. */
#ifndef OFS_FUSE_ADAPTER_H
#define OFS_FUSE_ADAPTER_H

#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include <offloadfs/tree.h>

#include "fuse/worker.h"

/* What requests are served with. */
struct ofs_serving {
	struct ofs_tree *tree; /* set before the first request */
	struct ofs_worker *syncs; /* see ofs_adapter_sync() */
	struct ofs_worker *writes; /* see ofs_adapter_write() */
	atomic_bool over_uring; /* requests come over io_uring */
};

/*
 * The requests served; their userdata is a `struct ofs_serving *`. create, flush and release are
 * missing on purpose, and open and opendir are refused: the kernel then opens files without a
 * message (docs/ARCHITECTURE.md, "Zero-message open").
 */
extern const struct fuse_lowlevel_ops ofs_adapter_ops;

/* What the two workers do: answer every fsync by one sync; serve what waits for room. */
void ofs_adapter_sync(struct ofs_tree *t, const struct ofs_task *tasks, size_t n);
void ofs_adapter_write(struct ofs_tree *t, const struct ofs_task *tasks, size_t n);

#endif
