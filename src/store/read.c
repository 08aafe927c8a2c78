/* SPDX-License-Identifier: MIT */
/* Reading content through its map. */
#include "store/read.h"

#include <sys/stat.h>

#include "io/file.h"
#include "store/store_state.h"

static int fetch_chunk(struct ofs_store *s, const struct ofs_piece *p, bool passing, uint8_t *to)
{
	struct ofs_frame_loc loc = ofs_loc_of_chunk(&p->chunk);
	uint64_t from = (uint64_t)p->chunk.off + p->chunk_off;
	struct ofs_frame *frame;
	int r = ofs_packset_read(s->packs, &loc, passing, &frame);

	if (r < 0)
		return r;
	if (from + p->len > ofs_frame_size(frame))
		r = -EIO;
	else
		memcpy(to, ofs_frame_data(frame) + from, p->len);
	ofs_frame_unref(frame);
	return r;
}

/* Nothing that can be read has the content of a damaged piece. */
static bool is_lost(struct ofs_store *s, const struct ofs_piece *p)
{
	struct ofs_index_object object;
	struct ofs_index_extent e;

	return p->kind != OFS_PIECE_CHUNK ||
	       ofs_away_find(s, p->chunk.pack, p->chunk.frame_off, &e, &object) == -ENOENT;
}

static int fetch_piece(struct ofs_store *s, const struct ofs_piece *p, bool passing, uint8_t *to)
{
	switch (p->kind) {
	case OFS_PIECE_ZERO:
		memset(to, 0, p->len);
		return 0;
	case OFS_PIECE_DRAFT:
		if (p->data.pos == OFS_LOST_POS)
			return -EIO;
		return ofs_journal_read(s->journal, &p->data, p->data_off, to, (uint32_t)p->len);
	case OFS_PIECE_CHUNK:
		return fetch_chunk(s, p, passing, to);
	}
	return -EIO;
}

/*
 * Lists the pieces of a read and returns its length. `reclaim` is held, `lock` is not. `state` (may
 * be NULL) is set for a block.
 */
static ssize_t map_read(struct ofs_store *s, uint64_t ino, size_t size, uint64_t off,
			struct ofs_pieces *ret, uint64_t *ret_version,
			struct ofs_block_state *state)
{
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r < 0)
		return r;
	size = off < n->row.size ? OFS_MIN((uint64_t)size, n->row.size - off) : 0;
	ofs_content_map_resolve(&n->content, off, size, ret);
	if (ret_version)
		*ret_version = n->version;
	if (state) {
		state->chunk = ofs_content_map_chunk(&n->content, off / OFS_BLOCK_SIZE);
		state->drafts = ofs_content_map_fingerprint(&n->content, off, off + OFS_BLOCK_SIZE);
	}
	return (ssize_t)size;
}

/* How to read. */
struct reading {
	bool passing; /* leaves in the cache what others read */
	bool here; /* content that is not on this disk is -OFS_EAWAY */
	uint64_t *ret_version; /* may be NULL */
	struct ofs_block_state *state; /* lists lost ranges, which become zeros; may be NULL */
};

/*
 * Tries once. *ret_away: the frame that is not on this disk (-OFS_EAWAY), damaged (-EIO) or not
 * read (-OFS_EREAD).
 */
static ssize_t try_range(struct ofs_store *s, uint64_t ino, uint8_t *buf, size_t size, uint64_t off,
			 struct reading how, struct ofs_frame_loc *ret_away)
{
	struct ofs_block_state *state = how.state;
	OFS_CLEANUP(ofs_pieces_finish) struct ofs_pieces pieces = { 0 };
	ssize_t len;
	int r = 0;

	pthread_rwlock_rdlock(&s->reclaim);
	len = map_read(s, ino, size, off, &pieces, how.ret_version, state);
	for (size_t i = 0; i < pieces.n && r == 0; i++) {
		const struct ofs_piece *p = &pieces.list[i];

		r = fetch_piece(s, p, how.passing, buf + p->at);
		if ((r == -OFS_EAWAY || r == -EIO || r == -OFS_EREAD) && p->kind == OFS_PIECE_CHUNK)
			*ret_away = ofs_loc_of_chunk(&p->chunk);
		if (r != -EIO || !state || !is_lost(s, p))
			continue;
		memset(buf + p->at, 0, p->len);
		*ofs_append(state->lost, state->nlost, state->cap_lost) =
			(struct ofs_extent){ .off = off + p->at,
					     .len = p->len,
					     .data = { OFS_LOST_POS, (uint32_t)p->len } };
		r = 0;
	}
	pthread_rwlock_unlock(&s->reclaim);
	return r < 0 ? r : len;
}

/* A frame that was brought may be evicted again before it is read. */
#define TRIES_MAX 64

static ssize_t read_range(struct ofs_store *s, uint64_t ino, uint8_t *buf, size_t size,
			  uint64_t off, struct reading how)
{
	struct ofs_frame_loc away, mended = { 0 };
	bool broken;
	ssize_t r;
	int brought;

	for (unsigned int i = 0; i < TRIES_MAX; i++) {
		away.pack = 0;
		r = try_range(s, ino, buf, size, off, how, &away);
		broken = (r == -EIO || r == -OFS_EREAD) && away.pack;
		/* A disk may be too broken to be written, or to keep what is. */
		if (broken && (away.pack != mended.pack || away.off != mended.off) &&
		    ofs_away_has(s, &away))
			r = -OFS_EAWAY;
		else if (broken && how.state)
			r = -OFS_EREAD;
		if (r != -OFS_EAWAY || how.here)
			return r;
		if (how.state)
			ofs_block_state_finish(how.state);
		/* No lock is held while this takes its time. */
		brought = broken ? ofs_away_mend(s, &away) : ofs_away_bring(s, &away);
		if (broken)
			mended = away;
		if (brought < 0)
			return brought == -EIO ? -OFS_EREAD : brought;
	}
	return -OFS_EREAD;
}

ssize_t ofs_store_read_block(struct ofs_store *s, uint64_t ino, uint64_t i, uint8_t *buf,
			     struct ofs_block_state *ret)
{
	ssize_t len;

	*ret = (struct ofs_block_state){ 0 };
	len = read_range(s, ino, buf, OFS_BLOCK_SIZE, i * OFS_BLOCK_SIZE,
			 (struct reading){ .ret_version = &ret->version, .state = ret });
	if (len < 0)
		ofs_block_state_finish(ret);
	return len ? len : -ESTALE;
}

void ofs_block_state_finish(struct ofs_block_state *st)
{
	free(st->lost);
	*st = (struct ofs_block_state){ 0 };
}

ssize_t ofs_store_read_version(struct ofs_store *s, uint64_t ino, void *buf, size_t size,
			       uint64_t off, bool here, uint64_t *ret_version)
{
	return read_range(s, ino, buf, size, off,
			  (struct reading){ .here = here, .ret_version = ret_version });
}

ssize_t ofs_store_read(struct ofs_store *s, uint64_t ino, void *buf, size_t size, uint64_t off)
{
	ssize_t r = read_range(s, ino, buf, size, off, (struct reading){ 0 });

	return r == -OFS_EREAD ? -EIO : r;
}

ssize_t ofs_store_read_here(struct ofs_store *s, uint64_t ino, void *buf, size_t size, uint64_t off)
{
	ssize_t r = read_range(s, ino, buf, size, off, (struct reading){ .here = true });

	return r == -OFS_EREAD ? -EIO : r == -OFS_EAWAY ? -EAGAIN : r;
}

ssize_t ofs_store_scan(struct ofs_store *s, uint64_t ino, void *buf, size_t size, uint64_t off)
{
	ssize_t r = read_range(s, ino, buf, size, off, (struct reading){ .passing = true });

	return r == -OFS_EREAD ? -EIO : r;
}

int ofs_store_line_hint(struct ofs_store *s, uint64_t ino, uint64_t line, uint64_t *ret_off,
			uint64_t *ret_line)
{
	const struct ofs_content_map *c;
	struct ofs_inode *n;
	uint64_t before = 0;
	int r;

	*ret_off = *ret_line = 0;
	OFS_LOCKED(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r < 0 || n->on_draft_list)
		return r;
	c = &n->content;
	/*
	 * Finds the last block that has fewer than `line` newlines before it: the line starts there
	 * or later.
	 */
	for (size_t i = 0; i < c->nblocks && before < line; before += c->blocks[i++].chunk.lines) {
		*ret_off = c->blocks[i].index * OFS_BLOCK_SIZE;
		*ret_line = before;
	}
	return 0;
}
