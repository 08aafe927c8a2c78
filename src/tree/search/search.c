/* SPDX-License-Identifier: MIT */
/* A search from query to hits: finding, reading the best blocks, listing without words. */
#include "base/redact.h"
#include "base/text.h"
#include "tree/search/search.h"
#include "tree/search/indexer.h"

#define REPAIR_MIN 4 /* bytes of the shortest word whose typos are looked for */
#define LISTED_MAX 1000000 /* files listed without words, the newest */
#define LIST_MS_MIN 2000 /* least time for that */
#define READ_MAX (UINT64_C(64) << 20) /* bytes read of all contents together */
#define MARGIN 600 /* bytes on either side of a block that passages may use */
#define WEIGHT_NEXT 0.95 /* factor for each further passage of a content */
#define WEIGHT_COPY 0.3 /* factor for each further file of a content */

static void search_finish(struct ofs_search *s)
{
	for (size_t i = 0; i < s->ncandidates; i++)
		ofs_candidate_free(s->candidates[i]);
	for (size_t i = 0; i < OFS_QUERY_WORDS; i++) {
		ofs_u64_list_finish(&s->docs[i]);
		ofs_u64_list_finish(&s->labels[i]);
	}
	free(s->in);
	free(s->candidates);
	free(s->scanned);
	free(s->blocks);
	ofs_map_finish(&s->by_sha);
	ofs_map_finish(&s->by_ino);
	ofs_hits_finish(s);
}

/* ---- reading */

static int compare_places(const void *a, const void *b)
{
	const struct ofs_text_block *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

/* Texts that the regions refer to; they must outlive the passages. */
struct texts {
	char **at;
	size_t n, cap;
};

static void texts_finish(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->at[i]);
	free(t->at);
}

/*
 * Reads blocks `first` to `last`, which are close to each other, and adds them as a region with
 * what is around them. It starts and ends at a line break, if there is one within the margin.
 */
static int read_region(struct ofs_search *s, struct ofs_candidate *c,
		       const struct ofs_text_block *first, const struct ofs_text_block *last,
		       struct texts *texts, struct ofs_passages *p)
{
	const size_t around = MARGIN + OFS_REDACT_AHEAD;
	uint64_t from = first->off - OFS_MIN(first->off, (uint64_t)around);
	size_t lead = (size_t)(first->off - from), tail = (size_t)(last->off - from) + last->len;
	size_t size = tail + around, len, start, end;
	char *text = *ofs_append(texts->at, texts->n, texts->cap) = ofs_alloc(size + 1);
	ssize_t n = ofs_store_read(s->tree->store, c->files[0].attr.ino, text, size, from);
	const char *line;

	if (n < 0)
		return n == -EIO || n == -ENOENT || n == -ESTALE ? 0 : (int)n;
	len = (size_t)n;
	s->left -= OFS_MIN(s->left, (uint64_t)len);
	if (len <= lead)
		return 0;
	start = lead - OFS_MIN(lead, (size_t)MARGIN);
	line = start || from ? memchr(text + start, '\n', lead - start) : NULL;
	start = line ? (size_t)(line - text) + 1 : start || from ? lead : 0;
	tail = OFS_MIN(len, tail);
	end = OFS_MIN(len, tail + MARGIN);
	line = end < len ? memrchr(text + tail - 1, '\n', end - tail + 1) : NULL;
	end = line ? (size_t)(line - text) + 1 : end;
	ofs_passages_add(
		p, &(struct ofs_text_region){
			   .text = text + start,
			   .len = end - start,
			   .before = start,
			   .after = len - end,
			   .off = from + start,
			   .line = first->line - ofs_text_newlines(text + start, lead - start),
			   .bonus = OFS_WEIGHT_LABEL * ofs_query_weigh(s->label_weights, c->label),
			   .owner = c,
		   });
	return 0;
}

static int read_candidate(struct ofs_search *s, struct ofs_candidate *c, struct texts *texts,
			  struct ofs_passages *p)
{
	struct ofs_text_block *b = c->blocks;
	size_t i = 0, last;
	int r = 0;

	if (c->nblocks)
		qsort(b, c->nblocks, sizeof(*b), compare_places);
	while (i < c->nblocks && r == 0 && s->left) {
		for (last = i; last + 1 < c->nblocks &&
			       b[last + 1].off <= b[last].off + b[last].len + 2 * MARGIN;)
			last++;
		r = read_region(s, c, &b[i], &b[last], texts, p);
		i = last + 1;
	}
	return r;
}

/* ---- hits */

/* Adds the passage for each file, on the first hit of the content; copies count less. */
static int add_hit(struct ofs_search *s, struct ofs_candidate *c, const struct ofs_passages *ps,
		   const struct ofs_passage *p, double score)
{
	size_t n = c->share ? 1 : c->holding;
	int r = 0;

	c->share = c->share ? c->share * WEIGHT_NEXT : 1;
	score *= c->share;
	for (size_t i = 0; i < n && r == 0; i++) {
		r = ofs_hits_add(s, &c->files[i], c->label, ps, p, score);
		score *= WEIGHT_COPY;
	}
	return r;
}

/* Whether the passage has a wanted term, if there is any, or the names have a word of the query. */
static bool answers(const struct ofs_search *s, const struct ofs_candidate *c,
		    const struct ofs_passage *p)
{
	return !s->query->wanted || p->exact || c->label;
}

static int add_hits(struct ofs_search *s, const struct ofs_passages *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n && r == 0 && s->nhits < OFS_HITS_MAX; i++) {
		struct ofs_candidate *c = p->regions[p->list[i].region].owner;

		if (answers(s, c, &p->list[i]) && ofs_candidate_holds(s, c, p))
			r = add_hit(s, c, p, &p->list[i], p->list[i].score);
	}
	for (size_t i = 0; i < s->ncandidates && r == 0; i++) {
		struct ofs_candidate *c = s->candidates[i];

		if (c->label && c->nfiles && !c->share && ofs_candidate_holds(s, c, p))
			r = add_hit(s, c, NULL, NULL, ofs_query_weigh(s->label_weights, c->label));
	}
	return r;
}

/*
 * If there are no hits, drops the wanted phrases of a query that has other words. Returns whether
 * it did, which it does not if there are other wanted terms.
 */
static bool relax(struct ofs_search *s)
{
	struct ofs_query *q = s->query;

	for (size_t i = 0; i < q->wanted; i++)
		if (q->terms[i].kind != OFS_TERM_PHRASE)
			return false;
	if (!q->wanted || !q->has_plain || s->nhits)
		return false;
	for (size_t i = 0; i < q->wanted; i++)
		free(q->terms[i].text);
	memmove(q->terms, q->terms + q->wanted, q->unwanted * sizeof(*q->terms));
	q->wanted = 0;
	for (size_t i = 0; i < s->ncandidates; i++)
		s->candidates[i]->checked = false;
	return s->relaxed = true;
}

static int find_hits(struct ofs_search *s)
{
	OFS_CLEANUP(ofs_passages_finish) struct ofs_passages p = { .n = 0 };
	OFS_CLEANUP(texts_finish) struct texts texts = { .n = 0 };
	int r = ofs_search_index_blocks(s);

	for (size_t i = 0; i < s->nscanned; i++)
		ofs_search_add_block(s, &s->scanned[i]);
	ofs_search_choose(s);
	for (size_t i = 0; i < s->ncandidates && r == 0; i++)
		if (s->candidates[i]->nfiles)
			r = read_candidate(s, s->candidates[i], &texts, &p);
	ofs_passages_rank(&p, s->query, s->weights);
	if (s->nnear)
		ofs_search_fuse(s, &p);
	if (r == 0)
		r = add_hits(s, &p);
	return r == 0 && relax(s) ? add_hits(s, &p) : r;
}

/* ---- lists */

/* A file and its modification time. */
struct dated {
	int64_t mtime;
	uint64_t ino;
};

static int compare_dates(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	if (x->mtime != y->mtime)
		return x->mtime > y->mtime ? -1 : 1;
	return x->ino > y->ino ? -1 : x->ino < y->ino;
}

struct dates {
	struct ofs_search *search;
	struct dated *list;
	size_t n, cap;
};

static void dates_finish(struct dates *d)
{
	free(d->list);
}

static int take_date(void *arg, uint64_t ino, const char *name)
{
	OFS_CLEANUP(ofs_answer_finish) struct ofs_answer a = { .place.path = OFS_BUF_INIT };
	struct dates *d = arg;

	if (ofs_search_is_late(d->search))
		return -ECANCELED;
	if (ofs_answer_load(d->search, ino, name, &a) > 0)
		*ofs_append(d->list, d->n, d->cap) = (struct dated){ a.attr.mtime, ino };
	return 0;
}

/* For a query without words: lists the files that the filters admit, newest first. */
static int list(struct ofs_search *s)
{
	OFS_CLEANUP(dates_finish) struct dates dates = { .search = s };
	int r = 0;

	ofs_search_give_time(s, OFS_MAX(s->tree->search_ms, LIST_MS_MIN));
	for (size_t i = 0; i < s->n_in && r == 0; i++) {
		r = ofs_search_each_file(s, s->in[i], OFS_TIER_WORKING, OFS_TIER_ARCHIVE,
					 LISTED_MAX, take_date, &dates);
		if (r == -ECANCELED) {
			s->is_cut = true;
			r = 0;
		}
	}
	if (dates.n)
		qsort(dates.list, dates.n, sizeof(*dates.list), compare_dates);
	for (size_t i = 0; i < dates.n && r == 0 && s->left && s->nhits < OFS_HITS_MAX; i++) {
		OFS_CLEANUP(ofs_answer_finish) struct ofs_answer a = { 0 };

		if (ofs_answer_load(s, dates.list[i].ino, NULL, &a) > 0 &&
		    ofs_candidate_holds(s, &(struct ofs_candidate){ .files = { a }, .nfiles = 1 },
					NULL))
			r = ofs_hits_add(s, &a, 0, NULL, NULL, 0);
	}
	return r;
}

/* ---- the search as a whole */

static void weigh_words(struct ofs_search *s)
{
	double text[OFS_QUERY_WORDS];

	ofs_passages_weigh(s->query, s->found, s->all, s->weights);
	ofs_passages_weigh(s->query, s->named, s->names, text);
	/* A word that is frequent in texts tells little in a name, too. */
	for (size_t i = 0; i < s->query->nwords; i++)
		s->label_weights[i] = s->found[i] ? OFS_MIN(text[i], s->weights[i]) : text[i];
}

/*
 * If at least half of the words are not found anywhere, adds forms to these: words with them as a
 * prefix, and words with a typo. Returns whether it added any.
 */
static bool repair(struct ofs_search *s)
{
	struct ofs_query *q = s->query;
	size_t known = 0, unknown = 0, nforms = q->nforms;

	for (size_t i = 0; i < q->nwords; i++) {
		bool is_known = s->found[i] || s->named[i];

		known += is_known && q->words[i].weight == 1;
		unknown += !is_known && q->words[i].weight == 1;
	}
	for (size_t i = 0; i < nforms && unknown && unknown >= known; i++) {
		struct ofs_form f = q->forms[i];

		if (f.kind != OFS_FORM_WORD || s->found[f.word] || s->named[f.word] ||
		    q->words[f.word].weight < 1 || f.len < REPAIR_MIN)
			continue;
		ofs_query_add_form(q, f.word, OFS_FORM_START, f.text, f.len);
		ofs_query_add_form(q, f.word, OFS_FORM_TYPO, f.text, f.len);
		/* The typo may be in the ending, and then the text is not the stem. */
		if (q->words[f.word].typed_len != f.len)
			ofs_query_add_form(q, f.word, OFS_FORM_TYPO, q->words[f.word].typed,
					   q->words[f.word].typed_len);
	}
	return q->nforms > nforms;
}

static int find(struct ofs_search *s)
{
	size_t nforms = s->query->nforms;
	bool empty = true;
	int r;

	if (!s->tree->background)
		ofs_indexer_settle(s->tree->indexer);
	ofs_search_give_time(s, s->tree->search_ms);
	/* In this order, a file that is indexed meanwhile is found twice rather than missed. */
	r = ofs_search_scan(s);
	if (r == 0)
		r = ofs_search_index_find(s, 0);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->query->nwords; i++)
		empty = empty && (s->query->words[i].weight <= OFS_WEIGHT_COMMON ||
				  (!s->found[i] && !s->named[i]));
	if (repair(s)) {
		if (empty && !s->is_cut)
			r = ofs_search_scan(s);
		if (r == 0)
			r = ofs_search_index_find(s, nforms);
	}
	weigh_words(s);
	return r < 0 ? r : find_hits(s);
}

static int choose_tree(void *arg, struct ofs_root *root)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf name = OFS_BUF_INIT;
	struct ofs_search *s = arg;
	const struct ofs_wanted *agents = &s->query->agents;
	bool chosen = !agents->n && root == s->root;

	if (agents->n && root != s->root && ofs_root_name(s->tree, root, s->root, &name) == 0)
		chosen = ofs_wanted_has(agents, "*") || ofs_wanted_has(agents, ofs_buf_str(&name));
	if (chosen)
		*ofs_append(s->in, s->n_in, s->cap_in) = root;
	return 0;
}

int ofs_search_run(struct ofs_tree *t, struct ofs_root *root, struct ofs_query *q,
		   struct ofs_buf *out)
{
	OFS_CLEANUP(search_finish)
	struct ofs_search s = { .tree = t, .root = root, .query = q, .left = READ_MAX };
	int r = ofs_root_each(t, root, choose_tree, &s);

	if (r < 0)
		return r;
	if (q->nwords)
		r = find(&s);
	else if (q->filtered)
		r = list(&s);
	if (r < 0)
		return r;
	ofs_hits_write(&s, out);
	if (s.relaxed && s.nhits)
		ofs_buf_append_str(out, OFS_SEARCH_NOTE "no file has what is in quotes: these hits "
							"are for the other words\n");
	if (s.is_cut)
		ofs_buf_append_str(out, OFS_SEARCH_NOTE
				   "some older files were not searched in full: narrow the search "
				   "by category:, task: or after:\n");
	return 0;
}
