/* SPDX-License-Identifier: MIT */
/* Slices as nodes: made by a lookup, read like a file, gone with the last reference. */
#include "base/alloc.h"
#include "base/util.h"
#include "tree/internal.h"

void ofs_slice_destroy(struct ofs_slice_node *n)
{
	if (!n)
		return;
	ofs_buf_finish(&n->range.notice);
	free(n->path);
	free(n);
}

/* How a notice names the base: a path that works from anywhere while mounted. */
static char *shown_path(struct ofs_tree *t, ofs_node parent, const char *name, size_t len)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT;
	int r = 0;

	if (t->mountpoint)
		r = ofs_buf_printf(&path, "%s/", t->mountpoint);
	if (r == 0 && parent == OFS_NODE_REFS)
		r = ofs_buf_append_str(&path, "refs/");
	else if (r == 0 && parent != OFS_NODE_ROOT && ofs_place_of(t, parent, &place) == 0)
		r = ofs_buf_printf(&path, "%s/", (const char *)place.path.data);
	if (r == 0)
		r = ofs_buf_append(&path, name, len);
	if (r == 0)
		r = ofs_buf_append(&path, "", 1);
	return r == 0 ? (char *)ofs_steal(path.data) : NULL;
}

static void slice_stat(const struct ofs_slice_node *n, const struct ofs_attr *base,
		       struct stat *ret)
{
	ofs_tree_fill_stat(base, ret);
	ret->st_ino = n->node;
	ret->st_mode = S_IFREG | (base->mode & 0444);
	ret->st_nlink = 1;
	ret->st_size = (off_t)(n->range.len + n->range.notice.len);
	ret->st_blocks = 0;
}

int ofs_slice_lookup(struct ofs_tree *t, ofs_node parent, const char *shown, size_t len,
		     const struct ofs_attr *base, const struct ofs_slice_spec *spec,
		     struct ofs_entry *ret)
{
	struct ofs_slice_node *n = ofs_alloc(sizeof(*n));
	int r;

	n->base = base->ino;
	n->spec = *spec;
	n->version = base->version;
	n->refs = 1;
	n->path = shown_path(t, parent, shown, len);
	r = n->path ? ofs_range_resolve(t, base, spec, n->path, &n->range) : -ENOMEM;
	if (r < 0) {
		ofs_slice_destroy(n);
		return r;
	}
	pthread_mutex_lock(&t->lock);
	n->node = t->next_slice++;
	r = ofs_map_put(&t->slices, n->node, n);
	if (r == 0) {
		ret->node = n->node;
		ret->keep_name = false;
		slice_stat(n, base, &ret->attr);
	}
	pthread_mutex_unlock(&t->lock);
	if (r < 0)
		ofs_slice_destroy(n);
	return r;
}

int ofs_slice_getattr(struct ofs_tree *t, ofs_node node, struct stat *ret)
{
	struct ofs_slice_node *n;
	struct ofs_attr base = { 0 };
	int r;

	pthread_mutex_lock(&t->lock);
	n = ofs_map_get(&t->slices, node);
	base.ino = n ? n->base : 0;
	pthread_mutex_unlock(&t->lock);
	r = n ? ofs_store_getattr(t->store, base.ino, &base) : -ESTALE;
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	pthread_mutex_lock(&t->lock);
	n = ofs_map_get(&t->slices, node);
	if (n)
		slice_stat(n, &base, ret);
	pthread_mutex_unlock(&t->lock);
	return n ? 0 : -ESTALE;
}

/*
 * Where the bytes are now. The base may have changed since the lookup: then the slice is resolved
 * again, and is the same slice only if it comes to the same range. A caller that reads holds a
 * reference, so `n` stays.
 */
static int slice_refresh(struct ofs_tree *t, struct ofs_slice_node *n, const struct ofs_attr *base)
{
	struct ofs_range now;
	bool same;
	int r;

	r = ofs_range_resolve(t, base, &n->spec, n->path, &now);
	if (r == 0) {
		pthread_mutex_lock(&t->lock);
		same = now.off == n->range.off && now.len == n->range.len &&
		       now.notice.len == n->range.notice.len;
		if (same)
			n->version = base->version;
		pthread_mutex_unlock(&t->lock);
		r = same ? 0 : -ESTALE;
	}
	ofs_buf_finish(&now.notice);
	return r == -ERANGE ? -ESTALE : r;
}

ssize_t ofs_slice_read(struct ofs_tree *t, ofs_node node, void *buf, size_t size, uint64_t off)
{
	struct ofs_slice_node *n;
	struct ofs_attr base;
	size_t part, done = 0;
	bool fresh;
	ssize_t r;

	pthread_mutex_lock(&t->lock);
	n = ofs_map_get(&t->slices, node);
	pthread_mutex_unlock(&t->lock);
	if (!n)
		return -ESTALE;
	r = ofs_store_getattr(t->store, n->base, &base);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	pthread_mutex_lock(&t->lock);
	fresh = n->version == base.version;
	pthread_mutex_unlock(&t->lock);
	r = fresh ? 0 : slice_refresh(t, n, &base);
	if (r < 0)
		return r;
	if (off < n->range.len) {
		r = ofs_store_read(t->store, n->base, buf,
				   OFS_MIN((uint64_t)size, n->range.len - off), n->range.off + off);
		if (r < 0)
			return r;
		done = (size_t)r;
	}
	if (done < size && off + done >= n->range.len &&
	    off + done < n->range.len + n->range.notice.len) {
		uint64_t at = off + done - n->range.len;

		part = (size_t)OFS_MIN((uint64_t)(size - done), n->range.notice.len - at);
		memcpy((uint8_t *)buf + done, n->range.notice.data + at, part);
		done += part;
	}
	return (ssize_t)done;
}

void ofs_slice_forget(struct ofs_tree *t, ofs_node node, uint64_t count)
{
	struct ofs_slice_node *n;

	pthread_mutex_lock(&t->lock);
	n = ofs_map_get(&t->slices, node);
	if (n) {
		n->refs -= OFS_MIN(count, n->refs);
		if (n->refs)
			n = NULL;
		else
			ofs_map_remove(&t->slices, node);
	}
	pthread_mutex_unlock(&t->lock);
	ofs_slice_destroy(n);
}
