/* SPDX-License-Identifier: MIT */
/*
 * views/: the files of a tree in other arrangements, as symbolic links, so that a walk over
 * everything meets each file once. An entry is called REF-NAME, which makes it unique, and points
 * to refs/REF. Neither its name nor its target changes while the file lives, so the kernel may
 * cache both.
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

/* For the owner only, since views name even files in directories that others may not search. */
#define OFS_VIEW_MODE 0500

struct ofs_views *ofs_views_create(void);
void ofs_views_destroy(struct ofs_views *v);

/* Whether the node is a directory of links, or of such directories. */
bool ofs_view_is_dir(struct ofs_tree *t, ofs_node node);

/* Sets the times of the directory attr->ino: it counts as changed whenever anything changes. */
void ofs_view_set_times(struct ofs_root *root, struct ofs_attr *attr);
/* Likewise. -ESTALE: the category, task or tag that it stands for is gone. */
int ofs_view_refresh(struct ofs_tree *t, struct ofs_attr *attr);

int ofs_view_lookup(struct ofs_tree *t, ofs_node dir, const char *name, struct ofs_entry *ret);
/* Returns in *ret the file that a link points to, with a reference. */
int ofs_view_lookup_file(struct ofs_tree *t, ofs_node dir, const char *name, struct ofs_attr *ret);
/* Lists the entries after `cookie`; with `plus`, links have attributes. Returns 0 or -errno. */
int ofs_view_list(struct ofs_tree *t, ofs_node dir, uint64_t cookie, bool plus, ofs_readdir_fn fn,
		  void *arg);

/* Called after a rename. If a file went to another tree, releases its links in the old one. */
void ofs_view_moved(struct ofs_tree *t, const struct ofs_move *m);

/* Attributes and target of a link, from its node alone. -ESTALE: the file is gone. */
int ofs_view_link_attr(struct ofs_tree *t, ofs_node link, struct ofs_attr *ret);
void ofs_view_link_target(const struct ofs_tree *t, ofs_node link, struct ofs_buf *out);

/* ---- view_gather.c: gathering the entries of a directory in views/ */

/* A directory in views/ whose entries are gathered. */
struct ofs_view_dir {
	struct ofs_root *root; /* the tree whose views/ it is in */
	enum ofs_view kind;
	/*
	 * The category, task, tier or tag; "" for the directory that lists these, and for recent/
	 * and expiring/.
	 */
	char name[OFS_NAME_MAX + 1];
};

/* Names of files are looked up only when listed: those of ten million would take 300 MB. */
struct ofs_view_entries {
	struct ofs_u64_list keys; /* inodes of files, or keys of `names`; sorted */
	struct ofs_entry_list names; /* of directories, by key; empty if there are files */
};

/* Frees both lists and leaves them empty. */
void ofs_view_entries_finish(struct ofs_view_entries *e);

/* Whether the entries are links to files, rather than directories. */
bool ofs_view_has_links(const struct ofs_view_dir *d);

/*
 * Gathers the entries: the files that belong in the directory, each once, or the names of its
 * directories. Returns 0 or -errno; call ofs_view_entries_finish() in either case.
 */
int ofs_view_gather(struct ofs_tree *t, const struct ofs_view_dir *d, struct ofs_view_entries *ret);
