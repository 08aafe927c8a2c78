/* SPDX-License-Identifier: MIT */
/* Extended attributes: the list of an inode comes from the index when it is first asked for. */
#include <pthread.h>
#include <sys/xattr.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/util.h"
#include "base/xattr.h"
#include "store/inode.h"
#include "store/inode_table.h"
#include "store/apply.h"
#include "store/pressure.h"
#include "store/record.h"
#include "store/room.h"
#include "store/store.h"
#include "store/store_state.h"

static int check_name(const char *name)
{
	size_t len = strlen(name);

	return len && len <= OFS_XATTR_NAME_MAX ? 0 : -ERANGE;
}

static ssize_t get_locked(struct ofs_store *s, uint64_t ino, const char *name, void *buf,
			  size_t size)
{
	struct ofs_inode *n;
	struct ofs_xattr x;
	int r;

	r = check_name(name);
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

ssize_t ofs_store_getxattr(struct ofs_store *s, uint64_t ino, const char *name, void *buf,
			   size_t size)
{
	ssize_t r;

	pthread_mutex_lock(&s->lock);
	r = get_locked(s, ino, name, buf, size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Bytes of the names, each with its NUL. */
static size_t names_size(const struct ofs_buf *list)
{
	struct ofs_xattr x;
	size_t at = 0, size = 0;

	while (ofs_xattr_next(list, &at, &x))
		size += x.name_len + 1;
	return size;
}

/* Whether an inode may have `name` with a value of `size` bytes. */
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
		/* Linux lists no more. */
		if (names_size(&n->xattrs) + strlen(name) + 1 > OFS_XATTR_NAMES_ROOM)
			return -ENOSPC;
	}
	return room > OFS_XATTR_ROOM ? -ENOSPC : 0;
}

static int set_locked(struct ofs_store *s, const struct ofs_record *rec, int flags,
		      bool *ret_room_used)
{
	struct ofs_inode *n;
	int r;

	r = ofs_store_xattrs(s, rec->ino, &n);
	if (r == 0)
		r = check_set(n, rec->name, rec->value_len, flags);
	/* Not the disk is full then: nothing that is given back would help. */
	*ret_room_used = r == -ENOSPC;
	return r < 0 ? r : ofs_store_log(s, rec, NULL, 0);
}

int ofs_store_setxattr(struct ofs_store *s, uint64_t ino, const char *name, const void *value,
		       size_t size, int flags)
{
	struct ofs_record rec = { .type = OFS_RECORD_SETXATTR,
				  .ino = ino,
				  .name = name,
				  .value = value,
				  .value_len = (uint32_t)size };
	bool room_used;
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
	do {
		pthread_mutex_lock(&s->lock);
		rec.time = ofs_clock_wall();
		r = set_locked(s, &rec, flags, &room_used);
		pthread_mutex_unlock(&s->lock);
	} while (!room_used && ofs_store_is_full(r) && ofs_store_make_room(s));
	return r;
}

int ofs_store_removexattr(struct ofs_store *s, uint64_t ino, const char *name)
{
	struct ofs_record rec = { .type = OFS_RECORD_REMOVEXATTR, .ino = ino, .name = name };
	struct ofs_inode *n;
	struct ofs_xattr x;
	int r;

	r = check_name(name);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	rec.time = ofs_clock_wall();
	r = ofs_store_xattrs(s, ino, &n);
	if (r == 0)
		r = ofs_xattr_find(&n->xattrs, name, &x) ? ofs_store_log(s, &rec, NULL, 0)
							 : -ENODATA;
	pthread_mutex_unlock(&s->lock);
	return r;
}

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

ssize_t ofs_store_listxattr(struct ofs_store *s, uint64_t ino, char *buf, size_t size)
{
	struct ofs_inode *n;
	ssize_t r;

	pthread_mutex_lock(&s->lock);
	r = ofs_store_xattrs(s, ino, &n);
	if (r == 0)
		r = list_names(&n->xattrs, buf, size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* ---- all inodes that have some */

struct labelled {
	struct ofs_store *store;
	uint64_t *list;
	size_t n, cap;
	size_t max; /* so many of the index are enough */
};

static void labelled_add(struct labelled *l, uint64_t ino)
{
	l->list = ofs_grow(l->list, &l->cap, l->n + 1, sizeof(*l->list));
	l->list[l->n++] = ino;
}

/* What memory knows of an inode is newer than what the index does. */
static int labelled_note(void *arg, uint64_t ino)
{
	struct labelled *l = arg;
	const struct ofs_inode *n = ofs_map_get(&l->store->inodes, ino);

	if (n && (n->gone || !n->row.nlink || (n->xattrs_loaded && !n->xattrs.len)))
		return 0;
	labelled_add(l, ino);
	return l->n == l->max;
}

static int ino_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int list_labelled(struct labelled *l, uint64_t after, uint64_t *ret)
{
	const struct ofs_inode_list *dirty = &l->store->dirty;
	size_t i, n = 0;
	int r;

	r = ofs_index_list_labelled(l->store->index, after, labelled_note, l);
	if (r < 0)
		return r;
	for (i = 0; i < dirty->n; i++) {
		const struct ofs_inode *in = dirty->list[i];

		if (in->row.ino > after && !in->gone && in->row.nlink && in->xattrs.len)
			labelled_add(l, in->row.ino);
	}
	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), ino_compare);
	for (i = 0; i < l->n && n < l->max; i++)
		if (i == 0 || l->list[i] != l->list[i - 1])
			ret[n++] = l->list[i];
	return (int)n;
}

int ofs_store_list_labelled(struct ofs_store *s, uint64_t after, uint64_t *ret, size_t max)
{
	struct labelled l = { .store = s, .max = OFS_MIN(max, (size_t)INT32_MAX) };
	int r = 0;

	pthread_mutex_lock(&s->lock);
	if (max)
		r = list_labelled(&l, after, ret);
	pthread_mutex_unlock(&s->lock);
	free(l.list);
	return r;
}
