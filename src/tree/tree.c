/* SPDX-License-Identifier: MIT */
/* The calls that only read a tree. */

#include "base/util.h"
#include "tree/core/quota.h"
#include "tree/core/ref.h"
#include "tree/core/stat.h"
#include "tree/core/tree_state.h"
#include "tree/expiry/gc.h"
#include "tree/virtual/nodes.h"
#include "tree/virtual/made.h"
#include "tree/virtual/view.h"

bool ofs_tree_is_search(ofs_node dir)
{
	return ofs_node_kind(dir) == OFS_NODE_SEARCH || ofs_node_kind(dir) == OFS_NODE_LIST;
}

/* Looks up an entry with exactly this name. */
static int lookup_literal(struct ofs_tree *t, ofs_node parent, const char *name,
			  const struct ofs_cred *cred, struct ofs_entry *ret)
{
	bool refs = ofs_node_kind(parent) == OFS_NODE_REFS;
	struct ofs_root *root;
	struct ofs_attr attr;
	int r;

	if (ofs_view_is_dir(t, parent))
		return ofs_view_lookup(t, parent, name, ret);
	if (ofs_node_kind(parent) == OFS_NODE_LIST)
		return ofs_inventory_lookup(t, parent, name, cred, ret);
	if (ofs_node_kind(parent) == OFS_NODE_SEARCH)
		return ofs_search_lookup(t, parent, name, cred, ret);
	r = ofs_fixed_lookup(t, parent, name, ret);
	if (r != -ENOENT || (ofs_node_is_virtual(parent) && !refs))
		return r;
	root = refs ? ofs_root_of_node(t, parent) : NULL;
	if (refs)
		r = root ? ofs_ref_lookup_name(t, root, name, cred, &attr) : -ESTALE;
	else
		r = ofs_store_lookup(t->store, parent, name, &attr);
	if (r == 0)
		ofs_stat_fill_entry(&attr, !refs, ret);
	return r;
}

/* Returns whether names can be looked up in the node. Inodes are left to the store. */
static bool may_be_dir(struct ofs_tree *t, ofs_node node)
{
	struct ofs_attr attr;

	if (!ofs_node_is_virtual(node) || ofs_view_is_dir(t, node))
		return true;
	return ofs_fixed_attr(t, node, &attr) == 0 && S_ISDIR(attr.mode);
}

/* Looks up "." or "..": the kernel has a file handle, but has forgotten its node. */
static int lookup_forgotten(struct ofs_tree *t, ofs_node node, const char *name,
			    struct ofs_entry *ret)
{
	struct ofs_attr attr;
	int r;

	if (ofs_node_is_virtual(node))
		return -ESTALE;
	if (strcmp(name, "..") == 0)
		node = ofs_store_parent(t->store, node);
	r = ofs_store_hold(t->store, node, &attr);
	if (r < 0)
		return r;
	ofs_stat_fill_entry(&attr, false, ret);
	ret->keep_attr = ret->keep_attr && !t->follow;
	return 0;
}

int ofs_tree_lookup_as(struct ofs_tree *t, ofs_node parent, const char *name,
		       const struct ofs_cred *cred, struct ofs_entry *ret)
{
	bool here = ofs_store_is_nonblocking();
	int r;

	ofs_tree_count(t, OFS_TREE_LOOKUP);
	*ret = (struct ofs_entry){ 0 };
	if (strlen(name) > OFS_NAME_MAX)
		return -ENAMETOOLONG;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return lookup_forgotten(t, parent, name, ret);
	if (!may_be_dir(t, parent))
		return -ENOTDIR;
	r = lookup_literal(t, parent, name, cred, ret);
	/* The recap's absence is not cached, since the first step creates it. */
	if (r == -ENOENT && ofs_task_context_is(t, parent, name))
		r = here && t->replicate ? -EAGAIN : ofs_task_context_lookup(t, parent, cred, ret);
	else if (r == -ENOENT)
		r = ofs_slice_lookup(t, parent, name, cred, here, ret);
	/*
	 * A follower reports changes only of nodes that the kernel holds, so one during this lookup
	 * may go unreported.
	 */
	if (t->follow) {
		ret->keep_attr = false;
		ret->keep_name = ret->keep_name && r == 0;
	}
	return r;
}

int ofs_tree_lookup(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *ret)
{
	return ofs_tree_lookup_as(t, parent, name, NULL, ret);
}

void ofs_tree_forget(struct ofs_tree *t, ofs_node node, uint64_t n)
{
	if (ofs_node_is_made(node))
		ofs_made_forget(t, node, n);
	else if (!ofs_node_is_virtual(node))
		ofs_ref_forget(t, node, n);
}

int ofs_tree_walk(struct ofs_tree *t, const char *path, struct ofs_entry *ret)
{
	struct ofs_entry at = { .node = OFS_NODE_ROOT };
	struct ofs_attr attr;
	int r;

	r = ofs_store_hold(t->store, OFS_ROOT_INO, &attr);
	if (r < 0)
		return r;
	ofs_stat_fill_entry(&attr, true, &at);
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

static int made_getattr(struct ofs_tree *t, ofs_node node, struct stat *ret)
{
	struct ofs_made *m = ofs_made_get(t, node);
	struct ofs_attr attr;
	int r = 0;

	if (!m)
		return -ESTALE;
	if (m->slice) {
		r = ofs_slice_getattr(t, m, ret);
	} else {
		attr = m->attr;
		if (S_ISDIR(attr.mode))
			r = ofs_view_refresh(t, &attr);
		ofs_stat_fill(&attr, ret);
	}
	ofs_made_put(t, m);
	return r;
}

int ofs_tree_getattr(struct ofs_tree *t, ofs_node node, struct stat *ret)
{
	struct ofs_attr attr;
	int r;

	ofs_tree_count(t, OFS_TREE_GETATTR);
	if (ofs_node_is_made(node))
		return made_getattr(t, node, ret);
	if (ofs_node_is_link(node))
		r = ofs_view_link_attr(t, node, &attr);
	else if (ofs_node_is_virtual(node))
		r = ofs_fixed_attr(t, node, &attr);
	else
		r = ofs_store_getattr(t->store, node, &attr);
	if (r < 0)
		return r;
	ofs_stat_fill(&attr, ret);
	return 0;
}

static ssize_t copy_out(const struct ofs_buf *text, void *buf, size_t size, uint64_t off)
{
	size = off < text->len ? OFS_MIN(size, text->len - off) : 0;
	if (size)
		memcpy(buf, text->data + off, size);
	return (ssize_t)size;
}

ssize_t ofs_tree_readlink(struct ofs_tree *t, ofs_node node, char *buf, size_t size)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf target = OFS_BUF_INIT;

	if (!ofs_node_is_virtual(node))
		return ofs_store_readlink(t->store, node, buf, size);
	if (!ofs_node_is_link(node))
		return -EINVAL;
	ofs_view_link_target(t, node, &target);
	return copy_out(&target, buf, size, 0);
}

struct readdir {
	ofs_readdir_fn fn;
	void *arg;
	bool plus;
	bool keep_attr;
	bool hide; /* entries of the working tier */
};

static int readdir_store(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	struct readdir *rd = arg;
	struct ofs_entry entry = { .node = attr->ino,
				   .keep_name = true,
				   .keep_attr = rd->keep_attr };

	if (rd->hide) {
		if (strcmp(name, "cache") == 0 || strcmp(name, "tasks") == 0 ||
		    strcmp(name, "agents") == 0)
			return 0;
		entry.node = 0; /* listed without a reference, to be looked up */
	}
	if (rd->plus)
		ofs_stat_fill(attr, &entry.attr);
	else
		entry.attr = (struct stat){ .st_ino = attr->ino, .st_mode = attr->mode };
	return rd->fn(rd->arg, name, &entry, cookie);
}

/* Sets *ret to the parent of a directory. -ENOTDIR: `dir` is not one. */
static int parent_of(struct ofs_tree *t, ofs_node dir, ofs_node *ret)
{
	struct ofs_made *m;
	struct ofs_attr attr;
	int r;

	if (ofs_node_is_link(dir))
		return -ENOTDIR;
	if (ofs_node_is_made(dir)) {
		m = ofs_made_get(t, dir);
		*ret = m ? m->parent : 0;
		r = !m ? -ESTALE : m->parent ? 0 : -ENOTDIR;
		ofs_made_put(t, m);
		return r;
	}
	r = ofs_node_is_virtual(dir) ? ofs_fixed_attr(t, dir, &attr)
				     : ofs_store_getattr(t->store, dir, &attr);
	if (r < 0)
		return r;
	if (!S_ISDIR(attr.mode))
		return -ENOTDIR;
	*ret = ofs_node_is_virtual(dir) ? ofs_fixed_parent(t, dir) : attr.parent;
	if (!*ret)
		*ret = OFS_NODE_ROOT;
	return 0;
}

/* Lists "." and "..". Returns 1 if `fn` refused one. */
static int list_dots(ofs_node dir, ofs_node parent, uint64_t cookie, ofs_readdir_fn fn, void *arg)
{
	struct ofs_entry entry = { .attr = { .st_mode = S_IFDIR } };

	entry.attr.st_ino = entry.node = dir;
	if (cookie < OFS_COOKIE_DOT && fn(arg, ".", &entry, OFS_COOKIE_DOT))
		return 1;
	entry.attr.st_ino = entry.node = parent;
	return cookie < OFS_COOKIE_DOTDOT && fn(arg, "..", &entry, OFS_COOKIE_DOTDOT);
}

ofs_node ofs_tree_parent(struct ofs_tree *t, ofs_node node)
{
	return ofs_node_is_virtual(node) ? 0 : ofs_store_parent(t->store, node);
}

int ofs_tree_readdir(struct ofs_tree *t, ofs_node dir, uint64_t cookie, bool plus,
		     ofs_readdir_fn fn, void *arg)
{
	struct readdir rd = { .fn = fn, .arg = arg, .keep_attr = !t->follow };
	ofs_node parent;
	int r;

	ofs_tree_count(t, OFS_TREE_READDIR);
	r = parent_of(t, dir, &parent);
	if (r < 0)
		return r;
	if (list_dots(dir, parent, cookie, fn, arg) || ofs_fixed_list(t, dir, cookie, fn, arg))
		return 0;
	if (ofs_view_is_dir(t, dir))
		return ofs_view_list(t, dir, cookie, plus, fn, arg);
	if (ofs_node_is_virtual(dir))
		return 0;
	rd.hide = t->hide_working && ofs_root_at(t, dir);
	rd.plus = plus && !rd.hide;
	return ofs_store_readdir(t->store, dir, cookie, rd.plus, readdir_store, &rd);
}

static ssize_t made_read(struct ofs_tree *t, ofs_node node, void *buf, size_t size, uint64_t off,
			 bool here)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_made *m;
	ssize_t n;
	int r;

	if (ofs_node_is_link(node))
		return -EINVAL;
	if (!ofs_node_is_made(node)) {
		r = ofs_fixed_text(t, node, &text);
		return r < 0 ? r : copy_out(&text, buf, size, off);
	}
	m = ofs_made_get(t, node);
	if (!m)
		return -ESTALE;
	if (m->slice) {
		n = ofs_slice_read(t, m, buf, size, off, here);
		if (n >= 0)
			ofs_gc_note_use(t->gc, m->slice->base);
	} else if (!S_ISREG(m->attr.mode)) {
		n = S_ISDIR(m->attr.mode) ? -EISDIR : -EINVAL;
	} else if (!m->packed) {
		n = copy_out(&m->text, buf, size, off);
	} else {
		r = ofs_made_get_text(m, &text);
		n = r < 0 ? r : copy_out(&text, buf, size, off);
	}
	ofs_made_put(t, m);
	return n;
}

ssize_t ofs_tree_read(struct ofs_tree *t, ofs_node node, void *buf, size_t size, uint64_t off)
{
	bool here = ofs_store_is_nonblocking();
	ssize_t n = ofs_node_is_virtual(node) ? made_read(t, node, buf, size, off, here)
		    : here		      ? ofs_store_read_here(t->store, node, buf, size, off)
					      : ofs_store_read(t->store, node, buf, size, off);

	if (n == -EAGAIN)
		return n;
	ofs_tree_count(t, OFS_TREE_READ);
	if (n >= 0 && !ofs_node_is_virtual(node))
		ofs_gc_note_use(t->gc, node);
	if (n > 0)
		atomic_fetch_add_explicit(&t->bytes_read, (uint64_t)n, memory_order_relaxed);
	return n;
}

/* Returns the tree of a node. NULL: the node has no name, so its tree may be gone. */
static const struct ofs_root *root_of_any(struct ofs_tree *t, ofs_node node)
{
	struct ofs_made *m = ofs_node_is_made(node) ? ofs_made_get(t, node) : NULL;
	struct ofs_attr attr = { 0 };

	if (ofs_node_is_fixed(node))
		return ofs_root_of_node(t, node);
	if (m && m->slice)
		ofs_store_getattr(t->store, m->slice->base, &attr);
	else if (m)
		attr = m->attr;
	else if (ofs_node_is_link(node))
		ofs_view_link_attr(t, node, &attr);
	else if (!ofs_node_is_virtual(node))
		ofs_store_getattr(t->store, node, &attr);
	ofs_made_put(t, m);
	return attr.nlink ? ofs_root_at(t, attr.region) : NULL;
}

/*
 * Restricts the figures to an agent's tree, as if it had the disk, or its quota, to itself. `root`
 * NULL: an empty tree.
 */
static int statfs_agent(struct ofs_tree *t, const struct ofs_root *root, struct statvfs *ret)
{
	struct ofs_region_counts c = { 0 };
	int r = root ? ofs_store_count_region(t->store, root->ino, &c) : 0;
	uint64_t max = root ? ofs_quota_max(t, root) : 0;
	fsblkcnt_t used;

	if (r < 0)
		return r;
	if (max)
		ret->f_blocks = OFS_MIN(ret->f_blocks, max / ret->f_frsize);
	used = OFS_MIN((c.bytes + ret->f_frsize - 1) / ret->f_frsize, ret->f_blocks);
	ret->f_bfree = ret->f_bavail = ret->f_blocks - used;
	ret->f_files = ret->f_blocks + c.files + c.dirs + c.others;
	ret->f_ffree = ret->f_favail = ret->f_blocks;
	return 0;
}

int ofs_tree_statfs(struct ofs_tree *t, ofs_node node, struct statvfs *ret)
{
	const struct ofs_root *root = ofs_roots_are_many(t) ? root_of_any(t, node) : t->root;
	int r = ofs_store_statfs(t->store, ret);

	return r < 0 || root == t->root ? r : statfs_agent(t, root, ret);
}
