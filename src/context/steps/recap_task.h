/* SPDX-License-Identifier: MIT */
/* tasks/<task>/context.md: what the tree asks to be made of a task's steps. */
#ifndef OFS_CONTEXT_STEPS_RECAP_TASK_H
#define OFS_CONTEXT_STEPS_RECAP_TASK_H

#include <offloadfs/tree.h>

#include "context/settings.h"

/* For the options of a tree. `s` is borrowed, and must not change, as long as the tree is open. */
struct ofs_tree_recap ofs_recap_for_tree(const struct ofs_settings *s);

#endif
