/* SPDX-License-Identifier: MIT */
/*
 * Operations on names and attributes: check, then log. What a check loads stays loaded while the
 * lock is held.
 */
#include <pthread.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include <offloadfs/tree.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/util.h"
#include "store/dir.h"
#include "store/inode.h"
#include "store/inode_table.h"
#include "store/apply.h"
#include "store/pressure.h"
#include "store/record.h"
#include "store/room.h"
#include "store/store.h"
#include "store/store_state.h"

#define NLINK_MAX 65000u
#define TARGET_MAX 4095u

static int name_check(const char *name)
{
	size_t len = strlen(name);

	if (len > OFS_NAME_MAX)
		return -ENAMETOOLONG;
	if (!len || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EINVAL;
	return 0;
}

/* A directory that may get a new entry. */
static int dir_for_entry(struct ofs_store *s, uint64_t ino, const char *name,
			 struct ofs_inode **ret)
{
	struct ofs_inode *dir;
	int r;

	r = name_check(name);
	if (r < 0)
		return r;
	r = ofs_store_dir(s, ino, &dir);
	if (r < 0)
		return r;
	if (!dir->row.nlink)
		return -ENOENT;
	*ret = dir;
	return 0;
}

static int find_entry(struct ofs_store *s, uint64_t ino, const char *name,
		      struct ofs_inode **ret_dir, struct ofs_inode **ret)
{
	struct ofs_dirent *entry;
	struct ofs_inode *dir;
	int r;

	if (strlen(name) > OFS_NAME_MAX)
		return -ENAMETOOLONG;
	r = ofs_store_dir(s, ino, &dir);
	if (r < 0)
		return r;
	entry = ofs_dir_find(dir->dir, name);
	if (!entry)
		return -ENOENT;
	if (ret_dir)
		*ret_dir = dir;
	return ofs_store_inode(s, entry->ino, ret);
}

int ofs_store_lookup(struct ofs_store *s, uint64_t dir, const char *name, struct ofs_attr *ret)
{
	struct ofs_inode *n;
	int r;

	pthread_mutex_lock(&s->lock);
	ofs_store_evict(s);
	r = find_entry(s, dir, name, NULL, &n);
	if (r == 0) {
		ofs_store_ref(s, n->row.ino, 1);
		ofs_store_attr(s, n, ret);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int ofs_store_hold(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret)
{
	struct ofs_inode *n;
	int r;

	pthread_mutex_lock(&s->lock);
	r = ofs_store_inode(s, ino, &n);
	if (r == 0 && !n->row.nlink)
		r = -ENOENT;
	if (r == 0) {
		ofs_store_ref(s, ino, 1);
		ofs_store_attr(s, n, ret);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

uint64_t ofs_store_forget(struct ofs_store *s, uint64_t ino, uint64_t count)
{
	struct ofs_inode *n;
	uint64_t left;

	pthread_mutex_lock(&s->lock);
	left = ofs_store_unref(s, ino, count);
	if (!left) {
		/* An unlinked inode is dirty or an orphan; either way it is in memory. */
		n = ofs_map_get(&s->inodes, ino);
		if (n && !n->row.nlink && !n->gone)
			ofs_store_drop_inode(s, n);
	}
	pthread_mutex_unlock(&s->lock);
	return left;
}

int ofs_store_getattr(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret)
{
	struct ofs_inode *n;
	int r;

	pthread_mutex_lock(&s->lock);
	ofs_store_evict(s);
	r = ofs_store_inode(s, ino, &n);
	if (r == 0)
		ofs_store_attr(s, n, ret);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int ofs_store_get_hash(struct ofs_store *s, uint64_t ino, struct ofs_content_hash *ret)
{
	struct ofs_inode *n;
	int r;

	pthread_mutex_lock(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r == 0) {
		ret->has_sha = n->row.has_sha;
		memcpy(ret->sha, n->row.sha, sizeof(ret->sha));
		ret->lines = n->row.size ? n->row.lines : 0;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int create_locked(struct ofs_store *s, uint64_t parent, const char *name,
			 const struct ofs_create *what, struct ofs_attr *ret)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_CREATE, .time = ofs_clock_wall(), .dir = parent, .name = name
	};
	struct ofs_inode *dir, *n;
	int r;

	if (S_ISLNK(what->mode) && (!what->target[0] || strlen(what->target) > TARGET_MAX))
		return what->target[0] ? -ENAMETOOLONG : -ENOENT;
	r = dir_for_entry(s, parent, name, &dir);
	if (r < 0)
		return r;
	if (ofs_dir_find(dir->dir, name))
		return -EEXIST;
	rec.ino = s->next_ino;
	rec.mode = what->mode;
	rec.uid = what->uid;
	rec.gid = what->gid;
	rec.rdev = what->rdev;
	rec.text = what->target;
	if (dir->row.mode & S_ISGID) {
		rec.gid = dir->row.gid;
		if (S_ISDIR(what->mode))
			rec.mode |= S_ISGID;
	}
	r = ofs_store_log(s, &rec, NULL, 0);
	if (r < 0)
		return r;
	r = ofs_store_inode(s, rec.ino, &n);
	if (r < 0)
		return r;
	ofs_store_ref(s, rec.ino, 1);
	ofs_store_attr(s, n, ret);
	return 0;
}

int ofs_store_create(struct ofs_store *s, uint64_t dir, const char *name,
		     const struct ofs_create *what, struct ofs_attr *ret)
{
	int r;

	r = ofs_store_wait_for_room(s);
	if (r < 0)
		return r;
	do {
		pthread_mutex_lock(&s->lock);
		r = create_locked(s, dir, name, what, ret);
		pthread_mutex_unlock(&s->lock);
	} while (ofs_store_is_full(r) && ofs_store_make_room(s));
	return r;
}

static int link_locked(struct ofs_store *s, uint64_t ino, uint64_t parent, const char *name,
		       struct ofs_attr *ret)
{
	struct ofs_record rec = { .type = OFS_RECORD_LINK,
				  .time = ofs_clock_wall(),
				  .ino = ino,
				  .dir = parent,
				  .name = name };
	struct ofs_inode *dir, *n;
	int r;

	r = dir_for_entry(s, parent, name, &dir);
	if (r < 0)
		return r;
	r = ofs_store_inode(s, ino, &n);
	if (r < 0)
		return r;
	if (S_ISDIR(n->row.mode))
		return -EPERM;
	if (!n->row.nlink)
		return -ENOENT;
	if (n->row.nlink >= NLINK_MAX)
		return -EMLINK;
	if (ofs_dir_find(dir->dir, name))
		return -EEXIST;
	r = ofs_store_log(s, &rec, NULL, 0);
	if (r < 0)
		return r;
	ofs_store_ref(s, ino, 1);
	ofs_store_attr(s, n, ret);
	return 0;
}

int ofs_store_link(struct ofs_store *s, uint64_t ino, uint64_t dir, const char *name,
		   struct ofs_attr *ret)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = link_locked(s, ino, dir, name, ret);
	pthread_mutex_unlock(&s->lock);
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

/* What a record took the last name from, unless it is gone with it. */
static uint64_t left_over(const struct ofs_inode *n)
{
	return n->row.nlink || n->gone ? 0 : n->row.ino;
}

static int remove_locked(struct ofs_store *s, uint64_t parent, const char *name, bool directory,
			 uint64_t *ret_left)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_UNLINK, .time = ofs_clock_wall(), .dir = parent, .name = name
	};
	struct ofs_inode *dir, *n;
	int r;

	r = find_entry(s, parent, name, &dir, &n);
	if (r < 0)
		return r;
	if (directory != S_ISDIR(n->row.mode))
		return directory ? -ENOTDIR : -EISDIR;
	if (directory) {
		r = check_empty(s, n);
		if (r < 0)
			return r;
	}
	rec.ino = n->row.ino;
	r = ofs_store_log(s, &rec, NULL, 0);
	if (r == 0 && ret_left)
		*ret_left = left_over(n);
	return r;
}

int ofs_store_unlink(struct ofs_store *s, uint64_t dir, const char *name, uint64_t *ret_left)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = remove_locked(s, dir, name, false, ret_left);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int ofs_store_rmdir(struct ofs_store *s, uint64_t dir, const char *name)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = remove_locked(s, dir, name, true, NULL);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* -EINVAL when `dir` is `ino` or lies below it. */
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

/* Whether `n` may take the place of `target`. */
static int check_replace(struct ofs_store *s, const struct ofs_inode *n, struct ofs_inode *target)
{
	if (S_ISDIR(n->row.mode) && !S_ISDIR(target->row.mode))
		return -ENOTDIR;
	if (!S_ISDIR(n->row.mode) && S_ISDIR(target->row.mode))
		return -EISDIR;
	return S_ISDIR(target->row.mode) ? check_empty(s, target) : 0;
}

static int rename_locked(struct ofs_store *s, const struct ofs_record *rec, uint64_t *ret_left)
{
	struct ofs_inode *from, *to, *n, *target = NULL;
	struct ofs_dirent *entry;
	int r;

	if (rec->flags & ~(uint32_t)(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
	    rec->flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	r = find_entry(s, rec->dir, rec->name, &from, &n);
	if (r < 0)
		return r;
	r = dir_for_entry(s, rec->newdir, rec->text, &to);
	if (r < 0)
		return r;
	if (S_ISDIR(n->row.mode)) {
		r = check_not_below(s, n->row.ino, rec->newdir);
		if (r < 0)
			return r;
	}
	entry = ofs_dir_find(to->dir, rec->text);
	if (entry) {
		if (rec->flags & RENAME_NOREPLACE)
			return -EEXIST;
		r = ofs_store_inode(s, entry->ino, &target);
		if (r < 0)
			return r;
		if (target == n) {
			/* Two names of one inode: nothing to do. */
			if (ret_left)
				*ret_left = 0;
			return 0;
		}
	}
	if (rec->flags & RENAME_EXCHANGE) {
		if (!target)
			return -ENOENT;
		r = S_ISDIR(target->row.mode) ? check_not_below(s, target->row.ino, rec->dir) : 0;
	} else if (target) {
		r = check_replace(s, n, target);
	}
	if (r == 0)
		r = ofs_store_log(s, rec, NULL, 0);
	if (r == 0 && ret_left)
		*ret_left = target ? left_over(target) : 0;
	return r;
}

int ofs_store_rename(struct ofs_store *s, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname, unsigned int flags, uint64_t *ret_left)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_RENAME,
		.time = ofs_clock_wall(),
		.dir = dir,
		.newdir = newdir,
		.flags = flags,
		.name = name,
		.text = newname,
	};
	int r;

	pthread_mutex_lock(&s->lock);
	r = rename_locked(s, &rec, ret_left);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int ofs_store_setattr(struct ofs_store *s, uint64_t ino, const struct ofs_setattr *attr,
		      struct ofs_attr *ret)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_SETATTR,
		.time = ofs_clock_wall(),
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
	pthread_mutex_lock(&s->lock);
	r = attr->set & OFS_SET_SIZE ? ofs_store_file(s, ino, &n) : ofs_store_inode(s, ino, &n);
	if (r == 0)
		r = ofs_store_log(s, &rec, NULL, 0);
	if (r == 0 && ret)
		ofs_store_attr(s, n, ret);
	pthread_mutex_unlock(&s->lock);
	return r;
}

ssize_t ofs_store_readlink(struct ofs_store *s, uint64_t ino, char *buf, size_t size)
{
	struct ofs_inode *n;
	ssize_t r;

	pthread_mutex_lock(&s->lock);
	r = ofs_store_inode(s, ino, &n);
	if (r == 0 && !n->row.target)
		r = -EINVAL;
	if (r == 0) {
		size_t len = OFS_MIN(strlen(n->row.target), size);

		memcpy(buf, n->row.target, len);
		r = (ssize_t)len;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int readdir_locked(struct ofs_store *s, uint64_t ino, uint64_t cookie, bool plus,
			  ofs_store_readdir_fn fn, void *arg)
{
	struct ofs_inode *dir, *n;
	size_t i;
	int r;

	r = ofs_store_dir(s, ino, &dir);
	if (r < 0)
		return r;
	for (i = ofs_dir_seek(dir->dir, cookie); i < dir->dir->norder; i++) {
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
			ofs_store_ref(s, e->ino, 1);
	}
	return 0;
}

int ofs_store_readdir(struct ofs_store *s, uint64_t dir, uint64_t cookie, bool plus,
		      ofs_store_readdir_fn fn, void *arg)
{
	int r;

	pthread_mutex_lock(&s->lock);
	ofs_store_evict(s);
	r = readdir_locked(s, dir, cookie, plus, fn, arg);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int ofs_store_sync(struct ofs_store *s)
{
	int r = ofs_journal_sync(s->journal);

	if (r < 0)
		s->sync_error = r;
	return r;
}
