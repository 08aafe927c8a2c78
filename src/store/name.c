/* SPDX-License-Identifier: MIT */
/* From an inode back to a name. */
#include "base/alloc.h"
#include "base/util.h"
#include "store/internal.h"

/* The name that a directory has for `ino`. */
static int name_in(struct ofs_store *s, uint64_t dir, uint64_t ino, char *ret)
{
	const struct ofs_dirent *e;
	struct ofs_inode *n;
	int r;

	r = ofs_store_dir(s, dir, &n);
	if (r < 0)
		return r == -ENOTDIR ? -ENOENT : r;
	e = ofs_dir_find_ino(n->dir, ino);
	if (!e)
		return -ENOENT;
	memcpy(ret, e->name, strlen(e->name) + 1);
	return 0;
}

struct dir_list {
	uint64_t *list;
	size_t n, cap;
};

static void dir_list_finish(struct dir_list *l)
{
	free(l->list);
}

static int dir_list_add(void *arg, uint64_t dir)
{
	struct dir_list *l = arg;

	l->list = ofs_grow(l->list, &l->cap, l->n + 1, sizeof(*l->list));
	l->list[l->n++] = dir;
	return 0;
}

/*
 * The parent on record lost its name for a file that has others: looks for one of them, in the
 * directories that memory knows and in those that the index does.
 */
static int find_parent(struct ofs_store *s, struct ofs_inode *file, char *ret_name)
{
	OFS_CLEANUP(dir_list_finish) struct dir_list dirs = { 0 };
	struct ofs_inode *n;
	size_t pos = 0, i;
	int r;

	while ((n = ofs_map_next(&s->inodes, &pos)))
		if (n->dir && n->row.nlink)
			dir_list_add(&dirs, n->row.ino);
	r = ofs_index_list_parents(s->index, file->row.ino, dir_list_add, &dirs);
	for (i = 0; i < dirs.n && r == 0; i++) {
		r = name_in(s, dirs.list[i], file->row.ino, ret_name);
		if (r == 0) {
			file->row.parent = dirs.list[i];
			ofs_store_touch(s, file);
			return 0;
		}
		r = r == -ENOENT ? 0 : r;
	}
	return r < 0 ? r : -ENOENT;
}

static int name_of(struct ofs_store *s, uint64_t ino, uint64_t *ret_dir, char *ret_name)
{
	struct ofs_inode *n;
	int r;

	r = ofs_store_inode(s, ino, &n);
	if (r < 0)
		return r;
	if (!n->row.nlink || ino == OFS_ROOT_INO)
		return -ENOENT;
	r = name_in(s, n->row.parent, ino, ret_name);
	if (r == -ENOENT)
		r = find_parent(s, n, ret_name);
	if (r == 0)
		*ret_dir = n->row.parent;
	return r;
}

int ofs_store_name_of(struct ofs_store *s, uint64_t ino, uint64_t *ret_dir, char *ret_name)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = name_of(s, ino, ret_dir, ret_name);
	pthread_mutex_unlock(&s->lock);
	return r;
}
