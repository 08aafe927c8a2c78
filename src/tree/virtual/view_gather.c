/* SPDX-License-Identifier: MIT */
#include "tree/virtual/view.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/u64_list.h"
#include "base/util.h"
#include "tree/core/category.h"
#include "tree/core/entry_list.h"
#include "tree/core/label.h"
#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/core/walk.h"
#include "tree/expiry/lifetime.h"

#define RANKED_MAX 100 /* files in recent/ and in expiring/ */
#define NAMES_MAX 100000 /* directories in by-category/, by-task/ and by-tag/ */

bool ofs_view_has_links(const struct ofs_view_dir *d)
{
	return d->kind == OFS_VIEW_RECENT || d->kind == OFS_VIEW_EXPIRING || d->name[0];
}

void ofs_view_entries_finish(struct ofs_view_entries *e)
{
	ofs_u64_list_finish(&e->keys);
	ofs_entry_list_finish(&e->names);
}

/* ---- files */

struct gathering {
	struct ofs_tree *tree;
	const struct ofs_view_dir *dir;
	struct ofs_u64_list *files;
	struct ofs_entry_list *names; /* used instead of `files` for directories of directories */
	struct ofs_u64_list labelled; /* files that belong in the directory by their labels */
	struct ofs_map others; /* files whose label puts them into another category */
	struct ofs_map strays; /* files whose marks name the category that they were made in */
	struct ofs_u64_list marked; /* directories with marks that matter here */
	struct ofs_u64_list homes; /* those of them that are whole tasks directly in a kept tier */
	struct ofs_map is_home; /* the same, by inode */
	struct ofs_map seen; /* keys of `names` */
};

static int add_file(void *arg, uint64_t ino, const char *name)
{
	struct gathering *g = arg;

	(void)name;
	if (!ofs_map_get(&g->others, ino))
		ofs_u64_list_add(g->files, ino);
	return 0;
}

/*
 * For a file that has labels. Returns 1 if it is in the tree, 0 if not, or -errno. If it has no
 * name any more, drops its labels.
 */
static int is_here(struct gathering *g, uint64_t ino)
{
	struct ofs_root *root;
	int r = ofs_root_of(g->tree, ino, &root);

	if (r != -ENOENT)
		return r < 0 ? r : root == g->dir->root;
	ofs_labels_drop(g->tree, ino);
	return 0;
}

static bool is(const char *text, const char *name)
{
	return text && strcmp(text, name) == 0;
}

static void take_label(void *arg, const struct ofs_label *l)
{
	const char *name = ((struct gathering *)arg)->dir->name;
	struct gathering *g = arg;

	switch (g->dir->kind) {
	case OFS_VIEW_TAG:
		if (ofs_label_has_tag(l->tags, name))
			ofs_u64_list_add(&g->labelled, l->ino);
		break;
	case OFS_VIEW_TASK:
		if (is(l->origin_task, name))
			ofs_u64_list_add(l->is_dir ? &g->marked : &g->labelled, l->ino);
		break;
	default:
		if (l->is_dir && l->origin_task && !l->origin_category)
			ofs_u64_list_add(&g->marked, l->ino);
		else if (l->category && !is(l->category, name))
			ofs_map_put(&g->others, l->ino, g);
		else if (is(l->category, name) || is(l->origin_category, name))
			ofs_u64_list_add(&g->labelled, l->ino);
		if (!l->is_dir && l->origin_category && !l->category)
			ofs_map_put(&g->strays, l->ino, g);
	}
}

/* Whether `dir` has categories as directories, and is in a tier that keeps files. */
static bool is_home(const struct gathering *g, uint64_t dir)
{
	return dir == g->dir->root->tops[OFS_TOP_PERSISTENT] ||
	       dir == g->dir->root->tops[OFS_TOP_ARCHIVE] || ofs_map_get(&g->is_home, dir);
}

/* Whether a marked file is in no category's directory, and so keeps the category of its mark. */
static bool is_stray(const struct gathering *g, uint64_t ino)
{
	char name[OFS_NAME_MAX + 1];
	uint64_t dir;

	return ofs_store_name_of(g->tree->store, ino, &dir, name) == 0 && is_home(g, dir);
}

static void find_homes(struct gathering *g)
{
	for (size_t i = 0; i < g->marked.n; i++) {
		if (!is_stray(g, g->marked.at[i]))
			continue;
		ofs_u64_list_add(&g->homes, g->marked.at[i]);
		ofs_map_put(&g->is_home, g->marked.at[i], g);
	}
}

static int add_labelled(struct gathering *g)
{
	int r = 0;

	for (size_t i = 0; i < g->labelled.n && r >= 0; i++) {
		uint64_t ino = g->labelled.at[i];

		r = is_here(g, ino);
		if (r > 0 && (!ofs_map_get(&g->strays, ino) || is_stray(g, ino)))
			ofs_u64_list_add(g->files, ino);
	}
	return OFS_MIN(r, 0);
}

static bool is_whole_task(const struct gathering *g, uint64_t dir)
{
	return ofs_root_top(g->dir->root, dir) == OFS_TOPS && is_home(g, dir);
}

/* Adds all files below the directory in `base` that has the name of the view's directory. */
static int add_named(struct gathering *g, uint64_t base)
{
	struct ofs_attr attr;
	int r = ofs_store_lookup(g->tree->store, base, g->dir->name, &attr);

	if (r < 0)
		return r;
	if (S_ISDIR(attr.mode) && !is_whole_task(g, attr.ino))
		r = ofs_walk_files(g->tree, attr.ino, true, add_file, g);
	ofs_store_forget(g->tree->store, attr.ino, 1);
	return r;
}

static int add_not_stray(void *arg, uint64_t ino, const char *name)
{
	struct gathering *g = arg;

	return ofs_map_get(&g->strays, ino) ? 0 : add_file(arg, ino, name);
}

static int by_category_base(void *arg, uint64_t base)
{
	struct gathering *g = arg;
	int r = 0;

	if (strcmp(g->dir->name, OFS_CATEGORY_NONE) == 0)
		r = ofs_walk_files(g->tree, base, false,
				   is_home(g, base) ? add_not_stray : add_file, g);
	if (r == 0)
		r = add_named(g, base);
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* Calls `fn` for each directory whose directories are categories, including homes. */
static int walk_bases(struct gathering *g, int (*fn)(void *arg, uint64_t dir))
{
	int r = ofs_walk_bases(g->tree, g->dir->root, fn, g);

	for (size_t i = 0; i < g->homes.n && r == 0; i++)
		r = fn(g, g->homes.at[i]);
	return r;
}

static int gather_category(struct gathering *g)
{
	int r = walk_bases(g, by_category_base);

	/* Files directly in the root or in tasks/ have no category, either. */
	if (r == 0 && strcmp(g->dir->name, OFS_CATEGORY_NONE) == 0) {
		r = ofs_walk_files(g->tree, g->dir->root->ino, true, add_file, g);
		if (r == 0)
			r = ofs_walk_files(g->tree, g->dir->root->tops[OFS_TOP_TASKS], false,
					   add_file, g);
	}
	return r;
}

static int gather_labelled(struct gathering *g)
{
	int r = ofs_labels_each(g->tree, g->dir->root, take_label, g);

	find_homes(g);
	if (r == 0 && g->dir->kind == OFS_VIEW_CATEGORY)
		r = gather_category(g);
	return r < 0 ? r : add_labelled(g);
}

/* Adds a file if its nearest mark, perhaps of a directory above it, is of the task. */
static int add_if_made_in(struct gathering *g, uint64_t ino)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	int r = ofs_place_of(g->tree, ino, &place);

	if (r == 0 && place.root == g->dir->root && strcmp(place.origin.task, g->dir->name) == 0)
		ofs_u64_list_add(g->files, ino);
	return r == -ENOENT ? 0 : r;
}

static int note_file(void *arg, uint64_t ino, const char *name)
{
	(void)name;
	ofs_u64_list_add(arg, ino);
	return 0;
}

/* Adds what is in the task's directory, and what was made there and moved to a kept tier. */
static int gather_task(struct gathering *g)
{
	int r = add_named(g, g->dir->root->tops[OFS_TOP_TASKS]);

	if (r == 0 || r == -ENOENT)
		r = ofs_labels_each(g->tree, g->dir->root, take_label, g);
	for (size_t i = 0; i < g->marked.n && r == 0; i++)
		if (ofs_place_keeps(g->tree, g->dir->root, g->marked.at[i]))
			r = ofs_walk_files(g->tree, g->marked.at[i], true, note_file, &g->labelled);
	for (size_t i = 0; i < g->labelled.n && r == 0; i++)
		r = add_if_made_in(g, g->labelled.at[i]);
	return r;
}

static int gather_tier(struct gathering *g)
{
	for (int i = 0; i < OFS_TIERS; i++)
		if (strcmp(g->dir->name, ofs_tier_names[i]) == 0)
			return ofs_walk_tier(g->tree, g->dir->root, (enum ofs_tier)i, add_file, g);
	return -ENOENT;
}

/* ---- recent/ and expiring/: the first files in the order of a time */

struct ranked {
	int64_t rank; /* lowest first */
	uint64_t ino;
};

/* Inserts a file into the list, dropping the last if there are too many. Returns the new length. */
static size_t insert_ranked(struct ranked *list, size_t n, struct ranked file)
{
	size_t at = n;

	while (at && list[at - 1].rank > file.rank)
		at--;
	if (at == RANKED_MAX)
		return n;
	n = OFS_MIN(n + 1, (size_t)RANKED_MAX);
	memmove(list + at + 1, list + at, (n - 1 - at) * sizeof(*list));
	list[at] = file;
	return n;
}

/* Returns 1 and the rank, 0 if the file is gone or never expires, or -errno. */
static int rank_file(struct ofs_tree *t, enum ofs_view view, uint64_t ino, int64_t *ret)
{
	struct ofs_attr attr;
	int r = ofs_store_getattr(t->store, ino, &attr);

	if (r == 0 && !attr.nlink)
		r = -ENOENT;
	if (r == 0 && view == OFS_VIEW_RECENT)
		*ret = -OFS_MAX(attr.mtime, -INT64_MAX);
	else if (r == 0)
		r = ofs_lifetime_end(t, &attr, NULL, ret);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return view == OFS_VIEW_RECENT || *ret != OFS_TTL_NEVER;
}

static int gather_ranked(struct gathering *g)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };
	struct gathering all = { .files = &files };
	struct ranked first[RANKED_MAX], file;
	enum ofs_view view = g->dir->kind;
	size_t n = 0;
	int r = 0;

	for (int i = 0; i < OFS_TIERS && r == 0; i++)
		if (view == OFS_VIEW_RECENT || i == OFS_TIER_WORKING)
			r = ofs_walk_tier(g->tree, g->dir->root, (enum ofs_tier)i, add_file, &all);
	if (r < 0)
		return r;
	ofs_u64_list_sort_unique(&files);
	for (size_t i = 0; i < files.n && r >= 0; i++) {
		file.ino = files.at[i];
		r = rank_file(g->tree, view, file.ino, &file.rank);
		if (r > 0)
			n = insert_ranked(first, n, file);
	}
	for (size_t i = 0; i < n && r >= 0; i++)
		ofs_u64_list_add(g->files, first[i].ino);
	return OFS_MIN(r, 0);
}

/* ---- the directories of a view */

static void add_name(struct gathering *g, const char *name)
{
	uint64_t key = ofs_entry_list_key(name);

	if (g->names->n == NAMES_MAX || ofs_map_get(&g->seen, key))
		return;
	ofs_map_put(&g->seen, key, g);
	ofs_entry_list_add(g->names, key, name);
}

static int add_subdirs(void *arg, uint64_t dir)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list dirs = { 0 };
	struct gathering *g = arg;
	int r = ofs_walk_subdirs(g->tree, dir, &dirs);

	for (size_t i = 0; i < dirs.n && r == 0; i++)
		if (!is_whole_task(g, dirs.entries[i].key))
			add_name(g, ofs_entry_list_name(&dirs, i));
	return r;
}

static bool is_in_tree(const struct gathering *g, uint64_t ino)
{
	struct ofs_root *root;

	return ofs_root_of(g->tree, ino, &root) == 0 && root == g->dir->root;
}

static bool is_new(const struct gathering *g, const char *name)
{
	return name && !ofs_map_get(&g->seen, ofs_entry_list_key(name));
}

/* Adds the task or category in which something kept was made. */
static void take_origin(void *arg, const struct ofs_label *l)
{
	struct gathering *g = arg;

	if (g->dir->kind == OFS_VIEW_TASK) {
		if (is_new(g, l->origin_task) && ofs_place_keeps(g->tree, g->dir->root, l->ino))
			add_name(g, l->origin_task);
	} else if (!l->is_dir && !l->category && is_new(g, l->origin_category) &&
		   is_stray(g, l->ino)) {
		add_name(g, l->origin_category);
	}
}

/* Adds the tags, or the category, of a file that still exists. */
static void take_names(void *arg, const struct ofs_label *l)
{
	struct gathering *g = arg;
	bool tags = g->dir->kind == OFS_VIEW_TAG;
	const char *at = tags ? l->tags : l->category;
	char name[OFS_NAME_MAX + 1];

	while (at) {
		size_t len = tags ? strcspn(at, ",") : strlen(at);

		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		if (is_new(g, name) && is_in_tree(g, l->ino))
			add_name(g, name);
		at = at[len] ? at + len + 1 : NULL;
	}
}

static int gather_names(struct gathering *g)
{
	int r = 0;

	switch (g->dir->kind) {
	case OFS_VIEW_CATEGORY:
		add_name(g, OFS_CATEGORY_NONE);
		r = ofs_labels_each(g->tree, g->dir->root, take_label, g);
		find_homes(g);
		if (r == 0)
			r = walk_bases(g, add_subdirs);
		if (r == 0)
			r = ofs_labels_each(g->tree, g->dir->root, take_names, g);
		if (r == 0)
			r = ofs_labels_each(g->tree, g->dir->root, take_origin, g);
		break;
	case OFS_VIEW_TASK:
		r = add_subdirs(g, g->dir->root->tops[OFS_TOP_TASKS]);
		if (r == 0)
			r = ofs_labels_each(g->tree, g->dir->root, take_origin, g);
		break;
	case OFS_VIEW_TIER:
		for (int i = 0; i < OFS_TIERS && r == 0; i++)
			add_name(g, ofs_tier_names[i]);
		break;
	case OFS_VIEW_TAG:
		return ofs_labels_each(g->tree, g->dir->root, take_names, g);
	default:
		return -ENOTDIR;
	}
	return r;
}

int ofs_view_gather(struct ofs_tree *t, const struct ofs_view_dir *d, struct ofs_view_entries *ret)
{
	struct gathering g = { .tree = t, .dir = d, .files = &ret->keys, .names = &ret->names };
	int r;

	*ret = (struct ofs_view_entries){ 0 };
	if (d->kind == OFS_VIEW_RECENT || d->kind == OFS_VIEW_EXPIRING)
		r = gather_ranked(&g);
	else if (!d->name[0])
		r = gather_names(&g);
	else if (d->kind == OFS_VIEW_TASK)
		r = gather_task(&g);
	else if (d->kind == OFS_VIEW_TIER)
		r = gather_tier(&g);
	else
		r = gather_labelled(&g);
	ofs_map_finish(&g.others);
	ofs_map_finish(&g.strays);
	ofs_map_finish(&g.is_home);
	ofs_u64_list_finish(&g.marked);
	ofs_u64_list_finish(&g.homes);
	ofs_map_finish(&g.seen);
	ofs_u64_list_finish(&g.labelled);
	ofs_entry_list_settle(&ret->names);
	for (size_t i = 0; i < ret->names.n; i++)
		ofs_u64_list_add(&ret->keys, ret->names.entries[i].key);
	ofs_u64_list_sort_unique(&ret->keys);
	return r;
}
