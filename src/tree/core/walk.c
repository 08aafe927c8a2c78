/* SPDX-License-Identifier: MIT */
#include "tree/core/walk.h"

#include "base/u64_list.h"

#define PORTION 1024 /* entries of a directory that are read under the store's lock at once */

struct reading {
	ofs_walk_entry_fn fn;
	void *arg;
	uint64_t cookie; /* of the last entry read */
	unsigned int left; /* entries left in the portion */
	int error;
};

static int read_entry(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	struct reading *rd = arg;

	if (!rd->left)
		return 1;
	rd->left--;
	rd->cookie = cookie;
	rd->error = rd->fn(rd->arg, name, attr);
	return rd->error;
}

int ofs_walk_entries(struct ofs_tree *t, uint64_t dir, ofs_walk_entry_fn fn, void *arg)
{
	struct reading rd = { .fn = fn, .arg = arg };
	int r;

	do {
		rd.left = PORTION;
		r = ofs_store_readdir(t->store, dir, rd.cookie, false, read_entry, &rd);
		if (r == 0)
			r = rd.error;
	} while (r == 0 && !rd.left);
	return r;
}

struct walk {
	struct ofs_tree *tree;
	ofs_walk_fn fn;
	void *arg;
	struct ofs_u64_list dirs; /* still to be read */
	bool deep;
	const struct ofs_root *root; /* the tree whose own directory is being read; NULL: none */
};

static int walk_entry(void *arg, const char *name, const struct ofs_attr *attr)
{
	struct walk *w = arg;

	if (S_ISREG(attr->mode))
		return w->fn(w->arg, attr->ino, name);
	if (S_ISDIR(attr->mode) && w->deep &&
	    !(w->root && ofs_root_top(w->root, attr->ino) != OFS_TOPS))
		ofs_u64_list_add(&w->dirs, attr->ino);
	return 0;
}

int ofs_walk_files(struct ofs_tree *t, uint64_t dir, bool deep, ofs_walk_fn fn, void *arg)
{
	struct walk w = { .tree = t, .fn = fn, .arg = arg, .deep = deep };
	int r = 0;

	ofs_u64_list_add(&w.dirs, dir);
	while (w.dirs.n && r == 0) {
		dir = w.dirs.at[--w.dirs.n];
		w.root = ofs_root_at(t, dir);
		r = ofs_walk_entries(t, dir, walk_entry, &w);
		/* It was removed meanwhile, so it is empty. */
		if (r == -ENOENT || r == -ENOTDIR)
			r = 0;
	}
	ofs_u64_list_finish(&w.dirs);
	return r;
}

int ofs_walk_tier(struct ofs_tree *t, const struct ofs_root *root, enum ofs_tier tier,
		  ofs_walk_fn fn, void *arg)
{
	int r;

	if (tier != OFS_TIER_WORKING)
		return ofs_walk_files(
			t,
			root->tops[tier == OFS_TIER_ARCHIVE ? OFS_TOP_ARCHIVE : OFS_TOP_PERSISTENT],
			true, fn, arg);
	r = ofs_walk_files(t, root->ino, true, fn, arg);
	if (r == 0)
		r = ofs_walk_files(t, root->tops[OFS_TOP_CACHE], true, fn, arg);
	return r < 0 ? r : ofs_walk_files(t, root->tops[OFS_TOP_TASKS], true, fn, arg);
}

static int add_if_dir(void *arg, const char *name, const struct ofs_attr *attr)
{
	if (S_ISDIR(attr->mode))
		ofs_entry_list_add(arg, attr->ino, name);
	return 0;
}

int ofs_walk_subdirs(struct ofs_tree *t, uint64_t dir, struct ofs_entry_list *ret)
{
	return ofs_walk_entries(t, dir, add_if_dir, ret);
}

int ofs_walk_bases(struct ofs_tree *t, const struct ofs_root *root,
		   int (*fn)(void *arg, uint64_t dir), void *arg)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list tasks = { 0 };
	int r = 0;

	for (size_t i = 0; i < OFS_TOP_AGENTS && r == 0; i++)
		if (i != OFS_TOP_TASKS)
			r = fn(arg, root->tops[i]);
	if (r == 0)
		r = ofs_walk_subdirs(t, root->tops[OFS_TOP_TASKS], &tasks);
	for (size_t i = 0; i < tasks.n && r == 0; i++) {
		r = fn(arg, tasks.entries[i].key);
		r = r == -ENOENT || r == -ENOTDIR ? 0 : r;
	}
	return r;
}
