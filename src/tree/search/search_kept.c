/* SPDX-License-Identifier: MIT */
/*
 * Finding through the search index. It names candidates, whose content is then read from the store;
 * a file that no longer matches its row is left out and noted for the indexer. Both the candidates
 * of each kind and the bytes read are bounded.
 */
#include "base/text.h"
#include "base/u64_list.h"
#include "tree/search/indexer.h"
#include "tree/search/answer.h"

#define WORDS_MAX 200 /* documents that have the terms as words, the best first */
#define PARTS_MAX 200 /* the newest that may have the terms within words */
#define SINGLE_MAX 100 /* of a single one of several terms */
#define NAMES_MAX 200
#define FILTERED 5 /* times as many when filters leave some out */
#define ENOUGH \
	4 /* parts of a content that have all terms, and of each term that is looked for alone */
#define COPIES_LOOKED_AT 1000 /* files of a content, of which few are shown */
#define READ_MAX (UINT64_C(8) << 20) /* bytes that are read of all of them */
#define NEEDLE_MIN OFS_FTS_NEEDLE_MIN

struct part {
	uint64_t off, line;
	uint32_t len;
};

/* A content that may answer. */
struct content {
	uint8_t sha[32];
	double bm25; /* of its best part; the more the better; 0: not known */
	struct part *parts;
	size_t nparts, cap_parts;
	uint32_t terms; /* that it is said to have */
	uint32_t last_terms; /* of its last part, and how many parts came with those */
	size_t nlast;
	bool done;
};

struct lookup {
	struct ofs_search *search;
	struct ofs_fts *index;
	struct ofs_map by_sha; /* the start of the hash -> struct content */
	struct content **list; /* in the order of finding */
	size_t n, cap;
	uint32_t terms; /* that what is being found is said to have */
	double best; /* bm25 */
	size_t more; /* times as many candidates as usual */
	uint64_t left; /* bytes to be read */
};

static int take_ino(void *arg, uint64_t ino)
{
	struct ofs_u64_list *l = arg;

	ofs_u64_list_add(l, ino);
	return l->n >= COPIES_LOOKED_AT;
}

static void lookup_finish(struct lookup *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->list[i]->parts);
		free(k->list[i]);
	}
	free(k->list);
	ofs_map_finish(&k->by_sha);
}

/* ---- candidates */

/* NULL: the hash of another content starts alike. */
static struct content *content_of(struct lookup *k, const uint8_t sha[32])
{
	struct content *c = ofs_map_get(&k->by_sha, ofs_get_le64(sha));

	if (c)
		return memcmp(c->sha, sha, sizeof(c->sha)) == 0 ? c : NULL;
	c = ofs_alloc(sizeof(*c));
	memcpy(c->sha, sha, sizeof(c->sha));
	ofs_map_put(&k->by_sha, ofs_get_le64(sha), c);
	*ofs_append(k->list, k->n, k->cap) = c;
	return c;
}

static void take_doc(struct lookup *k, const struct ofs_fts_doc *doc, double bm25)
{
	struct content *c = content_of(k, doc->sha);

	if (!c || c->done)
		return;
	c->nlast = c->last_terms == k->terms ? c->nlast + 1 : 1;
	c->last_terms = k->terms;
	c->terms |= k->terms;
	if (k->terms != ofs_search_terms(k->search->query) && c->nlast > ENOUGH)
		return;
	c->bm25 = OFS_MAX(c->bm25, bm25);
	k->best = OFS_MAX(k->best, bm25);
	for (size_t i = 0; i < c->nparts; i++)
		if (c->parts[i].off == doc->off)
			return;
	*ofs_append(c->parts, c->nparts, c->cap_parts) =
		(struct part){ .off = doc->off, .line = doc->line, .len = doc->len };
}

static int take_by_words(void *arg, const struct ofs_fts_doc *doc, double bm25)
{
	take_doc(arg, doc, -bm25);
	return 0;
}

static int take_by_parts(void *arg, const struct ofs_fts_doc *doc)
{
	take_doc(arg, doc, 0);
	return 0;
}

/* A file that a term is said to be in the names of. */
static int take_by_names(void *arg, uint64_t ino)
{
	struct lookup *k = arg;
	struct ofs_fts_file file;
	struct content *c;
	int r = ofs_fts_get_file(k->index, ino, &file);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	c = file.has_sha ? content_of(k, file.sha) : NULL;
	if (c)
		c->terms |= k->terms;
	return 0;
}

/* A term as FTS5 wants it: a phrase in quotes. */
static void append_words(const struct ofs_term *term, struct ofs_buf *out)
{
	ofs_buf_append_str(out, "\"");
	for (size_t i = 0; i < term->len; i++)
		ofs_buf_append(out, term->text[i] == '"' ? "\"\"" : &term->text[i],
			       term->text[i] == '"' ? 2 : 1);
	ofs_buf_append_str(out, term->kind == OFS_TERM_PREFIX ? "\" *" : "\"");
}

/* Documents that have all of the terms first to last as words. */
static int find_by_words(struct lookup *k, size_t first, size_t last, size_t limit)
{
	const struct ofs_query *q = k->search->query;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf match = OFS_BUF_INIT;
	int r = 0;

	for (size_t i = first; i <= last; i++) {
		if (i > first)
			ofs_buf_append_str(&match, " AND ");
		append_words(&q->terms[i], &match);
	}
	ofs_buf_append(&match, "", 1);
	r = ofs_fts_find_words(k->index, (const char *)match.data, limit * k->more, take_by_words,
			       k);
	/* -EINVAL: the terms have no words for the index. */
	return r == -EINVAL ? 0 : OFS_MIN(r, 0);
}

/* Documents that may have all of them within words. */
static int find_by_parts(struct lookup *k, size_t first, size_t last, size_t limit)
{
	const struct ofs_query *q = k->search->query;
	const char *needles[OFS_TERMS_MAX];
	size_t n = 0;
	int r;

	for (size_t i = first; i <= last; i++)
		if (q->terms[i].chars >= NEEDLE_MIN)
			needles[n++] = q->terms[i].text;
	if (!n)
		return 0;
	r = ofs_fts_find_substring(k->index, needles, n, limit * k->more, take_by_parts, k);
	return OFS_MIN(r, 0);
}

/* ---- what they hold */

/* Reads a part; short where the file is. */
static ssize_t read_part(struct lookup *k, uint64_t ino, const struct part *p, char *buf)
{
	ssize_t n = ofs_store_read(k->search->tree->store, ino, buf, p->len, p->off);

	k->left -= OFS_MIN(k->left, (uint64_t)OFS_MAX(n, (ssize_t)0));
	return n;
}

/*
 * The whole content, cut at line ends: a term that is unwanted may be anywhere, so a content for
 * which the bytes do not suffice counts as having it.
 */
static int scan_all(struct lookup *k, uint64_t ino, struct ofs_passages *ret)
{
	OFS_FREE char *buf = ofs_alloc(OFS_FTS_PART_MAX);
	struct part p = { .off = 0, .line = 1, .len = OFS_FTS_PART_MAX };
	const char *end;
	ssize_t n;

	while (k->left) {
		n = read_part(k, ino, &p, buf);
		if (n <= 0)
			return (int)n;
		end = n == (ssize_t)p.len ? memrchr(buf, '\n', (size_t)n) : NULL;
		n = end ? end + 1 - buf : n;
		ofs_passages_scan(ret, k->search->query, buf, (size_t)n, p.off, p.line);
		p.off += (uint64_t)n;
		p.line += ofs_text_newlines(buf, (size_t)n);
	}
	ret->found[k->search->query->wanted] = OFS_MATCH_NAME;
	return 0;
}

/* All terms were found more often than `before`. */
static bool has_more(const struct ofs_query *q, const uint32_t before[],
		     const struct ofs_passages *p)
{
	size_t i;

	for (i = 0; i < q->wanted && p->count[i] > before[i]; i++)
		;
	return i == q->wanted;
}

/* The parts that were named, the best first, until enough of them have all terms. */
static int scan_parts(struct lookup *k, const struct content *c, uint64_t ino,
		      struct ofs_passages *ret)
{
	const struct ofs_query *q = k->search->query;
	OFS_FREE char *buf = ofs_alloc(OFS_FTS_PART_MAX);
	uint32_t before[OFS_TERMS_MAX];
	size_t full = 0;
	ssize_t n;

	for (size_t i = 0; i < c->nparts && k->left && full < ENOUGH; i++) {
		if (c->parts[i].len > OFS_FTS_PART_MAX)
			continue;
		n = read_part(k, ino, &c->parts[i], buf);
		if (n < 0)
			return (int)n;
		memcpy(before, ret->count, sizeof(before));
		ofs_passages_scan(ret, q, buf, (size_t)n, c->parts[i].off, c->parts[i].line);
		full += has_more(q, before, ret);
	}
	return 0;
}

/* The file has the content, in an indexed tier, and may answer. */
static bool load_current(struct lookup *k, uint64_t ino, const uint8_t sha[32],
			 struct ofs_answer *ret)
{
	struct ofs_tree *t = k->search->tree;
	struct ofs_content_hash digest = { .has_sha = false };
	int r = ofs_answer_load(k->search, ino, ret);

	if (r > 0)
		r = ofs_answer_fill(k->search, ret);
	if (r > 0 && ofs_store_get_hash(t->store, ino, &digest) == 0 && digest.has_sha &&
	    memcmp(digest.sha, sha, sizeof(digest.sha)) == 0 &&
	    ofs_place_tier(&ret->place) != OFS_TIER_WORKING)
		return true;
	if (r)
		ofs_indexer_note(t->indexer, ino);
	return false;
}

/* How much more the content is about the terms than others are, 0 to 1. */
static double relevance(const struct lookup *k, const struct content *c,
			const struct ofs_passages *p)
{
	return c->bm25 > 0 && k->best > 0 ? c->bm25 / k->best
					  : ofs_search_relevance(k->search->query, p);
}

/* Adds the files that have the content, the newest first. */
static int look_at(struct lookup *k, struct content *c)
{
	OFS_CLEANUP(ofs_passages_finish) struct ofs_passages p = { .n = 0 };
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };
	struct ofs_search *s = k->search;
	bool scanned = false;
	int r;

	c->done = true;
	r = ofs_fts_files_of(k->index, c->sha, take_ino, &files);
	for (size_t i = 0; i < files.n && r >= 0 && !ofs_hits_has_all(s, c->sha); i++) {
		OFS_CLEANUP(ofs_answer_finish) struct ofs_answer a;

		r = 0;
		if (!load_current(k, files.at[i], c->sha, &a))
			continue;
		if (!scanned) {
			r = s->query->unwanted ? scan_all(k, files.at[i], &p)
					       : scan_parts(k, c, files.at[i], &p);
			scanned = true;
		}
		/* Damaged content is left out; its names may answer all the same. */
		if (r == 0 || r == -EIO)
			r = ofs_search_add(s, &a, &p, relevance(k, c, &p));
	}
	return OFS_MIN(r, 0);
}

/* Looks at all that is said to have all terms. */
static int look_at_all(struct lookup *k)
{
	uint32_t all = ofs_search_terms(k->search->query);
	int r = 0;

	for (size_t i = 0; i < k->n && r == 0; i++)
		if (!k->list[i]->done && k->list[i]->terms == all)
			r = look_at(k, k->list[i]);
	return r;
}

/* ---- the ways to find */

static int find_together(struct lookup *k)
{
	size_t last = k->search->query->wanted - 1;
	int r;

	k->terms = ofs_search_terms(k->search->query);
	r = find_by_words(k, 0, last, WORDS_MAX);
	if (r == 0)
		r = look_at_all(k);
	if (r < 0 || k->search->n >= OFS_HITS_MAX)
		return r;
	r = find_by_parts(k, 0, last, PARTS_MAX);
	return r < 0 ? r : look_at_all(k);
}

/* Terms that are in different parts of a long content, or some of them in the names. */
static int find_apart(struct lookup *k)
{
	const struct ofs_query *q = k->search->query;
	int r = 0;

	for (size_t i = 0; i < q->wanted && r == 0; i++) {
		const char *needle = q->terms[i].text;

		k->terms = UINT32_C(1) << i;
		r = find_by_words(k, i, i, SINGLE_MAX);
		if (r == 0)
			r = find_by_parts(k, i, i, SINGLE_MAX);
		if (r == 0)
			r = ofs_fts_find_names(k->index, &needle, 1, NAMES_MAX * k->more,
					       take_by_names, k);
	}
	return r < 0 ? r : look_at_all(k);
}

static int find_names(struct lookup *k)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };
	const struct ofs_query *q = k->search->query;
	const char *needles[OFS_TERMS_MAX];
	int r;

	for (size_t i = 0; i < q->wanted; i++)
		needles[i] = q->terms[i].text;
	r = ofs_fts_find_names(k->index, needles, q->wanted, NAMES_MAX * k->more, take_ino, &files);
	for (size_t i = 0; i < files.n && r >= 0; i++) {
		OFS_CLEANUP(ofs_answer_finish) struct ofs_answer a;

		r = ofs_answer_load(k->search, files.at[i], &a);
		if (r == -ENOENT)
			ofs_indexer_note(k->search->tree->indexer, files.at[i]);
		r = r > 0 ? ofs_search_add(k->search, &a, NULL, 0) : 0;
	}
	return OFS_MIN(r, 0);
}

int ofs_search_index(struct ofs_search *s)
{
	OFS_CLEANUP(lookup_finish) struct lookup k = { .search = s, .left = READ_MAX };
	struct ofs_tree *t = s->tree;
	int r;

	if (!ofs_search_wants(s->query, OFS_TIER_LONG_TERM) &&
	    !ofs_search_wants(s->query, OFS_TIER_ARCHIVE))
		return 0;
	if (!t->background)
		ofs_indexer_settle(t->indexer);
	k.more = ofs_search_is_filtered(s->query) ? FILTERED : 1;
	k.index = ofs_indexer_index(t->indexer);
	if (!k.index)
		return 0;
	r = find_together(&k);
	if (r == 0 && s->query->wanted > 1 && s->n < OFS_HITS_MAX)
		r = find_apart(&k);
	if (r == 0)
		r = find_names(&k);
	/* A damaged index is being rebuilt; until then names are walked. */
	return r == -EUCLEAN ? 0 : r;
}
