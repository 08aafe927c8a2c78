/* SPDX-License-Identifier: MIT */
/* Opening a tree, and the calls that look at it. */
#include "base/alloc.h"
#include "base/util.h"
#include "tree/internal.h"

static const char *const top_names[OFS_TOPS] = { "cache", "tasks", "persistent", "archive" };

/* The four trees are ordinary directories of the store, made when they are missing. */
static int make_tops(struct ofs_tree *t)
{
	struct ofs_create dir = { .mode = S_IFDIR | 0755, .uid = t->uid, .gid = t->gid };
	struct ofs_attr attr;
	int i, r;

	for (i = 0; i < OFS_TOPS; i++) {
		r = ofs_store_lookup(t->store, OFS_ROOT_INO, top_names[i], &attr);
		if (r == -ENOENT)
			r = ofs_store_create(t->store, OFS_ROOT_INO, top_names[i], &dir, &attr);
		if (r < 0)
			return r;
		t->tops[i] = attr.ino;
		ofs_store_forget(t->store, attr.ino, 1);
	}
	return 0;
}

/* What is made up is as old as the store. */
static int note_age(struct ofs_tree *t)
{
	struct ofs_attr root;
	int r = ofs_store_getattr(t->store, OFS_ROOT_INO, &root);

	if (r == 0)
		t->created = root.btime;
	return r;
}

static void on_attr_changed(void *arg, uint64_t ino)
{
	struct ofs_tree *t = arg;

	if (t->events.attr_changed)
		t->events.attr_changed(t->events.arg, ino);
}

int ofs_tree_open(const char *path, const struct ofs_tree_options *opts, struct ofs_error *err,
		  struct ofs_tree **ret)
{
	struct ofs_tree *t = ofs_alloc(sizeof(*t));
	struct ofs_store_options store = {
		.create = opts->create,
		.mountpoint = opts->mountpoint,
		.seal_delay_ms = opts->seal_delay_ms,
		.cache_bytes = opts->cache_bytes,
		.scrub_ms = opts->scrub_ms,
		.journal_max = opts->journal_max,
		.classify = ofs_tree_classify,
		.attr_changed = on_attr_changed,
		.events_arg = t,
	};
	int r;

	pthread_mutex_init(&t->lock, NULL);
	t->verify = ofs_tree_verify_create(t);
	t->events = opts->events;
	t->uid = geteuid();
	t->gid = getegid();
	t->background = opts->background;
	t->next_slice = OFS_NODE_SLICES;
	t->mountpoint = opts->mountpoint ? ofs_strdup(opts->mountpoint) : NULL;
	t->slice_max_lines = opts->slice_max_lines;
	t->slice_max_bytes = opts->slice_max_bytes;
	r = ofs_store_open(path, &store, err, &t->store);
	if (r == 0) {
		r = make_tops(t);
		if (r == 0)
			r = note_age(t);
		if (r == 0 && opts->background)
			r = ofs_store_start(t->store);
		if (r < 0)
			ofs_error_set(err, -r, "cannot use the store '%s': %s", path, strerror(-r));
	}
	if (r < 0) {
		ofs_tree_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

void ofs_tree_close(struct ofs_tree *t)
{
	struct ofs_slice_node *n;
	size_t pos = 0;

	if (!t)
		return;
	ofs_tree_verify_destroy(t->verify);
	while ((n = ofs_map_next(&t->slices, &pos)))
		ofs_slice_destroy(n);
	ofs_map_finish(&t->slices);
	ofs_store_close(t->store);
	pthread_mutex_destroy(&t->lock);
	free(t->mountpoint);
	free(t);
}

/* The attributes of the made-up nodes that are always there. */
static int fixed_stat(struct ofs_tree *t, ofs_node node, struct stat *ret)
{
	struct ofs_attr attr = {
		.ino = node,
		.mode = S_IFDIR | 0555,
		.uid = t->uid,
		.gid = t->gid,
		.nlink = 2,
		.atime = t->created,
		.mtime = t->created,
		.ctime = t->created,
	};

	if (node == OFS_NODE_README) {
		attr.mode = S_IFREG | 0444;
		attr.nlink = 1;
		attr.size = strlen(ofs_readme_text);
	} else if (node != OFS_NODE_REFS) {
		return -ESTALE;
	}
	ofs_tree_fill_stat(&attr, ret);
	return 0;
}

static int fixed_entry(struct ofs_tree *t, ofs_node node, struct ofs_entry *ret)
{
	ret->node = node;
	ret->keep_name = true;
	return fixed_stat(t, node, &ret->attr);
}

/* A real file by its literal name in a real directory or in refs/; takes a reference. */
static int lookup_real(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_attr *ret)
{
	ofs_node ino;
	int r;

	if (parent != OFS_NODE_REFS)
		return ofs_store_lookup(t->store, parent, name, ret);
	ino = ofs_ref_parse(name);
	r = ino ? ofs_store_hold(t->store, ino, ret) : -ENOENT;
	if (r == 0 && !S_ISREG(ret->mode)) {
		ofs_store_forget(t->store, ino, 1);
		r = -ENOENT;
	}
	return r;
}

/* `name` is not there literally: it may be a slice of a file that is. */
static int lookup_slice(struct ofs_tree *t, ofs_node parent, const char *name,
			struct ofs_entry *ret)
{
	char base_name[OFS_NAME_MAX + 1];
	struct ofs_slice_spec spec;
	struct ofs_attr base;
	size_t len;
	int parsed, r;

	ret->keep_name = false;
	parsed = ofs_slice_parse(name, &len, &spec);
	if (parsed == -ENOENT) {
		/* In refs/ a name may become a ref at any time. */
		ret->keep_name = parent != OFS_NODE_REFS;
		return -ENOENT;
	}
	memcpy(base_name, name, len);
	base_name[len] = 0;
	r = lookup_real(t, parent, base_name, &base);
	if (r < 0)
		return r;
	if (!S_ISREG(base.mode))
		r = -ENOENT;
	else if (parsed < 0)
		r = parsed;
	else
		r = ofs_slice_lookup(t, parent, base_name, len, &base, &spec, ret);
	ofs_store_forget(t->store, base.ino, 1);
	return r;
}

int ofs_tree_lookup(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *ret)
{
	struct ofs_attr attr;
	int r;

	*ret = (struct ofs_entry){ 0 };
	if (strlen(name) > OFS_NAME_MAX)
		return -ENAMETOOLONG;
	if (ofs_node_is_virtual(parent) && parent != OFS_NODE_REFS)
		return -ENOTDIR;
	if (parent == OFS_NODE_ROOT && strcmp(name, "refs") == 0)
		return fixed_entry(t, OFS_NODE_REFS, ret);
	if (parent == OFS_NODE_ROOT && strcmp(name, "README.md") == 0)
		return fixed_entry(t, OFS_NODE_README, ret);
	r = lookup_real(t, parent, name, &attr);
	if (r == -ENOENT)
		return lookup_slice(t, parent, name, ret);
	if (r == 0)
		ofs_tree_fill_entry(&attr, parent != OFS_NODE_REFS, ret);
	return r;
}

void ofs_tree_forget(struct ofs_tree *t, ofs_node node, uint64_t n)
{
	if (ofs_node_is_slice(node))
		ofs_slice_forget(t, node, n);
	else if (!ofs_node_is_virtual(node))
		ofs_store_forget(t->store, node, n);
}

int ofs_tree_walk(struct ofs_tree *t, const char *path, struct ofs_entry *ret)
{
	struct ofs_entry at = { .node = OFS_NODE_ROOT };
	struct ofs_attr attr;
	int r;

	r = ofs_store_hold(t->store, OFS_ROOT_INO, &attr);
	if (r < 0)
		return r;
	ofs_tree_fill_entry(&attr, true, &at);
	while (r == 0 && *path) {
		size_t len = strcspn(path, "/");
		char name[OFS_NAME_MAX + 1];
		struct ofs_entry next;

		if (len > OFS_NAME_MAX) {
			r = -ENAMETOOLONG;
		} else if (len == 2 && path[0] == '.' && path[1] == '.') {
			r = -EINVAL;
		} else if (len && !(len == 1 && path[0] == '.')) {
			memcpy(name, path, len);
			name[len] = 0;
			r = ofs_tree_lookup(t, at.node, name, &next);
			if (r == 0) {
				ofs_tree_forget(t, at.node, 1);
				at = next;
			}
		}
		path += len + (path[len] == '/');
	}
	if (r < 0)
		ofs_tree_forget(t, at.node, 1);
	else
		*ret = at;
	return r;
}

int ofs_tree_getattr(struct ofs_tree *t, ofs_node node, struct stat *ret)
{
	struct ofs_attr attr;
	int r;

	if (ofs_node_is_slice(node))
		return ofs_slice_getattr(t, node, ret);
	if (ofs_node_is_virtual(node))
		return fixed_stat(t, node, ret);
	r = ofs_store_getattr(t->store, node, &attr);
	if (r == 0)
		ofs_tree_fill_stat(&attr, ret);
	return r;
}

ssize_t ofs_tree_readlink(struct ofs_tree *t, ofs_node node, char *buf, size_t size)
{
	return ofs_node_is_virtual(node) ? -EINVAL : ofs_store_readlink(t->store, node, buf, size);
}

struct readdir {
	struct ofs_tree *tree;
	ofs_readdir_fn fn;
	void *arg;
	bool plus;
	bool full;
};

static int readdir_store(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	struct readdir *rd = arg;
	struct ofs_entry entry = { .node = attr->ino, .keep_name = true };

	if (rd->plus)
		ofs_tree_fill_stat(attr, &entry.attr);
	else
		entry.attr = (struct stat){ .st_ino = attr->ino, .st_mode = attr->mode };
	rd->full = rd->fn(rd->arg, name, &entry, cookie) != 0;
	return rd->full;
}

/* One of the entries that the store does not have. */
static void readdir_made_up(struct readdir *rd, const char *name, ofs_node node, uint64_t cookie,
			    uint64_t own)
{
	struct ofs_entry entry = { .node = node, .keep_name = true };

	if (rd->full || cookie >= own)
		return;
	if (own <= OFS_COOKIE_DOTDOT)
		entry.attr = (struct stat){ .st_ino = node, .st_mode = S_IFDIR };
	else
		fixed_stat(rd->tree, node, &entry.attr);
	rd->full = rd->fn(rd->arg, name, &entry, own) != 0;
}

/* What ".." in `dir` is; -ENOTDIR. */
static int parent_of(struct ofs_tree *t, ofs_node dir, ofs_node *ret)
{
	struct ofs_attr attr = { .mode = S_IFDIR };
	int r = 0;

	if (dir != OFS_NODE_REFS)
		r = ofs_node_is_virtual(dir) ? -ENOTDIR : ofs_store_getattr(t->store, dir, &attr);
	if (r < 0)
		return r;
	if (!S_ISDIR(attr.mode))
		return -ENOTDIR;
	*ret = attr.parent ? attr.parent : OFS_NODE_ROOT;
	return 0;
}

int ofs_tree_readdir(struct ofs_tree *t, ofs_node dir, uint64_t cookie, bool plus,
		     ofs_readdir_fn fn, void *arg)
{
	struct readdir rd = { .tree = t, .fn = fn, .arg = arg, .plus = plus };
	ofs_node parent;
	int r;

	r = parent_of(t, dir, &parent);
	if (r < 0)
		return r;
	readdir_made_up(&rd, ".", dir, cookie, OFS_COOKIE_DOT);
	readdir_made_up(&rd, "..", parent, cookie, OFS_COOKIE_DOTDOT);
	if (dir == OFS_NODE_ROOT) {
		readdir_made_up(&rd, "refs", OFS_NODE_REFS, cookie, OFS_COOKIE_REFS);
		readdir_made_up(&rd, "README.md", OFS_NODE_README, cookie, OFS_COOKIE_README);
	}
	if (rd.full || dir == OFS_NODE_REFS)
		return 0;
	return ofs_store_readdir(t->store, dir, cookie, plus, readdir_store, &rd);
}

ssize_t ofs_tree_read(struct ofs_tree *t, ofs_node node, void *buf, size_t size, uint64_t off)
{
	size_t len = strlen(ofs_readme_text);

	if (ofs_node_is_slice(node))
		return ofs_slice_read(t, node, buf, size, off);
	if (node == OFS_NODE_REFS)
		return -EISDIR;
	if (node == OFS_NODE_README) {
		size = off < len ? OFS_MIN(size, len - off) : 0;
		memcpy(buf, ofs_readme_text + OFS_MIN(off, len), size);
		return (ssize_t)size;
	}
	return ofs_store_read(t->store, node, buf, size, off);
}

int ofs_tree_statfs(struct ofs_tree *t, struct statvfs *ret)
{
	return ofs_store_statfs(t->store, ret);
}
