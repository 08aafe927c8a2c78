/* SPDX-License-Identifier: MIT */
/*
 * A running search. Blocks of text that may match come from the search index (search_index.c) and
 * from reading files (search_scan.c). The best by their words (block.c) are read (candidate.c,
 * search.c), and their best passages become hits (hit.c). A file may also match by its names alone.
 * Nothing here counts as a use of a file.
 */
#pragma once

#include "base/map.h"
#include "base/u64_list.h"
#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/search/meaning.h"
#include "tree/search/passage.h"
#include "tree/search/query.h"

#define OFS_HITS_MAX 50 /* hits in an answer */
#define OFS_HIT_COPIES_MAX 3 /* files per content */
#define OFS_BLOCKS_MAX 4096 /* blocks kept, the best ones */
#define OFS_NEAR_MAX 30 /* documents found by meaning */

/* A block of text that may match, or the names of a file: its name, title and tags. */
struct ofs_text_block {
	uint64_t doc; /* number in the index; 0: the block is of a file */
	uint64_t ino; /* the file, if `doc` is 0 */
	uint64_t off, line; /* where the text starts */
	uint32_t len; /* 0: the names alone */
	uint32_t words; /* the query's words in the text, as bits */
	uint32_t label; /* the query's words in the names, as bits */
	double score;
};

/* A file that may be a hit. */
struct ofs_answer {
	struct ofs_attr attr;
	struct ofs_place place;
	char *title, *tags; /* NULL: none */
};

/* A content that may match, with the files that have it, the newest first. */
struct ofs_candidate {
	uint8_t sha[32];
	bool listed; /* `files` includes the files that the index knows, up to its limits */
	struct ofs_answer files[OFS_HIT_COPIES_MAX];
	size_t nfiles; /* 0: the query admits none */
	struct ofs_text_block *blocks; /* to be read */
	size_t nblocks, cap_blocks;
	uint32_t label; /* the query's words in the names, as bits */
	bool checked; /* the terms were checked: */
	size_t holding; /* they hold for this many files, which come first */
	double share; /* factor of the score of the latest hit; 0: no hit yet */
};

/* A document whose meaning is close to the query's. */
struct ofs_nearby {
	struct ofs_candidate *candidate; /* its content */
	uint64_t off;
	uint32_t len;
	double cosine;
};

struct ofs_search {
	struct ofs_tree *tree;
	struct ofs_root *root; /* hits' paths are relative to it */
	/* The trees searched: `root`, or those below it whose agents the query names. */
	struct ofs_root **in;
	size_t n_in, cap_in;
	struct ofs_query *query;

	/* Number of blocks (and of files' names) that have each word, and their totals. */
	uint64_t found[OFS_QUERY_WORDS], all;
	uint64_t named[OFS_QUERY_WORDS], names;
	double weights[OFS_QUERY_WORDS], label_weights[OFS_QUERY_WORDS];

	struct ofs_u64_list docs[OFS_QUERY_WORDS]; /* documents of the index, newest first */
	struct ofs_u64_list labels[OFS_QUERY_WORDS]; /* files of the index by names, likewise */
	struct ofs_text_block *scanned; /* blocks found by reading files */
	size_t nscanned, cap_scanned;
	int64_t until; /* monotonic: end of the time for files that are not indexed */
	bool is_cut; /* some of those files were not searched: a limit was reached */
	bool relaxed; /* no file has the phrases, so they are no longer required */

	struct ofs_nearby near[OFS_NEAR_MAX]; /* nearest first */
	size_t nnear;

	struct ofs_text_block *blocks; /* the best, up to OFS_BLOCKS_MAX */
	size_t nblocks;
	struct ofs_map by_sha,
		by_ino; /* the start of the hash, or the inode -> struct ofs_candidate */
	struct ofs_candidate **candidates;
	size_t ncandidates, cap_candidates;
	uint64_t left; /* bytes that may still be read */

	struct ofs_hit *hits; /* hit.c */
	size_t nhits, cap_hits;
};

/* ---- answer.c: loading files and checking filters and terms */

/*
 * Loads a file into *ret. Returns 1 if it exists and the filters admit it, else 0. Call
 * ofs_answer_finish() in either case. `name` may be NULL; see ofs_place_of_known().
 */
int ofs_answer_load(struct ofs_search *s, uint64_t ino, const char *name, struct ofs_answer *ret);
void ofs_answer_finish(struct ofs_answer *a);

/* Returns whether the query's filters admit the tier. */
bool ofs_search_wants(const struct ofs_query *q, enum ofs_tier tier);

/* Whether the tree at the store's root, the only one with an index, is searched. */
static inline bool ofs_search_has_index(const struct ofs_search *s)
{
	return s->n_in && !s->in[0]->above;
}

/*
 * Moves the files to the front that, by their content and names together, have all wanted terms and
 * no unwanted one, and sets `holding` to their number. Returns whether there are any. A file does
 * not hold if the bytes that may be read run out first. `p` has what was read of the content
 * already; it may be NULL.
 */
bool ofs_candidate_holds(struct ofs_search *s, struct ofs_candidate *c,
			 const struct ofs_passages *p);

/* ---- search_index.c: finding through the search index */

/*
 * Looks up the query's forms from number `first` on. A word with such a form must not have been
 * found before. Returns 0 or -errno.
 */
int ofs_search_index_find(struct ofs_search *s, size_t first);
/* Turns the documents and files found into blocks. Returns 0 or -errno. */
int ofs_search_index_blocks(struct ofs_search *s);

/* ---- search_files.c: the files to search without the index */

/* Allows `ms` milliseconds from now for files that are not indexed. */
void ofs_search_give_time(struct ofs_search *s, uint32_t ms);
/* Whether that time is over. */
bool ofs_search_is_late(const struct ofs_search *s);

/*
 * Calls `fn` for the files of tiers `first` to `last` of a tree, newest first, until it returns
 * nonzero; returns that. Tiers that the query excludes are skipped, but `fn` may get files that the
 * filters do not admit. Returns -ECANCELED if there were more than `max` files or time ran out.
 * Even then `fn` gets the newest.
 */
int ofs_search_each_file(struct ofs_search *s, const struct ofs_root *root, enum ofs_tier first,
			 enum ofs_tier last, size_t max,
			 int (*fn)(void *arg, uint64_t ino, const char *name), void *arg);

/* ---- search_scan.c: finding by reading: the working tier, and files not indexed yet */

/* Reads the newest file, and older ones while there is time. Returns 0 or -errno. */
int ofs_search_scan(struct ofs_search *s);

/* ---- fusion.c: joining results by words and by meaning */

/* Ranks the passages by both, after adding passages that match only by meaning. */
void ofs_search_fuse(struct ofs_search *s, struct ofs_passages *p);

/* ---- block.c */

#define OFS_WEIGHT_LABEL 0.6 /* of words in the names when there is text, too; alone they have 1 */

/* Sets the block's score from its words and adds it, if it is among the best. */
void ofs_search_add_block(struct ofs_search *s, struct ofs_text_block *block);

/* Sorts by score, best first, then newest first. */
void ofs_search_sort_blocks(struct ofs_search *s);

/* ---- candidate.c */

/* Chooses the blocks to read and makes their contents candidates. */
void ofs_search_choose(struct ofs_search *s);
void ofs_candidate_free(struct ofs_candidate *c);

/* ---- search.c */

/*
 * Appends the hits of a query in a tree or, with the filter agent:, in trees below it. May add
 * forms to the query's words. Returns 0 or -errno.
 */
int ofs_search_run(struct ofs_tree *t, struct ofs_root *root, struct ofs_query *q,
		   struct ofs_buf *out);

/* ---- hit.c: ranking hits and writing them as PATH:FROM-TO: snippet */

/*
 * Adds a hit for a passage of the file, or for its first lines if `p` is NULL. `label` is the
 * query's words in its names, as bits. Returns 0 or -errno.
 */
int ofs_hits_add(struct ofs_search *s, const struct ofs_answer *a, uint32_t label,
		 const struct ofs_passages *passages, const struct ofs_passage *p, double score);

/* Appends the best hits, one per line. Each path can be opened as it is written. */
void ofs_hits_write(struct ofs_search *s, struct ofs_buf *out);

void ofs_hits_finish(struct ofs_search *s);
