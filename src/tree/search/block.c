/* SPDX-License-Identifier: MIT */
/* Keeps the best of the blocks that may match. */
#include "tree/search/search.h"

/* The blocks are a min-heap by score once there are OFS_BLOCKS_MAX. */
static void sink(struct ofs_text_block *blocks, size_t n, size_t i)
{
	struct ofs_text_block moved = blocks[i];

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && blocks[child + 1].score < blocks[child].score)
			child++;
		if (blocks[child].score >= moved.score)
			break;
		blocks[i] = blocks[child];
	}
	blocks[i] = moved;
}

/* Among blocks of equal score, the first ones added stay. */
void ofs_search_add_block(struct ofs_search *s, struct ofs_text_block *block)
{
	block->score = ofs_query_weigh(s->weights, block->words) +
		       (block->len ? OFS_WEIGHT_LABEL : 1) *
			       ofs_query_weigh(s->label_weights, block->label);
	if (!s->blocks)
		s->blocks = ofs_alloc(OFS_BLOCKS_MAX * sizeof(*s->blocks));
	if (s->nblocks < OFS_BLOCKS_MAX) {
		s->blocks[s->nblocks++] = *block;
		for (size_t i = OFS_BLOCKS_MAX / 2; i-- && s->nblocks == OFS_BLOCKS_MAX;)
			sink(s->blocks, s->nblocks, i);
	} else if (block->score > s->blocks[0].score) {
		s->blocks[0] = *block;
		sink(s->blocks, s->nblocks, 0);
	}
}

/* By score, best first, then newest first. */
static int compare_blocks(const void *a, const void *b)
{
	const struct ofs_text_block *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->doc != y->doc)
		return x->doc > y->doc ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino > y->ino ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

void ofs_search_sort_blocks(struct ofs_search *s)
{
	if (s->nblocks)
		qsort(s->blocks, s->nblocks, sizeof(*s->blocks), compare_blocks);
}
