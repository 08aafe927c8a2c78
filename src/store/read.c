/* SPDX-License-Identifier: MIT */
/* Reading content through its map. */
#include "store/read.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "io/file.h"
#include "store/store_state.h"

static int fetch_chunk(struct ofs_store *s, const struct ofs_piece *p, uint8_t *to)
{
	struct ofs_frame_loc loc = ofs_loc_of_chunk(&p->chunk);
	uint64_t from = (uint64_t)p->chunk.off + p->chunk_off;
	struct ofs_frame *frame;
	int r;

	r = ofs_packset_read(s->packs, &loc, &frame);
	if (r < 0)
		return r;
	if (from + p->len > ofs_frame_size(frame))
		r = -EIO;
	else
		memcpy(to, ofs_frame_data(frame) + from, p->len);
	ofs_frame_unref(frame);
	return r;
}

static int fetch_piece(struct ofs_store *s, const struct ofs_piece *p, uint8_t *to)
{
	switch (p->kind) {
	case OFS_PIECE_ZERO:
		memset(to, 0, p->len);
		return 0;
	case OFS_PIECE_DRAFT:
		return ofs_journal_read(s->journal, &p->data, p->data_off, to, (uint32_t)p->len);
	case OFS_PIECE_CHUNK:
		return fetch_chunk(s, p, to);
	}
	return -EIO;
}

static int lost_add(struct ofs_block_state *st, uint64_t off, uint64_t len)
{
	struct ofs_extent *e;

	st->lost = ofs_grow(st->lost, &st->cap_lost, st->nlost + 1, sizeof(*st->lost));
	e = &st->lost[st->nlost++];
	*e = (struct ofs_extent){ .off = off, .len = len, .data = { OFS_LOST_POS, 0 } };
	e->data.len = (uint32_t)len;
	return 0;
}

static ssize_t map_block(struct ofs_store *s, uint64_t ino, uint64_t i, struct ofs_pieces *ret,
			 struct ofs_block_state *ret_state)
{
	uint64_t off = i * OFS_BLOCK_SIZE;
	struct ofs_inode *n;
	ssize_t r;

	pthread_mutex_lock(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r == 0 && off >= n->row.size)
		r = -ESTALE;
	if (r == 0) {
		r = (ssize_t)OFS_MIN(OFS_BLOCK_SIZE, n->row.size - off);
		ofs_content_map_resolve(&n->content, off, (uint64_t)r, ret);
		ret_state->version = n->version;
		ret_state->chunk = ofs_content_map_chunk(&n->content, i);
		ret_state->drafts =
			ofs_content_map_fingerprint(&n->content, off, off + OFS_BLOCK_SIZE);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

ssize_t ofs_store_read_block(struct ofs_store *s, uint64_t ino, uint64_t i, uint8_t *buf,
			     struct ofs_block_state *ret)
{
	OFS_CLEANUP(ofs_pieces_finish) struct ofs_pieces pieces = { 0 };
	ssize_t len;
	size_t k;
	int r = 0;

	*ret = (struct ofs_block_state){ 0 };
	pthread_rwlock_rdlock(&s->reclaim);
	len = map_block(s, ino, i, &pieces, ret);
	for (k = 0; len >= 0 && k < pieces.n && r == 0; k++) {
		const struct ofs_piece *p = &pieces.list[k];

		r = fetch_piece(s, p, buf + p->at);
		if (r != -EIO)
			continue;
		memset(buf + p->at, 0, p->len);
		r = lost_add(ret, i * OFS_BLOCK_SIZE + p->at, p->len);
	}
	pthread_rwlock_unlock(&s->reclaim);
	if (r < 0)
		ofs_block_state_finish(ret);
	return r < 0 ? r : len;
}

void ofs_block_state_finish(struct ofs_block_state *st)
{
	free(st->lost);
	*st = (struct ofs_block_state){ 0 };
}

/* Lists what a read needs; returns its length. `reclaim` is held, `lock` is not. */
static ssize_t map_read(struct ofs_store *s, uint64_t ino, size_t size, uint64_t off,
			struct ofs_pieces *ret, uint64_t *ret_version)
{
	struct ofs_inode *n;
	ssize_t r;

	pthread_mutex_lock(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r == 0) {
		r = off < n->row.size ? (ssize_t)OFS_MIN((uint64_t)size, n->row.size - off) : 0;
		ofs_content_map_resolve(&n->content, off, (uint64_t)r, ret);
		if (ret_version)
			*ret_version = n->version;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

ssize_t ofs_store_read_version(struct ofs_store *s, uint64_t ino, void *buf, size_t size,
			       uint64_t off, uint64_t *ret_version)
{
	OFS_CLEANUP(ofs_pieces_finish) struct ofs_pieces pieces = { 0 };
	ssize_t len;
	size_t i;
	int r = 0;

	pthread_rwlock_rdlock(&s->reclaim);
	len = map_read(s, ino, size, off, &pieces, ret_version);
	for (i = 0; i < pieces.n && r == 0; i++)
		r = fetch_piece(s, &pieces.list[i], (uint8_t *)buf + pieces.list[i].at);
	pthread_rwlock_unlock(&s->reclaim);
	return r < 0 ? r : len;
}

ssize_t ofs_store_read(struct ofs_store *s, uint64_t ino, void *buf, size_t size, uint64_t off)
{
	ssize_t r = ofs_store_read_version(s, ino, buf, size, off, NULL);

	return r == -OFS_EREAD ? -EIO : r;
}

/* Sums of newlines, made when first asked for and dropped when a block changes. */
static void count_lines_before(struct ofs_content_map *c)
{
	uint64_t sum = 0;
	size_t i;

	c->lines_before = malloc((c->nblocks + 1) * sizeof(*c->lines_before));
	for (i = 0; c->lines_before && i <= c->nblocks; i++) {
		c->lines_before[i] = sum;
		if (i < c->nblocks)
			sum += c->blocks[i].chunk.lines;
	}
}

static void line_hint(const struct ofs_content_map *c, uint64_t line, uint64_t *ret_off,
		      uint64_t *ret_line)
{
	size_t lo = 0, hi = c->nblocks - 1;

	/*
	 * The last block before which fewer than `line` newlines lie, so that the line's start is
	 * in it or later.
	 */
	while (lo < hi) {
		size_t mid = lo + (hi - lo + 1) / 2;

		if (c->lines_before[mid] < line)
			lo = mid;
		else
			hi = mid - 1;
	}
	*ret_off = c->blocks[lo].index * OFS_BLOCK_SIZE;
	*ret_line = c->lines_before[lo];
}

int ofs_store_line_hint(struct ofs_store *s, uint64_t ino, uint64_t line, uint64_t *ret_off,
			uint64_t *ret_line)
{
	struct ofs_inode *n;
	int r;

	*ret_off = *ret_line = 0;
	pthread_mutex_lock(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r == 0 && line && !n->on_draft_list && n->content.nblocks > 1) {
		if (!n->content.lines_before)
			count_lines_before(&n->content);
		if (n->content.lines_before)
			line_hint(&n->content, line, ret_off, ret_line);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}
