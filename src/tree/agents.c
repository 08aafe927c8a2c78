/* SPDX-License-Identifier: MIT */
#include "tree/agents.h"

#include <stdio.h>

#include "base/u64_list.h"
#include "tree/core/audit.h"
#include "tree/core/category.h"
#include "tree/core/quota.h"
#include "tree/core/walk.h"
#include "tree/virtual/made.h"

int ofs_agents_check_entry(struct ofs_tree *t, ofs_node parent, const char *name, mode_t mode)
{
	if (!ofs_root_of_agents(t, parent))
		return 0;
	if (!S_ISDIR(mode))
		return -EPERM;
	return ofs_category_is_name(name) ? 0 : -EINVAL;
}

/* A directory that is to be moved to another tree. */
struct taking {
	struct ofs_tree *tree;
	uint64_t dir;
};

/* Returns 0 if the directory `at` is the one to be moved, or lies in it; -EXDEV if not. */
static int check_taken_along(void *arg, uint64_t at, const char *name)
{
	const struct taking *taking = arg;
	char above[OFS_NAME_MAX + 1];
	int r = 0;

	while (r == 0 && at != taking->dir) {
		if (ofs_root_at(taking->tree, at))
			return -EXDEV;
		r = ofs_store_name_of(taking->tree->store, at, &at, above);
	}
	return r;
}

struct contents {
	struct ofs_u64_list dirs; /* still to be read */
	struct ofs_u64_list others;
};

static int note_entry(void *arg, const char *name, const struct ofs_attr *attr)
{
	struct contents *c = arg;

	ofs_u64_list_add(S_ISDIR(attr->mode) ? &c->dirs : &c->others, attr->ino);
	return 0;
}

/* Lists everything in a directory, also symbolic links and special files. Returns 0 or -errno. */
static int list_contents(struct ofs_tree *t, uint64_t dir, struct ofs_u64_list *ret)
{
	struct contents c = { 0 };
	int r = 0;

	ofs_u64_list_add(&c.dirs, dir);
	while (c.dirs.n && r == 0) {
		r = ofs_walk_entries(t, c.dirs.at[--c.dirs.n], note_entry, &c);
		r = r == -ENOENT || r == -ENOTDIR ? 0 : r;
	}
	ofs_u64_list_finish(&c.dirs);
	*ret = c.others;
	return r;
}

/* Returns 0 if nothing in the directory has a name outside it. *ret is the sum of file sizes. */
static int check_names_within(struct ofs_tree *t, uint64_t dir, uint64_t *ret)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };
	struct taking taking = { t, dir };
	char name[OFS_NAME_MAX + 1];
	struct ofs_attr attr;
	uint64_t above;
	int r = list_contents(t, dir, &files);

	*ret = 0;
	for (size_t i = 0; i < files.n && r == 0; i++) {
		r = ofs_store_getattr(t->store, files.at[i], &attr);
		*ret += r == 0 && S_ISREG(attr.mode) ? attr.size : 0;
		if (r == 0 && attr.nlink > 1)
			r = ofs_store_names(t->store, files.at[i], check_taken_along, &taking);
		if (r == 0)
			r = ofs_store_name_of(t->store, files.at[i], &above, name);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

/*
 * Checks whether an entry may leave its tree, and sets *ret to the bytes that go with it. A file
 * with several names may only go with a directory that contains them all, since each file belongs
 * to one tree: -EXDEV, so that it is copied instead. A missing entry is 0; the store reports it.
 */
static int check_leaving(struct ofs_tree *t, ofs_node parent, const char *name, uint64_t *ret)
{
	struct ofs_attr attr;

	*ret = 0;
	if (ofs_store_lookup(t->store, parent, name, &attr) < 0)
		return 0;
	ofs_store_forget(t->store, attr.ino, 1);
	if (S_ISDIR(attr.mode))
		return check_names_within(t, attr.ino, ret);
	if (attr.nlink > 1)
		return -EXDEV;
	*ret = S_ISREG(attr.mode) ? attr.size : 0;
	return 0;
}

int ofs_agents_check_move(struct ofs_tree *t, ofs_node parent, const char *name, ofs_node newparent,
			  const char *newname, unsigned int flags)
{
	struct ofs_root *from, *to;
	uint64_t goes, comes;
	int r, back;

	if (parent == newparent)
		return ofs_agents_check_entry(t, parent, newname, S_IFDIR);
	if (ofs_root_of_agents(t, parent) || ofs_root_of_agents(t, newparent))
		return -EPERM;
	if (!ofs_roots_are_many(t) || ofs_root_of(t, parent, &from) < 0 ||
	    ofs_root_of(t, newparent, &to) < 0 || from == to)
		return 0;
	r = check_leaving(t, parent, name, &goes);
	/* A file that is replaced makes room, unless it has other names. */
	back = check_leaving(t, newparent, newname, &comes);
	if (r == 0 && flags & RENAME_EXCHANGE)
		r = back;
	if (r == 0 && goes > comes)
		r = ofs_quota_check_move(t, from, to, goes - comes);
	else if (r == 0 && comes > goes && flags & RENAME_EXCHANGE)
		r = ofs_quota_check_move(t, to, from, comes - goes);
	return r;
}

int ofs_agents_check_link(struct ofs_tree *t, uint64_t ino, ofs_node parent)
{
	struct ofs_root *from, *to;
	int r;

	if (!ofs_roots_are_many(t))
		return 0;
	r = ofs_root_of(t, ino, &from);
	if (r == 0)
		r = ofs_root_of(t, parent, &to);
	return r < 0 || from == to ? r : -EXDEV;
}

int ofs_agents_make(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *made)
{
	struct ofs_root *above = ofs_root_of_agents(t, parent);
	struct ofs_attr dir;
	int r;

	if (!above)
		return 0;
	r = ofs_store_getattr(t->store, made->node, &dir);
	if (r == 0)
		r = ofs_root_add(t, above, &dir);
	/* Not all of its directories could be made: undo. */
	if (r < 0 && ofs_root_clear(t, made->node) == 0)
		ofs_store_rmdir(t->store, parent, name);
	if (r == 0)
		r = ofs_tree_getattr(t, made->node, &made->attr);
	if (r < 0)
		ofs_tree_forget(t, made->node, 1);
	return r;
}

int ofs_agents_remove(struct ofs_tree *t, ofs_node parent, const char *name)
{
	OFS_CLEANUP(ofs_audit_line_finish) struct ofs_audit_line line = { 0 };
	struct ofs_root *root;
	struct ofs_attr dir;
	int r = ofs_store_lookup(t->store, parent, name, &dir);

	if (r < 0)
		return r;
	ofs_store_forget(t->store, dir.ino, 1);
	root = ofs_root_at(t, dir.ino);
	ofs_audit_describe(t, "agent-remove", dir.ino, &line);
	r = root ? ofs_root_check_empty(t, root) : 0;
	if (r < 0)
		return r;
	r = ofs_root_clear(t, dir.ino);
	if (r == 0)
		r = ofs_store_rmdir(t->store, parent, name);
	if (root && r == 0) {
		ofs_root_remove(t, root);
		ofs_audit_remove(t, root);
		ofs_audit_add(t, &line);
		ofs_made_drop_kept(t, root);
	} else if (root) {
		ofs_root_restore(t, root, &dir);
	}
	return r;
}

int ofs_agents_set_owner(struct ofs_tree *t, const struct ofs_root *root,
			 const struct ofs_setattr *attr)
{
	struct ofs_setattr owner = *attr;
	struct ofs_attr now;
	int r = 0;

	owner.set &= OFS_SET_MODE | OFS_SET_UID | OFS_SET_GID;
	for (size_t i = 0; root->above && i < OFS_TOPS && r == 0; i++) {
		r = ofs_store_setattr(t->store, root->tops[i], &owner, &now);
		if (r == 0 && t->events.attr_changed)
			t->events.attr_changed(t->events.arg, root->tops[i]);
	}
	return r;
}
