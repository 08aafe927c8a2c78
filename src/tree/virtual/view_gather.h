/* SPDX-License-Identifier: MIT */
/* The entries of a directory in views/, gathered from the tree. */
#pragma once

#include "tree/core/entry_list.h"
#include "tree/core/tree_state.h"
#include "tree/virtual/view.h"

/* A directory in views/ that has entries of its own. */
struct ofs_view_dir {
	enum ofs_view kind;
	/*
	 * The category, task, tier or tag; "" for the directory that lists those, and in the views
	 * that have none.
	 */
	char name[OFS_NAME_MAX + 1];
};

/* The entries are links to files, not directories. */
bool ofs_view_has_links(const struct ofs_view_dir *d);

/*
 * Gathers the entries: all files below the directories in question, each once, or the names of the
 * view's directories. 0 or -errno; `ret` is to be finished in either case.
 */
int ofs_view_gather(struct ofs_tree *t, const struct ofs_view_dir *d, struct ofs_entry_list *ret);
