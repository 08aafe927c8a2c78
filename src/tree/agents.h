/* SPDX-License-Identifier: MIT */
/* Checks of changes to agents' trees, and their consequences. All return 0 or -errno. */
#pragma once

#include "tree/core/root.h"

/*
 * Checks whether `parent` may get an entry with this name and type. In agents/ only directories are
 * allowed (-EPERM), with names that an agent can have (-EINVAL).
 */
int ofs_agents_check_entry(struct ofs_tree *t, ofs_node parent, const char *name, mode_t mode);

/*
 * Checks whether an entry may move to another directory; with RENAME_EXCHANGE, whether both may.
 * Agents cannot be moved (-EPERM). A file with several names may leave its tree only with a
 * directory that contains them all (-EXDEV: it has to be copied). -EDQUOT: the quota of the target
 * does not allow it. A missing entry is 0; the store reports it.
 */
int ofs_agents_check_move(struct ofs_tree *t, ofs_node parent, const char *name, ofs_node newparent,
			  const char *newname, unsigned int flags);

/* Checks whether a file may get a name in `parent`. -EXDEV: that is in another tree. */
int ofs_agents_check_link(struct ofs_tree *t, uint64_t ino, ofs_node parent);

/*
 * To be called after a directory was made: in agents/ it becomes a tree, and `made` gets its new
 * attributes. If that fails, the directory is removed again.
 */
int ofs_agents_make(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *made);

/* Removes an agent's directory. -ENOTEMPTY: there is something in its tree. */
int ofs_agents_remove(struct ofs_tree *t, ofs_node parent, const char *name);

/* Gives the directories of an agent's tree the mode and owner that its own directory just got. */
int ofs_agents_set_owner(struct ofs_tree *t, const struct ofs_root *root,
			 const struct ofs_setattr *attr);
