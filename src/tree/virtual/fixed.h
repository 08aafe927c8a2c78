/* SPDX-License-Identifier: MIT */
/* The virtual files and directories that are always there: a table in fixed.c. */
#ifndef OFS_TREE_VIRTUAL_FIXED_H
#define OFS_TREE_VIRTUAL_FIXED_H

#include "tree/core/tree_state.h"

/* -ENOENT: nothing of that name, or `parent` is not one of them, nor the root. */
int ofs_fixed_lookup(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *ret);
int ofs_fixed_attr(struct ofs_tree *t, ofs_node node, struct ofs_attr *ret);
/* The content of a file; -EISDIR. */
int ofs_fixed_text(struct ofs_tree *t, ofs_node node, struct ofs_buf *out);
/* Its directory; 0: it is none of them. */
ofs_node ofs_fixed_parent(ofs_node node);
/* Lists the entries of `dir` after `cookie`; 1 if `fn` refused one. */
int ofs_fixed_list(struct ofs_tree *t, ofs_node dir, uint64_t cookie, ofs_readdir_fn fn, void *arg);
/* `name` in `parent` is one of the virtual entries of the root. */
bool ofs_fixed_is_reserved(ofs_node parent, const char *name);

#endif
