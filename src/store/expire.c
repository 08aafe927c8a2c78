/* SPDX-License-Identifier: MIT */
/*
 * Removing by number what nobody holds, and keeping tombstones of it. References and the last use
 * are checked under the lock under which the record is logged, so nobody gets in between.
 */
#include <sys/stat.h>

#include "base/clock.h"
#include "store/record.h"
#include "store/store_state.h"

/* On a full disk a longer tombstone is left empty: it must not take what the file has freed. */
#define TIGHT_WHAT 512u

struct expiry {
	uint64_t ino;
	int64_t used;
	const struct ofs_expire_guard *guard; /* NULL: none */
	const void *what;
	size_t len;
};

int ofs_store_check_unused(struct ofs_store *s, const struct ofs_inode *n, int64_t used,
			   const struct ofs_expire_guard *guard)
{
	struct ofs_inode *dir;
	uint64_t above;
	int r = 0;

	if (guard && (guard->ctime != n->row.ctime || guard->moves != s->name_changes))
		return -EAGAIN;
	while (r == 0 && n->row.used <= used) {
		above = n->row.parent;
		if (!above || ofs_region_is(s, above))
			return 0;
		r = ofs_store_inode(s, above, &dir);
		if (r == 0 && ofs_region_is(s, dir->row.parent))
			return 0;
		n = dir;
	}
	return r < 0 ? r : -EAGAIN;
}

/* Checks that the file may be removed; `lock` held. */
static int expire_check(struct ofs_store *s, const struct expiry *x, struct ofs_inode **ret)
{
	int r = ofs_store_inode(s, x->ino, ret);

	if (r < 0)
		return r;
	if (!S_ISREG((*ret)->row.mode))
		return S_ISDIR((*ret)->row.mode) ? -EISDIR : -EINVAL;
	if (!(*ret)->row.nlink)
		return -ENOENT;
	if (ofs_store_refs(s, x->ino))
		return -EBUSY;
	return ofs_store_check_unused(s, *ret, x->used, x->guard);
}

static int log_removal(struct ofs_store *s, uint8_t type, const struct expiry *x,
		       const struct ofs_name *name, size_t len)
{
	struct ofs_record rec = { .type = type,
				  .ino = x->ino,
				  .dir = name->dir,
				  .name = name->name,
				  .value = x->what,
				  .value_len = (uint32_t)len };

	return ofs_store_log(s, &rec, NULL, 0);
}

/* Logs the removal of all names, the last one with the tombstone; `lock` held. */
static int expire_log(struct ofs_store *s, const struct expiry *x, const struct ofs_names *names)
{
	const struct ofs_name *last = &names->list[names->n - 1];
	size_t len = x->len, i;
	int r = 0;

	for (i = 0; i + 1 < names->n && r == 0; i++)
		r = log_removal(s, OFS_RECORD_UNLINK, x, &names->list[i], 0);
	if (r < 0)
		return r;
	if (len > TIGHT_WHAT && ofs_reserve_is_tight(s))
		len = 0;
	r = log_removal(s, OFS_RECORD_EXPIRE, x, last, len);
	return ofs_store_is_full(r) && len ? log_removal(s, OFS_RECORD_EXPIRE, x, last, 0) : r;
}

/* Removes the file by its only name or, if `gathered`, by all of them. 1: they must be gathered. */
static int try_expire(struct ofs_store *s, const struct expiry *x, bool gathered)
{
	OFS_CLEANUP(ofs_names_finish) struct ofs_names names = { 0 };
	struct ofs_inode *n;
	int r = gathered ? ofs_names_gather(s, x->ino, &names) : 0;

	if (r < 0)
		return r;
	OFS_LOCKED(&s->lock);
	ofs_store_wait_for_checkpoint(s);
	ofs_store_evict(s);
	r = expire_check(s, x, &n);
	if (r == 0 && !gathered)
		r = ofs_names_sole(s, n, &names);
	else if (r == 0 && !ofs_names_are_all(s, n, &names))
		r = -EAGAIN;
	return r == 0 ? expire_log(s, x, &names) : r;
}

uint64_t ofs_store_moves(struct ofs_store *s)
{
	OFS_LOCKED(&s->lock);

	return s->name_changes;
}

int ofs_store_expire(struct ofs_store *s, uint64_t ino, int64_t used,
		     const struct ofs_expire_guard *guard, const void *what, size_t len)
{
	struct expiry x = { .ino = ino, .used = used, .guard = guard, .what = what, .len = len };
	int r;

	if (len > OFS_TOMBSTONE_MAX)
		return -E2BIG;
	r = try_expire(s, &x, false);
	return r > 0 ? try_expire(s, &x, true) : r;
}

int ofs_store_rmdir_unheld(struct ofs_store *s, uint64_t ino)
{
	OFS_CLEANUP(ofs_names_finish) struct ofs_names names = { 0 };
	struct expiry x = { .ino = ino };
	struct ofs_inode *dir;
	int r;

	OFS_LOCKED(&s->lock);
	ofs_store_evict(s);
	r = ofs_store_dir(s, ino, &dir);
	if (r < 0)
		return r;
	if (!dir->row.nlink)
		return -ENOENT;
	if (ino == OFS_ROOT_INO || ofs_store_refs(s, ino))
		return -EBUSY;
	if (dir->dir->count)
		return -ENOTEMPTY;
	r = ofs_names_sole(s, dir, &names);
	if (r == 0)
		r = log_removal(s, OFS_RECORD_UNLINK, &x, &names.list[0], 0);
	return r > 0 ? -EUCLEAN : r; /* its parent always has its name */
}

/*
 * ---- tombstones: in memory until the checkpoint that puts them into the index is committed, then
 * only there
 */

int ofs_store_get_tombstone(struct ofs_store *s, uint64_t ino, struct ofs_buf *ret_what,
			    int64_t *ret_removed)
{
	const struct ofs_tombstone *t;
	int64_t removed = 0;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	t = ofs_map_get(&s->tombstones, ino);
	if (t) {
		removed = t->removed;
		ofs_buf_append(ret_what, t->what, t->len);
	}
	pthread_mutex_unlock(&s->lock);
	/* A tombstone leaves memory only once it is in the index. */
	if (!t)
		r = ofs_index_get_tombstone(s->index, ino, ret_what, &removed);
	if (r == 0)
		*ret_removed = removed * OFS_NS_PER_S;
	return r;
}

/*
 * `lock` held, after the same from the index. A tombstone whose record is replayed comes back, until
 * it is dropped again.
 */
static void drop_from_memory(struct ofs_store *s, int64_t removed)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list old = { 0 };
	struct ofs_tombstone *t;
	size_t pos = 0, i;

	while ((t = ofs_map_next(&s->tombstones, &pos))) {
		/* The index's was counted for both, and is gone: so this one counts again. */
		if (t->former < removed) {
			t->former = INT64_MAX;
			s->counts.tombstones++;
		}
		if (t->removed < removed)
			ofs_u64_list_add(&old, t->ino);
	}
	for (i = 0; i < old.n; i++) {
		t = ofs_map_remove(&s->tombstones, old.at[i]);
		s->counts.tombstones -= t->former == INT64_MAX;
		free(t);
	}
}

static int drop_from_index(struct ofs_store *s, int64_t removed, uint64_t *ret_n)
{
	struct ofs_index_meta meta;
	int r = ofs_index_get_meta(s->index, &meta);

	if (r < 0 || !meta.counts.tombstones)
		return r;
	r = ofs_index_begin(s->index);
	if (r < 0)
		return r;
	r = ofs_index_delete_tombstones(s->index, removed, ret_n);
	meta.counts.tombstones -= *ret_n;
	if (r == 0 && *ret_n)
		r = ofs_index_put_meta(s->index, &meta);
	return ofs_index_end(s->index, r);
}

int ofs_store_drop_tombstones(struct ofs_store *s, int64_t before)
{
	int64_t removed = ofs_seconds(before);
	uint64_t n = 0;
	int r;

	/* `cycle` keeps out checkpoints, which use the tombstones in memory. */
	OFS_LOCKED(&s->cycle);
	r = s->broken ? -EIO : drop_from_index(s, removed, &n);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	s->counts.tombstones -= n;
	drop_from_memory(s, removed);
	pthread_mutex_unlock(&s->lock);
	return 0;
}
