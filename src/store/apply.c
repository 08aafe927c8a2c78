/* SPDX-License-Identifier: MIT */
/* Applying journal records to memory: the one place for it, live and in replay. */
#include "store/record.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include <offloadfs/tree.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xattr.h"
#include "store/store_state.h"

/* An entry came or went. To a directory itself that is no use: what is in it is not used by it. */
static void stamp_dir(struct ofs_store *s, struct ofs_inode *dir, int64_t time)
{
	dir->row.mtime = dir->row.ctime = time;
	ofs_store_touch(s, dir);
}

/* The record changes the inode, which is a use of it. */
static void stamp(struct ofs_store *s, struct ofs_inode *n, const struct ofs_record *r)
{
	n->row.ctime = r->time;
	ofs_store_changed(s, n, r->time);
	ofs_store_touch(s, n);
}

static uint8_t type_of(const struct ofs_inode *n)
{
	return (uint8_t)IFTODT(n->row.mode);
}

/*
 * Cookies grow within a directory. The position of the record does, but for names that a repair has
 * put after all others.
 */
static void add_entry(struct ofs_store *s, struct ofs_inode *dir, const char *name,
		      const struct ofs_inode *n, ofs_lsn lsn)
{
	const struct ofs_dir *d = dir->dir;
	uint64_t cookie = d->norder ? OFS_MAX(lsn, d->order[d->norder - 1].cookie + 1) : lsn;

	ofs_dir_add(dir->dir, name, n->row.ino, type_of(n), cookie, s->epoch);
}

static int apply_create(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r)
{
	struct ofs_inode *dir, *n;
	int e;

	e = ofs_store_dir(s, r->dir, &dir);
	if (e < 0)
		return e;
	if (ofs_dir_find(dir->dir, r->name))
		return -EEXIST;
	n = ofs_store_add_inode(s, r->ino);
	n->row.parent = r->dir;
	n->row.mode = r->mode;
	n->row.uid = r->uid;
	n->row.gid = r->gid;
	n->row.rdev = r->rdev;
	n->row.nlink = S_ISDIR(r->mode) ? 2 : 1;
	n->row.atime = n->row.mtime = n->row.btime = r->time;
	if (S_ISLNK(r->mode)) {
		n->row.target = ofs_strdup(r->text);
		n->row.size = strlen(r->text);
	}
	/* Nothing of a new inode is in the index. */
	n->content.loaded = true;
	n->xattrs_loaded = true;
	if (S_ISDIR(r->mode)) {
		n->dir = ofs_dir_create();
		dir->row.nlink++;
	}
	ofs_store_count(s, n, true);
	s->next_ino = OFS_MAX(s->next_ino, r->ino + 1);
	add_entry(s, dir, r->name, n, lsn);
	stamp_dir(s, dir, r->time);
	stamp(s, n, r);
	return 0;
}

static int apply_link(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r)
{
	struct ofs_inode *dir, *n;
	uint64_t from;
	int e;

	e = ofs_store_dir(s, r->dir, &dir);
	if (e == 0)
		e = ofs_store_inode(s, r->ino, &n);
	if (e < 0)
		return e;
	add_entry(s, dir, r->name, n, lsn);
	n->row.nlink++;
	from = n->row.parent;
	n->row.parent = r->dir;
	stamp_dir(s, dir, r->time);
	stamp(s, n, r);
	ofs_class_move_add_renamed(s, n->row.ino, from, r->dir);
	return 0;
}

/* An inode lost one name in `dir`. */
static void lose_name(struct ofs_store *s, struct ofs_inode *dir, struct ofs_inode *n, int64_t time)
{
	if (S_ISDIR(n->row.mode)) {
		n->row.nlink = 0;
		dir->row.nlink--;
	} else {
		n->row.nlink--;
	}
	n->row.ctime = time;
	ofs_store_touch(s, n);
	if (n->row.nlink)
		return;
	n->row.parent = 0;
	ofs_store_count(s, n, false);
	if (!s->replaying && !ofs_store_refs(s, n->row.ino))
		ofs_store_drop_inode(s, n);
}

static void keep_tombstone(struct ofs_store *s, const struct ofs_record *r)
{
	struct ofs_tombstone *t = ofs_alloc(sizeof(*t) + r->value_len);

	t->ino = r->ino;
	t->removed = ofs_seconds(r->time);
	t->len = r->value_len;
	if (t->len)
		memcpy(t->what, r->value, t->len);
	ofs_map_put(&s->tombstones, t->ino, t);
	s->counts.tombstones++;
}

static int apply_unlink(struct ofs_store *s, const struct ofs_record *r)
{
	struct ofs_dirent *entry;
	struct ofs_inode *dir, *n;
	int e = ofs_store_dir(s, r->dir, &dir);

	if (e < 0)
		return e;
	entry = ofs_dir_find(dir->dir, r->name);
	e = entry ? ofs_store_inode(s, entry->ino, &n) : -ENOENT;
	if (e < 0)
		return e;
	if (r->type == OFS_RECORD_EXPIRE && (n->row.ino != r->ino || n->row.nlink != 1))
		return -EUCLEAN;
	ofs_dir_remove(dir->dir, entry, s->epoch);
	stamp_dir(s, dir, r->time);
	lose_name(s, dir, n, r->time);
	if (r->type == OFS_RECORD_EXPIRE)
		keep_tombstone(s, r);
	return 0;
}

static void move_parent(struct ofs_inode *n, struct ofs_inode *from, struct ofs_inode *to)
{
	n->row.parent = to->row.ino;
	if (S_ISDIR(n->row.mode)) {
		from->row.nlink--;
		to->row.nlink++;
	}
}

static int apply_rename(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r)
{
	struct ofs_inode *from, *to, *n, *other = NULL;
	struct ofs_dirent *old, *target;
	int e;

	e = ofs_store_dir(s, r->dir, &from);
	if (e == 0)
		e = ofs_store_dir(s, r->newdir, &to);
	if (e < 0)
		return e;
	old = ofs_dir_find(from->dir, r->name);
	target = ofs_dir_find(to->dir, r->text);
	e = old ? ofs_store_inode(s, old->ino, &n) : -ENOENT;
	if (e == 0 && target)
		e = ofs_store_inode(s, target->ino, &other);
	if (e < 0)
		return e;
	stamp_dir(s, from, r->time);
	stamp_dir(s, to, r->time);
	if (r->flags & RENAME_EXCHANGE) {
		ofs_dir_change(from->dir, old, other->row.ino, type_of(other), s->epoch);
		move_parent(other, to, from);
		stamp(s, other, r);
	} else {
		ofs_dir_remove(from->dir, old, s->epoch);
		if (target)
			lose_name(s, to, other, r->time);
	}
	/* A target keeps its cookie: a reader of the directory meets the name once. */
	if (target)
		ofs_dir_change(to->dir, target, n->row.ino, type_of(n), s->epoch);
	else
		add_entry(s, to, r->text, n, lsn);
	move_parent(n, from, to);
	stamp(s, n, r);
	ofs_class_move_add_renamed(s, n->row.ino, from->row.ino, to->row.ino);
	if (r->flags & RENAME_EXCHANGE)
		ofs_class_move_add_renamed(s, other->row.ino, to->row.ino, from->row.ino);
	return 0;
}

/* A change that leaves no draft leaves a mark. */
static void content_changed(struct ofs_store *s, struct ofs_inode *n, const struct ofs_record *r)
{
	n->row.mtime = r->time;
	stamp(s, n, r);
	ofs_content_map_mark(&n->content, s->epoch);
	ofs_store_content_changed(s, n);
}

static int apply_write(struct ofs_store *s, const struct ofs_record *r,
		       const struct ofs_journal_data *data)
{
	struct ofs_extent extent = { .off = r->size, .len = data->len, .data = *data };
	struct ofs_inode *n;
	int e;

	e = ofs_store_file(s, r->ino, &n);
	if (e < 0)
		return e;
	ofs_content_map_cover(&n->content, &extent, s->epoch);
	ofs_store_set_size(s, n, OFS_MAX(n->row.size, extent.off + extent.len));
	content_changed(s, n, r);
	return 0;
}

static int apply_setattr(struct ofs_store *s, const struct ofs_record *r)
{
	struct ofs_inode *n;
	int e;

	e = r->flags & OFS_SET_SIZE ? ofs_store_file(s, r->ino, &n)
				    : ofs_store_inode(s, r->ino, &n);
	if (e < 0)
		return e;
	if (r->flags & OFS_SET_MODE)
		n->row.mode = (n->row.mode & S_IFMT) | (r->mode & ~(uint32_t)S_IFMT);
	if (r->flags & OFS_SET_UID)
		n->row.uid = r->uid;
	if (r->flags & OFS_SET_GID)
		n->row.gid = r->gid;
	if (r->flags & OFS_SET_SIZE) {
		if (r->size < n->row.size)
			ofs_content_map_truncate(&n->content, r->size, s->epoch);
		if (r->size != n->row.size) {
			ofs_store_set_size(s, n, r->size);
			ofs_content_map_mark(&n->content, s->epoch);
			ofs_store_content_changed(s, n);
		}
		n->row.mtime = r->time;
	}
	if (r->flags & OFS_SET_ATIME)
		n->row.atime = r->atime;
	if (r->flags & OFS_SET_MTIME)
		n->row.mtime = r->mtime;
	stamp(s, n, r);
	return 0;
}

static int apply_zero(struct ofs_store *s, const struct ofs_record *r)
{
	uint64_t end = r->size + r->len, to = end;
	struct ofs_inode *n;
	int e;

	e = ofs_store_file(s, r->ino, &n);
	if (e < 0)
		return e;
	/* Of the last block nothing is left when its content ends in the range. */
	if (end >= n->row.size)
		to = ofs_align_up(end, OFS_BLOCK_SIZE);
	ofs_content_map_zero(&n->content, r->size, to, s->epoch);
	if (r->flags & OFS_ZERO_GROW)
		ofs_store_set_size(s, n, OFS_MAX(n->row.size, end));
	content_changed(s, n, r);
	return 0;
}

/*
 * By whole blocks (copy.c sees to that), since those can be copied whatever they are made of: what
 * was a chunk when the record was made may be drafts still in replay.
 */
static int apply_copy(struct ofs_store *s, const struct ofs_record *r)
{
	uint64_t end = r->size + r->len;
	struct ofs_inode *from, *n;
	bool same;
	int e;

	e = ofs_store_file(s, r->from, &from);
	if (e == 0)
		e = ofs_store_file(s, r->ino, &n);
	if (e < 0)
		return e;
	ofs_content_map_copy(&n->content, r->size / OFS_BLOCK_SIZE, &from->content,
			     r->from_off / OFS_BLOCK_SIZE,
			     ofs_align_up(r->len, OFS_BLOCK_SIZE) / OFS_BLOCK_SIZE, s->epoch);
	ofs_store_set_size(s, n, OFS_MAX(n->row.size, end));
	ofs_class_move_add_renamed(s, n->row.ino, from->row.parent, n->row.parent);
	same = !r->size && !r->from_off && r->len == from->row.size && r->len == n->row.size;
	if (!same || from->on_draft_list || n->on_draft_list) {
		content_changed(s, n, r);
		return 0;
	}
	/* It is sealed as the other is, and what is known of that is true of it. */
	n->row.has_sha = from->row.has_sha;
	memcpy(n->row.sha, from->row.sha, sizeof(n->row.sha));
	n->row.lines = from->row.lines;
	n->row.mtime = r->time;
	n->version = s->next_version++;
	stamp(s, n, r);
	return 0;
}

static int apply_xattr(struct ofs_store *s, const struct ofs_record *r)
{
	struct ofs_inode *n;
	int e;

	e = ofs_store_xattrs(s, r->ino, &n);
	if (e < 0)
		return e;
	if (r->type == OFS_RECORD_SETXATTR)
		ofs_xattr_set(&n->xattrs, r->name, r->value, r->value_len);
	else
		ofs_xattr_remove(&n->xattrs, r->name);
	n->xattrs_epoch = s->epoch;
	stamp(s, n, r);
	return 0;
}

int ofs_store_apply(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r,
		    const struct ofs_journal_data *data)
{
	switch (r->type) {
	case OFS_RECORD_CREATE:
		return apply_create(s, lsn, r);
	case OFS_RECORD_LINK:
		return apply_link(s, lsn, r);
	case OFS_RECORD_UNLINK:
	case OFS_RECORD_EXPIRE:
		return apply_unlink(s, r);
	case OFS_RECORD_RENAME:
		return apply_rename(s, lsn, r);
	case OFS_RECORD_WRITE:
		return apply_write(s, r, data);
	case OFS_RECORD_SETATTR:
		return apply_setattr(s, r);
	case OFS_RECORD_SETXATTR:
	case OFS_RECORD_REMOVEXATTR:
		return apply_xattr(s, r);
	case OFS_RECORD_ZERO:
		return apply_zero(s, r);
	case OFS_RECORD_COPY:
		return apply_copy(s, r);
	}
	return -EUCLEAN;
}

/* Or at least leads to none being used. */
static bool frees_space(uint8_t type)
{
	return type == OFS_RECORD_UNLINK || type == OFS_RECORD_EXPIRE ||
	       type == OFS_RECORD_RENAME || type == OFS_RECORD_SETATTR ||
	       type == OFS_RECORD_REMOVEXATTR || type == OFS_RECORD_ZERO;
}

/* On a full disk what frees space may have the room that was set aside for it. */
static int append(struct ofs_store *s, const struct ofs_journal_record *record, ofs_lsn *ret_lsn,
		  struct ofs_journal_data *ret_where)
{
	int e;

	if (!frees_space(record->type) && ofs_reserve_is_tight(s))
		return -ENOSPC;
	e = ofs_journal_append(s->journal, record, ret_lsn, ret_where);
	if (ofs_store_is_full(e) && frees_space(record->type) && ofs_reserve_release(s))
		e = ofs_journal_append(s->journal, record, ret_lsn, ret_where);
	return e;
}

int ofs_store_log(struct ofs_store *s, struct ofs_record *r, const void *data, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
	struct ofs_journal_record record = { .type = r->type, .data = data, .data_len = len };
	struct ofs_journal_data where = { 0 };
	ofs_lsn lsn;
	int e;

	if (s->broken)
		return -EIO;
	r->time = ofs_clock_wall();
	e = ofs_record_encode(r, &body);
	if (e < 0)
		return e;
	record.body = body.data;
	record.body_len = body.len;
	e = append(s, &record, &lsn, &where);
	if (e < 0)
		return e;
	s->changes++;
	s->name_changes += r->type == OFS_RECORD_RENAME || r->type == OFS_RECORD_LINK ||
			   r->type == OFS_RECORD_SETXATTR || r->type == OFS_RECORD_REMOVEXATTR;
	e = ofs_store_apply(s, lsn, r, &where);
	if (e < 0) {
		ofs_log(LOG_ERR,
			"record %u could not be applied (%s); the store is read-only until the next "
			"start",
			r->type, strerror(-e));
		s->broken = true;
	}
	return e;
}
