/* SPDX-License-Identifier: MIT */
/* What an inode and its place determine: attributes, counts, the class of its content. */
#include <sys/stat.h>

#include "store/store_state.h"

void ofs_store_count(struct ofs_store *s, const struct ofs_inode *n, bool named)
{
	uint64_t one = named ? 1 : UINT64_MAX; /* sums wrap around */

	if (S_ISREG(n->row.mode)) {
		s->counts.files += one;
		s->counts.bytes += one * n->row.size;
	} else if (S_ISDIR(n->row.mode)) {
		s->counts.dirs += one;
	} else {
		s->counts.others += one;
	}
	ofs_region_count(s, n->row.parent, n, named ? 1 : -1);
}

void ofs_store_set_size(struct ofs_store *s, struct ofs_inode *n, uint64_t size)
{
	if (n->row.nlink) {
		s->counts.bytes += size - n->row.size;
		ofs_region_grow(s, n, n->row.size, size);
	}
	n->row.size = size;
}

/* Bytes of a regular file that are in no hole; a file of one block counts as a whole. */
static uint64_t data_bytes(struct ofs_store *s, struct ofs_inode *n)
{
	uint64_t size = n->row.size, off = 0, end, sum = 0;
	bool data;

	if (size <= OFS_BLOCK_SIZE || (!n->content.loaded && ofs_store_file(s, n->row.ino, &n) < 0))
		return size;
	if (n->data_version == n->version)
		return n->data;
	for (; off < size; off = end) {
		end = ofs_content_map_stretch(&n->content, off, size, &data);
		sum += data ? end - off : 0;
	}
	n->data_version = n->version;
	return n->data = sum;
}

uint64_t ofs_store_parent(struct ofs_store *s, uint64_t ino)
{
	struct ofs_inode *n;

	OFS_LOCKED(&s->lock);
	return ofs_store_inode(s, ino, &n) == 0 && n->row.nlink ? n->row.parent : 0;
}

bool ofs_store_blocks_vary(struct ofs_store *s, uint64_t ino)
{
	struct ofs_inode *n;

	OFS_LOCKED(&s->lock);
	return !s->blocks_data || ofs_store_inode(s, ino, &n) < 0 || n->row.size > OFS_BLOCK_SIZE;
}

void ofs_store_attr(struct ofs_store *s, struct ofs_inode *n, struct ofs_attr *ret)
{
	uint64_t region = ofs_region_of(s, n);
	bool data = s->blocks_data || region != OFS_ROOT_INO;
	const struct ofs_index_inode *row = &n->row;
	uint64_t occupied = (row->size ? row->stored : 0) + n->content.draft_bytes;

	*ret = (struct ofs_attr){
		.ino = row->ino,
		.parent = row->parent,
		.region = region,
		.mode = row->mode,
		.uid = row->uid,
		.gid = row->gid,
		.nlink = row->nlink,
		.rdev = row->rdev,
		.size = row->size,
		.atime = row->atime,
		.mtime = row->mtime,
		.ctime = row->ctime,
		.btime = row->btime,
		.used = row->used,
		.seen = n->seen,
		.held = ofs_store_refs(s, row->ino),
		.occupied = occupied,
		.shown = data && S_ISREG(row->mode) ? data_bytes(s, n) : occupied,
		.version = n->version,
		.tokens = row->size ? row->tokens : 0,
		.sealed = row->size && !n->on_draft_list,
	};
}

/* ---- classes */

/*
 * Gets the directory just below the root of the region in which `dir` lies, on the way to `dir`,
 * and the one below that; 0: none.
 */
static void class_chain(struct ofs_store *s, uint64_t dir, uint64_t *ret_top, uint64_t *ret_second)
{
	struct ofs_inode *n;

	*ret_top = *ret_second = 0;
	while (dir && !ofs_region_is(s, dir) && ofs_store_inode(s, dir, &n) == 0) {
		*ret_second = *ret_top;
		*ret_top = dir;
		dir = n->row.parent;
	}
}

void ofs_class_move_add_renamed(struct ofs_store *s, uint64_t ino, uint64_t from, uint64_t to)
{
	uint64_t top, second, new_top, new_second;

	class_chain(s, from, &top, &second);
	class_chain(s, to, &new_top, &new_second);
	/* In replay there are no regions: either directory may have been in one. */
	if (top != new_top || second != new_second || (s->replaying && from != to))
		ofs_class_move_add(s, ino);
}

void ofs_class_move_add(struct ofs_store *s, uint64_t ino)
{
	*ofs_append(s->moves, s->nmoves, s->cap_moves) = (struct ofs_class_move){ ino, s->epoch };
	s->unsettled = true;
}

uint32_t ofs_store_class(struct ofs_store *s, uint64_t ino)
{
	uint64_t top = 0, second = 0;
	struct ofs_inode *n;

	pthread_mutex_lock(&s->lock);
	if (ofs_store_inode(s, ino, &n) == 0)
		class_chain(s, S_ISDIR(n->row.mode) ? ino : n->row.parent, &top, &second);
	pthread_mutex_unlock(&s->lock);
	return s->classify ? s->classify(s->events_arg, top, second) : 0;
}
