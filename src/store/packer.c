/* SPDX-License-Identifier: MIT */
#include "store/packer.h"

#include "store/compress_pool.h"
#include "store/store_state.h"

#define LEVEL 6
#define LEVEL_DENSE 19
#define LEVEL_HASTE 3 /* while the journal is too long */

struct packed {
	struct ofs_index_chunk chunk;
	size_t frame; /* index in `frames`, once the chunk is in one */
	bool moving;
};

/* A frame being filled. */
struct pile {
	uint32_t class;
	bool dense;
	uint32_t full; /* bytes */
	uint8_t *data;
	uint32_t len;
	size_t *chunks; /* indexes in the packer */
	size_t n, cap;
};

struct ofs_packer {
	struct ofs_store *store;
	bool dense; /* all that moves goes into dense frames */
	struct packed *chunks;
	size_t n, cap;
	struct ofs_index_frame *frames; /* in the order of compressing and appending */
	size_t nframes, cap_frames;
	size_t nappended; /* of `frames`; the rest are in the pool */
	struct ofs_compress_pool *pool;
	struct pile *piles;
	size_t npiles, cap_piles;
	struct ofs_frame_chunk *parts; /* of the frame being written */
	size_t nparts, cap_parts;
	int error; /* the first one, after which chunks are missing */
	bool at_risk; /* frames were appended that the index may lack */
};

/*
 * Makes sure that a commit that failed is not found at the next start: another one overwrites it in
 * the log of the index.
 */
static int settle_commit(struct ofs_store *s, struct ofs_index_meta *meta)
{
	int r = ofs_index_begin(s->index);

	if (r < 0)
		return r;
	/* A row that does not change would write nothing. */
	meta->next_chunk = ++s->next_chunk;
	return ofs_index_end(s->index, ofs_index_put_meta(s->index, meta));
}

/* Cuts off frames that the index does not have. If that fails, it is tried again next time. */
static int cut_strays(struct ofs_store *s)
{
	struct ofs_index_meta meta;
	int r;

	if (!s->strays)
		return 0;
	r = ofs_index_get_meta(s->index, &meta);
	if (r == 0 && s->uncertain)
		r = settle_commit(s, &meta);
	if (r < 0)
		return r;
	s->uncertain = false;
	/* A reader may have seen the places of a move that failed. */
	pthread_rwlock_wrlock(&s->reclaim);
	r = ofs_packset_resume(s->packs, meta.pack, meta.pack_size, NULL);
	pthread_rwlock_unlock(&s->reclaim);
	s->strays = r < 0;
	return r;
}

int ofs_packer_create(struct ofs_store *s, bool dense, struct ofs_packer **ret)
{
	struct ofs_packer *p;
	int r = cut_strays(s);

	if (r < 0)
		return r;
	p = ofs_alloc(sizeof(*p));
	p->store = s;
	p->dense = dense;
	p->pool = ofs_compress_pool_create(s->compressor, ofs_compress_pool_threads());
	*ret = p;
	return 0;
}

void ofs_packer_destroy(struct ofs_packer *p)
{
	if (!p)
		return;
	ofs_compress_pool_destroy(p->pool);
	if (p->at_risk) {
		p->store->strays = true;
		cut_strays(p->store);
	}
	for (size_t i = 0; i < p->npiles; i++) {
		free(p->piles[i].data);
		free(p->piles[i].chunks);
	}
	free(p->piles);
	free(p->chunks);
	free(p->frames);
	free(p->parts);
	free(p);
}

/* Appends the next frame: takes it out of the pool or, with `dense`, makes it of p->parts. */
static int append_next(struct ofs_packer *p, bool dense)
{
	struct ofs_index_frame *f = &p->frames[p->nappended];
	struct ofs_store *s = p->store;
	struct ofs_frame_build *built;
	struct ofs_frame_loc loc;
	int r = dense ? 0 : ofs_compress_pool_take(p->pool, &built);

	if (r < 0)
		return r;
	p->at_risk = true;
	r = dense ? ofs_packset_append(s->packs, s->compressor, LEVEL_DENSE, p->parts, p->nparts,
				       &loc)
		  : ofs_packset_append_built(s->packs, built, &loc);
	if (r < 0)
		return r;
	f->pack = loc.pack;
	f->off = loc.off;
	f->stored = loc.stored;
	f->raw = loc.raw;
	p->nappended++;
	return 0;
}

static int append_all(struct ofs_packer *p)
{
	int r = 0;

	while (r == 0 && !ofs_compress_pool_is_empty(p->pool))
		r = append_next(p, false);
	return r;
}

/* Makes a frame of the chunks at `places`, of the pile's class and density. */
static int write_frame(struct ofs_packer *p, const struct pile *pile, const size_t *places,
		       size_t n, const uint8_t *data)
{
	uint32_t off = 0;
	int r = 0;

	p->parts = ofs_grow(p->parts, &p->cap_parts, n, sizeof(*p->parts));
	p->nparts = n;
	for (size_t i = 0; i < n; i++) {
		struct packed *c = &p->chunks[places[i]];

		p->parts[i] = (struct ofs_frame_chunk){ data + off, c->chunk.len };
		c->frame = p->nframes;
		c->chunk.off = off;
		off += c->chunk.len;
	}
	*ofs_append(p->frames, p->nframes, p->cap_frames) =
		(struct ofs_index_frame){ .class = pile->class, .dense = pile->dense };
	/* Dense frames take so much memory to make that only this thread makes them. */
	if (pile->dense) {
		r = append_all(p);
		return r == 0 ? append_next(p, true) : r;
	}
	if (ofs_compress_pool_is_full(p->pool))
		r = append_next(p, false);
	if (r == 0)
		ofs_compress_pool_give(
			p->pool, ofs_store_is_pressed(p->store) ? LEVEL_HASTE : LEVEL, p->parts, n);
	return r;
}

static int pile_flush(struct ofs_packer *p, struct pile *pile)
{
	size_t n = pile->n;

	pile->n = 0;
	pile->len = 0;
	return n ? write_frame(p, pile, pile->chunks, n, pile->data) : 0;
}

static struct pile *pile_for(struct ofs_packer *p, uint32_t class, bool dense)
{
	struct pile *pile;

	for (size_t i = 0; i < p->npiles; i++)
		if (p->piles[i].class == class && p->piles[i].dense == dense)
			return &p->piles[i];
	pile = ofs_append(p->piles, p->npiles, p->cap_piles);
	*pile = (struct pile){ .class = class,
			       .dense = dense,
			       .full = dense ? OFS_FRAME_FULL_DENSE : OFS_FRAME_FULL };
	pile->data = ofs_alloc(pile->full);
	return pile;
}

/* Puts the chunk at `place` into a frame of the pile's kind. */
static int pack_chunk(struct ofs_packer *p, struct pile *pile, size_t place, const void *data)
{
	uint32_t len = p->chunks[place].chunk.len;
	int r = 0;

	/* A chunk that nearly fills a frame gets its own, so that its neighbours share one. */
	if (len > pile->full / 4 * 3)
		return write_frame(p, pile, &place, 1, data);
	if (pile->len + len > pile->full || pile->n == OFS_FRAME_CHUNKS_MAX)
		r = pile_flush(p, pile);
	if (r < 0)
		return r;
	memcpy(pile->data + pile->len, data, len);
	pile->len += len;
	*ofs_append(pile->chunks, pile->n, pile->cap) = place;
	return 0;
}

bool ofs_packer_is_dense(const struct ofs_packer *p, uint32_t class)
{
	return p->dense || class >= OFS_CLASS_DENSE;
}

int ofs_packer_add(struct ofs_packer *p, uint32_t class, bool moving,
		   const struct ofs_index_chunk *c, const void *data)
{
	bool dense = moving && ofs_packer_is_dense(p, class);
	struct packed *chunk;

	if (p->error < 0)
		return p->error;
	chunk = ofs_append(p->chunks, p->n, p->cap);
	*chunk = (struct packed){ .chunk = *c, .moving = moving };
	if (!moving)
		chunk->chunk.id = p->store->next_chunk++;
	p->error = pack_chunk(p, pile_for(p, class, dense), p->n - 1, data);
	return p->error;
}

/* Appends all that is left to the packs, and sets where each chunk lies. */
static int write_rest(struct ofs_packer *p)
{
	int r = p->error;

	for (size_t i = 0; i < p->npiles && r == 0; i++)
		r = pile_flush(p, &p->piles[i]);
	if (r == 0)
		r = append_all(p);
	p->error = r;
	for (size_t i = 0; i < p->n && r == 0; i++) {
		struct ofs_index_chunk *c = &p->chunks[i].chunk;
		const struct ofs_index_frame *f = &p->frames[p->chunks[i].frame];

		c->pack = f->pack;
		c->frame_off = f->off;
		c->frame_stored = f->stored;
		c->frame_raw = f->raw;
		c->class = f->class;
		c->dense = f->dense;
		c->bad = false;
	}
	return r;
}

static int index_frames(struct ofs_packer *p)
{
	struct ofs_index *ix = p->store->index;
	int r = 0;

	for (size_t i = 0; i < p->nframes && r == 0; i++)
		r = ofs_index_put_frame(ix, &p->frames[i], &p->frames[i].id);
	for (size_t i = 0; i < p->n && r == 0; i++) {
		const struct packed *c = &p->chunks[i];
		uint64_t frame = p->frames[c->frame].id;

		r = c->moving ? ofs_index_move_chunk(ix, c->chunk.id, frame, c->chunk.off)
			      : ofs_index_put_chunk(ix, frame, &c->chunk);
	}
	return r;
}

static int index_all(struct ofs_packer *p, int (*also)(void *arg), void *arg)
{
	struct ofs_store *s = p->store;
	struct ofs_index_meta meta;
	int r = ofs_index_get_meta(s->index, &meta);

	if (r < 0)
		return r;
	ofs_packset_tail(s->packs, &meta.pack, &meta.pack_size);
	meta.next_chunk = s->next_chunk;
	/* The lowest id of a new chunk. */
	for (size_t i = 0; i < p->n && !meta.unused_from; i++)
		meta.unused_from = p->chunks[i].moving ? 0 : p->chunks[i].chunk.id;
	r = index_frames(p);
	if (r == 0)
		r = ofs_index_put_meta(s->index, &meta);
	if (r == 0 && also)
		r = also(arg);
	return r;
}

/* Updates the content maps in memory to the places that the packer has for moving chunks. */
static void relocate(const struct ofs_packer *p)
{
	struct ofs_store *s = p->store;
	OFS_CLEANUP(ofs_map_finish) struct ofs_map moved = OFS_MAP_INIT;
	struct ofs_inode *n;
	size_t i, pos = 0;

	for (i = 0; i < p->n; i++)
		if (p->chunks[i].moving)
			ofs_map_put(&moved, p->chunks[i].chunk.id, (void *)(uintptr_t)(i + 1));
	if (!moved.count)
		return;
	OFS_LOCKED(&s->lock);
	while ((n = ofs_map_next(&s->inodes, &pos)))
		for (i = 0; i < n->content.nblocks; i++) {
			struct ofs_index_chunk *c = &n->content.blocks[i].chunk;
			size_t at = (uintptr_t)ofs_map_get(&moved, c->id);

			if (at)
				*c = p->chunks[at - 1].chunk;
		}
}

/*
 * The move failed: restores the old places in memory, which may have seen the new ones. Where the
 * index does not tell the old place, memory keeps the new one, and the frames must stay.
 */
static void look_again(struct ofs_packer *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct ofs_index_chunk *c = &p->chunks[i].chunk;

		if (p->chunks[i].moving && ofs_index_get_chunk(p->store->index, c->id, c) < 0)
			p->at_risk = false;
	}
	relocate(p);
}

int ofs_packer_commit(struct ofs_packer *p, int (*also)(void *arg), void *arg)
{
	struct ofs_store *s = p->store;
	int r = write_rest(p);

	if (r == 0)
		r = ofs_packset_sync(s->packs);
	if (r == 0)
		r = ofs_index_begin(s->index);
	if (r < 0)
		return r;
	r = index_all(p, also, arg);
	if (r < 0) {
		ofs_index_rollback(s->index);
		look_again(p);
		return r;
	}
	r = ofs_index_commit(s->index);
	if (r < 0) {
		/* If its sync is what failed, the next start may find it. */
		s->uncertain = true;
		look_again(p);
	} else {
		p->at_risk = s->uncertain = s->strays = false;
		ofs_packset_committed(s->packs);
		relocate(p);
	}
	return r;
}

size_t ofs_packer_count(const struct ofs_packer *p)
{
	return p->n;
}

uint64_t ofs_packer_stored(const struct ofs_packer *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nappended; i++)
		sum += p->frames[i].stored;
	return sum;
}

const struct ofs_index_chunk *ofs_packer_chunk(const struct ofs_packer *p, size_t i)
{
	return &p->chunks[i].chunk;
}
