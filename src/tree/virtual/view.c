/* SPDX-License-Identifier: MIT */

#include "tree/virtual/view.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "base/util.h"
#include "tree/core/changes.h"
#include "tree/core/entry_list.h"
#include "tree/core/label.h"
#include "tree/core/place.h"
#include "tree/core/stat.h"
#include "tree/core/tree_state.h"
#include "tree/core/walk.h"
#include "tree/virtual/made.h"

#define LISTS_MAX 4 /* lists kept */

/*
 * The list of a directory's entries. It is gathered when the directory is read from the start and
 * anything has changed, and kept until it was read to its end. Lists are sorted by inode, so a
 * position means the same in a newer list of the directory.
 */
struct listing {
	ofs_node dir; /* 0: unused */
	struct ofs_view_entries list;
	int64_t as_of; /* the tree's last change when gathering started */
	uint64_t used; /* last use, by ofs_views.clock */
};

struct ofs_views {
	pthread_mutex_t lock; /* guards what follows; held while a list is gathered and read */
	struct listing listings[LISTS_MAX];
	uint64_t clock;
};

struct ofs_views *ofs_views_create(void)
{
	struct ofs_views *v = ofs_alloc(sizeof(*v));

	pthread_mutex_init(&v->lock, NULL);
	return v;
}

void ofs_views_destroy(struct ofs_views *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < LISTS_MAX; i++)
		ofs_view_entries_finish(&v->listings[i].list);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

/* ---- which directory a node is */

/* Sets *ret for one of the fixed directories directly in views/. False: another node. */
static bool view_of(struct ofs_tree *t, ofs_node node, struct ofs_view_dir *ret)
{
	ofs_node kind = ofs_node_kind(node);

	if (kind < OFS_NODE_VIEW(0) || kind >= OFS_NODE_VIEW(OFS_VIEWS))
		return false;
	*ret = (struct ofs_view_dir){ .root = ofs_root_of_node(t, node),
				      .kind = (enum ofs_view)(kind - OFS_NODE_VIEW(0)) };
	return ret->root;
}

/* Sets *ret for any directory of a view. False: another node. */
static bool dir_of(struct ofs_tree *t, ofs_node node, struct ofs_view_dir *ret)
{
	struct ofs_made *m;
	bool found;

	if (!ofs_node_is_made(node))
		return view_of(t, node, ret);
	m = ofs_made_get(t, node);
	found = m && S_ISDIR(m->attr.mode) && view_of(t, m->parent, ret);
	if (found)
		memcpy(ret->name, m->text.data, m->text.len + 1);
	ofs_made_put(t, m);
	return found;
}

static ofs_node node_of(const struct ofs_view_dir *d)
{
	return ofs_root_node(d->root, OFS_NODE_VIEW(d->kind));
}

bool ofs_view_is_dir(struct ofs_tree *t, ofs_node node)
{
	struct ofs_view_dir d;

	return dir_of(t, node, &d);
}

/* ---- kept lists */

static void drop(struct listing *l)
{
	ofs_view_entries_finish(&l->list);
	l->dir = 0;
}

/* `lock` held. Sets *ret to the list of a directory. `now`: it must include all changes so far. */
static int get_list(struct ofs_tree *t, ofs_node dir, const struct ofs_view_dir *d, bool now,
		    struct listing **ret)
{
	struct ofs_views *v = t->views;
	int64_t changed = ofs_changes_last(d->root->changes);
	struct listing *l = &v->listings[0];
	int r = 0;

	for (size_t i = 1; i < LISTS_MAX && l->dir != dir; i++)
		if (v->listings[i].dir == dir || v->listings[i].used < l->used)
			l = &v->listings[i];
	if (l->dir != dir || (now && l->as_of != changed)) {
		drop(l);
		r = ofs_view_gather(t, d, &l->list);
		l->as_of = changed;
		l->dir = dir;
	}
	if (r < 0)
		drop(l);
	l->used = ++v->clock;
	*ret = l;
	return r;
}

static bool lists(const struct listing *l, uint64_t key)
{
	size_t i = ofs_u64_list_seek(&l->list.keys, key - 1);

	return i < l->list.keys.n && l->list.keys.at[i] == key;
}

/* Returns 1 if the view has a directory of that name, 0 if not, or -errno. */
static int dir_exists(struct ofs_tree *t, const struct ofs_view_dir *d)
{
	const struct ofs_view_dir above = { .root = d->root, .kind = d->kind };
	uint64_t key = ofs_entry_list_key(d->name);
	struct ofs_attr attr;
	struct listing *l;
	int r;

	/* There may be many tasks: only those known by origins alone need the list. */
	if (d->kind == OFS_VIEW_TASK) {
		r = ofs_store_lookup(t->store, d->root->tops[OFS_TOP_TASKS], d->name, &attr);
		if (r == 0)
			ofs_store_forget(t->store, attr.ino, 1);
		if (r != -ENOENT)
			return r < 0 ? r : S_ISDIR(attr.mode);
	}
	OFS_LOCKED(&t->views->lock);
	r = get_list(t, node_of(d), &above, true, &l);
	if (r < 0)
		return r;
	return lists(l, key);
}

/* ---- times of change */

void ofs_view_set_times(struct ofs_root *root, struct ofs_attr *attr)
{
	attr->mtime = attr->ctime = ofs_changes_show(root->changes, attr->ino);
}

int ofs_view_refresh(struct ofs_tree *t, struct ofs_attr *attr)
{
	struct ofs_view_dir d;
	int r = 1;

	if (!dir_of(t, attr->ino, &d))
		return -ESTALE;
	ofs_view_set_times(d.root, attr);
	/* The kernel keeps the name until the node is stale, so check that it still exists. */
	if (d.name[0])
		r = dir_exists(t, &d);
	return r < 0 ? r : r ? 0 : -ESTALE;
}

/* ---- the files in a directory */

/* Whether a file at place `p` belongs in the directory. */
static bool is_member(struct ofs_tree *t, const struct ofs_view_dir *d, uint64_t ino,
		      const struct ofs_place *p)
{
	OFS_FREE char *tags = NULL;

	if (p->root != d->root)
		return false;
	switch (d->kind) {
	case OFS_VIEW_CATEGORY:
		return strcmp(p->category, d->name) == 0;
	case OFS_VIEW_TASK:
		return strcmp(p->task, d->name) == 0 || strcmp(p->origin.task, d->name) == 0;
	case OFS_VIEW_TIER:
		return strcmp(ofs_tier_names[ofs_place_tier(p)], d->name) == 0;
	case OFS_VIEW_TAG:
		tags = ofs_label_text(t, ino, OFS_LABEL_TAGS);
		return ofs_label_has_tag(tags, d->name);
	default:
		/*
		 * Any write may change which files are in recent/ and expiring/, so a link there
		 * stays valid even after its file has dropped out.
		 */
		return 1;
	}
}

/* Sets `ret` to REF-NAME, cut to the length of a name. */
static void entry_name(const struct ofs_tree *t, uint64_t ino, const char *name,
		       char ret[OFS_NAME_MAX + 1])
{
	size_t len;

	ofs_ref_format(t, ino, ret);
	len = strlen(ret);
	snprintf(ret + len, OFS_NAME_MAX + 1 - len, "-%.*s", (int)(OFS_NAME_MAX - 1 - len), name);
}

/* Returns the inode of an entry REF-NAME; 0 if it is not one. */
static uint64_t entry_ino(const struct ofs_tree *t, const char *entry)
{
	char ref[OFS_REF_SIZE];
	size_t len = strcspn(entry, "-");

	if (entry[len] != '-' || len >= sizeof(ref))
		return 0;
	memcpy(ref, entry, len);
	ref[len] = 0;
	return ofs_ref_parse(t, ref);
}

/* Whether the entry has the file's name. One with several names may be listed by any of them. */
static bool is_called(struct ofs_tree *t, const struct ofs_attr *file, const char *entry,
		      const struct ofs_place *p)
{
	const char *path = (const char *)p->path.data, *slash = strrchr(path, '/');
	char name[OFS_NAME_MAX + 1];
	struct ofs_attr other;
	bool same;

	entry_name(t, file->ino, slash ? slash + 1 : path, name);
	if (strcmp(name, entry) == 0)
		return true;
	if (file->nlink < 2 ||
	    ofs_store_lookup(t->store, file->parent, strchr(entry, '-') + 1, &other) < 0)
		return false;
	same = other.ino == file->ino;
	ofs_store_forget(t->store, other.ino, 1);
	return same;
}

/* Whether the list has the entry, for a file that is listed by another of its names. */
static int is_listed(struct ofs_tree *t, ofs_node dir, const struct ofs_view_dir *d, uint64_t ino,
		     const char *entry)
{
	char base[OFS_NAME_MAX + 1], name[OFS_NAME_MAX + 1];
	OFS_LOCKED(&t->views->lock);
	struct listing *l;
	uint64_t above;
	int r = get_list(t, dir, d, true, &l);

	if (r < 0)
		return r;
	if (!lists(l, ino) || ofs_store_name_of(t->store, ino, &above, base) < 0)
		return 0;
	entry_name(t, ino, base, name);
	return strcmp(name, entry) == 0;
}

/* Finds the file that a link called `name` points to, and takes a reference to it. */
static int find_file(struct ofs_tree *t, ofs_node dir, const struct ofs_view_dir *d,
		     const char *name, struct ofs_attr *ret)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { .path = OFS_BUF_INIT };
	uint64_t ino = entry_ino(t, name);
	int r = ino ? ofs_store_hold(t->store, ino, ret) : -ENOENT;

	if (r < 0)
		return r;
	r = S_ISREG(ret->mode) ? ofs_place_labelled(t, ino, &place) : -ENOENT;
	if (r == 0)
		r = is_member(t, d, ino, &place);
	if (r > 0)
		r = is_called(t, ret, name, &place);
	if (r == 0 && ret->nlink > 1)
		r = is_listed(t, dir, d, ino, name);
	if (r > 0)
		return 0;
	ofs_store_forget(t->store, ino, 1);
	return r < 0 ? r : -ENOENT;
}

int ofs_view_lookup_file(struct ofs_tree *t, ofs_node dir, const char *name, struct ofs_attr *ret)
{
	struct ofs_view_dir d;

	if (!dir_of(t, dir, &d) || !ofs_view_has_links(&d))
		return -ENOENT;
	return find_file(t, dir, &d, name, ret);
}

/* ---- the nodes of a view */

static ofs_node link_node(const struct ofs_view_dir *d, uint64_t ino)
{
	return OFS_NODE_LINK | (d->name[0] ? OFS_NODE_FAR : 0) | ino;
}

static uint64_t link_ino(ofs_node link)
{
	return link & (OFS_NODE_FAR - 1);
}

void ofs_view_link_target(const struct ofs_tree *t, ofs_node link, struct ofs_buf *out)
{
	char ref[OFS_REF_SIZE];

	ofs_ref_format(t, link_ino(link), ref);
	ofs_buf_printf(out, "%s../../refs/%s", link & OFS_NODE_FAR ? "../" : "", ref);
}

/* A link has the times and the owner of its file. */
static void link_attr(const struct ofs_tree *t, ofs_node link, const struct ofs_attr *file,
		      struct ofs_attr *ret)
{
	size_t up = link & OFS_NODE_FAR ? strlen("../") : 0;
	char ref[OFS_REF_SIZE];

	ofs_ref_format(t, file->ino, ref);
	*ret = *file;
	ret->ino = link;
	ret->mode = S_IFLNK | 0777;
	ret->nlink = 1;
	ret->size = up + strlen("../../refs/") + strlen(ref);
	ret->shown = 0;
}

int ofs_view_link_attr(struct ofs_tree *t, ofs_node link, struct ofs_attr *ret)
{
	struct ofs_attr file;
	int r = ofs_store_getattr(t->store, link_ino(link), &file);

	if (r == 0)
		link_attr(t, link, &file, ret);
	return r == -ENOENT ? -ESTALE : r;
}

static int lookup_link(struct ofs_tree *t, ofs_node dir, const struct ofs_view_dir *d,
		       const char *name, struct ofs_entry *ret)
{
	struct ofs_attr file, attr;
	int r = find_file(t, dir, d, name, &file);

	if (r < 0)
		return r;
	ofs_store_forget(t->store, file.ino, 1);
	link_attr(t, link_node(d, file.ino), &file, &attr);
	ofs_stat_fill_entry(&attr, true, ret);
	return 0;
}

static ofs_node derive_dir(struct ofs_tree *t, ofs_node dir, const char *name,
			   uint8_t ret_id[OFS_SHA256_SIZE])
{
	return ofs_made_derive(t, dir, name, &(struct ofs_attr){ 0 }, NULL, 0, ret_id);
}

static int lookup_dir(struct ofs_tree *t, ofs_node dir, const struct ofs_view_dir *d,
		      const char *name, struct ofs_entry *ret)
{
	struct ofs_view_dir below = { .root = d->root, .kind = d->kind };
	struct ofs_made *m;
	int r;

	memcpy(below.name, name, strlen(name) + 1);
	r = below.name[0] ? dir_exists(t, &below) : 0;
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	m = ofs_alloc(sizeof(*m));
	ofs_buf_append(&m->text, name, strlen(name) + 1);
	m->text.len--;
	m->parent = dir;
	m->node = derive_dir(t, dir, name, m->id);
	ofs_stat_make_up(t, d->root, m->node, S_IFDIR | OFS_VIEW_MODE, &m->attr);
	ofs_view_set_times(d->root, &m->attr);
	/* If the node exists already, ofs_made_share() frees `m`; both are the same. */
	ofs_stat_fill_entry(&m->attr, true, ret);
	ret->keep_attr = false;
	ret->node = ret->attr.st_ino = ofs_made_share(t, m);
	return 0;
}

int ofs_view_lookup(struct ofs_tree *t, ofs_node dir, const char *name, struct ofs_entry *ret)
{
	struct ofs_view_dir d;

	if (!dir_of(t, dir, &d))
		return -ENOTDIR;
	return ofs_view_has_links(&d) ? lookup_link(t, dir, &d, name, ret)
				      : lookup_dir(t, dir, &d, name, ret);
}

/* ---- files that leave the tree */

struct leaving {
	struct ofs_tree *tree;
	struct ofs_root *root; /* the tree that they have left */
};

/* A link has names in several directories. If it is not in use, the kernel drops all of them. */
static int release_links(void *arg, uint64_t ino, const char *name)
{
	const struct leaving *l = arg;
	const struct ofs_tree_events *events = &l->tree->events;
	ofs_node recent = ofs_root_node(l->root, OFS_NODE_VIEW(OFS_VIEW_RECENT));
	char entry[OFS_NAME_MAX + 1];

	entry_name(l->tree, ino, name, entry);
	events->release(events->arg, OFS_NODE_LINK | ino, recent, entry);
	events->release(events->arg, OFS_NODE_LINK | OFS_NODE_FAR | ino, recent, entry);
	return 0;
}

/* Releases the links of what has left the tree and is now called `name` in `dir`. */
static void left(struct leaving *l, uint64_t dir, const char *name)
{
	struct ofs_attr attr;

	if (ofs_store_lookup(l->tree->store, dir, name, &attr) < 0)
		return;
	if (S_ISDIR(attr.mode))
		ofs_walk_files(l->tree, attr.ino, true, release_links, l);
	else
		release_links(l, attr.ino, name);
	ofs_store_forget(l->tree->store, attr.ino, 1);
}

void ofs_view_moved(struct ofs_tree *t, const struct ofs_move *m)
{
	struct leaving l = { .tree = t };
	struct ofs_root *to;

	if (!t->events.release || !ofs_roots_are_many(t) || ofs_root_of(t, m->dir, &l.root) < 0 ||
	    ofs_root_of(t, m->newdir, &to) < 0 || l.root == to)
		return;
	left(&l, m->newdir, m->newname);
	l.root = to;
	if (m->flags & RENAME_EXCHANGE)
		left(&l, m->dir, m->name);
}

/* ---- listing */

/* Directories are listed without a reference: whoever needs one looks the name up. */
static void fill_listed(struct ofs_tree *t, ofs_node dir, const struct ofs_view_dir *d,
			const char *name, uint64_t ino, bool plus, struct ofs_entry *ret)
{
	uint8_t id[OFS_SHA256_SIZE];
	struct ofs_attr attr;

	*ret = (struct ofs_entry){ .attr.st_mode = S_IFDIR };
	if (!ofs_view_has_links(d)) {
		ret->attr.st_ino = derive_dir(t, dir, name, id);
		return;
	}
	ret->attr.st_mode = S_IFLNK;
	ret->attr.st_ino = link_node(d, ino);
	if (plus && ofs_view_link_attr(t, ret->attr.st_ino, &attr) == 0)
		ofs_stat_fill_entry(&attr, true, ret);
}

int ofs_view_list(struct ofs_tree *t, ofs_node dir, uint64_t cookie, bool plus, ofs_readdir_fn fn,
		  void *arg)
{
	char base[OFS_NAME_MAX + 1], name[OFS_NAME_MAX + 1];
	struct ofs_view_dir d;
	struct listing *l;
	uint64_t above, key = cookie < OFS_COOKIE_MIN ? 0 : cookie - OFS_COOKIE_MIN;
	bool full = false;
	size_t i;
	int r;

	if (!dir_of(t, dir, &d))
		return -ENOTDIR;
	OFS_LOCKED(&t->views->lock);
	r = get_list(t, dir, &d, !key, &l);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (i = ofs_u64_list_seek(&l->list.keys, key); i < l->list.keys.n && !full; i++) {
		uint64_t at = l->list.keys.at[i];
		struct ofs_entry entry;

		if (!ofs_view_has_links(&d))
			snprintf(name, sizeof(name), "%s", ofs_entry_list_name(&l->list.names, i));
		else if (ofs_store_name_of(t->store, at, &above, base) == 0)
			entry_name(t, at, base, name);
		else
			continue; /* removed meanwhile */
		fill_listed(t, dir, &d, name, at, plus, &entry);
		full = fn(arg, name, &entry, OFS_COOKIE_MIN + at) != 0;
	}
	/* The reader has reached the end when a call finds no further entry. */
	if (!full && (key || !l->list.keys.n) && i == l->list.keys.n)
		drop(l);
	return 0;
}
