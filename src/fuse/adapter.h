/* SPDX-License-Identifier: MIT */
/* From FUSE requests to calls of the tree and back; no meaning of its own. */
#ifndef OFS_FUSE_ADAPTER_H
#define OFS_FUSE_ADAPTER_H

#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include <offloadfs/tree.h>

#include "fuse/syncer.h"

/* What requests are served with. */
struct ofs_serving {
	struct ofs_tree *tree; /* set before the first request */
	struct ofs_syncer *syncer;
	atomic_bool over_uring; /* requests come over io_uring */
};

/*
 * The requests served; their userdata is a `struct ofs_serving *`. create, flush and release are missing on purpose, and open and opendir are refused: the
 * kernel then opens files without a message (docs/ARCHITECTURE.md, "Zero-message open").
 */
extern const struct fuse_lowlevel_ops ofs_adapter_ops;

#endif
