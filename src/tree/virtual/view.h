/* SPDX-License-Identifier: MIT */
/*
 * views/: the files of the tree by other orders, as symbolic links, so that a walk over everything
 * meets each file once. An entry is called REF-NAME, which makes it unique, and leads to refs/REF:
 * so neither it nor its target changes for as long as the file lives, and the kernel may keep it.
 */
#pragma once

#include "base/u64_list.h"
#include "tree/core/entry_list.h"
#include "tree/core/root.h"
#include "tree/core/tree_state.h"

enum ofs_view {
	OFS_VIEW_CATEGORY,
	OFS_VIEW_TASK,
	OFS_VIEW_TIER,
	OFS_VIEW_TAG,
	OFS_VIEW_RECENT,
	OFS_VIEW_EXPIRING,
	OFS_VIEWS
};

/* Views name all files, even in directories that others may not search. */
#define OFS_VIEW_MODE 0500

struct ofs_views *ofs_views_create(void);
void ofs_views_destroy(struct ofs_views *v);

bool ofs_view_is_dir(struct ofs_tree *t, ofs_node node);

/* Sets the times of the directory attr->ino of a view: it changes whenever anything does. */
void ofs_view_set_times(struct ofs_root *root, struct ofs_attr *attr);
/* The same; -ESTALE: the category, task or tag that it stands for is gone. */
int ofs_view_refresh(struct ofs_tree *t, struct ofs_attr *attr);

int ofs_view_lookup(struct ofs_tree *t, ofs_node dir, const char *name, struct ofs_entry *ret);
/* The file that a link of that name leads to, with a reference. */
int ofs_view_lookup_file(struct ofs_tree *t, ofs_node dir, const char *name, struct ofs_attr *ret);
/* With `plus`, links come with attributes. */
int ofs_view_list(struct ofs_tree *t, ofs_node dir, uint64_t cookie, bool plus, ofs_readdir_fn fn,
		  void *arg);

/* Something was renamed: what goes to another tree takes its links along. */
void ofs_view_moved(struct ofs_tree *t, const struct ofs_move *m);

/* Links, by their node alone. */
int ofs_view_link_attr(struct ofs_tree *t, ofs_node link, struct ofs_attr *ret);
void ofs_view_link_target(const struct ofs_tree *t, ofs_node link, struct ofs_buf *out);

/* ---- view_gather.c: the entries of a directory in views/, gathered from the tree */

/* A directory in views/ that has entries of its own. */
struct ofs_view_dir {
	struct ofs_root *root; /* whose views/ it is in */
	enum ofs_view kind;
	/*
	 * The category, task, tier or tag; "" for the directory that lists those, and in the views
	 * that have none.
	 */
	char name[OFS_NAME_MAX + 1];
};

/* Names of files are looked up when they are listed: ten million of them would be 300 MB. */
struct ofs_view_entries {
	struct ofs_u64_list keys; /* inodes, or those of `names`, in order */
	struct ofs_entry_list names; /* of directories, by key; as many, or none */
};

/* Both are empty then. */
void ofs_view_entries_finish(struct ofs_view_entries *e);

/* The entries are links to files, not directories. */
bool ofs_view_has_links(const struct ofs_view_dir *d);

/*
 * Gathers the entries: all files below the directories in question, each once, or the names of the
 * view's directories. 0 or -errno; `ret` is to be finished in either case.
 */
int ofs_view_gather(struct ofs_tree *t, const struct ofs_view_dir *d, struct ofs_view_entries *ret);
