/* SPDX-License-Identifier: MIT */
/* Contents that may match: those of the best blocks for which the query admits a file. */
#include "tree/search/indexer.h"
#include "tree/search/search.h"

#define READ_BLOCKS 64 /* blocks that are read */
#define LOOKED_AT 4000 /* blocks tried for that, as filters exclude some */
#define NEAR_LOOKED_AT 400 /* documents by meaning tried, as filters exclude some */
#define COPIES_LOOKED_AT 100 /* files tried per content */

void ofs_candidate_free(struct ofs_candidate *c)
{
	for (size_t i = 0; i < c->nfiles; i++)
		ofs_answer_finish(&c->files[i]);
	free(c->blocks);
	free(c);
}

/* Adds a candidate without files to the list and the map. */
static struct ofs_candidate *add_candidate(struct ofs_search *s, struct ofs_map *map, uint64_t key)
{
	struct ofs_candidate *c = ofs_alloc(sizeof(*c));

	*ofs_append(s->candidates, s->ncandidates, s->cap_candidates) = c;
	ofs_map_put(map, key, c);
	return c;
}

/* Whether the file has the content. If not, notes it for the indexer. */
static bool has_content(struct ofs_search *s, uint64_t ino, const uint8_t sha[32])
{
	struct ofs_content_hash digest = { .has_sha = false };

	if (ofs_store_get_hash(s->tree->store, ino, &digest) == 0 && digest.has_sha &&
	    memcmp(digest.sha, sha, sizeof(digest.sha)) == 0)
		return true;
	ofs_indexer_note(s->tree->indexer, ino);
	return false;
}

/* Adds a file to a content, if the query admits it and there are not enough yet. */
static void add_file(struct ofs_search *s, struct ofs_candidate *c, uint64_t ino)
{
	struct ofs_answer a;

	for (size_t i = 0; i < c->nfiles; i++)
		if (c->files[i].attr.ino == ino)
			return;
	if (c->nfiles < OFS_HIT_COPIES_MAX && ofs_answer_load(s, ino, NULL, &a) > 0)
		c->files[c->nfiles++] = a;
	else if (c->nfiles < OFS_HIT_COPIES_MAX)
		ofs_answer_finish(&a);
}

/* Returns the candidate of a content; NULL if another hash starts with the same bytes. */
static struct ofs_candidate *candidate_of_content(struct ofs_search *s, const uint8_t sha[32])
{
	struct ofs_candidate *c = ofs_map_get(&s->by_sha, ofs_get_le64(sha));

	if (c)
		return memcmp(c->sha, sha, sizeof(c->sha)) == 0 ? c : NULL;
	c = add_candidate(s, &s->by_sha, ofs_get_le64(sha));
	memcpy(c->sha, sha, sizeof(c->sha));
	return c;
}

/* Returns the candidate of a file: that of its content if it is sealed, else its own. */
static struct ofs_candidate *candidate_of_file(struct ofs_search *s, uint64_t ino)
{
	struct ofs_content_hash digest = { .has_sha = false };
	struct ofs_candidate *c = NULL;

	if (ofs_store_get_hash(s->tree->store, ino, &digest) == 0 && digest.has_sha)
		c = candidate_of_content(s, digest.sha);
	if (!c)
		c = ofs_map_get(&s->by_ino, ino);
	if (!c)
		c = add_candidate(s, &s->by_ino, ino);
	add_file(s, c, ino);
	return c;
}

/* Sets the block's place from the index and returns its candidate; NULL if the document is gone. */
static struct ofs_candidate *candidate_of_doc(struct ofs_search *s, struct ofs_text_block *block)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };
	struct ofs_fts *index = ofs_indexer_index(s->tree->indexer);
	struct ofs_candidate *c;
	struct ofs_fts_doc doc;

	if (ofs_fts_get_doc(index, block->doc, &doc) < 0)
		return NULL;
	block->off = doc.off;
	block->len = doc.len;
	block->line = doc.line;
	c = candidate_of_content(s, doc.sha);
	if (!c || c->listed)
		return c;
	c->listed = true;
	ofs_fts_files_of(index, doc.sha, &files);
	for (size_t i = 0; i < files.n && i < COPIES_LOOKED_AT; i++)
		if (has_content(s, files.at[i], doc.sha))
			add_file(s, c, files.at[i]);
	return c;
}

/* Chooses the blocks to read. */
static void choose(struct ofs_search *s)
{
	size_t chosen = 0;

	ofs_search_sort_blocks(s);
	for (size_t i = 0; i < s->nblocks && i < LOOKED_AT && chosen < READ_BLOCKS; i++) {
		struct ofs_text_block *block = &s->blocks[i];
		struct ofs_candidate *c = block->doc ? candidate_of_doc(s, block)
						     : candidate_of_file(s, block->ino);

		if (!c || !c->nfiles)
			continue;
		c->label |= block->label;
		chosen++;
		if (block->len)
			*ofs_append(c->blocks, c->nblocks, c->cap_blocks) = *block;
	}
}

/* Chooses documents by meaning, and adds them to the blocks to read. */
static void choose_near(struct ofs_search *s)
{
	struct ofs_near near[NEAR_LOOKED_AT];
	size_t n;

	ofs_meaning_settle(s->tree->meaning);
	n = ofs_meaning_find(s->tree->meaning, s->query->plain, strlen(s->query->plain), near,
			     NEAR_LOOKED_AT);
	for (size_t i = 0; i < n && s->nnear < OFS_NEAR_MAX; i++) {
		struct ofs_text_block block = { .doc = near[i].doc };
		struct ofs_candidate *c = candidate_of_doc(s, &block);

		if (!c || !c->nfiles)
			continue;
		s->near[s->nnear++] =
			(struct ofs_nearby){ c, block.off, block.len, near[i].cosine };
		*ofs_append(c->blocks, c->nblocks, c->cap_blocks) = block;
	}
}

void ofs_search_choose(struct ofs_search *s)
{
	choose(s);
	if (ofs_search_has_index(s))
		choose_near(s);
}
