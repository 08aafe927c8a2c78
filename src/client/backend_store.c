/* SPDX-License-Identifier: MIT */
/* Access to an unmounted store through the engine. */
#include "client/backend.h"

#include <fcntl.h>
#include <stdio.h>

#include <offloadfs/config.h>
#include <offloadfs/tree.h>

#include "io/path.h"

struct backend_store {
	struct ofs_backend backend;
	struct ofs_tree *tree;
	struct ofs_cred cred;
};

static struct ofs_tree *store_tree(struct ofs_backend *b)
{
	return ((struct backend_store *)b)->tree;
}

static const struct ofs_cred *store_cred(struct ofs_backend *b)
{
	return &((struct backend_store *)b)->cred;
}

/* A node and a reference to it, which is dropped at the end of the scope. */
struct held {
	struct ofs_tree *tree;
	ofs_node node;
};

static void held_drop(struct held *h)
{
	if (h->tree)
		ofs_tree_forget(h->tree, h->node, 1);
}

#define HELD OFS_CLEANUP(held_drop) struct held

/* Sets *ret to the node that `path` names. */
static int store_walk(struct ofs_backend *b, const char *path, struct held *ret)
{
	OFS_FREE char *whole = b->agent ? ofs_path_join(b->agent, path) : NULL;
	struct ofs_entry entry;
	int r = ofs_tree_walk(store_tree(b), whole ? whole : path, &entry);

	if (r == 0)
		*ret = (struct held){ store_tree(b), entry.node };
	return r;
}

/* Sets *ret to the directory that holds `path`. *ret_name points into `path`. */
static int store_walk_parent(struct ofs_backend *b, const char *path, struct held *ret,
			     const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	OFS_FREE char *parent = ofs_strdup(path);

	parent[slash ? slash - path : 0] = '\0';
	*ret_name = slash ? slash + 1 : path;
	return store_walk(b, parent, ret);
}

static void store_destroy(struct ofs_backend *b)
{
	ofs_tree_close(store_tree(b));
	free(b);
}

/* Serves lstat, too, since the engine follows no links. */
static int store_stat(struct ofs_backend *b, const char *path, struct stat *ret)
{
	HELD at = { 0 };
	int r = store_walk(b, path, &at);

	return r < 0 ? r : ofs_tree_getattr(at.tree, at.node, ret);
}

static ssize_t store_getxattr(struct ofs_backend *b, const char *path, const char *name, void *buf,
			      size_t size)
{
	HELD at = { 0 };
	int r = store_walk(b, path, &at);

	return r < 0 ? r : ofs_tree_getxattr(at.tree, at.node, name, buf, size);
}

static int store_setxattr(struct ofs_backend *b, const char *path, const char *name,
			  const void *value, size_t size)
{
	HELD at = { 0 };
	int r = store_walk(b, path, &at);

	return r < 0 ? r : ofs_tree_setxattr(at.tree, at.node, name, value, size, 0);
}

static int store_mkdir(struct ofs_backend *b, const char *path, mode_t mode)
{
	HELD parent = { 0 };
	struct ofs_entry entry;
	const char *name;
	int r = store_walk_parent(b, path, &parent, &name);

	if (r == 0)
		r = ofs_tree_mkdir(parent.tree, parent.node, name, S_IFDIR | mode, store_cred(b),
				   &entry);
	if (r == 0)
		ofs_tree_forget(parent.tree, entry.node, 1);
	return r;
}

struct store_list {
	int (*fn)(void *arg, const char *name);
	void *arg;
	int result;
};

static int store_list_entry(void *arg, const char *name, const struct ofs_entry *entry,
			    uint64_t next)
{
	struct store_list *list = arg;

	(void)entry;
	(void)next;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	list->result = list->fn(list->arg, name);
	return list->result;
}

static int store_list(struct ofs_backend *b, const char *path,
		      int (*fn)(void *arg, const char *name), void *arg)
{
	struct store_list list = { .fn = fn, .arg = arg };
	HELD at = { 0 };
	int r = store_walk(b, path, &at);

	if (r == 0)
		r = ofs_tree_readdir(at.tree, at.node, 0, false, store_list_entry, &list);
	return r < 0 ? r : list.result;
}

static int store_open(struct ofs_backend *b, const char *path, ofs_handle *ret)
{
	struct held at;
	int r = store_walk(b, path, &at);

	if (r == 0)
		*ret = at.node;
	return r;
}

static int store_create(struct ofs_backend *b, const char *path, mode_t mode, ofs_handle *ret)
{
	HELD parent = { 0 };
	struct ofs_entry entry;
	const char *name;
	int r = store_walk_parent(b, path, &parent, &name);

	if (r == 0)
		r = ofs_tree_mknod(parent.tree, parent.node, name, S_IFREG | mode, 0, store_cred(b),
				   &entry);
	if (r == 0)
		*ret = entry.node;
	return r;
}

static ssize_t store_read(struct ofs_backend *b, ofs_handle h, void *buf, size_t size, uint64_t off)
{
	return ofs_tree_read(store_tree(b), h, buf, size, off);
}

static int store_write(struct ofs_backend *b, ofs_handle h, const void *buf, size_t size,
		       uint64_t off)
{
	const char *p = buf;

	while (size) {
		ssize_t n = ofs_tree_write(store_tree(b), h, p, size, off);

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		p += n;
		off += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static void store_close(struct ofs_backend *b, ofs_handle h)
{
	ofs_tree_forget(store_tree(b), h, 1);
}

static int64_t store_seek(struct ofs_backend *b, ofs_handle h, uint64_t off, int whence)
{
	return ofs_tree_seek(store_tree(b), h, off, whence);
}

static ssize_t store_listxattr(struct ofs_backend *b, const char *path, char *buf, size_t size)
{
	HELD at = { 0 };
	int r = store_walk(b, path, &at);

	return r < 0 ? r : ofs_tree_listxattr(at.tree, at.node, buf, size);
}

static ssize_t store_readlink(struct ofs_backend *b, const char *path, char *buf, size_t size)
{
	HELD at = { 0 };
	int r = store_walk(b, path, &at);

	return r < 0 ? r : ofs_tree_readlink(at.tree, at.node, buf, size);
}

static int store_symlink(struct ofs_backend *b, const char *target, const char *path)
{
	HELD parent = { 0 };
	struct ofs_entry entry;
	const char *name;
	int r = store_walk_parent(b, path, &parent, &name);

	if (r == 0)
		r = ofs_tree_symlink(parent.tree, parent.node, name, target, store_cred(b), &entry);
	if (r == 0)
		ofs_tree_forget(parent.tree, entry.node, 1);
	return r;
}

static int store_link(struct ofs_backend *b, const char *of, const char *path)
{
	HELD at = { 0 };
	HELD parent = { 0 };
	struct ofs_entry entry;
	const char *name;
	int r = store_walk(b, of, &at);

	if (r == 0)
		r = store_walk_parent(b, path, &parent, &name);
	if (r == 0)
		r = ofs_tree_link(at.tree, at.node, parent.node, name, &entry);
	if (r == 0)
		ofs_tree_forget(parent.tree, entry.node, 1);
	return r;
}

static int store_stamp(struct ofs_backend *b, const char *path, mode_t mode, int64_t mtime)
{
	const struct ofs_setattr attr = { .set = OFS_SET_MODE | OFS_SET_MTIME,
					  .mode = mode,
					  .mtime = mtime };
	HELD at = { 0 };
	struct stat st;
	int r = store_walk(b, path, &at);

	return r < 0 ? r : ofs_tree_setattr(at.tree, at.node, &attr, &st);
}

static int store_rename(struct ofs_backend *b, const char *from, const char *to, unsigned int flags)
{
	HELD from_parent = { 0 };
	HELD to_parent = { 0 };
	const char *from_name, *to_name;
	int r = store_walk_parent(b, from, &from_parent, &from_name);

	if (r == 0)
		r = store_walk_parent(b, to, &to_parent, &to_name);
	return r < 0 ? r
		     : ofs_tree_rename(from_parent.tree, from_parent.node, from_name,
				       to_parent.node, to_name, flags);
}

static int store_unlink(struct ofs_backend *b, const char *path)
{
	HELD parent = { 0 };
	const char *name;
	int r = store_walk_parent(b, path, &parent, &name);

	return r < 0 ? r : ofs_tree_unlink(parent.tree, parent.node, name);
}

static int store_rmdir(struct ofs_backend *b, const char *path)
{
	HELD parent = { 0 };
	const char *name;
	int r = store_walk_parent(b, path, &parent, &name);

	return r < 0 ? r : ofs_tree_rmdir(parent.tree, parent.node, name);
}

/* Needs no lock: a store has only one owner at a time. */
static int store_lock(struct ofs_backend *b, const char *path, ofs_handle *ret)
{
	(void)b;
	(void)path;
	*ret = 0;
	return 0;
}

static void store_unlock(struct ofs_backend *b, ofs_handle h)
{
	(void)b;
	(void)h;
}

static const struct ofs_backend_ops store_ops = {
	.destroy = store_destroy,
	.stat = store_stat,
	.lstat = store_stat,
	.getxattr = store_getxattr,
	.setxattr = store_setxattr,
	.mkdir = store_mkdir,
	.list = store_list,
	.open = store_open,
	.create = store_create,
	.read = store_read,
	.write = store_write,
	.close = store_close,
	.edit = store_open,
	.seek = store_seek,
	.listxattr = store_listxattr,
	.readlink = store_readlink,
	.symlink = store_symlink,
	.link = store_link,
	.stamp = store_stamp,
	.rename = store_rename,
	.unlink = store_unlink,
	.rmdir = store_rmdir,
	.lock = store_lock,
	.unlock = store_unlock,
};

int ofs_backend_open_store(const char *store, bool create, bool read_only, struct ofs_error *err,
			   struct ofs_backend **ret)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_config *config = ofs_config_create();
	struct backend_store *s;
	struct ofs_tree *tree;
	int r = ofs_config_load_store(config, store, err);

	ofs_config_apply(config, &opts);
	opts.create = create;
	opts.read_only = read_only;
	opts.background = false;
	if (r == 0)
		r = ofs_tree_open(store, &opts, err, &tree);
	ofs_config_destroy(config);
	if (r < 0)
		return r;
	s = ofs_alloc(sizeof(*s));
	s->backend.ops = &store_ops;
	s->tree = tree;
	s->cred = (struct ofs_cred){ .uid = geteuid(), .gid = getegid() };
	*ret = &s->backend;
	return 0;
}
