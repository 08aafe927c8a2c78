/* SPDX-License-Identifier: MIT */
/* Finding the names of an inode. */
#include <sys/stat.h>

#include "store/store_state.h"

/* Gets the entry of `dir` that names `ino`; -ENOENT. */
static int entry_in(struct ofs_store *s, uint64_t dir, uint64_t ino, const struct ofs_dirent **ret)
{
	struct ofs_inode *n;
	int r = ofs_store_dir(s, dir, &n);

	if (r < 0)
		return r == -ENOTDIR ? -ENOENT : r;
	*ret = ofs_dir_find_ino(n->dir, ino);
	return *ret ? 0 : -ENOENT;
}

void ofs_names_finish(struct ofs_names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->list[i].name);
	free(l->list);
	*l = (struct ofs_names){ 0 };
}

static int names_add(void *arg, uint64_t dir, const char *name)
{
	struct ofs_names *l = arg;

	*ofs_append(l->list, l->n, l->cap) = (struct ofs_name){ dir, ofs_strdup(name) };
	return 0;
}

static int name_compare(const void *a, const void *b)
{
	const struct ofs_name *x = a, *y = b;

	if (x->dir != y->dir)
		return x->dir < y->dir ? -1 : 1;
	return strcmp(x->name, y->name);
}

int ofs_names_sole(struct ofs_store *s, const struct ofs_inode *n, struct ofs_names *ret)
{
	const struct ofs_dirent *e;
	int r;

	if (n->row.nlink > 1 && !S_ISDIR(n->row.mode))
		return 1;
	r = entry_in(s, n->row.parent, n->row.ino, &e);
	if (r == 0)
		names_add(ret, n->row.parent, e->name);
	return r == -ENOENT ? 1 : r;
}

/* Adds the names that the index may lack; `lock` held. */
static void note_uncommitted(struct ofs_store *s, uint64_t ino, struct ofs_names *ret)
{
	size_t i, k;

	for (i = 0; i < s->dirty.n; i++) {
		const struct ofs_inode *n = s->dirty.list[i];

		if (!n->dir || n->dir->epoch <= s->committed)
			continue;
		for (k = 0; k < n->dir->norder; k++) {
			const struct ofs_dirent *e = n->dir->order[k].entry;

			if (e && e->ino == ino && e->epoch > s->committed)
				names_add(ret, n->row.ino, e->name);
		}
	}
}

/* 1 if the name now stands for `ino`, else 0, or -errno. Loads the directory; `lock` held. */
static int is_name(struct ofs_store *s, uint64_t ino, uint64_t dir, const char *name)
{
	const struct ofs_dirent *e;
	struct ofs_inode *n;
	int r = ofs_store_dir(s, dir, &n);

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	e = ofs_dir_find(n->dir, name);
	return e && e->ino == ino;
}

int ofs_store_is_name(struct ofs_store *s, uint64_t ino, uint64_t dir, const char *name)
{
	struct ofs_inode *n;
	uint64_t to = 0;
	int r;

	OFS_LOCKED(&s->lock);
	ofs_store_evict(s);
	r = ofs_store_inode(s, dir, &n);
	if (r == 0 && n->dir)
		return is_name(s, ino, dir, name);
	if (r == 0)
		r = ofs_index_get_dirent(s->index, dir, name, &to);
	return r == -ENOENT ? 0 : r < 0 ? r : to == ino;
}

/* Leaves each name that is valid now, once; `lock` held. */
static int names_settle(struct ofs_store *s, uint64_t ino, struct ofs_names *l)
{
	size_t i, n = 0;
	int r = 0, keep;

	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), name_compare);
	for (i = 0; i < l->n; i++) {
		keep = !n || name_compare(&l->list[n - 1], &l->list[i]) != 0;
		if (keep && r == 0)
			keep = is_name(s, ino, l->list[i].dir, l->list[i].name);
		if (keep < 0)
			r = keep;
		if (keep)
			l->list[n++] = l->list[i];
		else
			free(l->list[i].name);
	}
	l->n = n;
	return r;
}

static bool has_so_many(const struct ofs_inode *n, size_t names)
{
	return names == (S_ISDIR(n->row.mode) ? 1 : n->row.nlink);
}

bool ofs_names_are_all(struct ofs_store *s, const struct ofs_inode *n, const struct ofs_names *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (is_name(s, n->row.ino, l->list[i].dir, l->list[i].name) != 1)
			return false;
	return has_so_many(n, l->n);
}

int ofs_store_getattr_in(struct ofs_store *s, uint64_t dir, uint64_t ino, struct ofs_attr *ret)
{
	const struct ofs_dirent *e;
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	ofs_store_evict(s);
	r = ofs_store_inode(s, ino, &n);
	if (r < 0)
		return r;
	if (dir && n->row.parent != dir && n->row.nlink && !S_ISDIR(n->row.mode) &&
	    entry_in(s, dir, ino, &e) == 0 &&
	    (n->row.nlink == 1 || entry_in(s, n->row.parent, ino, &e) == -ENOENT)) {
		n->row.parent = dir;
		ofs_store_touch(s, n);
	}
	ofs_store_attr(s, n, ret);
	return 0;
}

static int named_inode(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret)
{
	int r = ofs_store_inode(s, ino, ret);

	return r == 0 && (!(*ret)->row.nlink || ino == OFS_ROOT_INO) ? -ENOENT : r;
}

/* Gets the only name. 1: there are others, and *ret has those that the index may lack. */
static int gather_start(struct ofs_store *s, uint64_t ino, struct ofs_names *ret)
{
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	ofs_store_evict(s);
	r = named_inode(s, ino, &n);
	if (r == 0)
		r = ofs_names_sole(s, n, ret);
	if (r > 0)
		note_uncommitted(s, ino, ret);
	return r;
}

/* Gathers names from memory, then from the index. 1: something changed in between. */
static int gather_once(struct ofs_store *s, uint64_t ino, struct ofs_names *ret)
{
	const struct ofs_dirent *e;
	struct ofs_inode *n;
	int r = gather_start(s, ino, ret);

	if (r <= 0)
		return r;
	r = ofs_index_list_names(s->index, ino, names_add, ret);
	if (r < 0)
		return r;
	OFS_LOCKED(&s->lock);
	r = ofs_store_inode(s, ino, &n);
	if (r == 0)
		r = names_settle(s, ino, ret);
	if (r < 0)
		return r;
	/* From now on that name is found at once. */
	if (ret->n && entry_in(s, n->row.parent, ino, &e) == -ENOENT) {
		n->row.parent = ret->list[0].dir;
		ofs_store_touch(s, n);
	}
	return !has_so_many(n, ret->n);
}

int ofs_names_gather(struct ofs_store *s, uint64_t ino, struct ofs_names *ret)
{
	int r = gather_once(s, ino, ret);

	if (r > 0) {
		/* Tries again while checkpoints have to wait. */
		OFS_LOCKED(&s->cycle);
		ofs_names_finish(ret);
		r = gather_once(s, ino, ret);
	}
	return OFS_MIN(r, 0);
}

int ofs_store_names(struct ofs_store *s, uint64_t ino,
		    int (*fn)(void *arg, uint64_t dir, const char *name), void *arg)
{
	OFS_CLEANUP(ofs_names_finish) struct ofs_names names = { 0 };
	int r = ofs_names_gather(s, ino, &names);

	if (r == 0 && !names.n)
		r = -ENOENT;
	for (size_t i = 0; i < names.n && r == 0; i++)
		r = fn(arg, names.list[i].dir, names.list[i].name);
	return r;
}

/* Gets a name through the parent. 1: a file has lost its name there, but has others. */
static int name_of(struct ofs_store *s, uint64_t ino, uint64_t *ret_dir, char *ret_name)
{
	const struct ofs_dirent *e;
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = named_inode(s, ino, &n);
	if (r < 0)
		return r;
	r = entry_in(s, n->row.parent, ino, &e);
	if (r < 0)
		return r == -ENOENT && !S_ISDIR(n->row.mode) ? 1 : r;
	*ret_dir = n->row.parent;
	memcpy(ret_name, e->name, strlen(e->name) + 1);
	return 0;
}

int ofs_store_name_of(struct ofs_store *s, uint64_t ino, uint64_t *ret_dir, char *ret_name)
{
	OFS_CLEANUP(ofs_names_finish) struct ofs_names names = { 0 };
	int r = name_of(s, ino, ret_dir, ret_name);

	if (r <= 0)
		return r;
	r = gather_once(s, ino, &names);
	if (r < 0 || !names.n)
		return r < 0 ? r : -ENOENT;
	*ret_dir = names.list[0].dir;
	memcpy(ret_name, names.list[0].name, strlen(names.list[0].name) + 1);
	return 0;
}
