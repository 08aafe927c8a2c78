/* SPDX-License-Identifier: MIT */
/* The lists behind views/: what is in one of its directories, gathered from the tree. */
#ifndef OFS_TREE_VIEW_H
#define OFS_TREE_VIEW_H

#include "tree/internal.h"

/* A directory in views/ that has entries of its own. */
struct ofs_view_dir {
	enum ofs_view kind;
	/*
	 * The category, task, tier or tag; "" for the directory that lists those, and in the views
	 * that have none.
	 */
	char name[OFS_NAME_MAX + 1];
};

/* Whether its entries are links to files; else they are directories. */
bool ofs_view_has_links(const struct ofs_view_dir *d);

/* Whether there is such a directory, one with a name: 1, or 0, or -errno. */
int ofs_view_exists(struct ofs_tree *t, const struct ofs_view_dir *d);

struct ofs_view_entry {
	uint64_t key; /* unique in its list: the inode of a file, or a hash of the name */
	size_t name; /* where it begins in `names` */
};

struct ofs_view_list {
	struct ofs_view_entry *entries; /* by key */
	size_t n, cap;
	struct ofs_buf names;
};

/*
 * Gathers the entries: all files below the directories in question, each once, or the names of the
 * view's directories. 0 or -errno; `ret` is to be finished in either case.
 */
int ofs_view_gather(struct ofs_tree *t, const struct ofs_view_dir *d, struct ofs_view_list *ret);
void ofs_view_list_finish(struct ofs_view_list *l);

/* The first entry with a key above `key`; l->n when there is none. */
size_t ofs_view_list_seek(const struct ofs_view_list *l, uint64_t key);

static inline const char *ofs_view_list_name(const struct ofs_view_list *l, size_t i)
{
	return (const char *)l->names.data + l->entries[i].name;
}

#endif
