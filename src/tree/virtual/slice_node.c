/* SPDX-License-Identifier: MIT */
/* Slices as nodes: made by a lookup, read like files, gone with the last reference. */
#include "tree/virtual/nodes.h"

#include "base/clock.h"
#include "codec/hash.h"
#include "tree/core/place.h"
#include "tree/core/ref.h"
#include "tree/core/stat.h"
#include "tree/expiry/gc.h"
#include "tree/expiry/tombstone_report.h"
#include "tree/virtual/view.h"

/*
 * Returns the path by which a notice names the base. It works from anywhere while the tree is
 * mounted. For a link in a view it is the path of the file itself.
 */
static char *shown_path(struct ofs_tree *t, ofs_node parent, const char *name,
			const struct ofs_source *base)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT;
	char ref[OFS_REF_SIZE];

	if (t->mountpoint)
		ofs_buf_printf(&path, "%s/", t->mountpoint);
	/* In agents' trees the path is a ref, which works in the tree and in those around it. */
	if (!base->text && base->attr.region != OFS_ROOT_INO) {
		ofs_ref_format(t, base->attr.ino, ref);
		ofs_buf_printf(&path, "refs/%s", ref);
		return ofs_buf_steal_str(&path);
	}
	if (ofs_view_is_dir(t, parent) && ofs_place_of(t, base->attr.ino, &place) == 0) {
		ofs_buf_append_str(&path, (const char *)place.path.data);
		return ofs_buf_steal_str(&path);
	}
	if (ofs_node_kind(parent) == OFS_NODE_REFS)
		ofs_buf_append_str(&path, "refs/");
	else if (ofs_node_kind(parent) == OFS_NODE_OFFLOAD)
		ofs_buf_append_str(&path, ".offload/");
	else if (!ofs_root_at(t, parent) && ofs_place_of(t, parent, &place) == 0)
		ofs_buf_printf(&path, "%s/", (const char *)place.path.data);
	ofs_buf_append_str(&path, name);
	return ofs_buf_steal_str(&path);
}

static void slice_stat(const struct ofs_made *m, const struct ofs_attr *base, struct stat *ret)
{
	const struct ofs_range *range = &m->slice->range;

	ofs_stat_fill(base, ret);
	ret->st_ino = m->node;
	ret->st_mode = S_IFREG | (base->mode & 0444);
	ret->st_nlink = 1;
	ret->st_size = (off_t)(range->len + range->notice.len);
	ret->st_blocks = 0;
}

/* A checksum of the base's owner and rights. */
static uint64_t access_of(const struct ofs_attr *base)
{
	const uint32_t what[] = { base->mode & 0444, base->uid, base->gid };

	return ofs_checksum(what, sizeof(what), 0);
}

/* Makes a slice of a file of the store, which is read from there while it is the same range. */
static void make_slice(struct ofs_tree *t, const struct ofs_source *base,
		       const struct ofs_slice_spec *spec, char *path, struct ofs_range *range,
		       struct ofs_entry *ret)
{
	const uint64_t what[] = { base->attr.region, base->attr.version, spec->kind,
				  spec->first,	     spec->last,	 range->len };
	struct ofs_made *m = ofs_alloc(sizeof(*m));

	m->slice = ofs_alloc(sizeof(*m->slice));
	*m->slice = (struct ofs_slice){
		.base = base->attr.ino,
		.spec = *spec,
		.path = path,
		.version = base->attr.version,
		.access = access_of(&base->attr),
		.asked = ofs_clock_wall(),
		.range = *range,
	};
	*range = (struct ofs_range){ .notice = OFS_BUF_INIT };
	/* The path is part of the notice, and so of the identity. */
	m->node = ofs_made_derive(t, base->attr.ino, path, &base->attr, what, sizeof(what), m->id);
	ret->keep_name = false;
	ret->keep_attr = true;
	slice_stat(m, &base->attr, &ret->attr);
	ret->node = ret->attr.st_ino = ofs_made_share(t, m);
}

/* Makes a slice of a virtual file, as a text of its own. */
static void make_text(struct ofs_tree *t, ofs_node parent, const char *name,
		      const struct ofs_source *base, const struct ofs_range *range,
		      struct ofs_entry *ret)
{
	struct ofs_buf text = OFS_BUF_INIT;

	ofs_buf_append(&text, base->text->data + range->off, range->len);
	ofs_buf_append(&text, range->notice.data, range->notice.len);
	ofs_made_text(t, parent, name, &base->attr, &text, ret);
}

static int lookup_range(struct ofs_tree *t, ofs_node parent, const char *name,
			const struct ofs_source *base, const struct ofs_slice_spec *spec,
			struct ofs_entry *ret)
{
	OFS_FREE char *path = shown_path(t, parent, name, base);
	struct ofs_range range = { .notice = OFS_BUF_INIT };
	int r = ofs_range_resolve(base, spec, path, &range);

	if (r == 0 && base->text)
		make_text(t, parent, name, base, &range, ret);
	else if (r == 0)
		make_slice(t, base, spec, ofs_steal(path), &range, ret);
	ofs_buf_finish(&range.notice);
	return r;
}

/* Makes F:info or F:summary; only for files of the store. */
static int lookup_report(struct ofs_tree *t, ofs_node parent, const char *name,
			 const struct ofs_source *base, const struct ofs_slice_spec *spec,
			 const struct ofs_cred *cred, struct ofs_entry *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = 0;

	if (base->text)
		return -ENOENT;
	if (base->here && t->replicate)
		return -EAGAIN;
	if (spec->kind == OFS_SLICE_INFO)
		ofs_info_format(t, &base->attr, cred, &text);
	else
		r = ofs_summary_format(t, &base->attr, cred, &text);
	if (r == 0)
		ofs_made_text(t, parent, name, &base->attr, &text, ret);
	return r;
}

/* Finds the base called `name`, with a reference. If it is virtual, fills `text` instead. */
static int find_base(struct ofs_tree *t, ofs_node parent, const char *name,
		     const struct ofs_cred *cred, bool here, struct ofs_buf *text,
		     struct ofs_source *ret)
{
	struct ofs_entry entry = { 0 };
	struct ofs_root *root;
	struct ofs_made *m;
	int r;

	*ret = (struct ofs_source){ .tree = t, .here = here };
	if (ofs_view_is_dir(t, parent))
		return ofs_view_lookup_file(t, parent, name, &ret->attr);
	if (ofs_node_kind(parent) == OFS_NODE_REFS) {
		root = ofs_root_of_node(t, parent);
		return root ? ofs_ref_lookup(t, root, name, cred, &ret->attr) : -ESTALE;
	}
	r = ofs_fixed_lookup(t, parent, name, &entry);
	if (r == -ENOENT && !ofs_node_is_virtual(parent)) {
		r = ofs_store_lookup(t->store, parent, name, &ret->attr);
		if (r != -ENOENT || !ofs_task_context_is(t, parent, name))
			return r;
		r = here && t->replicate ? -EAGAIN
					 : ofs_task_context_lookup(t, parent, cred, &entry);
	}
	if (r < 0)
		return r;
	ret->text = text;
	if (ofs_node_is_made(entry.node)) {
		m = ofs_made_get(t, entry.node);
		if (m)
			ret->attr = m->attr;
		r = m ? ofs_made_get_text(m, text) : -ESTALE;
		ofs_made_put(t, m);
		ofs_made_forget(t, entry.node, 1);
	} else {
		r = ofs_fixed_attr(t, entry.node, &ret->attr);
		if (r == 0)
			r = ofs_fixed_text(t, entry.node, text);
	}
	return r == -EISDIR ? -ENOENT : r;
}

/* Makes REF:info of a file that was removed by garbage collection. */
static int lookup_tombstone(struct ofs_tree *t, ofs_node refs, const char *name, const char *ref,
			    const struct ofs_slice_spec *spec, struct ofs_entry *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_root *root = ofs_root_of_node(t, refs);
	struct ofs_attr attr;
	int r;

	if (spec->kind != OFS_SLICE_INFO)
		return -EKEYEXPIRED;
	r = root ? ofs_tombstone_report(t, root, ref, &text) : -ESTALE;
	if (r < 0)
		return r;
	ofs_stat_make_up(t, root, 0, S_IFREG | 0400, &attr);
	ofs_made_text(t, refs, name, &attr, &text, ret);
	return 0;
}

int ofs_slice_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
		     const struct ofs_cred *cred, bool here, struct ofs_entry *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	char base_name[OFS_NAME_MAX + 1];
	struct ofs_slice_spec spec;
	struct ofs_source base;
	size_t len;
	int parsed, r;

	parsed = ofs_slice_parse(name, &len, &spec);
	if (parsed == -ENOENT) {
		/* In refs/ a ref can come into use at any time, and views change by themselves. */
		ret->keep_name = !ofs_node_is_virtual(parent);
		return -ENOENT;
	}
	ret->keep_name = false;
	memcpy(base_name, name, len);
	base_name[len] = 0;
	r = find_base(t, parent, base_name, cred, here, &text, &base);
	if (r == -EKEYEXPIRED && parsed == 0)
		return lookup_tombstone(t, parent, name, base_name, &spec, ret);
	if (r < 0)
		return r;
	if (!base.text && !S_ISREG(base.attr.mode))
		r = -ENOENT;
	else if (!ofs_place_may(&base.attr, cred, S_IROTH))
		r = -EACCES;
	else if (parsed < 0)
		r = parsed;
	else if (spec.kind == OFS_SLICE_INFO || spec.kind == OFS_SLICE_SUMMARY)
		r = lookup_report(t, parent, name, &base, &spec, cred, ret);
	else
		r = lookup_range(t, parent, base_name, &base, &spec, ret);
	/*
	 * The lookup counts as a use, since reads may be served from the kernel's cache. F:info
	 * reads no content.
	 */
	if (r == 0 && !base.text && spec.kind != OFS_SLICE_INFO)
		ofs_gc_note_use(t->gc, base.attr.ino);
	if (!base.text)
		ofs_store_forget(t->store, base.attr.ino, 1);
	return r;
}

int ofs_slice_getattr(struct ofs_tree *t, const struct ofs_made *m, struct stat *ret)
{
	struct ofs_attr base;
	int r = ofs_store_getattr(t->store, m->slice->base, &base);

	if (r == 0)
		slice_stat(m, &base, ret);
	return r == -ENOENT ? -ESTALE : r;
}

/*
 * Resolves a slice again after its base has changed. It remains valid only if that gives the same
 * range; else returns -ESTALE.
 */
static int slice_refresh(struct ofs_tree *t, struct ofs_slice *s, const struct ofs_attr *attr)
{
	const struct ofs_source base = { .tree = t, .attr = *attr };
	struct ofs_range now;
	int r = ofs_range_resolve(&base, &s->spec, s->path, &now);

	if (r == 0 && (now.off != s->range.off || now.len != s->range.len ||
		       now.notice.len != s->range.notice.len ||
		       (now.notice.len &&
			memcmp(now.notice.data, s->range.notice.data, now.notice.len) != 0)))
		r = -ESTALE;
	if (r == 0)
		s->version = attr->version;
	ofs_buf_finish(&now.notice);
	return r == -ERANGE ? -ESTALE : r;
}

ssize_t ofs_slice_read(struct ofs_tree *t, struct ofs_made *m, void *buf, size_t size, uint64_t off,
		       bool here)
{
	struct ofs_slice *s = m->slice;
	const struct ofs_range *range = &s->range;
	struct ofs_attr base;
	size_t part, done = 0;
	ssize_t r = ofs_store_getattr(t->store, s->base, &base);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	/* The kernel checks access by the rights that it was told at the lookup. */
	if (t->shared && s->access != access_of(&base))
		return -ESTALE;
	r = s->version == base.version ? 0 : slice_refresh(t, s, &base);
	if (r < 0)
		return r;
	if (off < range->len) {
		part = OFS_MIN((uint64_t)size, range->len - off);
		r = here ? ofs_store_read_here(t->store, s->base, buf, part, range->off + off)
			 : ofs_store_read(t->store, s->base, buf, part, range->off + off);
		if (r < 0)
			return r;
		done = (size_t)r;
	}
	if (done < size && off + done >= range->len &&
	    off + done < range->len + range->notice.len) {
		uint64_t at = off + done - range->len;

		part = (size_t)OFS_MIN((uint64_t)(size - done), range->notice.len - at);
		memcpy((uint8_t *)buf + done, range->notice.data + at, part);
		done += part;
	}
	return (ssize_t)done;
}
