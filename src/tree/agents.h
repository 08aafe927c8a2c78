/* SPDX-License-Identifier: MIT */
/* Checks of changes and their consequences for agents' trees. All return 0 or -errno. */
#pragma once

#include "tree/core/root.h"

/*
 * `parent` may get an entry of that name and type. Of agents/ only directories are entries: -EPERM,
 * or -EINVAL: the name is none for an agent.
 */
int ofs_agents_check_entry(struct ofs_tree *t, ofs_node parent, const char *name, mode_t mode);

/*
 * An entry may come to another directory; with RENAME_EXCHANGE both may. Agents stay where they are
 * (-EPERM). A file of several names stays in its tree, unless a directory takes them all along:
 * each file is in one (-EXDEV: it has to be copied). -EDQUOT: there is no room. What has no such
 * name is for others to report.
 */
int ofs_agents_check_move(struct ofs_tree *t, ofs_node parent, const char *name, ofs_node newparent,
			  const char *newname, unsigned int flags);

/* A file may get a name in `parent`; -EXDEV: that is in another tree. */
int ofs_agents_check_link(struct ofs_tree *t, uint64_t ino, ofs_node parent);

/*
 * A directory was made: in agents/ it becomes a tree, and its attributes in `made` other ones. If
 * it cannot, it goes again.
 */
int ofs_agents_make(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *made);

/* Removes the directory of an agent. -ENOTEMPTY: one of its own has something in it. */
int ofs_agents_remove(struct ofs_tree *t, ofs_node parent, const char *name);

/* The directories of a tree belong to whom its own does, which got these attributes. */
int ofs_agents_set_owner(struct ofs_tree *t, const struct ofs_root *root,
			 const struct ofs_setattr *attr);
