/* SPDX-License-Identifier: MIT */
#include "tree/expiry/tier_scan.h"

#include "tree/core/entry_list.h"
#include "tree/core/walk.h"

struct pending {
	uint64_t ino;
	enum ofs_top top; /* OFS_TOPS: none, but the root */
	unsigned int depth; /* below the root */
	struct ofs_lifetime_place place; /* facts for its entries */
};

struct scan {
	struct ofs_tree *tree;
	const struct ofs_tier_scan *what;
	struct pending *dirs; /* still to be read */
	size_t n, cap;
	/* The entries of the directory being read. */
	struct ofs_entry_list files, subdirs;
};

static int add_file(void *arg, uint64_t ino, const char *name)
{
	(void)name;
	ofs_entry_list_add(arg, ino, "");
	return 0;
}

static int enter_subdir(struct scan *s, const struct pending *dir, uint64_t ino, const char *name)
{
	struct pending sub = { .ino = ino, .top = dir->top, .depth = dir->depth + 1 };
	struct ofs_attr attr;
	int r = ofs_store_getattr(s->tree->store, ino, &attr);

	/* It was renamed meanwhile: leave it for another scan. */
	if (r < 0 || attr.parent != dir->ino)
		return r == -ENOENT ? 0 : r;
	r = ofs_lifetime_place_enter(s->tree, &dir->place, dir->top,
				     dir->top == OFS_TOPS ? 0 : dir->depth, &attr, name,
				     &sub.place);
	if (r == 0)
		*ofs_append(s->dirs, s->n, s->cap) = sub;
	return r == -ENOENT ? 0 : r;
}

static int report_file(struct scan *s, const struct pending *dir, uint64_t ino)
{
	struct ofs_attr attr;
	int r = ofs_store_getattr_in(s->tree->store, dir->ino, ino, &attr);

	if (r < 0 || !attr.nlink)
		return r == -ENOENT ? 0 : r;
	return s->what->file(s->what->arg, &attr, &dir->place);
}

/* Returns whether the directory may be removed when it is empty. */
static bool is_passing(const struct pending *dir)
{
	if (dir->top == OFS_TOP_TASKS)
		return dir->place.ended.age && dir->depth >= 2;
	return dir->top == OFS_TOP_CACHE && dir->depth >= 3;
}

static int report_empty(struct scan *s, const struct pending *dir)
{
	struct ofs_attr attr;
	int r;

	if (!s->what->empty || !is_passing(dir))
		return 0;
	r = ofs_store_getattr(s->tree->store, dir->ino, &attr);
	if (r < 0 || !attr.nlink)
		return r == -ENOENT ? 0 : r;
	return s->what->empty(s->what->arg, &attr, &dir->place);
}

static int scan_dir(struct scan *s, const struct pending *dir)
{
	struct ofs_tree *t = s->tree;
	int r;

	s->files.n = s->files.names.len = s->subdirs.n = s->subdirs.names.len = 0;
	r = ofs_walk_files(t, dir->ino, false, add_file, &s->files);
	if (r == 0)
		r = ofs_walk_subdirs(t, dir->ino, &s->subdirs);
	for (size_t i = 0; i < s->subdirs.n && r == 0; i++)
		if (dir->ino != dir->place.root->ino ||
		    ofs_root_top(dir->place.root, s->subdirs.entries[i].key) == OFS_TOPS)
			r = enter_subdir(s, dir, s->subdirs.entries[i].key,
					 ofs_entry_list_name(&s->subdirs, i));
	for (size_t i = 0; i < s->files.n && r == 0; i++)
		r = report_file(s, dir, s->files.entries[i].key);
	/* A directory with other entries, such as links, is not empty: removing it fails. */
	if (r == 0 && !s->files.n && !s->subdirs.n)
		r = report_empty(s, dir);
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

static int scan_root(void *arg, struct ofs_root *root)
{
	struct scan *s = arg;
	struct pending dir = { .ino = root->ino, .top = OFS_TOPS };
	int r = ofs_lifetime_place_init(s->tree, root, &dir.place);

	if (r < 0)
		return r;
	*ofs_append(s->dirs, s->n, s->cap) = dir;
	dir.depth = 1;
	for (int i = OFS_TOP_CACHE; i <= OFS_TOP_TASKS; i++) {
		dir.ino = root->tops[i];
		dir.top = (enum ofs_top)i;
		*ofs_append(s->dirs, s->n, s->cap) = dir;
	}
	while (s->n && r == 0) {
		dir = s->dirs[--s->n];
		r = scan_dir(s, &dir);
	}
	return r;
}

int ofs_tier_scan_run(struct ofs_tree *t, struct ofs_root *root, const struct ofs_tier_scan *what)
{
	struct scan s = { .tree = t, .what = what };
	int r = ofs_root_each(t, root, scan_root, &s);

	free(s.dirs);
	ofs_entry_list_finish(&s.files);
	ofs_entry_list_finish(&s.subdirs);
	return r;
}
