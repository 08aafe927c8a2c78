/* SPDX-License-Identifier: MIT */
/* Applying journal records to memory, live and in replay. */
#include "store/record.h"

#include <dirent.h>
#include <stdio.h>

#include <offloadfs/tree.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/ledger.h"
#include "store/number.h"
#include "store/store_state.h"

/* Stamps a directory that gained or lost an entry, which does not count as a use of it. */
static void stamp_dir(struct ofs_store *s, struct ofs_inode *dir, int64_t time)
{
	dir->row.mtime = dir->row.ctime = time;
	ofs_store_touch(s, dir);
}

/* Stamps an inode that the record changes, which counts as a use of it. */
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
 * Cookies grow within a directory. So does the position of the record, except after names that a
 * repair has put last.
 */
static void add_entry(struct ofs_store *s, struct ofs_inode *dir, const char *name,
		      const struct ofs_inode *n, ofs_lsn lsn)
{
	const struct ofs_dir *d = dir->dir;
	uint64_t cookie = d->norder ? OFS_MAX(lsn, d->order[d->norder - 1].cookie + 1) : lsn;

	ofs_dir_add(dir->dir, name, n->row.ino, type_of(n), cookie, s->epoch);
	ofs_store_weigh(s, OFS_WEIGHT_DIRENT);
}

/* A record and what it touches. */
struct change {
	const struct ofs_record *r;
	ofs_lsn lsn;
	const struct ofs_journal_data *data;
	struct ofs_inode *dir, *newdir;
	struct ofs_dirent *entry, *newentry; /* at the record's names in these; NULL: none */
	struct ofs_inode *n; /* what is changed, created, renamed or removed */
	struct ofs_ledger_row *row; /* LEDGER */
	struct ofs_inode *other; /* RENAME: what newentry names, NULL: none; COPY: the source */
};

static int load_entries(struct ofs_store *s, struct change *c)
{
	const struct ofs_record *r = c->r;
	int e = ofs_store_dir(s, r->dir, &c->dir);

	if (e < 0)
		return e;
	c->entry = ofs_dir_find(c->dir->dir, r->name);
	if (r->type == OFS_RECORD_CREATE)
		return c->entry ? -EEXIST : ofs_store_find_former(s, r, &c->n);
	if (r->type == OFS_RECORD_LINK)
		return ofs_store_inode(s, r->ino, &c->n);
	e = c->entry ? ofs_store_inode(s, c->entry->ino, &c->n) : -ENOENT;
	if (e < 0 || r->type == OFS_RECORD_UNLINK)
		return e;
	if (r->type == OFS_RECORD_EXPIRE)
		return c->n->row.ino != r->ino || c->n->row.nlink != 1 ? -EUCLEAN : 0;
	e = ofs_store_dir(s, r->newdir, &c->newdir);
	if (e < 0)
		return e;
	c->newentry = ofs_dir_find(c->newdir->dir, r->text);
	if (c->newentry)
		return ofs_store_inode(s, c->newentry->ino, &c->other);
	return r->flags & RENAME_EXCHANGE ? -ENOENT : 0;
}

static bool is_too_large(uint64_t off, uint64_t len)
{
	return off > (uint64_t)OFS_SIZE_MAX || len > (uint64_t)OFS_SIZE_MAX - off;
}

/* Whoever logs has checked this, but the log of another host may be made by hand. */
static bool is_sane(const struct ofs_record *r, const struct ofs_journal_data *data)
{
	switch (r->type) {
	case OFS_RECORD_CREATE:
	case OFS_RECORD_LINK:
		return ofs_dir_check_name(r->name) == 0;
	case OFS_RECORD_RENAME:
		return ofs_dir_check_name(r->text) == 0;
	case OFS_RECORD_WRITE:
		return !is_too_large(r->size, data->len);
	case OFS_RECORD_ZERO:
		return !is_too_large(r->size, r->len);
	case OFS_RECORD_COPY:
		return !is_too_large(r->size, r->len) && !is_too_large(r->from_off, r->len) &&
		       r->size % OFS_BLOCK_SIZE == 0 && r->from_off % OFS_BLOCK_SIZE == 0;
	case OFS_RECORD_SETATTR:
		return !(r->flags & OFS_SET_SIZE) || !is_too_large(r->size, 0);
	}
	return true;
}

/* Does all that can fail, so that applying the record cannot. */
static int load(struct ofs_store *s, struct change *c)
{
	const struct ofs_record *r = c->r;
	int e;

	switch (r->type) {
	case OFS_RECORD_CREATE:
	case OFS_RECORD_LINK:
	case OFS_RECORD_UNLINK:
	case OFS_RECORD_EXPIRE:
	case OFS_RECORD_RENAME:
		return load_entries(s, c);
	case OFS_RECORD_WRITE:
	case OFS_RECORD_ZERO:
		return ofs_store_file(s, r->ino, &c->n);
	case OFS_RECORD_COPY:
		e = ofs_store_file(s, r->from, &c->other);
		return e < 0 ? e : ofs_store_file(s, r->ino, &c->n);
	case OFS_RECORD_SETATTR:
		return r->flags & OFS_SET_SIZE ? ofs_store_file(s, r->ino, &c->n)
					       : ofs_store_inode(s, r->ino, &c->n);
	case OFS_RECORD_SETXATTR:
	case OFS_RECORD_REMOVEXATTR:
		return ofs_store_xattrs(s, r->ino, &c->n);
	case OFS_RECORD_LEDGER:
		e = ofs_ledger_load(s, (int64_t)r->dir, r->name, true, &c->row);
		return OFS_MIN(e, 0);
	}
	return -EUCLEAN;
}

static void apply_create(struct ofs_store *s, const struct change *c)
{
	const struct ofs_record *r = c->r;
	struct ofs_inode *dir = c->dir;
	struct ofs_inode *n = c->n ? c->n : ofs_store_add_inode(s, r->ino);

	if (c->n)
		ofs_store_renew_inode(s, n);
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
	/* The index has nothing of a new inode. */
	n->content.loaded = true;
	n->xattrs_loaded = true;
	if (S_ISDIR(r->mode)) {
		n->dir = ofs_dir_create();
		dir->row.nlink++;
	}
	ofs_store_count(s, n, true);
	ofs_store_note_number(s, r->ino);
	add_entry(s, dir, r->name, n, c->lsn);
	stamp_dir(s, dir, r->time);
	stamp(s, n, r);
}

static void apply_link(struct ofs_store *s, const struct change *c)
{
	const struct ofs_record *r = c->r;
	struct ofs_inode *n = c->n;
	uint64_t from = n->row.parent;

	add_entry(s, c->dir, r->name, n, c->lsn);
	n->row.nlink++;
	n->row.parent = r->dir;
	stamp_dir(s, c->dir, r->time);
	stamp(s, n, r);
	ofs_class_move_add_renamed(s, n->row.ino, from, r->dir);
}

/* Takes one name in `dir` from an inode. */
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
	/* Its last name was in `dir`, where it stops being counted, whatever its parent was. */
	if (!n->row.nlink)
		n->row.parent = dir->row.ino;
	else if (n->row.parent == dir->row.ino && !ofs_dir_find_ino(dir->dir, n->row.ino))
		ofs_region_keep(s, dir, n);
	if (n->row.nlink)
		return;
	ofs_store_count(s, n, false);
	n->row.parent = 0;
	if (!s->replaying && !ofs_store_refs(s, n->row.ino))
		ofs_store_drop_inode(s, n);
}

static void keep_tombstone(struct ofs_store *s, const struct ofs_record *r)
{
	struct ofs_tombstone *t = ofs_alloc(sizeof(*t) + r->value_len);
	OFS_FREE struct ofs_tombstone *former = ofs_map_remove(&s->tombstones, r->ino);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf what = OFS_BUF_INIT;

	/* It replaces the tombstone of an earlier file with this number. */
	t->former = former ? former->former : INT64_MAX;
	if (!former && ofs_index_get_tombstone(s->index, r->ino, &what, &t->former) < 0)
		s->counts.tombstones++;
	t->ino = r->ino;
	t->removed = ofs_seconds(r->time);
	t->len = r->value_len;
	if (t->len)
		memcpy(t->what, r->value, t->len);
	ofs_map_put(&s->tombstones, t->ino, t);
}

static void apply_unlink(struct ofs_store *s, const struct change *c)
{
	const struct ofs_record *r = c->r;

	ofs_dir_remove(c->dir->dir, c->entry, s->epoch);
	stamp_dir(s, c->dir, r->time);
	lose_name(s, c->dir, c->n, r->time);
	if (r->type == OFS_RECORD_EXPIRE)
		keep_tombstone(s, r);
}

/* Moves an inode to another directory, where its content may belong to another class. */
static void move_parent(struct ofs_store *s, struct ofs_inode *n, struct ofs_inode *from,
			struct ofs_inode *to, const struct ofs_record *r)
{
	ofs_region_move(s, n, from->row.ino, to->row.ino);
	n->row.parent = to->row.ino;
	if (S_ISDIR(n->row.mode)) {
		from->row.nlink--;
		to->row.nlink++;
	}
	stamp(s, n, r);
	ofs_class_move_add_renamed(s, n->row.ino, from->row.ino, to->row.ino);
}

static void apply_rename(struct ofs_store *s, const struct change *c)
{
	const struct ofs_record *r = c->r;
	struct ofs_inode *from = c->dir, *to = c->newdir, *n = c->n, *other = c->other;

	stamp_dir(s, from, r->time);
	stamp_dir(s, to, r->time);
	if (r->flags & RENAME_EXCHANGE)
		ofs_dir_change(from->dir, c->entry, other->row.ino, type_of(other), s->epoch);
	else
		ofs_dir_remove(from->dir, c->entry, s->epoch);
	/* An entry that is replaced keeps its cookie: a reader of the directory meets it once. */
	if (other)
		ofs_dir_change(to->dir, c->newentry, n->row.ino, type_of(n), s->epoch);
	else
		add_entry(s, to, r->text, n, c->lsn);
	if (other && !(r->flags & RENAME_EXCHANGE))
		lose_name(s, to, other, r->time);
	move_parent(s, n, from, to, r);
	if (r->flags & RENAME_EXCHANGE)
		move_parent(s, other, to, from, r);
}

/* Notes a change of content; if it leaves no draft, it leaves a mark. */
static void content_changed(struct ofs_store *s, struct ofs_inode *n, const struct ofs_record *r)
{
	n->row.mtime = r->time;
	stamp(s, n, r);
	ofs_content_map_mark(&n->content, s->epoch);
	ofs_store_content_changed(s, n);
}

static void apply_write(struct ofs_store *s, const struct change *c)
{
	const struct ofs_record *r = c->r;
	struct ofs_inode *n = c->n;
	struct ofs_extent extent = { .off = r->size, .len = c->data->len, .data = *c->data };

	/* Where records are lost, a gap before the write may be theirs. */
	if (s->replaying && s->damage.lost && extent.off > n->row.size) {
		struct ofs_extent hole = { .off = n->row.size,
					   .len = extent.off - n->row.size,
					   .data.pos = OFS_LOST_POS };

		ofs_content_map_cover(&n->content, &hole, s->epoch);
	}
	ofs_content_map_cover(&n->content, &extent, s->epoch);
	ofs_store_set_size(s, n, OFS_MAX(n->row.size, extent.off + extent.len));
	content_changed(s, n, r);
}

static void apply_setattr(struct ofs_store *s, const struct change *c)
{
	const struct ofs_record *r = c->r;
	struct ofs_inode *n = c->n;

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
}

static void apply_zero(struct ofs_store *s, const struct change *c)
{
	const struct ofs_record *r = c->r;
	struct ofs_inode *n = c->n;
	uint64_t end = r->size + r->len, to = end;

	/* If the file ends within the range, nothing is left of its last block. */
	if (end >= n->row.size)
		to = ofs_align_up(end, OFS_BLOCK_SIZE);
	ofs_content_map_zero(&n->content, r->size, to, s->epoch);
	if (r->flags & OFS_ZERO_GROW)
		ofs_store_set_size(s, n, OFS_MAX(n->row.size, end));
	content_changed(s, n, r);
}

/*
 * Copies whole blocks, as write.c ensures: these can be copied whatever they are made of. What was
 * a chunk when the record was made may still be drafts in replay.
 */
static void apply_copy(struct ofs_store *s, const struct change *c)
{
	const struct ofs_record *r = c->r;
	const struct ofs_inode *from = c->other;
	struct ofs_inode *n = c->n;
	uint64_t end = r->size + r->len;
	bool same;

	ofs_content_map_copy(&n->content, r->size / OFS_BLOCK_SIZE, &from->content,
			     r->from_off / OFS_BLOCK_SIZE,
			     ofs_align_up(r->len, OFS_BLOCK_SIZE) / OFS_BLOCK_SIZE, s->epoch);
	ofs_store_weigh(s, r->len / OFS_BLOCK_SIZE * sizeof(struct ofs_block));
	ofs_store_set_size(s, n, OFS_MAX(n->row.size, end));
	ofs_class_move_add_renamed(s, n->row.ino, from->row.parent, n->row.parent);
	same = !r->size && !r->from_off && r->len == from->row.size && r->len == n->row.size;
	if (!same || from->on_draft_list || n->on_draft_list) {
		content_changed(s, n, r);
		return;
	}
	/* The copy is sealed like its source, and all that is known of the source holds for it. */
	n->row.has_sha = from->row.has_sha;
	memcpy(n->row.sha, from->row.sha, sizeof(n->row.sha));
	n->row.lines = from->row.lines;
	n->row.tokens = from->row.tokens;
	n->row.mtime = r->time;
	n->version = s->next_version++;
	n->unsealed = true;
	ofs_store_content_sealed(s, n);
	stamp(s, n, r);
}

static void apply_xattr(struct ofs_store *s, const struct change *c)
{
	const struct ofs_record *r = c->r;
	struct ofs_inode *n = c->n;

	if (r->type == OFS_RECORD_SETXATTR) {
		ofs_xattr_set(&n->xattrs, r->name, r->value, r->value_len);
		ofs_store_weigh(s, r->value_len);
	} else {
		ofs_xattr_remove(&n->xattrs, r->name);
	}
	n->xattrs_epoch = s->epoch;
	stamp(s, n, r);
}

static void apply_ledger(struct ofs_store *s, const struct change *c)
{
	ofs_ledger_apply(s, c->row, c->r);
}

int ofs_store_apply(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r,
		    const struct ofs_journal_data *data)
{
	static void (*const apply[])(struct ofs_store * s, const struct change *c) = {
		[OFS_RECORD_CREATE] = apply_create,  [OFS_RECORD_LINK] = apply_link,
		[OFS_RECORD_UNLINK] = apply_unlink,  [OFS_RECORD_RENAME] = apply_rename,
		[OFS_RECORD_WRITE] = apply_write,    [OFS_RECORD_SETATTR] = apply_setattr,
		[OFS_RECORD_SETXATTR] = apply_xattr, [OFS_RECORD_REMOVEXATTR] = apply_xattr,
		[OFS_RECORD_ZERO] = apply_zero,	     [OFS_RECORD_COPY] = apply_copy,
		[OFS_RECORD_EXPIRE] = apply_unlink,  [OFS_RECORD_LEDGER] = apply_ledger,
	};
	struct change c = { .r = r, .lsn = lsn, .data = data };
	int e = is_sane(r, data) ? load(s, &c) : -EUCLEAN;

	if (e == 0)
		apply[r->type](s, &c);
	return e;
}

/* The record frees space, or leads to less being used. */
static bool frees_space(uint8_t type)
{
	return type == OFS_RECORD_UNLINK || type == OFS_RECORD_EXPIRE ||
	       type == OFS_RECORD_RENAME || type == OFS_RECORD_SETATTR ||
	       type == OFS_RECORD_REMOVEXATTR || type == OFS_RECORD_ZERO;
}

/* On a full disk, a record that frees space may use the reserve. */
static int append(struct ofs_store *s, const struct ofs_journal_record *record, ofs_lsn *ret_lsn,
		  struct ofs_journal_data *ret_where)
{
	int e;

	if (!frees_space(record->type) && ofs_reserve_is_tight(s))
		return -ENOSPC;
	e = ofs_journal_append(s->journal, record, ret_lsn, ret_where);
	if (ofs_store_is_full(e) && frees_space(record->type) && ofs_reserve_release(s)) {
		e = ofs_journal_append(s->journal, record, ret_lsn, ret_where);
		/* The next change is refused only if the disk is still full. */
		ofs_reserve_fill(s);
	}
	return e;
}

void ofs_store_tell_news(struct ofs_store *s)
{
	if (s->news)
		s->news(s->news_arg);
	s->news = NULL;
}

int ofs_store_log(struct ofs_store *s, struct ofs_record *r, const void *data, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
	struct ofs_journal_record record = { .type = r->type, .data = data, .data_len = len };
	struct ofs_journal_data where = { 0 };
	ofs_lsn lsn;
	int e;

	if (s->read_only)
		return -EROFS;
	if (!ofs_store_was_whole(s))
		return -EIO;
	r->time = ofs_clock_wall();
	e = ofs_record_encode(r, &body);
	if (e < 0)
		return e;
	record.body = body.data;
	record.body_len = body.len;
	e = append(s, &record, &lsn, &where);
	if (e == -EROFS) {
		ofs_store_break(s, OFS_STORE_ON_READ_ONLY);
		e = -EIO;
	}
	if (e < 0)
		return e;
	s->changes++;
	ofs_store_tell_news(s);
	s->name_changes += r->type == OFS_RECORD_RENAME || r->type == OFS_RECORD_LINK ||
			   r->type == OFS_RECORD_SETXATTR || r->type == OFS_RECORD_REMOVEXATTR;
	e = ofs_store_apply(s, lsn, r, &where);
	if (e < 0) {
		ofs_log(LOG_ERR, "record %u: %s", r->type, strerror(-e));
		ofs_store_break(s, "a change could not be applied and is only in the journal");
	}
	return e;
}
