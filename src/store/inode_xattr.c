/* SPDX-License-Identifier: MIT */
/* Extended attributes. The list of an inode is loaded from the index when first needed. */
#include <sys/xattr.h>

#include "store/record.h"
#include "store/store_state.h"

static int check_name(const char *name)
{
	size_t len = strlen(name);

	return len && len <= OFS_XATTR_NAME_MAX ? 0 : -ERANGE;
}

ssize_t ofs_store_getxattr(struct ofs_store *s, uint64_t ino, const char *name, void *buf,
			   size_t size)
{
	struct ofs_inode *n;
	struct ofs_xattr x;
	int r = check_name(name);

	OFS_LOCKED(&s->lock);
	ofs_store_evict(s);
	if (r == 0)
		r = ofs_store_xattrs(s, ino, &n);
	if (r < 0)
		return r;
	if (!ofs_xattr_find(&n->xattrs, name, &x))
		return -ENODATA;
	if (size && size < x.size)
		return -ERANGE;
	if (size && x.size)
		memcpy(buf, x.value, x.size);
	return (ssize_t)x.size;
}

/*
 * Returns the length of the names, each with its NUL, and writes them to `buf` unless `size` is 0.
 * -ERANGE.
 */
static ssize_t list_names(const struct ofs_buf *list, char *buf, size_t size)
{
	size_t at = 0, used = 0;
	struct ofs_xattr x;

	while (ofs_xattr_next(list, &at, &x)) {
		if (size && size - used < x.name_len + 1)
			return -ERANGE;
		if (size) {
			memcpy(buf + used, x.name, x.name_len);
			buf[used + x.name_len] = 0;
		}
		used += x.name_len + 1;
	}
	return (ssize_t)used;
}

/* 0 if the inode may have `name` with a value of `size` bytes. */
static int check_set(const struct ofs_inode *n, const char *name, size_t size, int flags)
{
	size_t room = ofs_xattr_room(&n->xattrs) + size;
	struct ofs_xattr old;

	if (ofs_xattr_find(&n->xattrs, name, &old)) {
		if (flags & XATTR_CREATE)
			return -EEXIST;
		room -= old.size;
	} else {
		if (flags & XATTR_REPLACE)
			return -ENODATA;
		room += strlen(name);
		/* Linux does not list more. */
		if ((size_t)list_names(&n->xattrs, NULL, 0) + strlen(name) + 1 >
		    OFS_XATTR_NAMES_ROOM)
			return -ENOSPC;
	}
	return room > OFS_XATTR_ROOM ? -ENOSPC : 0;
}

/* *ret_final: the disk is not what is full, so another try would not help. */
static int try_set(struct ofs_store *s, struct ofs_record *rec, int flags, bool *ret_final)
{
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_wait_for_checkpoint(s);
	ofs_store_evict(s);
	if (r == 0)
		r = ofs_store_xattrs(s, rec->ino, &n);
	if (r == 0)
		r = check_set(n, rec->name, rec->value_len, flags);
	*ret_final = r < 0;
	return r < 0 ? r : ofs_store_log(s, rec, NULL, 0);
}

int ofs_store_mark(struct ofs_store *s, struct ofs_inode *n, const char *name,
		   const struct ofs_buf *value)
{
	struct ofs_record rec = { .type = OFS_RECORD_SETXATTR,
				  .ino = n->row.ino,
				  .name = name,
				  .value = value->data,
				  .value_len = (uint32_t)value->len };
	int r = value->len ? ofs_store_xattrs(s, n->row.ino, &n) : -EEXIST;

	if (r == 0)
		r = check_set(n, name, value->len, XATTR_CREATE);
	if (r == 0)
		r = ofs_store_log(s, &rec, NULL, 0);
	return r == -EEXIST ? 0 : r;
}

int ofs_store_setxattr(struct ofs_store *s, uint64_t ino, const char *name, const void *value,
		       size_t size, int flags)
{
	struct ofs_record rec = { .type = OFS_RECORD_SETXATTR,
				  .ino = ino,
				  .name = name,
				  .value = value,
				  .value_len = (uint32_t)size };
	bool final;
	int r;

	if (flags & ~(XATTR_CREATE | XATTR_REPLACE) || flags == (XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	r = check_name(name);
	if (r == 0 && size > OFS_XATTR_VALUE_MAX)
		r = -E2BIG;
	if (r == 0)
		r = ofs_store_wait_for_room(s);
	if (r < 0)
		return r;
	do
		r = try_set(s, &rec, flags, &final);
	while (!final && ofs_store_make_room(s, &r));
	return r;
}

int ofs_store_removexattr(struct ofs_store *s, uint64_t ino, const char *name)
{
	struct ofs_record rec = { .type = OFS_RECORD_REMOVEXATTR, .ino = ino, .name = name };
	struct ofs_inode *n;
	struct ofs_xattr x;
	int r = check_name(name);

	OFS_LOCKED(&s->lock);
	if (r == 0)
		r = ofs_store_xattrs(s, ino, &n);
	if (r < 0)
		return r;
	return ofs_xattr_find(&n->xattrs, name, &x) ? ofs_store_log(s, &rec, NULL, 0) : -ENODATA;
}

ssize_t ofs_store_listxattr(struct ofs_store *s, uint64_t ino, char *buf, size_t size)
{
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_xattrs(s, ino, &n);
	return r < 0 ? r : list_names(&n->xattrs, buf, size);
}

/* ---- all inodes with attributes */

struct labelled {
	struct ofs_store *store;
	struct ofs_u64_list *found;
	size_t max; /* of inodes from the index */
};

/* Notes an inode of the index unless memory knows better. */
static int labelled_note(void *arg, uint64_t ino)
{
	struct labelled *l = arg;
	const struct ofs_inode *n = ofs_map_get(&l->store->inodes, ino);

	if (n && (n->gone || !n->row.nlink || (n->xattrs_loaded && !n->xattrs.len)))
		return 0;
	ofs_u64_list_add(l->found, ino);
	return l->found->n == l->max;
}

int ofs_store_list_labelled(struct ofs_store *s, uint64_t after, uint64_t *ret, size_t max)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list found = { 0 };
	struct labelled l = { s, &found, OFS_MIN(max, (size_t)INT32_MAX) };
	size_t n;
	int r;

	if (!max)
		return 0;
	OFS_LOCKED(&s->lock);
	r = ofs_index_list_labelled(s->index, after, labelled_note, &l);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->dirty.n; i++) {
		const struct ofs_inode *in = s->dirty.list[i];

		if (in->row.ino > after && !in->gone && in->row.nlink && in->xattrs.len)
			ofs_u64_list_add(&found, in->row.ino);
	}
	ofs_u64_list_sort_unique(&found);
	n = OFS_MIN(found.n, l.max);
	if (n)
		memcpy(ret, found.at, n * sizeof(*ret));
	return (int)n;
}
