/* SPDX-License-Identifier: MIT */
/*
 * Operations on names and attributes: check, then log. Whatever a check loads stays in memory while
 * the lock is held.
 */
#include <dirent.h>
#include <stdio.h>

#include <offloadfs/tree.h>

#include "io/failpoint.h"
#include "store/cycle.h"
#include "store/number.h"
#include "store/record.h"
#include "store/store_state.h"

#define NLINK_MAX 65000u
#define TARGET_MAX 4095u
#define NOTED_MAX 4096 /* dirty inodes; above this, an estimate makes no more of them dirty */

/* Gets a directory that may get a new entry `name`. */
static int dir_for_entry(struct ofs_store *s, uint64_t ino, const char *name,
			 struct ofs_inode **ret)
{
	int r = ofs_dir_check_name(name);

	if (r == 0)
		r = ofs_store_dir(s, ino, ret);
	return r == 0 && !(*ret)->row.nlink ? -ENOENT : r;
}

static int find_entry(struct ofs_store *s, uint64_t ino, const char *name,
		      struct ofs_inode **ret_dir, struct ofs_inode **ret)
{
	struct ofs_dirent *entry;
	int r;

	if (strlen(name) > OFS_NAME_MAX)
		return -ENAMETOOLONG;
	r = ofs_store_dir(s, ino, ret_dir);
	if (r < 0)
		return r;
	entry = ofs_dir_find((*ret_dir)->dir, name);
	return entry ? ofs_store_inode(s, entry->ino, ret) : -ENOENT;
}

/* Gives the caller a reference. */
static void hold(struct ofs_store *s, struct ofs_inode *n, struct ofs_attr *ret)
{
	ofs_store_set_refs(s, n->row.ino, ofs_store_refs(s, n->row.ino) + 1);
	ofs_store_attr(s, n, ret);
}

int ofs_store_lookup(struct ofs_store *s, uint64_t dir, const char *name, struct ofs_attr *ret)
{
	struct ofs_inode *parent, *n;
	int r;

	OFS_LOCKED(&s->lock);
	ofs_store_evict(s);
	r = find_entry(s, dir, name, &parent, &n);
	if (r == 0)
		hold(s, n, ret);
	return r;
}

int ofs_store_hold(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret)
{
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_inode(s, ino, &n);
	if (r == 0 && !n->row.nlink)
		r = -ENOENT;
	if (r == 0)
		hold(s, n, ret);
	return r;
}

uint64_t ofs_store_forget(struct ofs_store *s, uint64_t ino, uint64_t count)
{
	struct ofs_inode *n;
	uint64_t have;

	OFS_LOCKED(&s->lock);
	have = ofs_store_refs(s, ino);
	have -= OFS_MIN(have, count);
	ofs_store_set_refs(s, ino, have);
	/* An unlinked inode is dirty or an orphan; either way it is in memory. */
	n = have || s->replaying ? NULL : ofs_map_get(&s->inodes, ino);
	if (n && !n->row.nlink && !n->gone)
		ofs_store_drop_inode(s, n);
	return have;
}

int ofs_store_getattr(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret)
{
	return ofs_store_getattr_in(s, 0, ino, ret);
}

bool ofs_store_is_nameless(struct ofs_store *s, uint64_t ino)
{
	struct ofs_attr attr;
	int r = ofs_store_getattr(s, ino, &attr);

	return r == -ENOENT || (r == 0 && !attr.nlink);
}

int ofs_store_get_hash(struct ofs_store *s, uint64_t ino, struct ofs_content_hash *ret)
{
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r < 0)
		return r;
	ret->has_sha = n->row.has_sha;
	memcpy(ret->sha, n->row.sha, sizeof(ret->sha));
	ret->lines = n->row.size ? n->row.lines : 0;
	return 0;
}

void ofs_store_note_tokens(struct ofs_store *s, uint64_t ino, uint64_t version, uint64_t tokens)
{
	struct ofs_inode *n;

	OFS_LOCKED(&s->lock);
	n = ofs_map_get(&s->inodes, ino);
	if (!n || n->gone || n->version != version || n->row.tokens >= 0)
		return;
	n->row.tokens = (int64_t)OFS_MIN(tokens, (uint64_t)INT64_MAX);
	/* A dirty inode stays in memory until the next checkpoint. */
	if (s->dirty.n < NOTED_MAX && !s->read_only && !s->reserve.tight && !s->broken)
		ofs_store_touch(s, n);
}

void ofs_store_note_hash(struct ofs_store *s, uint64_t ino, uint64_t version,
			 const struct ofs_content_hash *hash)
{
	struct ofs_inode *n;

	OFS_LOCKED(&s->lock);
	n = s->follow ? ofs_map_get(&s->inodes, ino) : NULL;
	if (!n || n->gone || n->version != version || n->row.has_sha)
		return;
	n->row.has_sha = true;
	memcpy(n->row.sha, hash->sha, sizeof(n->row.sha));
	n->row.lines = hash->lines;
	/* A dirty inode stays in memory. */
	ofs_store_touch(s, n);
}

static int try_create(struct ofs_store *s, uint64_t parent, const char *name,
		      const struct ofs_create *what, struct ofs_attr *ret)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_CREATE,
		.dir = parent,
		.name = name,
		.mode = what->mode,
		.uid = what->uid,
		.gid = what->gid,
		.rdev = what->rdev,
		.text = what->target,
	};
	struct ofs_inode *dir, *n;
	int r;

	OFS_LOCKED(&s->lock);
	if (S_ISLNK(what->mode) && (!what->target[0] || strlen(what->target) > TARGET_MAX))
		return what->target[0] ? -ENAMETOOLONG : -ENOENT;
	r = dir_for_entry(s, parent, name, &dir);
	if (r < 0)
		return r;
	if (ofs_dir_find(dir->dir, name))
		return -EEXIST;
	rec.ino = what->ino;
	r = what->ino ? ofs_store_check_number(s, what) : ofs_store_next_number(s, &rec.ino);
	if (r < 0)
		return r;
	if (dir->row.mode & S_ISGID) {
		rec.gid = dir->row.gid;
		if (S_ISDIR(what->mode))
			rec.mode |= S_ISGID;
	}
	r = ofs_store_log(s, &rec, NULL, 0);
	if (r == 0)
		r = ofs_store_inode(s, rec.ino, &n);
	if (r == 0)
		hold(s, n, ret);
	return r;
}

int ofs_store_create(struct ofs_store *s, uint64_t dir, const char *name,
		     const struct ofs_create *what, struct ofs_attr *ret)
{
	int r = ofs_store_wait_for_room(s);

	if (r < 0)
		return r;
	do
		r = try_create(s, dir, name, what, ret);
	while (ofs_store_make_room(s, &r));
	if (r != -EAGAIN || ofs_store_is_nonblocking())
		return r;
	/* After a checkpoint no record of the file that had the number is replayed. */
	pthread_mutex_lock(&s->cycle);
	r = ofs_store_checkpoint(s, NULL);
	pthread_mutex_unlock(&s->cycle);
	if (r == 0)
		r = try_create(s, dir, name, what, ret);
	return r == -EAGAIN ? -EBUSY : r;
}

static int try_link(struct ofs_store *s, uint64_t ino, uint64_t dir, const char *name,
		    struct ofs_attr *ret)
{
	struct ofs_record rec = { .type = OFS_RECORD_LINK, .ino = ino, .dir = dir, .name = name };
	struct ofs_inode *parent, *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = dir_for_entry(s, dir, name, &parent);
	if (r == 0)
		r = ofs_store_inode(s, ino, &n);
	if (r < 0)
		return r;
	if (S_ISDIR(n->row.mode))
		return -EPERM;
	if (!n->row.nlink)
		return -ENOENT;
	if (n->row.nlink >= NLINK_MAX)
		return -EMLINK;
	if (ofs_dir_find(parent->dir, name))
		return -EEXIST;
	r = ofs_store_log(s, &rec, NULL, 0);
	if (r == 0)
		hold(s, n, ret);
	return r;
}

int ofs_store_link(struct ofs_store *s, uint64_t ino, uint64_t dir, const char *name,
		   struct ofs_attr *ret)
{
	int r = ofs_store_wait_for_room(s);

	if (r < 0)
		return r;
	do
		r = try_link(s, ino, dir, name, ret);
	while (ofs_store_make_room(s, &r));
	return r;
}

/* -ENOTEMPTY unless `n` is a directory without entries. */
static int check_empty(struct ofs_store *s, struct ofs_inode *n)
{
	int r = ofs_store_dir(s, n->row.ino, &n);

	if (r < 0)
		return r;
	return n->dir->count ? -ENOTEMPTY : 0;
}

/* The inode's number if it has lost its last name but is still held; else 0. */
static uint64_t left_over(const struct ofs_inode *n)
{
	return n->row.nlink || n->gone ? 0 : n->row.ino;
}

static int try_remove(struct ofs_store *s, uint64_t dir, const char *name, bool directory,
		      uint64_t *ret_left)
{
	struct ofs_record rec = { .type = OFS_RECORD_UNLINK, .dir = dir, .name = name };
	struct ofs_inode *parent, *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_wait_for_checkpoint(s);
	if (r == 0)
		r = find_entry(s, dir, name, &parent, &n);
	if (r < 0)
		return r;
	if (directory != S_ISDIR(n->row.mode))
		return directory ? -ENOTDIR : -EISDIR;
	rec.ino = n->row.ino;
	r = directory ? check_empty(s, n) : 0;
	if (r == 0)
		r = ofs_store_log(s, &rec, NULL, 0);
	if (r == 0 && ret_left)
		*ret_left = left_over(n);
	return r;
}

static int remove_name(struct ofs_store *s, uint64_t dir, const char *name, bool directory,
		       uint64_t *ret_left)
{
	int r;

	do
		r = try_remove(s, dir, name, directory, ret_left);
	while (ofs_store_make_room(s, &r));
	return r;
}

int ofs_store_unlink(struct ofs_store *s, uint64_t dir, const char *name, uint64_t *ret_left)
{
	return remove_name(s, dir, name, false, ret_left);
}

int ofs_store_rmdir(struct ofs_store *s, uint64_t dir, const char *name)
{
	return remove_name(s, dir, name, true, NULL);
}

/* -EINVAL if `dir` is `ino` or lies below it. */
static int check_not_below(struct ofs_store *s, uint64_t ino, uint64_t dir)
{
	struct ofs_inode *n;
	int r;

	while (dir) {
		if (dir == ino)
			return -EINVAL;
		if (dir == OFS_ROOT_INO)
			return 0;
		r = ofs_store_inode(s, dir, &n);
		if (r < 0)
			return r;
		dir = n->row.parent;
	}
	return 0;
}

/* 0 if `n` may replace `target`. */
static int check_replace(struct ofs_store *s, const struct ofs_inode *n, struct ofs_inode *target)
{
	if (S_ISDIR(n->row.mode) && !S_ISDIR(target->row.mode))
		return -ENOTDIR;
	if (!S_ISDIR(n->row.mode) && S_ISDIR(target->row.mode))
		return -EISDIR;
	return S_ISDIR(target->row.mode) ? check_empty(s, target) : 0;
}

/* The inodes that a rename concerns. */
struct renaming {
	struct ofs_inode *n;
	struct ofs_inode *target; /* at the new name; NULL: none */
};

/* Checks whether a rename is allowed; `lock` held. */
static int check_rename(struct ofs_store *s, const struct ofs_move *m, struct renaming *ret)
{
	struct ofs_inode *from, *to;
	struct ofs_dirent *entry;
	int r = find_entry(s, m->dir, m->name, &from, &ret->n);

	if (r == 0)
		r = dir_for_entry(s, m->newdir, m->newname, &to);
	if (r == 0 && S_ISDIR(ret->n->row.mode))
		r = check_not_below(s, ret->n->row.ino, m->newdir);
	if (r < 0)
		return r;
	if (m->ino && m->ino != ret->n->row.ino)
		return -EAGAIN;
	entry = ofs_dir_find(to->dir, m->newname);
	if (entry && m->flags & RENAME_NOREPLACE)
		return -EEXIST;
	if (entry)
		r = ofs_store_inode(s, entry->ino, &ret->target);
	else if (m->flags & RENAME_EXCHANGE)
		r = -ENOENT;
	if (r == 0 && ret->target && ret->target != ret->n) {
		if (!(m->flags & RENAME_EXCHANGE))
			r = check_replace(s, ret->n, ret->target);
		else if (S_ISDIR(ret->target->row.mode))
			r = check_not_below(s, ret->target->row.ino, m->dir);
	}
	if (r == 0 && m->ino)
		r = ofs_store_check_unused(s, ret->n, m->used, &m->guard);
	return r;
}

static int try_move(struct ofs_store *s, const struct ofs_move *m, uint64_t *ret_left)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_RENAME,
		.dir = m->dir,
		.newdir = m->newdir,
		.flags = m->flags,
		.name = m->name,
		.text = m->newname,
	};
	struct renaming what = { 0 };
	int r = 0, fault;

	OFS_LOCKED(&s->lock);
	if (m->mark) {
		r = ofs_store_wait_for_checkpoint(s);
		ofs_store_evict(s);
	}
	if (r == 0)
		r = check_rename(s, m, &what);
	if (r < 0)
		return r;
	*ret_left = 0;
	/* Two names of the same inode: nothing to do. */
	if (what.target == what.n)
		return 0;
	if (m->mark)
		r = ofs_store_mark(s, what.n, m->mark, &m->value);
	if (m->mark && r == 0 && what.target)
		r = ofs_store_mark(s, what.target, m->mark, &m->back);
	fault = r == 0 ? ofs_failpoint("store.move") : r;
	r = fault < 0 ? fault : ofs_store_log(s, &rec, NULL, 0);
	if (r == 0 && what.target)
		*ret_left = left_over(what.target);
	if (r == 0)
		ofs_failpoint_after(fault);
	return r;
}

int ofs_store_move(struct ofs_store *s, const struct ofs_move *m, uint64_t *ret_left)
{
	uint64_t left = 0;
	int r = 0;

	if (m->flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
	    m->flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	/* A rename without a mark may use the reserve, so it need not wait for room. */
	if (m->mark)
		r = ofs_store_wait_for_room(s);
	if (r < 0)
		return r;
	do
		r = try_move(s, m, &left);
	while (m->mark && ofs_store_make_room(s, &r));
	if (r == 0 && ret_left)
		*ret_left = left;
	return r;
}

int ofs_store_rename(struct ofs_store *s, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname, unsigned int flags, uint64_t *ret_left)
{
	const struct ofs_move m = {
		.dir = dir, .newdir = newdir, .name = name, .newname = newname, .flags = flags
	};

	return ofs_store_move(s, &m, ret_left);
}

int ofs_store_setattr(struct ofs_store *s, uint64_t ino, const struct ofs_setattr *attr,
		      struct ofs_attr *ret)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_SETATTR,
		.ino = ino,
		.flags = attr->set,
		.mode = attr->mode,
		.uid = attr->uid,
		.gid = attr->gid,
		.size = attr->size,
		.atime = attr->atime,
		.mtime = attr->mtime,
	};
	struct ofs_inode *n;
	int r;

	if (attr->set & OFS_SET_SIZE && attr->size > (uint64_t)OFS_SIZE_MAX)
		return -EFBIG;
	OFS_LOCKED(&s->lock);
	r = attr->set & OFS_SET_SIZE ? ofs_store_file(s, ino, &n) : ofs_store_inode(s, ino, &n);
	if (r == 0)
		r = ofs_store_log(s, &rec, NULL, 0);
	if (r == 0 && ret)
		ofs_store_attr(s, n, ret);
	return r;
}

ssize_t ofs_store_readlink(struct ofs_store *s, uint64_t ino, char *buf, size_t size)
{
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_inode(s, ino, &n);
	if (r < 0 || !n->row.target)
		return r < 0 ? r : -EINVAL;
	size = OFS_MIN(strlen(n->row.target), size);
	memcpy(buf, n->row.target, size);
	return (ssize_t)size;
}

int ofs_store_readdir(struct ofs_store *s, uint64_t ino, uint64_t cookie, bool plus,
		      ofs_store_readdir_fn fn, void *arg)
{
	struct ofs_inode *dir, *n;
	size_t end;
	int r;

	OFS_LOCKED(&s->lock);
	ofs_store_evict(s);
	r = ofs_store_dir(s, ino, &dir);
	if (r < 0)
		return r;
	if (cookie < OFS_COOKIE_MIN)
		ofs_dir_begin(dir->dir);
	end = ofs_dir_seek(dir->dir, dir->dir->listed);
	for (size_t i = ofs_dir_seek(dir->dir, cookie); i < end; i++) {
		const struct ofs_dirent *e = dir->dir->order[i].entry;
		struct ofs_attr attr;

		if (!e)
			continue;
		attr = (struct ofs_attr){ .ino = e->ino, .mode = (uint32_t)DTTOIF(e->type) };
		if (plus) {
			r = ofs_store_inode(s, e->ino, &n);
			if (r < 0)
				return r;
			ofs_store_attr(s, n, &attr);
		}
		if (fn(arg, e->name, &attr, e->cookie))
			return 0;
		if (plus)
			ofs_store_set_refs(s, e->ino, attr.held + 1);
	}
	return 0;
}

int ofs_store_sync(struct ofs_store *s)
{
	int (*hook)(void *arg, ofs_lsn lsn);
	ofs_lsn end;
	int r;

	/* A sync would succeed on removed files, and make those that were cut short grow again. */
	if (!ofs_store_is_whole(s))
		return -EIO;
	end = ofs_journal_tail(s->journal);
	r = ofs_journal_sync(s->journal);
	if (r < 0)
		s->sync_error = r;
	hook = s->sync_hook;
	return r == 0 && hook ? hook(s->sync_arg, end) : r;
}
