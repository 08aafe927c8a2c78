/* SPDX-License-Identifier: MIT */
/* Slices as virtual files. */
#ifndef OFS_TREE_VIRTUAL_SLICE_NODE_H
#define OFS_TREE_VIRTUAL_SLICE_NODE_H

#include "tree/core/tree_state.h"
#include "tree/virtual/made.h"

/*
 * Resolves `name` in `parent` as a slice of what `base` is, when it reads as one: -ENOENT if not,
 * or if there is no such base; ret->keep_name is set then too.
 */
int ofs_slice_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
		     const struct ofs_cred *cred, struct ofs_entry *ret);
int ofs_slice_getattr(struct ofs_tree *t, const struct ofs_made *m, struct stat *ret);
ssize_t ofs_slice_read(struct ofs_tree *t, struct ofs_made *m, void *buf, size_t size,
		       uint64_t off);

#endif
