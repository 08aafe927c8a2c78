/* SPDX-License-Identifier: MIT */
#include "store/content_map.h"

#include "codec/hash.h"

void ofs_content_map_init(struct ofs_content_map *c)
{
	*c = (struct ofs_content_map){ .cut = UINT64_MAX };
}

void ofs_content_map_finish(struct ofs_content_map *c)
{
	free(c->blocks);
	free(c->extents);
	ofs_content_map_init(c);
}

/* The index of block `i` in the list, or the place to insert it. */
static size_t content_find_block(const struct ofs_content_map *c, uint64_t i)
{
	/* Mostly it is the last block, or comes after it. */
	if (c->nblocks && c->blocks[c->nblocks - 1].index < i)
		return c->nblocks;
	return OFS_BISECT(at, c->nblocks, c->blocks[at].index < i);
}

/* Block `i`; NULL: a hole. */
static const struct ofs_block *content_block(const struct ofs_content_map *c, uint64_t i)
{
	size_t at = content_find_block(c, i);

	return at < c->nblocks && c->blocks[at].index == i && c->blocks[at].chunk.id
		       ? &c->blocks[at]
		       : NULL;
}

/* Replaces the elements [at, at + drop) of a list by `count` from `with`; returns the list. */
static void *splice(void *list, size_t *n, size_t *cap, size_t at, size_t drop, const void *with,
		    size_t count, size_t size)
{
	size_t tail = *n - at - drop;
	uint8_t *p;

	*n = at + count + tail;
	if (!*n)
		return list;
	list = ofs_grow(list, cap, *n, size);
	p = (uint8_t *)list + at * size;
	if (tail)
		memmove(p + count * size, p + drop * size, tail * size);
	if (count)
		memcpy(p, with, count * size);
	return list;
}

void ofs_content_map_set_block(struct ofs_content_map *c, uint64_t i,
			       const struct ofs_index_chunk *chunk, uint64_t epoch)
{
	struct ofs_block b = { .index = i, .chunk = *chunk, .epoch = epoch };
	size_t at = content_find_block(c, i);
	bool had = at < c->nblocks && c->blocks[at].index == i;

	c->blocks = splice(c->blocks, &c->nblocks, &c->cap_blocks, at, had, &b, 1, sizeof(b));
	c->holes = c->holes || !chunk->id;
}

size_t ofs_content_map_find(const struct ofs_content_map *c, uint64_t off)
{
	return OFS_BISECT(i, c->nextents, c->extents[i].off + c->extents[i].len <= off);
}

static uint64_t extent_weight(const struct ofs_extent *e)
{
	return e->data.pos > OFS_LOST_POS ? e->len : 0;
}

/* The part of `e` within [from, to). */
static struct ofs_extent extent_clip(const struct ofs_extent *e, uint64_t from, uint64_t to)
{
	struct ofs_extent part = *e;

	if (from > part.off) {
		part.data_off += (uint32_t)(from - part.off);
		part.len -= from - part.off;
		part.off = from;
	}
	if (part.off + part.len > to)
		part.len = to - part.off;
	return part;
}

/* Replaces the extents [at, at + drop) by the `n` in `with`. */
static void content_splice(struct ofs_content_map *c, size_t at, size_t drop,
			   const struct ofs_extent *with, size_t n)
{
	for (size_t i = 0; i < drop; i++)
		c->draft_bytes -= extent_weight(&c->extents[at + i]);
	for (size_t i = 0; i < n; i++)
		c->draft_bytes += extent_weight(&with[i]);
	c->extents =
		splice(c->extents, &c->nextents, &c->cap_extents, at, drop, with, n, sizeof(*with));
}

/* Replaces the drafts in [from, to) by `e`, which spans that range; NULL: just drops them. */
static void content_lay(struct ofs_content_map *c, uint64_t from, uint64_t to,
			const struct ofs_extent *e, uint64_t epoch)
{
	size_t first = ofs_content_map_find(c, from), last = first, n = 0;
	struct ofs_extent with[3];

	while (last < c->nextents && c->extents[last].off < to)
		last++;
	if (last == first && !e)
		return;
	if (last > first && c->extents[first].off < from)
		with[n++] = extent_clip(&c->extents[first], 0, from);
	if (e)
		with[n++] = *e;
	if (last > first && c->extents[last - 1].off + c->extents[last - 1].len > to)
		with[n++] = extent_clip(&c->extents[last - 1], to, UINT64_MAX);
	content_splice(c, first, last - first, with, n);
	c->drafts_epoch = epoch;
}

void ofs_content_map_cover(struct ofs_content_map *c, const struct ofs_extent *e, uint64_t epoch)
{
	if (e->len)
		content_lay(c, e->off, e->off + e->len, e, epoch);
}

void ofs_content_map_uncover(struct ofs_content_map *c, uint64_t from, uint64_t to, uint64_t epoch)
{
	content_lay(c, from, to, NULL, epoch);
}

/* Hides the bytes that a block has in [from, to), a range within that block, under zeros. */
static void content_cover_hole(struct ofs_content_map *c, uint64_t from, uint64_t to,
			       uint64_t epoch)
{
	const struct ofs_block *block = content_block(c, from / OFS_BLOCK_SIZE);
	uint64_t held = block ? block->index * OFS_BLOCK_SIZE + block->chunk.len : 0;
	struct ofs_extent hole = { .off = from };

	if (held <= from)
		return;
	hole.len = OFS_MIN(held, to) - from;
	ofs_content_map_cover(c, &hole, epoch);
}

void ofs_content_map_truncate(struct ofs_content_map *c, uint64_t size, uint64_t epoch)
{
	uint64_t keep = (size + OFS_BLOCK_SIZE - 1) / OFS_BLOCK_SIZE;
	size_t at = content_find_block(c, keep);

	ofs_content_map_uncover(c, size, UINT64_MAX, epoch);
	/* Bytes of the last chunk after the new end must not come back when the file grows. */
	if (size % OFS_BLOCK_SIZE)
		content_cover_hole(c, size, keep * OFS_BLOCK_SIZE, epoch);
	if (at < c->nblocks) {
		c->nblocks = at;
		c->cut = OFS_MIN(c->cut, keep);
		c->cut_epoch = epoch;
	}
}

void ofs_content_map_committed(struct ofs_content_map *c, uint64_t epoch)
{
	size_t i, n = 0;

	if (!c->holes)
		return;
	c->holes = false;
	for (i = 0; i < c->nblocks; i++) {
		bool hole = !c->blocks[i].chunk.id;

		if (hole && c->blocks[i].epoch <= epoch)
			continue;
		c->holes = c->holes || hole;
		c->blocks[n++] = c->blocks[i];
	}
	c->nblocks = n;
}

void ofs_content_map_zero(struct ofs_content_map *c, uint64_t from, uint64_t to, uint64_t epoch)
{
	/* Blocks [first, last) lie wholly within the range. */
	uint64_t first = (from + OFS_BLOCK_SIZE - 1) / OFS_BLOCK_SIZE, last = to / OFS_BLOCK_SIZE;

	ofs_content_map_uncover(c, from, to, epoch);
	for (size_t i = content_find_block(c, first); i < c->nblocks && c->blocks[i].index < last;
	     i++)
		if (c->blocks[i].chunk.id)
			c->blocks[i] = (struct ofs_block){ c->blocks[i].index, { 0 }, epoch };
	c->holes = true;
	if (from % OFS_BLOCK_SIZE)
		content_cover_hole(c, from, OFS_MIN(to, first * OFS_BLOCK_SIZE), epoch);
	if (to % OFS_BLOCK_SIZE && first <= last)
		content_cover_hole(c, last * OFS_BLOCK_SIZE, to, epoch);
}

/* Lists a hole where `c` loses a block, so that the index learns of it. */
static void content_copy_blocks(struct ofs_content_map *c, uint64_t to,
				const struct ofs_content_map *src, uint64_t from, uint64_t n,
				uint64_t epoch)
{
	size_t i = content_find_block(src, from), end = content_find_block(src, from + n);
	size_t k = content_find_block(c, to), stop = content_find_block(c, to + n);
	size_t at = k, drop = stop - k, count = 0;
	OFS_FREE struct ofs_block *list = NULL;

	list = ofs_alloc((end - i + drop + 1) * sizeof(*list));
	while (i < end || k < stop) {
		uint64_t theirs = i < end ? src->blocks[i].index - from + to : UINT64_MAX;
		uint64_t ours = k < stop ? c->blocks[k].index : UINT64_MAX;
		struct ofs_block *b = &list[count++];

		*b = (struct ofs_block){ .index = OFS_MIN(ours, theirs), .epoch = epoch };
		if (theirs <= ours)
			b->chunk = src->blocks[i++].chunk;
		if (ours <= theirs)
			k++;
	}
	c->blocks = splice(c->blocks, &c->nblocks, &c->cap_blocks, at, drop, list, count,
			   sizeof(*list));
	c->holes = true;
}

void ofs_content_map_copy(struct ofs_content_map *c, uint64_t to, const struct ofs_content_map *src,
			  uint64_t from, uint64_t n, uint64_t epoch)
{
	uint64_t start = from * OFS_BLOCK_SIZE, stop = start + n * OFS_BLOCK_SIZE;
	uint64_t target = to * OFS_BLOCK_SIZE;
	OFS_FREE struct ofs_extent *list = NULL;
	size_t i, count = 0, cap = 0;

	for (i = ofs_content_map_find(src, start); i < src->nextents && src->extents[i].off < stop;
	     i++) {
		list = ofs_grow(list, &cap, count + 1, sizeof(*list));
		list[count] = extent_clip(&src->extents[i], start, stop);
		list[count].off = list[count].off - start + target;
		count++;
	}
	content_copy_blocks(c, to, src, from, n, epoch);
	ofs_content_map_uncover(c, target, target + (stop - start), epoch);
	if (!count)
		return;
	content_splice(c, ofs_content_map_find(c, target), 0, list, count);
	c->drafts_epoch = epoch;
}

uint64_t ofs_content_map_stretch(const struct ofs_content_map *c, uint64_t off, uint64_t end,
				 bool *ret_data)
{
	size_t i = ofs_content_map_find(c, off);

	if (i < c->nextents && c->extents[i].off <= off) {
		*ret_data = c->extents[i].data.pos != 0;
		return OFS_MIN(end, c->extents[i].off + c->extents[i].len);
	}
	if (i < c->nextents)
		end = OFS_MIN(end, c->extents[i].off);
	for (i = content_find_block(c, off / OFS_BLOCK_SIZE); i < c->nblocks; i++) {
		const struct ofs_block *b = &c->blocks[i];
		uint64_t start = b->index * OFS_BLOCK_SIZE, held = start + b->chunk.len;

		if (!b->chunk.id || held <= off)
			continue;
		*ret_data = start <= off;
		return OFS_MIN(end, *ret_data ? held : start);
	}
	*ret_data = false;
	return end;
}

void ofs_content_map_mark(struct ofs_content_map *c, uint64_t epoch)
{
	static const struct ofs_extent mark = { .off = OFS_CONTENT_END, .len = 1 };

	if (!c->nextents)
		ofs_content_map_cover(c, &mark, epoch);
}

uint64_t ofs_content_map_chunk(const struct ofs_content_map *c, uint64_t i)
{
	const struct ofs_block *block = content_block(c, i);

	return block ? block->chunk.id : 0;
}

uint64_t ofs_content_map_fingerprint(const struct ofs_content_map *c, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = ofs_content_map_find(c, from); i < c->nextents && c->extents[i].off < to;
	     i++) {
		struct ofs_extent e = extent_clip(&c->extents[i], from, to);
		uint64_t fields[] = { e.off, e.len, e.data.pos, e.data.len, e.data_off };

		sum = ofs_checksum(fields, sizeof(fields), sum + 1);
	}
	return sum;
}

bool ofs_content_map_has_drafts(const struct ofs_content_map *c)
{
	for (size_t i = 0; i < c->nextents; i++)
		if (c->extents[i].off < OFS_CONTENT_END && c->extents[i].data.pos != OFS_LOST_POS)
			return true;
	return false;
}

uint64_t ofs_content_map_oldest(const struct ofs_content_map *c)
{
	uint64_t oldest = UINT64_MAX;

	for (size_t i = 0; i < c->nextents; i++)
		if (c->extents[i].data.pos > OFS_LOST_POS)
			oldest = OFS_MIN(oldest, c->extents[i].data.pos);
	return oldest;
}

void ofs_pieces_finish(struct ofs_pieces *p)
{
	free(p->list);
	*p = (struct ofs_pieces){ 0 };
}

static struct ofs_piece *pieces_add(struct ofs_pieces *p, uint64_t at, uint64_t len)
{
	struct ofs_piece *piece = ofs_append(p->list, p->n, p->cap);

	*piece = (struct ofs_piece){ .at = at, .len = len, .kind = OFS_PIECE_ZERO };
	return piece;
}

/* Resolves [off, end), which has no draft; `base` is the start of the read. */
static void content_resolve_blocks(const struct ofs_content_map *c, uint64_t base, uint64_t off,
				   uint64_t end, struct ofs_pieces *ret)
{
	while (off < end) {
		uint64_t i = off / OFS_BLOCK_SIZE, start = i * OFS_BLOCK_SIZE;
		uint64_t stop = OFS_MIN(end, start + OFS_BLOCK_SIZE), held = off;
		const struct ofs_block *block = content_block(c, i);

		if (block)
			held = OFS_MAX(off, OFS_MIN(stop, start + block->chunk.len));
		if (held > off) {
			struct ofs_piece *p = pieces_add(ret, off - base, held - off);

			p->kind = OFS_PIECE_CHUNK;
			p->chunk = block->chunk;
			p->chunk_off = (uint32_t)(off - start);
		}
		if (stop > held)
			pieces_add(ret, held - base, stop - held);
		off = stop;
	}
}

void ofs_content_map_resolve(const struct ofs_content_map *c, uint64_t off, uint64_t len,
			     struct ofs_pieces *ret)
{
	uint64_t base = off, end = off + len;
	size_t i;

	for (i = ofs_content_map_find(c, off);
	     off < end && i < c->nextents && c->extents[i].off < end; i++) {
		struct ofs_extent e = extent_clip(&c->extents[i], off, end);
		struct ofs_piece *p;

		content_resolve_blocks(c, base, off, e.off, ret);
		p = pieces_add(ret, e.off - base, e.len);
		if (e.data.pos) {
			p->kind = OFS_PIECE_DRAFT;
			p->data = e.data;
			p->data_off = e.data_off;
		}
		off = e.off + e.len;
	}
	content_resolve_blocks(c, base, off, end, ret);
}
