/* SPDX-License-Identifier: MIT */
/* The time of the last change of anything that views show, and notifying the kernel of it. */
#pragma once

#include "tree/core/tree_state.h"

struct ofs_changes *ofs_changes_create(void);
void ofs_changes_destroy(struct ofs_changes *c);

/* Something that a view may show has changed: the kernel forgets the times of views. */
void ofs_tree_touch(struct ofs_tree *t);

/* Changes with every ofs_tree_touch(): the wall clock then, never the same twice. */
int64_t ofs_tree_changed(struct ofs_tree *t);

/*
 * The same, for a directory of a view whose times the kernel is about to get: the kernel will be
 * told of the next change. It must know the node.
 */
int64_t ofs_changes_show(struct ofs_tree *t, ofs_node dir);
