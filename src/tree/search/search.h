/* SPDX-License-Identifier: MIT */
/*
 * A search under way. Blocks of text that may answer come from the search index (search_index.c)
 * and from reading files (search_scan.c); the best of them (block.c), by the words they have, are
 * read (candidate.c, search.c), and the passages in them that answer best become hits (hit.c).
 * Files may answer by their names alone. Nothing here is a use of a file.
 */
#pragma once

#include "base/map.h"
#include "base/u64_list.h"
#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/search/meaning.h"
#include "tree/search/passage.h"
#include "tree/search/query.h"

#define OFS_HITS_MAX 50 /* that are written */
#define OFS_HIT_COPIES_MAX 3 /* files of the same content */
#define OFS_BLOCKS_MAX 4096 /* that are kept, the best */
#define OFS_NEAR_MAX 30 /* documents by meaning */

/* Some text that may answer, or a file's name, title and tags. */
struct ofs_text_block {
	uint64_t doc; /* of the index; 0: of a file */
	uint64_t ino; /* the file */
	uint64_t off, line; /* of the text */
	uint32_t len; /* 0: the names alone */
	uint32_t words; /* of the query that it has, as bits, */
	uint32_t label; /* and those that the names have */
	double score;
};

/* A file that may answer. */
struct ofs_answer {
	struct ofs_attr attr;
	struct ofs_place place;
	char *title, *tags; /* NULL: none */
};

/* A content that may answer, with the files that have it, the newest first. */
struct ofs_candidate {
	uint8_t sha[32];
	bool listed; /* all files that the index knows are among these */
	struct ofs_answer files[OFS_HIT_COPIES_MAX];
	size_t nfiles; /* 0: none that the query admits */
	struct ofs_text_block *blocks; /* to be read */
	size_t nblocks, cap_blocks;
	uint32_t label; /* words in the names, as bits */
	bool checked, holds; /* the terms that must hold were looked for, and do */
	double share; /* of its score that the next hit gets; 0: it has none yet */
};

/* A document whose meaning is near the query's. */
struct ofs_nearby {
	struct ofs_candidate *candidate; /* of its content */
	uint64_t off;
	uint32_t len;
	double cosine;
};

struct ofs_search {
	struct ofs_tree *tree;
	struct ofs_root *root; /* paths are given from it */
	/* The trees that are searched: that one, or those in it whose agents the query names. */
	struct ofs_root **in;
	size_t n_in, cap_in;
	struct ofs_query *query;

	/* What the words are found in: how many blocks or names each, and of how many. */
	uint64_t found[OFS_QUERY_WORDS], all;
	uint64_t named[OFS_QUERY_WORDS], names;
	double weights[OFS_QUERY_WORDS], label_weights[OFS_QUERY_WORDS];

	struct ofs_u64_list docs[OFS_QUERY_WORDS]; /* of the index, the newest first, */
	struct ofs_u64_list labels[OFS_QUERY_WORDS]; /* and files */
	struct ofs_text_block *scanned; /* without the index */
	size_t nscanned, cap_scanned;
	int64_t until; /* monotonic: what is not in the index is looked at */
	bool is_cut; /* there was no time to look at all of that */
	bool relaxed; /* nothing has the phrases: they need not be there */

	struct ofs_nearby near[OFS_NEAR_MAX]; /* the nearest first */
	size_t nnear;

	struct ofs_text_block *blocks; /* the best */
	size_t nblocks;
	struct ofs_map by_sha,
		by_ino; /* the start of the hash, or the file -> struct ofs_candidate */
	struct ofs_candidate **candidates;
	size_t ncandidates, cap_candidates;
	uint64_t left; /* bytes that may be read */

	struct ofs_hit *hits; /* hit.c */
	size_t nhits, cap_hits;
};

/* ---- answer.c: files, and which of them a query admits */

/*
 * 1: the file is there and the filters hold; 0: not. `ret` is to be finished in any case. `name`
 * may be NULL; see ofs_place_of_known().
 */
int ofs_answer_load(struct ofs_search *s, uint64_t ino, const char *name, struct ofs_answer *ret);
void ofs_answer_finish(struct ofs_answer *a);

bool ofs_search_wants(const struct ofs_query *q, enum ofs_tier tier);

/* The tree at the store's root, of which there is an index, is among those that are searched. */
static inline bool ofs_search_has_index(const struct ofs_search *s)
{
	return s->n_in && !s->in[0]->above;
}

/* The content has, with the names of its first file, the terms that must be there, and no other. */
bool ofs_candidate_holds(struct ofs_search *s, struct ofs_candidate *c);

/* ---- search_index.c: what the search index has */

/*
 * Looks the forms up from number `first` on; of a word with a form from there on, nothing was found
 * before. 0 or -errno.
 */
int ofs_search_index_find(struct ofs_search *s, size_t first);
/* Adds what it found to the blocks. 0 or -errno. */
int ofs_search_index_blocks(struct ofs_search *s);

/* ---- search_files.c: the files that are looked at without the index */

/* So many milliseconds from now on, they are looked at; */
void ofs_search_give_time(struct ofs_search *s, uint32_t ms);
/* then this is true. */
bool ofs_search_is_late(const struct ofs_search *s);

/*
 * Calls `fn` for the files of some tiers of a tree, as far as the query asks for these, the newest
 * first, until it gives something; it may be called for some that the filters do not admit.
 * -ECANCELED: there were more than `max`, or there was no time for all of them; the newest is given
 * in any case.
 */
int ofs_search_each_file(struct ofs_search *s, const struct ofs_root *root, enum ofs_tier first,
			 enum ofs_tier last, size_t max,
			 int (*fn)(void *arg, uint64_t ino, const char *name), void *arg);

/* ---- search_scan.c: the working tier, and what is not indexed yet */

/* Looks for the words in the newest file, and in older ones while there is time. 0 or -errno. */
int ofs_search_scan(struct ofs_search *s);

/* ---- fusion.c: what was found by words, and by meaning */

/* Ranks the passages anew, by both; adds those that only their meaning answers. */
void ofs_search_fuse(struct ofs_search *s, struct ofs_passages *p);

/* ---- block.c */

#define OFS_WEIGHT_LABEL 0.6 /* of words in the names, beside those of a text; alone they have 1 */

/* Adds a block, whose score follows from its words, if it is among the best. */
void ofs_search_add_block(struct ofs_search *s, struct ofs_text_block *block);

/* The best first; of equal ones, the newest. */
void ofs_search_sort_blocks(struct ofs_search *s);

/* ---- candidate.c */

/* Chooses the blocks that are read, and makes their contents candidates. */
void ofs_search_choose(struct ofs_search *s);
void ofs_candidate_free(struct ofs_candidate *c);

/* ---- search.c */

/*
 * Appends the hits of a query in a tree, or with agent: in those in it. It may give words other
 * forms. 0 or -errno.
 */
int ofs_search_run(struct ofs_tree *t, struct ofs_root *root, struct ofs_query *q,
		   struct ofs_buf *out);

/* ---- hit.c: the hits, ranked and written as PATH:FROM-TO: snippet */

/*
 * Adds a hit for a passage of the file; NULL: for its first lines. `label`: the words that its names
 * have, as bits. 0 or -errno.
 */
int ofs_hits_add(struct ofs_search *s, const struct ofs_answer *a, uint32_t label,
		 const struct ofs_passages *passages, const struct ofs_passage *p, double score);

/* Appends the best, a line each. Every path can be opened as it stands. */
void ofs_hits_write(struct ofs_search *s, struct ofs_buf *out);

void ofs_hits_finish(struct ofs_search *s);
