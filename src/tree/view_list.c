/* SPDX-License-Identifier: MIT */
/* What a directory in views/ lists. */
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "codec/hash.h"
#include "tree/view.h"

#define SHOWN_MAX 100 /* files in recent/ and in expiring/ */

bool ofs_view_has_links(const struct ofs_view_dir *d)
{
	return d->kind == OFS_VIEW_RECENT || d->kind == OFS_VIEW_EXPIRING || d->name[0];
}

void ofs_view_list_finish(struct ofs_view_list *l)
{
	free(l->entries);
	ofs_buf_finish(&l->names);
	*l = (struct ofs_view_list){ 0 };
}

size_t ofs_view_list_seek(const struct ofs_view_list *l, uint64_t key)
{
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->entries[mid].key <= key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int list_add(struct ofs_view_list *l, uint64_t key, const char *name)
{
	size_t at = l->names.len;
	int r = ofs_buf_append(&l->names, name, strlen(name) + 1);

	if (r < 0)
		return r;
	l->entries = ofs_grow(l->entries, &l->cap, l->n + 1, sizeof(*l->entries));
	l->entries[l->n++] = (struct ofs_view_entry){ key, at };
	return 0;
}

static int list_add_dir(struct ofs_view_list *l, const char *name)
{
	return list_add(l, ofs_checksum(name, strlen(name), 0) >> 2, name);
}

static int compare_keys(const void *a, const void *b)
{
	const struct ofs_view_entry *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* In order, each once. */
static void list_settle(struct ofs_view_list *l)
{
	size_t i, n = 0;

	if (!l->n)
		return;
	qsort(l->entries, l->n, sizeof(*l->entries), compare_keys);
	for (i = 0; i < l->n; i++)
		if (!n || l->entries[n - 1].key != l->entries[i].key)
			l->entries[n++] = l->entries[i];
	l->n = n;
}

/* ---- walking the tree */

/* A file was found; called with the store locked. */
typedef int (*found_fn)(void *arg, uint64_t ino, const char *name);

struct walk {
	struct ofs_tree *tree;
	found_fn fn;
	void *arg;
	uint64_t *dirs; /* still to be read */
	size_t ndirs, cap;
	bool deep;
	bool root; /* what is read is the root, which holds the four trees as well */
	int error;
};

static bool is_top(const struct ofs_tree *t, uint64_t ino)
{
	for (int i = 0; i < OFS_TOPS; i++)
		if (t->tops[i] == ino)
			return true;
	return false;
}

static int walk_entry(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	struct walk *w = arg;

	(void)cookie;
	if (S_ISREG(attr->mode)) {
		w->error = w->fn(w->arg, attr->ino, name);
	} else if (S_ISDIR(attr->mode) && w->deep && !(w->root && is_top(w->tree, attr->ino))) {
		w->dirs = ofs_grow(w->dirs, &w->cap, w->ndirs + 1, sizeof(*w->dirs));
		w->dirs[w->ndirs++] = attr->ino;
	}
	return w->error;
}

/* Finds the files in `dir`, and with `deep` below it. The store is locked for a directory at a time. */
static int walk(struct ofs_tree *t, uint64_t dir, bool deep, found_fn fn, void *arg)
{
	struct walk w = { .tree = t, .fn = fn, .arg = arg, .deep = deep };
	int r = 0;

	w.dirs = ofs_grow(NULL, &w.cap, 1, sizeof(*w.dirs));
	w.dirs[w.ndirs++] = dir;
	while (w.ndirs && r == 0) {
		dir = w.dirs[--w.ndirs];
		w.root = dir == OFS_ROOT_INO;
		r = ofs_store_readdir(t->store, dir, 0, false, walk_entry, &w);
		/* Removed meanwhile: then nothing is in it. */
		if (r == -ENOENT || r == -ENOTDIR)
			r = 0;
		if (r == 0)
			r = w.error;
	}
	free(w.dirs);
	return r;
}

/* The directories in a directory. */
struct subdirs {
	struct ofs_view_list list; /* by inode */
	int error;
};

static int subdirs_add(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	struct subdirs *s = arg;

	(void)cookie;
	if (S_ISDIR(attr->mode))
		s->error = list_add(&s->list, attr->ino, name);
	return s->error;
}

static void subdirs_finish(struct subdirs *s)
{
	ofs_view_list_finish(&s->list);
}

static int subdirs_read(struct ofs_tree *t, uint64_t dir, struct subdirs *ret)
{
	int r;

	*ret = (struct subdirs){ 0 };
	r = ofs_store_readdir(t->store, dir, 0, false, subdirs_add, ret);
	return r < 0 ? r : ret->error;
}

/* Calls `fn` for each directory whose directories are categories, until it gives something. */
static int each_base(struct ofs_tree *t, int (*fn)(void *arg, uint64_t dir), void *arg)
{
	OFS_CLEANUP(subdirs_finish) struct subdirs tasks = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; i < OFS_TOPS && r == 0; i++)
		if (i != OFS_TOP_TASKS)
			r = fn(arg, t->tops[i]);
	if (r == 0)
		r = subdirs_read(t, t->tops[OFS_TOP_TASKS], &tasks);
	for (i = 0; i < tasks.list.n && r == 0; i++) {
		r = fn(arg, tasks.list.entries[i].key);
		r = r == -ENOENT || r == -ENOTDIR ? 0 : r;
	}
	return r;
}

/* ---- the lists */

struct gathering {
	struct ofs_tree *tree;
	const struct ofs_view_dir *dir;
	struct ofs_view_list *list;
	struct ofs_map others; /* files whose category was set to another one */
	int error;
};

static int add_file(void *arg, uint64_t ino, const char *name)
{
	struct gathering *g = arg;

	return ofs_map_get(&g->others, ino) ? 0 : list_add(g->list, ino, name);
}

/* What has lost its name is not listed. */
static int add_labelled(struct gathering *g, uint64_t ino)
{
	char name[OFS_NAME_MAX + 1];
	uint64_t dir;
	int r = ofs_store_name_of(g->tree->store, ino, &dir, name);

	return r == -ENOENT ? 0 : r < 0 ? r : list_add(g->list, ino, name);
}

static int by_category_base(void *arg, uint64_t base)
{
	struct gathering *g = arg;
	struct ofs_tree *t = g->tree;
	struct ofs_attr attr;
	int r = 0;

	if (strcmp(g->dir->name, OFS_CATEGORY_NONE) == 0)
		r = walk(t, base, false, add_file, g);
	if (r == 0)
		r = ofs_store_lookup(t->store, base, g->dir->name, &attr);
	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	if (S_ISDIR(attr.mode))
		r = walk(t, attr.ino, true, add_file, g);
	ofs_store_forget(t->store, attr.ino, 1);
	return r;
}

struct inos {
	const struct ofs_view_dir *dir;
	uint64_t *list;
	size_t n, cap;
	struct ofs_map *others;
};

static void inos_add(struct inos *l, uint64_t ino)
{
	l->list = ofs_grow(l->list, &l->cap, l->n + 1, sizeof(*l->list));
	l->list[l->n++] = ino;
}

static void take_category(void *arg, const struct ofs_label *l)
{
	struct inos *inos = arg;

	if (!l->category)
		return;
	if (strcmp(l->category, inos->dir->name) == 0)
		inos_add(inos, l->ino);
	else
		ofs_map_put(inos->others, l->ino, inos);
}

static void take_tag(void *arg, const struct ofs_label *l)
{
	struct inos *inos = arg;

	if (ofs_label_has_tag(l->tags, inos->dir->name))
		inos_add(inos, l->ino);
}

static int add_inos(struct gathering *g, const struct inos *l)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0; i++)
		r = add_labelled(g, l->list[i]);
	return r;
}

static int gather_category(struct gathering *g)
{
	struct inos inos = { .dir = g->dir, .others = &g->others };
	int r;

	r = ofs_labels_each(g->tree, take_category, &inos);
	if (r == 0)
		r = each_base(g->tree, by_category_base, g);
	/* What lies in the root or in tasks/ itself is of no category either. */
	if (r == 0 && strcmp(g->dir->name, OFS_CATEGORY_NONE) == 0) {
		r = walk(g->tree, OFS_ROOT_INO, true, add_file, g);
		if (r == 0)
			r = walk(g->tree, g->tree->tops[OFS_TOP_TASKS], false, add_file, g);
	}
	if (r == 0)
		r = add_inos(g, &inos);
	free(inos.list);
	return r;
}

static int gather_tag(struct gathering *g)
{
	struct inos inos = { .dir = g->dir };
	int r = ofs_labels_each(g->tree, take_tag, &inos);

	if (r == 0)
		r = add_inos(g, &inos);
	free(inos.list);
	return r;
}

static int gather_task(struct gathering *g)
{
	struct ofs_tree *t = g->tree;
	struct ofs_attr attr;
	int r;

	r = ofs_store_lookup(t->store, t->tops[OFS_TOP_TASKS], g->dir->name, &attr);
	if (r < 0)
		return r;
	if (S_ISDIR(attr.mode))
		r = walk(t, attr.ino, true, add_file, g);
	ofs_store_forget(t->store, attr.ino, 1);
	return r;
}

static int gather_tier(struct gathering *g)
{
	struct ofs_tree *t = g->tree;
	int r;

	if (strcmp(g->dir->name, ofs_tier_names[OFS_TIER_LONG_TERM]) == 0)
		return walk(t, t->tops[OFS_TOP_PERSISTENT], true, add_file, g);
	if (strcmp(g->dir->name, ofs_tier_names[OFS_TIER_ARCHIVE]) == 0)
		return walk(t, t->tops[OFS_TOP_ARCHIVE], true, add_file, g);
	r = walk(t, OFS_ROOT_INO, true, add_file, g);
	if (r == 0)
		r = walk(t, t->tops[OFS_TOP_CACHE], true, add_file, g);
	if (r == 0)
		r = walk(t, t->tops[OFS_TOP_TASKS], true, add_file, g);
	return r;
}

/* ---- the first few by a time */

struct ranked {
	int64_t rank; /* the lowest come first */
	uint64_t ino;
	char name[OFS_NAME_MAX + 1];
};

struct ranking {
	struct gathering *g;
	struct ranked *list; /* a heap: the worst is first */
	size_t n;
	struct ofs_view_list files; /* all there are, by inode */
};

static void sift_down(struct ranked *list, size_t n)
{
	size_t i = 0, child;
	struct ranked swap;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && list[child + 1].rank > list[child].rank)
			child++;
		if (list[i].rank >= list[child].rank)
			return;
		swap = list[i];
		list[i] = list[child];
		list[child] = swap;
		i = child;
	}
}

static void sift_up(struct ranked *list, size_t i)
{
	struct ranked swap;

	for (; i && list[(i - 1) / 2].rank < list[i].rank; i = (i - 1) / 2) {
		swap = list[i];
		list[i] = list[(i - 1) / 2];
		list[(i - 1) / 2] = swap;
	}
}

static void rank(struct ranking *k, int64_t value, uint64_t ino, const char *name)
{
	struct ranked *to;

	if (k->n == SHOWN_MAX && value >= k->list[0].rank)
		return;
	to = k->n == SHOWN_MAX ? &k->list[0] : &k->list[k->n++];
	to->rank = value;
	to->ino = ino;
	memcpy(to->name, name, strlen(name) + 1);
	if (to == &k->list[0])
		sift_down(k->list, k->n);
	else
		sift_up(k->list, k->n - 1);
}

/* By what is found; of files that do not expire nothing is shown. */
static int rank_file(struct ranking *k, uint64_t ino, const char *name)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	struct ofs_tree *t = k->g->tree;
	struct ofs_attr attr;
	int64_t expires;
	int r;

	r = ofs_store_getattr(t->store, ino, &attr);
	if (r < 0 || !attr.nlink)
		return r == -ENOENT ? 0 : r;
	if (k->g->dir->kind == OFS_VIEW_RECENT) {
		rank(k, -OFS_MAX(attr.mtime, -INT64_MAX), ino, name);
		return 0;
	}
	r = ofs_place_of(t, ino, &place);
	if (r == 0)
		r = ofs_place_label(t, ino, &place);
	if (r == 0)
		r = ofs_tree_expiry(t, &attr, &place, &expires);
	if (r == 0 && expires != OFS_TTL_NEVER)
		rank(k, expires, ino, name);
	return r == -ENOENT ? 0 : r;
}

static int gather_ranked(struct gathering *g)
{
	struct ranking k = { .g = g };
	struct ofs_view_list files = { 0 };
	struct gathering all = { .tree = g->tree, .list = &files };
	struct ofs_tree *t = g->tree;
	int r = 0;

	k.list = ofs_realloc(NULL, SHOWN_MAX, sizeof(*k.list));
	r = walk(t, OFS_ROOT_INO, true, add_file, &all);
	for (int i = 0; i < OFS_TOPS && r == 0; i++)
		if (g->dir->kind == OFS_VIEW_RECENT || i == OFS_TOP_CACHE || i == OFS_TOP_TASKS)
			r = walk(t, t->tops[i], true, add_file, &all);
	list_settle(&files);
	for (size_t i = 0; i < files.n && r == 0; i++)
		r = rank_file(&k, files.entries[i].key, ofs_view_list_name(&files, i));
	for (size_t i = 0; i < k.n && r == 0; i++)
		r = list_add(g->list, k.list[i].ino, k.list[i].name);
	ofs_view_list_finish(&files);
	free(k.list);
	return r;
}

/* ---- the directories of a view */

static int add_subdirs(void *arg, uint64_t dir)
{
	OFS_CLEANUP(subdirs_finish) struct subdirs s = { 0 };
	struct gathering *g = arg;
	int r = subdirs_read(g->tree, dir, &s);

	for (size_t i = 0; i < s.list.n && r == 0; i++)
		r = list_add_dir(g->list, ofs_view_list_name(&s.list, i));
	return r;
}

static void add_category_name(void *arg, const struct ofs_label *l)
{
	struct gathering *g = arg;

	if (l->category && g->error == 0)
		g->error = list_add_dir(g->list, l->category);
}

static void add_tag_names(void *arg, const struct ofs_label *l)
{
	struct gathering *g = arg;
	char tag[OFS_NAME_MAX + 1];
	const char *at = l->tags;

	while (at && g->error == 0) {
		size_t len = strcspn(at, ",");

		memcpy(tag, at, len);
		tag[len] = 0;
		g->error = list_add_dir(g->list, tag);
		at = at[len] ? at + len + 1 : NULL;
	}
}

static int gather_names(struct gathering *g)
{
	int r = 0;

	switch (g->dir->kind) {
	case OFS_VIEW_CATEGORY:
		r = list_add_dir(g->list, OFS_CATEGORY_NONE);
		if (r == 0)
			r = each_base(g->tree, add_subdirs, g);
		if (r == 0)
			r = ofs_labels_each(g->tree, add_category_name, g);
		break;
	case OFS_VIEW_TASK:
		return add_subdirs(g, g->tree->tops[OFS_TOP_TASKS]);
	case OFS_VIEW_TIER:
		for (int i = 0; i < OFS_TIERS && r == 0; i++)
			r = list_add_dir(g->list, ofs_tier_names[i]);
		break;
	case OFS_VIEW_TAG:
		r = ofs_labels_each(g->tree, add_tag_names, g);
		break;
	default:
		return -ENOTDIR;
	}
	return r < 0 ? r : g->error;
}

/* Whether there is such a directory: 1, or 0, or -errno. */
static int is_dir_in(struct ofs_tree *t, uint64_t dir, const char *name)
{
	struct ofs_attr attr;
	int r = ofs_store_lookup(t->store, dir, name, &attr);

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	ofs_store_forget(t->store, attr.ino, 1);
	return S_ISDIR(attr.mode);
}

static int has_category(void *arg, uint64_t base)
{
	struct gathering *g = arg;

	return is_dir_in(g->tree, base, g->dir->name);
}

struct wanted {
	const struct ofs_view_dir *dir;
	int found;
};

static void look_for_name(void *arg, const struct ofs_label *l)
{
	struct wanted *w = arg;

	if (w->dir->kind == OFS_VIEW_TAG)
		w->found |= ofs_label_has_tag(l->tags, w->dir->name);
	else
		w->found |= l->category && strcmp(l->category, w->dir->name) == 0;
}

int ofs_view_exists(struct ofs_tree *t, const struct ofs_view_dir *d)
{
	struct gathering g = { .tree = t, .dir = d };
	struct wanted w = { .dir = d };
	int r = 0;

	switch (d->kind) {
	case OFS_VIEW_CATEGORY:
		w.found = strcmp(d->name, OFS_CATEGORY_NONE) == 0;
		if (!w.found)
			w.found = each_base(t, has_category, &g);
		if (!w.found)
			r = ofs_labels_each(t, look_for_name, &w);
		break;
	case OFS_VIEW_TASK:
		w.found = is_dir_in(t, t->tops[OFS_TOP_TASKS], d->name);
		break;
	case OFS_VIEW_TIER:
		for (int i = 0; i < OFS_TIERS; i++)
			w.found |= strcmp(d->name, ofs_tier_names[i]) == 0;
		break;
	case OFS_VIEW_TAG:
		r = ofs_labels_each(t, look_for_name, &w);
		break;
	default:
		break;
	}
	return r < 0 ? r : w.found;
}

int ofs_view_gather(struct ofs_tree *t, const struct ofs_view_dir *d, struct ofs_view_list *ret)
{
	struct gathering g = { .tree = t, .dir = d, .list = ret };
	int r;

	*ret = (struct ofs_view_list){ 0 };
	if (d->kind == OFS_VIEW_RECENT || d->kind == OFS_VIEW_EXPIRING)
		r = gather_ranked(&g);
	else if (!d->name[0])
		r = gather_names(&g);
	else if (d->kind == OFS_VIEW_CATEGORY)
		r = gather_category(&g);
	else if (d->kind == OFS_VIEW_TASK)
		r = gather_task(&g);
	else if (d->kind == OFS_VIEW_TIER)
		r = gather_tier(&g);
	else
		r = gather_tag(&g);
	ofs_map_finish(&g.others);
	list_settle(ret);
	return r;
}
