/* SPDX-License-Identifier: MIT */
#include "tree/core/root.h"

#include <pthread.h>

#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "tree/core/changes.h"
#include "tree/core/walk.h"

static const char *const top_names[OFS_TOPS] = { "cache", "tasks", "persistent", "archive",
						 "agents" };

struct ofs_roots {
	/*
	 * Guards the rest. The store is not called under it. Trees are freed only at the end, since
	 * a call may still be using one that was removed.
	 */
	pthread_rwlock_t lock;
	struct ofs_map by_dir; /* directory -> struct ofs_root */
	struct ofs_map by_agents; /* the directory agents/ of a tree -> struct ofs_root */
	struct ofs_root **all;
	_Atomic size_t n;
	size_t cap;
	_Atomic uint64_t moves; /* number of moves from one tree to another */
};

bool ofs_roots_are_many(struct ofs_tree *t)
{
	return t->roots->n > 1;
}

uint64_t ofs_roots_moves(struct ofs_tree *t)
{
	return atomic_load(&t->roots->moves) + 1;
}

void ofs_roots_note_move(struct ofs_tree *t, uint64_t dir, uint64_t newdir)
{
	struct ofs_root *from, *to;

	if (ofs_roots_are_many(t) && dir != newdir &&
	    (ofs_root_of(t, dir, &from) < 0 || ofs_root_of(t, newdir, &to) < 0 || from != to))
		atomic_fetch_add(&t->roots->moves, 1);
}

void ofs_roots_note_skip(struct ofs_tree *t)
{
	atomic_fetch_add(&t->roots->moves, 1);
}

static struct ofs_root *find(struct ofs_tree *t, const struct ofs_map *map, uint64_t key)
{
	struct ofs_root *root;

	pthread_rwlock_rdlock(&t->roots->lock);
	root = ofs_map_get(map, key);
	pthread_rwlock_unlock(&t->roots->lock);
	return root;
}

struct ofs_root *ofs_root_at(struct ofs_tree *t, uint64_t dir)
{
	if (dir == OFS_ROOT_INO)
		return t->root;
	return ofs_roots_are_many(t) ? find(t, &t->roots->by_dir, dir) : NULL;
}

struct ofs_root *ofs_root_of_agents(struct ofs_tree *t, uint64_t dir)
{
	if (dir == t->root->tops[OFS_TOP_AGENTS])
		return t->root;
	return ofs_roots_are_many(t) ? find(t, &t->roots->by_agents, dir) : NULL;
}

void ofs_tree_touch(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_root *root = t->root;
	struct ofs_attr attr;

	if (ofs_roots_are_many(t) && ofs_store_getattr(t->store, ino, &attr) == 0)
		root = ofs_root_of_attr(t, &attr);
	ofs_changes_touch(root->changes, t);
}

/* Anything left in a tree that has just been removed counts as in the store's own. */
struct ofs_root *ofs_root_of_attr(struct ofs_tree *t, const struct ofs_attr *attr)
{
	struct ofs_root *root = ofs_root_at(t, attr->region);

	return root ? root : t->root;
}

int ofs_root_of(struct ofs_tree *t, uint64_t ino, struct ofs_root **ret)
{
	char name[OFS_NAME_MAX + 1];
	struct ofs_attr attr;
	int r = ofs_store_getattr(t->store, ino, &attr);

	if (r == 0 && !S_ISDIR(attr.mode))
		r = ofs_store_name_of(t->store, ino, &ino, name);
	if (r == 0 && !S_ISDIR(attr.mode))
		r = ofs_store_getattr(t->store, ino, &attr);
	if (r == 0 && !attr.nlink)
		r = -ENOENT;
	if (r == 0)
		*ret = ofs_root_of_attr(t, &attr);
	return r;
}

struct ofs_root *ofs_root_of_node(struct ofs_tree *t, ofs_node node)
{
	uint64_t dir = (node & ~OFS_VIRTUAL) >> OFS_ROOT_SHIFT;

	return dir ? ofs_root_at(t, dir) : t->root;
}

bool ofs_root_is_in(const struct ofs_root *root, const struct ofs_root *in)
{
	while (root && root != in)
		root = root->above;
	return root;
}

enum ofs_top ofs_root_top(const struct ofs_root *root, uint64_t ino)
{
	int i;

	for (i = 0; i < OFS_TOPS && root->tops[i] != ino; i++)
		;
	return (enum ofs_top)i;
}

bool ofs_root_is_owner(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_cred *cred)
{
	struct ofs_attr dir;

	if (!cred || !cred->uid || cred->uid == t->uid)
		return true;
	return root->above && ofs_store_getattr(t->store, root->ino, &dir) == 0 &&
	       dir.uid == cred->uid;
}

/* ---- creation */

static struct ofs_root *new_root(struct ofs_roots *r, uint64_t ino, struct ofs_root *above)
{
	struct ofs_root *root = ofs_alloc(sizeof(*root));

	root->ino = ino;
	root->above = above;
	root->changes = ofs_changes_create();
	r->all = ofs_grow(r->all, &r->cap, r->n + 1, sizeof(struct ofs_root *));
	r->all[r->n++] = root;
	return root;
}

/* Creates missing top directories. They are ordinary directories of the store. */
static int make_tops(struct ofs_tree *t, struct ofs_root *root, uid_t uid, gid_t gid, mode_t mode)
{
	struct ofs_create dir = { .mode = S_IFDIR | mode, .uid = uid, .gid = gid };
	struct ofs_attr attr;
	int r = 0;

	for (int i = 0; i < OFS_TOPS && r == 0; i++) {
		r = ofs_store_lookup(t->store, root->ino, top_names[i], &attr);
		if (r == -ENOENT)
			r = ofs_store_create(t->store, root->ino, top_names[i], &dir, &attr);
		/* A read-only store may be older than agents. */
		if (r == -EROFS && i == OFS_TOP_AGENTS)
			return 0;
		if (r == 0)
			ofs_store_forget(t->store, attr.ino, 1);
		/* It may also have a file of that name, which is kept. */
		if (r == 0 && !S_ISDIR(attr.mode) && i == OFS_TOP_AGENTS && !root->above) {
			ofs_log(LOG_WARNING,
				"the file 'agents' is in the way of trees of agents: rename "
				"it and mount the store again");
			return 0;
		}
		if (r == 0 && !S_ISDIR(attr.mode))
			r = -ENOTDIR;
		if (r < 0)
			return r;
		root->tops[i] = attr.ino;
	}
	return r;
}

/* Enters an agent's tree into the maps. */
static void enter(struct ofs_tree *t, struct ofs_root *root)
{
	struct ofs_roots *r = t->roots;

	pthread_rwlock_wrlock(&r->lock);
	ofs_map_put(&r->by_dir, root->ino, root);
	ofs_map_put(&r->by_agents, root->tops[OFS_TOP_AGENTS], root);
	pthread_rwlock_unlock(&r->lock);
	ofs_store_add_region(t->store, root->ino);
}

int ofs_root_add(struct ofs_tree *t, struct ofs_root *above, const struct ofs_attr *dir)
{
	struct ofs_root *root;
	int r;

	pthread_rwlock_wrlock(&t->roots->lock);
	root = new_root(t->roots, dir->ino, above);
	pthread_rwlock_unlock(&t->roots->lock);
	r = make_tops(t, root, dir->uid, dir->gid, dir->mode & 0777);
	if (r == 0)
		enter(t, root);
	else
		root->gone = true;
	return r;
}

/* Loads the trees in agents/ of one, recursively. */
static int load_agents(struct ofs_tree *t, struct ofs_root *above)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list dirs = { 0 };
	struct ofs_attr dir;
	int r = above->tops[OFS_TOP_AGENTS]
			? ofs_walk_subdirs(t, above->tops[OFS_TOP_AGENTS], &dirs)
			: 0;

	for (size_t i = 0; i < dirs.n && r == 0; i++) {
		r = ofs_store_getattr(t->store, dirs.entries[i].key, &dir);
		if (r == 0)
			r = ofs_root_add(t, above, &dir);
		if (r == 0)
			r = load_agents(t, ofs_root_at(t, dir.ino));
		/*
		 * An old store may have a file with the name of a top directory, and a read-only
		 * one may lack a top directory.
		 */
		if (r == -ENOTDIR || r == -EROFS)
			r = 0;
	}
	return r;
}

int ofs_roots_open(struct ofs_tree *t)
{
	int r;

	t->roots = ofs_alloc(sizeof(*t->roots));
	pthread_rwlock_init(&t->roots->lock, NULL);
	t->root = new_root(t->roots, OFS_ROOT_INO, NULL);
	r = make_tops(t, t->root, t->uid, t->gid, 0755);
	if (r == 0)
		r = load_agents(t, t->root);
	if (r == 0 && ofs_roots_are_many(t))
		ofs_store_relax(t->store);
	return r;
}

void ofs_roots_destroy(struct ofs_roots *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		ofs_changes_destroy(r->all[i]->changes);
		free(r->all[i]);
	}
	free(r->all);
	ofs_map_finish(&r->by_dir);
	ofs_map_finish(&r->by_agents);
	pthread_rwlock_destroy(&r->lock);
	free(r);
}

/* ---- removal */

int ofs_root_clear(struct ofs_tree *t, uint64_t dir)
{
	int r = 0;

	for (int i = 0; i < OFS_TOPS && (r == 0 || r == -ENOENT); i++)
		r = ofs_store_rmdir(t->store, dir, top_names[i]);
	return r == -ENOENT ? 0 : r;
}

int ofs_root_check_empty(struct ofs_tree *t, const struct ofs_root *root)
{
	struct ofs_region_counts counts;
	int r = ofs_store_count_region(t->store, root->ino, &counts);

	if (r == 0 && (counts.files || counts.others || counts.dirs > OFS_TOPS))
		r = -ENOTEMPTY;
	return r;
}

void ofs_root_restore(struct ofs_tree *t, struct ofs_root *root, const struct ofs_attr *dir)
{
	uint64_t agents = root->tops[OFS_TOP_AGENTS];
	struct ofs_attr top;

	for (int i = 0; i < OFS_TOPS && t->events.release; i++)
		if (ofs_store_getattr(t->store, root->tops[i], &top) < 0 || !top.nlink)
			t->events.release(t->events.arg, root->tops[i], root->ino, top_names[i]);
	make_tops(t, root, dir->uid, dir->gid, dir->mode & 0777);
	pthread_rwlock_wrlock(&t->roots->lock);
	ofs_map_remove(&t->roots->by_agents, agents);
	ofs_map_put(&t->roots->by_agents, root->tops[OFS_TOP_AGENTS], root);
	pthread_rwlock_unlock(&t->roots->lock);
}

void ofs_root_remove(struct ofs_tree *t, struct ofs_root *root)
{
	pthread_rwlock_wrlock(&t->roots->lock);
	ofs_map_remove(&t->roots->by_dir, root->ino);
	ofs_map_remove(&t->roots->by_agents, root->tops[OFS_TOP_AGENTS]);
	pthread_rwlock_unlock(&t->roots->lock);
	root->gone = true;
	ofs_store_remove_region(t->store, root->ino);
}

/* ---- trees that another host makes and removes */

/* Returns the top directory of the tree at `dir`; 0 if there is none. */
static uint64_t find_top(struct ofs_tree *t, uint64_t dir, int top)
{
	struct ofs_attr attr;

	if (ofs_store_lookup(t->store, dir, top_names[top], &attr) < 0)
		return 0;
	ofs_store_forget(t->store, attr.ino, 1);
	return S_ISDIR(attr.mode) ? attr.ino : 0;
}

bool ofs_root_look(struct ofs_tree *t, struct ofs_root *root)
{
	uint64_t agents = root->tops[OFS_TOP_AGENTS], ino;

	if (ofs_store_is_nameless(t->store, root->ino))
		return false;
	for (int i = 0; i < OFS_TOPS; i++) {
		ino = find_top(t, root->ino, i);
		if (ino)
			root->tops[i] = ino;
	}
	if (agents != root->tops[OFS_TOP_AGENTS] && root->above) {
		pthread_rwlock_wrlock(&t->roots->lock);
		ofs_map_remove(&t->roots->by_agents, agents);
		ofs_map_put(&t->roots->by_agents, root->tops[OFS_TOP_AGENTS], root);
		pthread_rwlock_unlock(&t->roots->lock);
	}
	return true;
}

/* Makes a directory in agents/ a tree once it has all top directories. */
static int find_tree(struct ofs_tree *t, struct ofs_root *above, uint64_t dir)
{
	struct ofs_attr attr;
	int r;

	for (int i = 0; i < OFS_TOPS; i++)
		if (!find_top(t, dir, i))
			return 0;
	r = ofs_store_getattr(t->store, dir, &attr);
	if (r == 0)
		r = ofs_root_add(t, above, &attr);
	return r < 0 ? r : ofs_roots_find(t, ofs_root_at(t, dir));
}

int ofs_roots_find(struct ofs_tree *t, struct ofs_root *above)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list dirs = { 0 };
	uint64_t agents = above->tops[OFS_TOP_AGENTS];
	int r = agents ? ofs_walk_subdirs(t, agents, &dirs) : 0;

	for (size_t i = 0; i < dirs.n && r == 0; i++) {
		struct ofs_root *root = ofs_root_at(t, dirs.entries[i].key);

		r = root ? ofs_roots_find(t, root) : find_tree(t, above, dirs.entries[i].key);
	}
	return r;
}

struct ofs_root *ofs_roots_follow(struct ofs_tree *t, uint64_t dir, uint64_t ino)
{
	struct ofs_root *root = ofs_root_at(t, dir), *above = ofs_root_of_agents(t, dir);
	struct ofs_attr attr;

	if (root) {
		ofs_root_look(t, root);
		return NULL;
	}
	if (above) {
		root = ofs_root_at(t, ino);
		return root && !ofs_root_look(t, root) ? root : NULL;
	}
	if (ofs_store_getattr(t->store, dir, &attr) == 0 && attr.parent)
		above = ofs_root_of_agents(t, attr.parent);
	if (above)
		find_tree(t, above, dir);
	return NULL;
}

/* ---- names and iteration */

static int append_names(struct ofs_tree *t, const struct ofs_root *root,
			const struct ofs_root *from, bool path, struct ofs_buf *out)
{
	char name[OFS_NAME_MAX + 1];
	uint64_t dir;
	int r;

	if (root == from || !root->above)
		return 0;
	r = append_names(t, root->above, from, path, out);
	if (r == 0)
		r = ofs_store_name_of(t->store, root->ino, &dir, name);
	if (r < 0)
		return r;
	if (path)
		ofs_buf_printf(out, "%s/%s/", top_names[OFS_TOP_AGENTS], name);
	else
		ofs_buf_printf(out, "%s%s", root->above == from ? "" : "/", name);
	return 0;
}

int ofs_root_name(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_root *from,
		  struct ofs_buf *out)
{
	return append_names(t, root, from, false, out);
}

int ofs_root_path(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_root *from,
		  struct ofs_buf *out)
{
	return append_names(t, root, from, true, out);
}

int ofs_root_each(struct ofs_tree *t, struct ofs_root *root,
		  int (*fn)(void *arg, struct ofs_root *root), void *arg)
{
	int r = 0;

	/* A tree comes after the one that contains it. */
	for (size_t i = 0; r == 0; i++) {
		struct ofs_root *next = NULL;

		pthread_rwlock_rdlock(&t->roots->lock);
		if (i < t->roots->n)
			next = t->roots->all[i];
		pthread_rwlock_unlock(&t->roots->lock);
		if (!next)
			break;
		if (!next->gone && ofs_root_is_in(next, root))
			r = fn(arg, next);
	}
	return r;
}
