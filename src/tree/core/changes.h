/* SPDX-License-Identifier: MIT */
/*
 * The time of the last change of anything that the views of a tree show, and notifying the kernel of
 * it. Each tree has its own, which tells nothing of others.
 */
#pragma once

#include "tree/core/tree_state.h"

struct ofs_changes;

struct ofs_changes *ofs_changes_create(void);
void ofs_changes_destroy(struct ofs_changes *c);

/* Something that a view may show has changed: the kernel forgets the times of views. */
void ofs_changes_touch(struct ofs_changes *c, struct ofs_tree *t);

/* Changes with every ofs_changes_touch(): the wall clock then, never the same twice. */
int64_t ofs_changes_last(const struct ofs_changes *c);

/*
 * The same, for a directory of a view whose times the kernel is about to get: the kernel will be
 * told of the next change. It must know the node.
 */
int64_t ofs_changes_show(struct ofs_changes *c, ofs_node dir);
