/* SPDX-License-Identifier: MIT */
/*
 * Finding without the search index: the working tier, and what is not indexed yet. Names, titles
 * and tags of many files are searched, and the part of the content that F:summary shows of some,
 * newest files first.
 */
#include "base/clock.h"
#include "base/text.h"
#include "tree/core/entry_list.h"
#include "tree/core/label.h"
#include "tree/core/walk.h"
#include "tree/search/answer.h"
#include "tree/search/fold.h"
#include "tree/search/indexer.h"

#define READ_FOR (30 * OFS_NS_PER_MS)
#define READ_ALWAYS 64 /* files that are read however long it takes */
#define WORKING_MAX 100000 /* files of the working tier that are looked at, the newest */
#define UNINDEXED_MAX 50000 /* files of the other tiers that are walked for those not indexed */
#define LABELS_MAX (UINT64_C(8) << 20) /* bytes of titles and tags that are looked at */
#define HITS_ENOUGH 1000 /* of which the best are shown */
#define SUMMARY_LINES 10 /* of the head, and of the tail */
#define SUMMARY_READ 16384 /* bytes that they are looked for in */

struct walk {
	struct ofs_search *search;
	struct ofs_entry_list files;
	uint32_t labelled; /* the terms in title and tags of the file that is looked at */
	uint64_t labels_left; /* bytes of those */
	struct ofs_fts *index; /* what it has is left out; NULL: nothing is */
	size_t most; /* files to be found; 0: all */
	char *buf; /* of SUMMARY_READ */
	int64_t until; /* monotonic; content is read until then */
	size_t read; /* files so far */
};

static void walk_finish(struct walk *w)
{
	ofs_entry_list_finish(&w->files);
	free(w->buf);
}

/* The terms that are in a text, as bits. */
static uint32_t terms_in(const struct ofs_query *q, const char *text)
{
	size_t len = text ? strlen(text) : 0, at, end;
	OFS_FREE char *folded = ofs_alloc(len + 1);
	uint32_t terms = 0;

	len = len ? ofs_fold(text, len, folded) : 0;
	for (size_t i = 0; i < q->wanted; i++)
		if (ofs_match_next(&q->terms[i], folded, len, 0, &at, &end) != OFS_MATCH_NONE)
			terms |= UINT32_C(1) << i;
	return terms;
}

static void take_label(void *arg, const struct ofs_label *l)
{
	struct walk *w = arg;
	const struct ofs_query *q = w->search->query;
	uint64_t len = !l ? 0 : (l->title ? strlen(l->title) : 0) + (l->tags ? strlen(l->tags) : 0);

	w->labelled = len ? terms_in(q, l->title) | terms_in(q, l->tags) : 0;
	w->labels_left -= OFS_MIN(w->labels_left, len);
}

static int take_file(void *arg, uint64_t ino, const char *name)
{
	struct walk *w = arg;

	if (w->most && w->files.n >= w->most)
		return -ECANCELED;
	if (!w->most && w->files.n >= 2 * WORKING_MAX)
		ofs_entry_list_keep_last(&w->files, WORKING_MAX);
	ofs_entry_list_add(&w->files, ino, name);
	return 0;
}

/* The files of the tiers first to last that are asked for. */
static int gather(struct ofs_search *s, int first, int last, ofs_walk_fn fn, void *arg)
{
	int r = 0;

	for (int i = first; i <= last && r == 0; i++)
		if (ofs_search_wants(s->query, (enum ofs_tier)i))
			r = ofs_walk_tier(s->tree, (enum ofs_tier)i, fn, arg);
	return r;
}

/* ---- summaries */

/* The length of the first `most` lines. */
static size_t head_len(const char *text, size_t len, uint64_t most)
{
	const char *p = text, *end = text + len;

	while (most-- && p < end) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return len;
		p++;
	}
	return (size_t)(p - text);
}

/* The start of the last lines, not before `from`; `len` if no whole line starts there. */
static size_t tail_start(const char *text, size_t len, size_t from)
{
	size_t at = len, lines = 0;

	for (size_t i = len - (len > 0); i > from; i--)
		if (text[i - 1] == '\n') {
			at = i;
			if (++lines == SUMMARY_LINES)
				break;
		}
	return lines < SUMMARY_LINES && !from ? 0 : at;
}

/* The last lines get their numbers from how many there are: of large files sealed ones know it. */
static int scan_summary(struct walk *w, const struct ofs_attr *file, struct ofs_passages *p)
{
	struct ofs_store *store = w->search->tree->store;
	const struct ofs_query *q = w->search->query;
	ssize_t n = ofs_store_read(store, file->ino, w->buf, SUMMARY_READ, 0);
	struct ofs_content_hash digest;
	uint64_t off = 0, lines;
	size_t from, at;
	int r;

	if (n <= 0 || memchr(w->buf, 0, (size_t)n))
		return (int)OFS_MIN(n, 0);
	from = head_len(w->buf, (size_t)n, SUMMARY_LINES);
	ofs_passages_scan(p, q, w->buf, from, 0, 1);
	lines = ofs_text_newlines(w->buf, (size_t)n);
	if ((uint64_t)n < file->size) {
		r = ofs_store_get_hash(store, file->ino, &digest);
		if (r < 0 || digest.lines < 0)
			return r;
		lines = (uint64_t)digest.lines;
		off = OFS_MAX(file->size - SUMMARY_READ, (uint64_t)SUMMARY_READ);
		from = 1; /* the first line of the read is not whole */
		n = ofs_store_read(store, file->ino, w->buf, SUMMARY_READ, off);
		if (n <= 0)
			return (int)n;
	}
	at = tail_start(w->buf, (size_t)n, from);
	lines -= ofs_text_newlines(w->buf + at, (size_t)n - at);
	if (at < (size_t)n)
		ofs_passages_scan(p, q, w->buf + at, (size_t)n - at, off + at, lines + 1);
	return 0;
}

/* ---- files */

/* 1, or 0, or -errno. */
static int is_indexed(struct walk *w, uint64_t ino)
{
	struct ofs_fts_file file;
	int r = w->index ? ofs_fts_get_file(w->index, ino, &file) : -ENOENT;

	return r == 0 ? file.has_sha : r == -ENOENT || r == -EUCLEAN ? 0 : r;
}

static bool may_read(const struct walk *w)
{
	return w->read < READ_ALWAYS || ofs_clock_monotonic() < w->until;
}

/* `named`: the terms that its names have. */
static int look_at(struct walk *w, uint64_t ino, uint32_t named)
{
	OFS_CLEANUP(ofs_passages_finish) struct ofs_passages p = { .n = 0 };
	OFS_CLEANUP(ofs_answer_finish) struct ofs_answer a;
	const struct ofs_query *q = w->search->query;
	int r = 0;

	if (ofs_answer_load(w->search, ino, &a) <= 0 ||
	    (ofs_search_is_filtered(q) && ofs_answer_fill(w->search, &a) <= 0))
		return 0;
	if (may_read(w)) {
		w->read++;
		r = scan_summary(w, &a.attr, &p);
	}
	for (size_t i = 0; i < q->wanted; i++)
		if (p.found[i] != OFS_MATCH_NONE)
			named |= UINT32_C(1) << i;
	/* Damaged content is left out. */
	if (named == ofs_search_terms(q) && (r == 0 || r == -EIO))
		r = ofs_search_add(w->search, &a, &p, ofs_search_relevance(q, &p));
	return r == -EIO || r == -ENOENT || r == -ESTALE ? 0 : r;
}

/* The terms in name, title and tags of a file that was gathered. */
static int terms_of(struct walk *w, size_t i, uint32_t *ret)
{
	struct ofs_tree *t = w->search->tree;
	int r;

	w->labelled = 0;
	r = w->labels_left ? ofs_labels_with(t, w->files.entries[i].key, take_label, w) : 0;
	*ret = w->labelled | terms_in(w->search->query, ofs_entry_list_name(&w->files, i));
	return r;
}

/* Looks at what was gathered. */
static int look_at_all(struct walk *w)
{
	uint32_t all = ofs_search_terms(w->search->query), named;
	int r = 0;

	ofs_entry_list_keep_last(&w->files, WORKING_MAX);
	for (size_t i = w->files.n; i-- && r == 0 && w->search->n < HITS_ENOUGH;) {
		uint64_t ino = w->files.entries[i].key;

		r = terms_of(w, i, &named);
		if (r < 0)
			break;
		if (named != all && !may_read(w))
			continue;
		r = is_indexed(w, ino);
		r = r ? OFS_MIN(r, 0) : look_at(w, ino, named);
	}
	ofs_entry_list_finish(&w->files);
	w->files = (struct ofs_entry_list){ 0 };
	return r;
}

static int walk(struct ofs_search *s)
{
	OFS_CLEANUP(walk_finish) struct walk w = { .search = s, .labels_left = LABELS_MAX };
	struct ofs_indexer_stats stats;
	int r;

	w.buf = ofs_alloc(SUMMARY_READ);
	r = gather(s, OFS_TIER_WORKING, OFS_TIER_WORKING, take_file, &w);
	w.until = ofs_clock_monotonic() + READ_FOR;
	if (r == 0)
		r = look_at_all(&w);
	ofs_indexer_stats(s->tree->indexer, &stats);
	w.index = ofs_indexer_index(s->tree->indexer);
	w.most = UNINDEXED_MAX;
	if (r == 0 && (!w.index || !stats.caught_up))
		r = gather(s, OFS_TIER_LONG_TERM, OFS_TIER_ARCHIVE, take_file, &w);
	return r < 0 && r != -ECANCELED ? r : look_at_all(&w);
}

/* ---- lists */

/* Files by when they were written. */
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

/* Names are not needed, and take most of the memory. */
static int take_ino(void *arg, uint64_t ino, const char *name)
{
	(void)name;
	ofs_entry_list_add(arg, ino, "");
	return 0;
}

static int list(struct ofs_search *s)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list files = { 0 };
	OFS_FREE struct dated *list = NULL;
	struct ofs_attr attr;
	size_t n = 0;
	int r = gather(s, OFS_TIER_WORKING, OFS_TIER_ARCHIVE, take_ino, &files);

	ofs_entry_list_settle(&files);
	list = ofs_alloc((files.n + 1) * sizeof(*list));
	for (size_t i = 0; i < files.n && r == 0; i++) {
		r = ofs_store_getattr(s->tree->store, files.entries[i].key, &attr);
		if (r == 0)
			list[n++] = (struct dated){ attr.mtime, attr.ino };
		r = r == -ENOENT || r == -ESTALE ? 0 : r;
	}
	if (n)
		qsort(list, n, sizeof(*list), compare_dates);
	for (size_t i = 0; i < n && r == 0 && s->n < OFS_HITS_MAX; i++) {
		OFS_CLEANUP(ofs_answer_finish) struct ofs_answer a;

		if (ofs_answer_load(s, list[i].ino, &a) > 0)
			r = ofs_search_add(s, &a, NULL, 0);
	}
	return r;
}

int ofs_search_run(struct ofs_tree *t, const struct ofs_query *q, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_search_finish) struct ofs_search s = { .tree = t, .query = q };
	int r = q->wanted ? ofs_search_index(&s) : list(&s);

	if (r == 0 && q->wanted)
		r = walk(&s);
	if (r == 0)
		ofs_hits_write(&s, out);
	return r;
}
