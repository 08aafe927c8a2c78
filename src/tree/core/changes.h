/* SPDX-License-Identifier: MIT */
/*
 * The time of the last change that shows in the views of a tree, and notifying the kernel of it.
 * Each tree has its own, so that it reveals nothing about others.
 */
#pragma once

#include "tree/core/tree_state.h"

struct ofs_changes;

struct ofs_changes *ofs_changes_create(void);
void ofs_changes_destroy(struct ofs_changes *c);

/* Reports a change that a view may show: the kernel drops the times of views. */
void ofs_changes_touch(struct ofs_changes *c, struct ofs_tree *t);

/* Returns the wall clock time of the last ofs_changes_touch(); no two calls get the same time. */
int64_t ofs_changes_last(const struct ofs_changes *c);

/* Returns ofs_tree_touches() as of the last ofs_changes_touch(); 0: there was none. */
int64_t ofs_changes_number(const struct ofs_changes *c);

/*
 * The same for the directory `dir` of a view whose times the kernel is about to receive. The
 * kernel, which must know the node, will be notified of the next change.
 */
int64_t ofs_changes_show(struct ofs_changes *c, ofs_node dir);
