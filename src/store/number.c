/* SPDX-License-Identifier: MIT */
#include "store/number.h"

#include <sys/stat.h>

#include "store/record.h"
#include "store/store_state.h"

/*
 * A number up to this far above `next_ino` was given in turn: the records before it are lost, or
 * another host logged it after a leap (replication.c). A brought number lies there only by a rare
 * chance; then those below it are not given.
 */
#define NUMBER_NEAR (UINT64_C(1) << 25)

void ofs_store_note_number(struct ofs_store *s, uint64_t ino)
{
	if (ino < s->next_ino)
		return;
	if (ino - s->next_ino < NUMBER_NEAR)
		s->next_ino = ino + 1;
	else
		s->ino_ahead = OFS_MIN(s->ino_ahead, ino);
}

/* Finds the first number from `next_ino` on that is or was in use. 0 or -errno. */
static int look_ahead(struct ofs_store *s)
{
	const struct ofs_tombstone *t;
	const struct ofs_inode *n;
	uint64_t first;
	size_t pos = 0;
	int r;

	if (s->ino_ahead >= s->next_ino)
		return 0;
	r = ofs_index_first_number(s->index, s->next_ino, &first);
	if (r < 0)
		return r;
	while ((n = ofs_map_next(&s->inodes, &pos)))
		if (n->row.ino >= s->next_ino)
			first = OFS_MIN(first, n->row.ino);
	pos = 0;
	while ((t = ofs_map_next(&s->tombstones, &pos)))
		if (t->ino >= s->next_ino)
			first = OFS_MIN(first, t->ino);
	s->ino_ahead = first;
	return 0;
}

int ofs_store_next_number(struct ofs_store *s, uint64_t *ret)
{
	int r = look_ahead(s);

	while (r == 0 && s->next_ino == s->ino_ahead) {
		s->next_ino++;
		r = look_ahead(s);
	}
	*ret = s->next_ino;
	return r;
}

uint64_t ofs_store_clear_number(struct ofs_store *s)
{
	while (look_ahead(s) == 0 && s->ino_ahead - s->next_ino < OFS_NUMBER_GAP)
		s->next_ino = s->ino_ahead + 1;
	return s->next_ino;
}

int ofs_store_check_number(struct ofs_store *s, const struct ofs_create *what)
{
	struct ofs_inode *n = ofs_map_get(&s->inodes, what->ino);
	int r;

	if (s->read_only)
		return -EROFS;
	if (what->ino <= OFS_ROOT_INO || (what->ino < s->next_ino && !what->again))
		return -EEXIST;
	if (n && n->gone)
		return -EAGAIN;
	r = ofs_store_inode(s, what->ino, &n);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return n->row.nlink || !S_ISREG(n->row.mode) ? -EEXIST : -EBUSY;
}

int ofs_store_find_former(struct ofs_store *s, const struct ofs_record *r, struct ofs_inode **ret)
{
	struct ofs_inode *n;
	int e;

	*ret = NULL;
	/* Mostly it is the next number, which costs nothing. A gone inode has lost its content. */
	if (r->ino == s->next_ino)
		return 0;
	n = ofs_map_get(&s->inodes, r->ino);
	if (!n || !n->gone) {
		e = ofs_store_inode(s, r->ino, &n);
		if (e < 0)
			return e == -ENOENT ? 0 : e;
	}
	if (n->row.nlink || !S_ISREG(n->row.mode) || !S_ISREG(r->mode))
		return -EEXIST;
	n->gone = false;
	e = ofs_store_file(s, r->ino, &n);
	if (e == 0)
		e = ofs_store_xattrs(s, r->ino, &n);
	if (e == 0)
		*ret = n;
	return e;
}

void ofs_store_renew_inode(struct ofs_store *s, struct ofs_inode *n)
{
	ofs_content_map_truncate(&n->content, 0, s->epoch);
	ofs_buf_finish(&n->xattrs);
	n->xattrs = (struct ofs_buf)OFS_BUF_INIT;
	n->xattrs_epoch = s->epoch;
	n->row = (struct ofs_index_inode){ .ino = n->row.ino, .lines = -1, .tokens = -1 };
	n->unsealed = n->resealed = false;
	n->version = s->next_version++;
}
