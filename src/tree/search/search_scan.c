/* SPDX-License-Identifier: MIT */
/*
 * Finds words by reading files: those of the working tier, and those not indexed yet, newest first,
 * until the time is over.
 */
#include "base/text.h"
#include "tree/core/label.h"
#include "tree/search/search.h"
#include "tree/search/finder.h"
#include "tree/search/indexer.h"

#define SCAN_MAX (UINT64_C(256) << 20) /* bytes read in a search */
#define FILES_MAX 1000000 /* files of a tree, the newest */
#define UNINDEXED_MAX 50000 /* files of the indexed tiers that are checked, the newest */
#define PIECE ((size_t)256 * 1024) /* bytes read at once */
#define OVERLAP 256 /* bytes of the next piece, so that no word is split */
#define PROBE 8192 /* a NUL within these bytes: not text */

struct scan {
	struct ofs_search *search;
	struct ofs_fts *index; /* files that it has are skipped; NULL: none are */
	struct ofs_words *words;
	struct ofs_finder *finder;
	char *buf; /* PIECE + OVERLAP bytes */
	uint64_t left; /* bytes that may still be read */
	const char *name; /* the text whose words are being read */
	uint32_t label; /* the query's words found in names, as bits */
};

static void scan_finish(struct scan *s)
{
	ofs_words_destroy(s->words);
	ofs_finder_destroy(s->finder);
	free(s->buf);
}

/* ---- names */

static void take_word(void *arg, const struct ofs_word *word)
{
	struct scan *s = arg;

	s->label |= ofs_query_match(s->search->query, s->name, word);
}

static void look_for(struct scan *s, const char *name)
{
	s->name = name;
	if (name)
		ofs_words_each(s->words, name, strlen(name), take_word, s);
}

static void take_label(void *arg, const struct ofs_label *l)
{
	if (l) {
		look_for(arg, l->title);
		look_for(arg, l->tags);
	}
}

/* Looks for the query's words in name, title and tags. */
static int scan_names(struct scan *s, uint64_t ino, const char *name)
{
	struct ofs_search *search = s->search;
	int r;

	s->label = 0;
	look_for(s, name);
	r = ofs_labels_with(search->tree, ino, take_label, s);
	search->names++;
	ofs_query_count(search->named, s->label);
	if (s->label)
		*ofs_append(search->scanned, search->nscanned, search->cap_scanned) =
			(struct ofs_text_block){ .ino = ino, .label = s->label };
	return r;
}

/* ---- texts */

/* Searches the blocks of a piece: the first `len` of the `all` bytes in `buf`. */
static void scan_piece(struct scan *s, uint64_t ino, size_t all, size_t len, uint64_t off,
		       uint64_t line)
{
	struct ofs_search *search = s->search;

	for (size_t at = 0, size; at < len; at += size) {
		struct ofs_text_block block = { .ino = ino, .off = off + at, .label = s->label };

		size = OFS_MIN(len - at, (size_t)OFS_FINDER_BLOCK);
		block.words = ofs_finder_words(s->finder, s->buf, all, at, at + size);
		block.len = (uint32_t)size;
		block.line = line;
		line += ofs_text_newlines(s->buf + at, size);
		search->all++;
		ofs_query_count(search->found, block.words | ofs_finder_unsought(s->finder));
		if (!block.words)
			continue;
		*ofs_append(search->scanned, search->nscanned, search->cap_scanned) = block;
	}
}

/* False until a file was read, so that the newest one is found however late it is. */
static bool is_over(const struct scan *s)
{
	return !s->left || (s->left < SCAN_MAX && ofs_search_is_late(s->search));
}

/* Skips damaged content. */
static int scan_text(struct scan *s, uint64_t ino)
{
	struct ofs_store *store = s->search->tree->store;
	uint64_t off = 0, line = 1;
	bool last = false;
	ssize_t n = 0;
	size_t own;

	while (!last) {
		if (is_over(s)) {
			s->search->is_cut = true;
			break;
		}
		n = ofs_store_scan(store, ino, s->buf, PIECE + OVERLAP, off);
		if (n <= 0 || (!off && memchr(s->buf, 0, OFS_MIN((size_t)n, (size_t)PROBE)))) {
			s->left--; /* time counts from the first file on, whatever it is */
			break;
		}
		last = (size_t)n < PIECE + OVERLAP;
		own = last ? (size_t)n : PIECE;
		scan_piece(s, ino, (size_t)n, own, off, line);
		line += ofs_text_newlines(s->buf, own);
		off += own;
		s->left -= OFS_MIN(s->left, (uint64_t)own);
	}
	return n >= 0 || n == -EIO || n == -ENOENT || n == -ESTALE ? 0 : (int)n;
}

/* ---- files */

/* Returns 1 if the index has the file's content, 0 if not, or -errno. */
static int is_indexed(const struct scan *s, uint64_t ino)
{
	struct ofs_fts_file file;
	int r = s->index ? ofs_fts_get_file(s->index, ino, &file) : -ENOENT;

	return r == 0 ? file.has_sha : r == -ENOENT || r == -EUCLEAN ? 0 : r;
}

/* Whether a filter excludes the file. Without filters the file is loaded later, if it matches. */
static bool is_left_out(const struct scan *s, uint64_t ino)
{
	OFS_CLEANUP(ofs_answer_finish) struct ofs_answer a = { .place.path = OFS_BUF_INIT };

	return s->search->query->filtered && ofs_answer_load(s->search, ino, NULL, &a) <= 0;
}

static int scan_file(void *arg, uint64_t ino, const char *name)
{
	struct scan *s = arg;
	int r = is_indexed(s, ino);

	if (r)
		return OFS_MIN(r, 0);
	if (is_over(s) || (s->search->query->filtered && ofs_search_is_late(s->search))) {
		s->search->is_cut = true;
		return 0;
	}
	if (is_left_out(s, ino))
		return 0;
	r = scan_names(s, ino, name);
	return r < 0 ? r : scan_text(s, ino);
}

/* Agents' trees have no index, since its timing would reveal how much others have. */
static int scan_tree(struct scan *s, const struct ofs_root *root)
{
	struct ofs_search *search = s->search;
	struct ofs_indexer *indexer = search->tree->indexer;
	enum ofs_tier last = root->above ? OFS_TIER_ARCHIVE : OFS_TIER_WORKING;
	struct ofs_indexer_stats stats;
	int r = ofs_search_each_file(search, root, OFS_TIER_WORKING, last, FILES_MAX, scan_file, s);

	if (r == -ECANCELED) {
		search->is_cut = true;
		r = 0;
	}
	if (r < 0 || root->above)
		return r;
	ofs_indexer_stats(indexer, &stats);
	s->index = ofs_indexer_index(indexer);
	if (!s->index || !stats.caught_up)
		r = ofs_search_each_file(search, root, OFS_TIER_LONG_TERM, OFS_TIER_ARCHIVE,
					 UNINDEXED_MAX, scan_file, s);
	s->index = NULL;
	if (r != -ECANCELED)
		return r;
	search->is_cut = search->is_cut || ofs_search_is_late(search);
	return 0;
}

int ofs_search_scan(struct ofs_search *search)
{
	OFS_CLEANUP(scan_finish) struct scan s = { .search = search, .left = SCAN_MAX };
	int r = 0;

	s.buf = ofs_alloc(PIECE + OVERLAP);
	s.words = ofs_words_create();
	s.finder = ofs_finder_create(search->query);
	for (size_t i = 0; i < search->n_in && r == 0; i++)
		r = scan_tree(&s, search->in[i]);
	return r;
}
