/* SPDX-License-Identifier: MIT */
/* tasks/<task>/context.md: the steps of a task, retold. */
#ifndef OFS_TREE_VIRTUAL_TASK_CONTEXT_H
#define OFS_TREE_VIRTUAL_TASK_CONTEXT_H

#include "tree/core/tree_state.h"

/* Without a function in `recap` there is no such file. */
struct ofs_task_context *ofs_task_context_create(const struct ofs_tree_recap *recap);
void ofs_task_context_destroy(struct ofs_task_context *r);

/* The name is that of a recap, if `parent` has steps and no file of that name. */
bool ofs_task_context_is(struct ofs_tree *t, ofs_node parent, const char *name);

/*
 * The recap of the task whose directory `task` is, as the caller (NULL: may do all) may see it.
 * -ENOENT: there are no steps; -EACCES: he may not list them.
 */
int ofs_task_context_lookup(struct ofs_tree *t, ofs_node task, const struct ofs_cred *cred,
			    struct ofs_entry *ret);

/* The task has steps. */
bool ofs_task_context_exists(struct ofs_tree *t, ofs_node task);

#endif
