/* SPDX-License-Identifier: MIT */
/* When anything that views show has changed, and telling the kernel of it. */
#ifndef OFS_TREE_CORE_CHANGES_H
#define OFS_TREE_CORE_CHANGES_H

#include "tree/core/tree_state.h"

struct ofs_changes *ofs_changes_create(void);
void ofs_changes_destroy(struct ofs_changes *c);

/* Something has changed that a view may show: the kernel forgets the times that it was told. */
void ofs_tree_touch(struct ofs_tree *t);

/* Changes with every ofs_tree_touch(): the wall clock then, never the same twice. */
int64_t ofs_tree_changed(struct ofs_tree *t);

/*
 * The same for a directory whose times the kernel is about to be told, and which is therefore told of
 * the next change. The kernel must know the node.
 */
int64_t ofs_changes_show(struct ofs_tree *t, ofs_node dir);

#endif
