/* SPDX-License-Identifier: MIT */
/* What a directory in views/ lists. */
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "codec/hash.h"
#include "tree/view.h"

#define SHOWN_MAX 100 /* files in recent/ and in expiring/ */
#define SOME_MAX 64 /* files that are looked at at once for one that is still there */
#define PORTION 1024 /* entries of a directory that are read while the store is locked */

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

static uint64_t dir_key(const char *name)
{
	return ofs_checksum(name, strlen(name), 0) >> 2;
}

static int list_add_dir(struct ofs_view_list *l, const char *name)
{
	return list_add(l, dir_key(name), name);
}

/* Of several names of one file the one that was found first comes first. */
static int compare_keys(const void *a, const void *b)
{
	const struct ofs_view_entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
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

/* A file, or another entry, was found; called with the store locked. */
typedef int (*found_fn)(void *arg, uint64_t ino, const char *name);
typedef int (*entry_fn)(void *arg, const char *name, const struct ofs_attr *attr);

struct reading {
	entry_fn fn;
	void *arg;
	uint64_t cookie; /* of the last entry that was read */
	unsigned int left; /* of the portion */
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

/* Calls `fn` for the entries of a directory; an error of it ends that. */
static int read_dir(struct ofs_tree *t, uint64_t dir, entry_fn fn, void *arg)
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
	found_fn fn;
	void *arg;
	uint64_t *dirs; /* still to be read */
	size_t ndirs, cap;
	bool deep;
	bool root; /* what is read is the root, which holds the four trees as well */
};

static bool is_top(const struct ofs_tree *t, uint64_t ino)
{
	for (int i = 0; i < OFS_TOPS; i++)
		if (t->tops[i] == ino)
			return true;
	return false;
}

static int walk_entry(void *arg, const char *name, const struct ofs_attr *attr)
{
	struct walk *w = arg;

	if (S_ISREG(attr->mode))
		return w->fn(w->arg, attr->ino, name);
	if (S_ISDIR(attr->mode) && w->deep && !(w->root && is_top(w->tree, attr->ino))) {
		w->dirs = ofs_grow(w->dirs, &w->cap, w->ndirs + 1, sizeof(*w->dirs));
		w->dirs[w->ndirs++] = attr->ino;
	}
	return 0;
}

/* Finds the files in `dir`, and with `deep` below it. */
static int walk(struct ofs_tree *t, uint64_t dir, bool deep, found_fn fn, void *arg)
{
	struct walk w = { .tree = t, .fn = fn, .arg = arg, .deep = deep };
	int r = 0;

	w.dirs = ofs_grow(NULL, &w.cap, 1, sizeof(*w.dirs));
	w.dirs[w.ndirs++] = dir;
	while (w.ndirs && r == 0) {
		dir = w.dirs[--w.ndirs];
		w.root = dir == OFS_ROOT_INO;
		r = read_dir(t, dir, walk_entry, &w);
		/* Removed meanwhile: then nothing is in it. */
		if (r == -ENOENT || r == -ENOTDIR)
			r = 0;
	}
	free(w.dirs);
	return r;
}

static int add_if_dir(void *arg, const char *name, const struct ofs_attr *attr)
{
	return S_ISDIR(attr->mode) ? list_add(arg, attr->ino, name) : 0;
}

/* The directories in a directory, by inode. */
static int read_subdirs(struct ofs_tree *t, uint64_t dir, struct ofs_view_list *ret)
{
	return read_dir(t, dir, add_if_dir, ret);
}

/* Calls `fn` for each directory whose directories are categories, until it gives something. */
static int each_base(struct ofs_tree *t, int (*fn)(void *arg, uint64_t dir), void *arg)
{
	OFS_CLEANUP(ofs_view_list_finish) struct ofs_view_list tasks = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; i < OFS_TOPS && r == 0; i++)
		if (i != OFS_TOP_TASKS)
			r = fn(arg, t->tops[i]);
	if (r == 0)
		r = read_subdirs(t, t->tops[OFS_TOP_TASKS], &tasks);
	for (i = 0; i < tasks.n && r == 0; i++) {
		r = fn(arg, tasks.entries[i].key);
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
};

static int add_file(void *arg, uint64_t ino, const char *name)
{
	struct gathering *g = arg;

	return ofs_map_get(&g->others, ino) ? 0 : list_add(g->list, ino, name);
}

/*
 * The name of a file that the labels know: 1, or 0 when it has none any more and they need not
 * remember it, or -errno.
 */
static int labelled_name(struct ofs_tree *t, uint64_t ino, char ret[OFS_NAME_MAX + 1])
{
	uint64_t dir;
	int r = ofs_store_name_of(t->store, ino, &dir, ret);

	if (r != -ENOENT)
		return r < 0 ? r : 1;
	ofs_labels_drop(t, ino);
	return 0;
}

static int add_labelled(struct gathering *g, uint64_t ino)
{
	char name[OFS_NAME_MAX + 1];
	int r = labelled_name(g->tree, ino, name);

	return r > 0 ? list_add(g->list, ino, name) : r;
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
	OFS_CLEANUP(ofs_view_list_finish) struct ofs_view_list dirs = { 0 };
	struct gathering *g = arg;
	int r = read_subdirs(g->tree, dir, &dirs);

	for (size_t i = 0; i < dirs.n && r == 0; i++)
		r = list_add_dir(g->list, ofs_view_list_name(&dirs, i));
	return r;
}

/* Names that labels have for files. */
struct label_names {
	struct ofs_view_list list; /* by inode, not in order */
	int error;
};

static void take_category_name(void *arg, const struct ofs_label *l)
{
	struct label_names *names = arg;

	if (l->category && names->error == 0)
		names->error = list_add(&names->list, l->ino, l->category);
}

static void take_tag_names(void *arg, const struct ofs_label *l)
{
	struct label_names *names = arg;
	char tag[OFS_NAME_MAX + 1];
	const char *at = l->tags;

	while (at && names->error == 0) {
		size_t len = strcspn(at, ",");

		memcpy(tag, at, len);
		tag[len] = 0;
		names->error = list_add(&names->list, l->ino, tag);
		at = at[len] ? at + len + 1 : NULL;
	}
}

/* Adds each of the names that a file has which is still there; one such file is enough. */
static int add_label_names(struct gathering *g, const struct ofs_view_list *names)
{
	struct ofs_map seen = OFS_MAP_INIT;
	char file[OFS_NAME_MAX + 1];
	int r = 0;

	for (size_t i = 0; i < names->n && r >= 0; i++) {
		const char *name = ofs_view_list_name(names, i);

		if (ofs_map_get(&seen, dir_key(name)))
			continue;
		r = labelled_name(g->tree, names->entries[i].key, file);
		if (r <= 0)
			continue;
		r = ofs_map_put(&seen, dir_key(name), &seen);
		if (r == 0)
			r = list_add_dir(g->list, name);
	}
	ofs_map_finish(&seen);
	return OFS_MIN(r, 0);
}

static int gather_label_names(struct gathering *g)
{
	struct label_names names = { 0 };
	int r = ofs_labels_each(g->tree,
				g->dir->kind == OFS_VIEW_TAG ? take_tag_names : take_category_name,
				&names);

	if (r == 0)
		r = names.error;
	if (r == 0)
		r = add_label_names(g, &names.list);
	ofs_view_list_finish(&names.list);
	return r;
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
			r = gather_label_names(g);
		break;
	case OFS_VIEW_TASK:
		return add_subdirs(g, g->tree->tops[OFS_TOP_TASKS]);
	case OFS_VIEW_TIER:
		for (int i = 0; i < OFS_TIERS && r == 0; i++)
			r = list_add_dir(g->list, ofs_tier_names[i]);
		break;
	case OFS_VIEW_TAG:
		return gather_label_names(g);
	default:
		return -ENOTDIR;
	}
	return r;
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

/* A few of the files with the tag, or the category, of a directory. */
struct some {
	const struct ofs_view_dir *dir;
	uint64_t list[SOME_MAX];
	size_t n;
};

static void take_some(void *arg, const struct ofs_label *l)
{
	struct some *s = arg;

	if (s->n == SOME_MAX)
		return;
	if (s->dir->kind == OFS_VIEW_TAG ? ofs_label_has_tag(l->tags, s->dir->name)
					 : l->category && strcmp(l->category, s->dir->name) == 0)
		s->list[s->n++] = l->ino;
}

/* Whether a file that is still there has the label: 1, or 0, or -errno. */
static int is_label_used(struct ofs_tree *t, const struct ofs_view_dir *d)
{
	struct some s = { .dir = d };
	char name[OFS_NAME_MAX + 1];
	int r;

	/* Those that are not there any more are forgotten on the way. */
	do {
		s.n = 0;
		r = ofs_labels_each(t, take_some, &s);
		for (size_t i = 0; i < s.n && r == 0; i++)
			r = labelled_name(t, s.list[i], name);
	} while (r == 0 && s.n == SOME_MAX);
	return r;
}

int ofs_view_exists(struct ofs_tree *t, const struct ofs_view_dir *d)
{
	struct gathering g = { .tree = t, .dir = d };
	int r = 0;

	switch (d->kind) {
	case OFS_VIEW_CATEGORY:
		r = strcmp(d->name, OFS_CATEGORY_NONE) == 0;
		if (r == 0)
			r = each_base(t, has_category, &g);
		return r ? r : is_label_used(t, d);
	case OFS_VIEW_TASK:
		return is_dir_in(t, t->tops[OFS_TOP_TASKS], d->name);
	case OFS_VIEW_TIER:
		for (int i = 0; i < OFS_TIERS; i++)
			r |= strcmp(d->name, ofs_tier_names[i]) == 0;
		return r;
	case OFS_VIEW_TAG:
		return is_label_used(t, d);
	default:
		return 0;
	}
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
