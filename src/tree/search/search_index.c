/* SPDX-License-Identifier: MIT */
/*
 * Finds documents and files through the search index. The text of documents is read from the store
 * afterwards.
 */
#include "tree/search/search.h"
#include "tree/search/indexer.h"

#define DOCS_MAX 20000 /* documents per form, the newest */
#define FILES_MAX 2000 /* files per form in their names, likewise */
#define STEM_MIN 3 /* letters of the shortest stem */

/* A file with words in its names, and the documents of its content. */
struct named {
	uint64_t ino;
	uint64_t first, n; /* the numbers of its documents */
	uint32_t label;
};

/* ---- looking up */

static int compare_down(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/* Sorts, newest first, and removes duplicates. */
static void settle(struct ofs_u64_list *l)
{
	size_t n = 0;

	if (l->n)
		qsort(l->at, l->n, sizeof(*l->at), compare_down);
	for (size_t i = 0; i < l->n; i++)
		if (!n || l->at[n - 1] != l->at[i])
			l->at[n++] = l->at[i];
	l->n = n;
}

/*
 * Finds stems shorter than the prefix: "running" is indexed as "run", "hoping" as "hope",
 * "capability" as "capabl". This also finds documents without such a word, which are sorted out
 * when their text is read.
 */
static int find_stems(struct ofs_fts *index, const struct ofs_form *f, struct ofs_u64_list *docs)
{
	char stem[OFS_WORD_MAX];
	int r = 0;

	memcpy(stem, f->text, f->len);
	for (size_t len = STEM_MIN; len <= f->len && r == 0; len++) {
		r = ofs_fts_find_word(index, f->text, len, DOCS_MAX, docs);
		for (const char *end = "eil"; *end && r == 0; end++) {
			stem[len - 1] = *end;
			r = ofs_fts_find_word(index, stem, len, DOCS_MAX, docs);
		}
		stem[len - 1] = f->text[len - 1];
	}
	return r;
}

/* Looks up words that differ from a form by a typo. */
struct typos {
	struct ofs_fts *index;
	const struct ofs_form *form;
	struct ofs_words *words;
	struct ofs_u64_list *docs;
	int r;
};

static void look_up(void *arg, const struct ofs_word *word)
{
	struct typos *t = arg;

	if (t->r == 0 && word->kind == OFS_WORD_PLAIN)
		t->r = ofs_fts_find_word(t->index, word->text, word->len, DOCS_MAX, t->docs);
}

/* Looks up the form with the letters from `at` to `to` replaced by `with`. */
static void look_up_changed(struct typos *t, size_t at, size_t to, const char *with,
			    size_t with_len)
{
	const struct ofs_form *f = t->form;
	char word[OFS_WORD_MAX + 2];

	memcpy(word, f->text, at);
	memcpy(word + at, with, with_len);
	memcpy(word + at + with_len, f->text + to, f->len - to);
	ofs_words_each(t->words, word, f->len - (to - at) + with_len, look_up, t);
}

/* Tries each letter but the first: removed, replaced, swapped with the next, one inserted. */
static int find_typos(struct ofs_fts *index, const struct ofs_form *f, struct ofs_u64_list *docs)
{
	struct typos t = { index, f, ofs_words_create(), docs, 0 };

	for (size_t at = 1; at <= f->len && t.r == 0; at++) {
		if (at < f->len)
			look_up_changed(&t, at, at + 1, "", 0);
		if (at + 1 < f->len)
			look_up_changed(&t, at, at + 2,
					(const char[]){ f->text[at + 1], f->text[at] }, 2);
		for (char c = 'a'; c <= 'z'; c++) {
			look_up_changed(&t, at, at, &c, 1);
			if (at < f->len)
				look_up_changed(&t, at, at + 1, &c, 1);
		}
	}
	ofs_words_destroy(t.words);
	return t.r;
}

/* Words are indexed without '_'. */
static int find_start(struct ofs_fts *index, const struct ofs_form *form, struct ofs_u64_list *docs)
{
	struct ofs_form f = { .len = 0 };
	int r;

	for (size_t i = 0; i < form->len; i++)
		if (form->text[i] != '_')
			f.text[f.len++] = form->text[i];
	r = f.len ? ofs_fts_find_start(index, f.text, f.len, DOCS_MAX, docs) : 0;
	return r < 0 ? r : find_stems(index, &f, docs);
}

static int find_form(struct ofs_search *s, struct ofs_fts *index, const struct ofs_form *f)
{
	struct ofs_u64_list *docs = &s->docs[f->word], *labels = &s->labels[f->word];
	int r;

	switch (f->kind) {
	case OFS_FORM_START:
		return find_start(index, f, docs);
	case OFS_FORM_TYPO:
		return find_typos(index, f, docs);
	case OFS_FORM_WORD:
		break;
	}
	r = ofs_fts_find_word(index, f->text, f->len, DOCS_MAX, docs);
	return r < 0 ? r : ofs_fts_find_label(index, f->text, f->len, FILES_MAX, labels);
}

/* Returns the index; NULL if there is none, or the query excludes what it covers. */
static struct ofs_fts *index_of(struct ofs_search *s)
{
	if (!ofs_search_has_index(s) || (!ofs_search_wants(s->query, OFS_TIER_LONG_TERM) &&
					 !ofs_search_wants(s->query, OFS_TIER_ARCHIVE)))
		return NULL;
	return ofs_indexer_index(s->tree->indexer);
}

int ofs_search_index_find(struct ofs_search *s, size_t first)
{
	struct ofs_fts *index = index_of(s);
	struct ofs_fts_counts counts;
	uint32_t changed = 0;
	int r = 0;

	if (!index)
		return 0;
	for (size_t i = first; i < s->query->nforms && r == 0; i++) {
		changed |= UINT32_C(1) << s->query->forms[i].word;
		r = find_form(s, index, &s->query->forms[i]);
	}
	if (r == 0)
		r = ofs_fts_counts(index, &counts);
	/* A damaged index is being rebuilt. Until then files are read instead. */
	if (r < 0)
		return r == -EUCLEAN ? 0 : r;
	s->all += first ? 0 : counts.documents;
	s->names += first ? 0 : counts.files;
	for (; changed; changed &= changed - 1) {
		int i = __builtin_ctz(changed);

		settle(&s->docs[i]);
		settle(&s->labels[i]);
		s->found[i] += s->docs[i].n;
		s->named[i] += s->labels[i].n;
	}
	return 0;
}

/* ---- blocks */

/* Removes and returns the highest number of all lists, with the words whose lists had it. */
static uint64_t next_number(const struct ofs_u64_list lists[], size_t at[], size_t n,
			    uint32_t *ret_words)
{
	uint64_t top = 0;

	for (size_t i = 0; i < n; i++)
		if (at[i] < lists[i].n)
			top = OFS_MAX(top, lists[i].at[at[i]]);
	*ret_words = 0;
	for (size_t i = 0; i < n; i++)
		if (at[i] < lists[i].n && lists[i].at[at[i]] == top) {
			*ret_words |= UINT32_C(1) << i;
			at[i]++;
		}
	return top;
}

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->first > y->first ? -1 : x->first < y->first;
}

/* Adds blocks for files' names. Sets *ret to their documents, newest first; the caller frees it. */
static int add_named(struct ofs_search *s, struct named **ret, size_t *ret_n)
{
	struct ofs_fts *index = ofs_indexer_index(s->tree->indexer);
	size_t at[OFS_QUERY_WORDS] = { 0 }, cap = 0;
	struct ofs_text_block block = { 0 };
	int r = 0;

	while (r == 0 && (block.ino = next_number(s->labels, at, s->query->nwords, &block.label))) {
		struct named n = { .ino = block.ino, .label = block.label };

		ofs_search_add_block(s, &block);
		r = ofs_fts_docs_of(index, n.ino, &n.first, &n.n);
		if (r == 0 && n.n)
			*ofs_append(*ret, *ret_n, cap) = n;
	}
	if (*ret_n)
		qsort(*ret, *ret_n, sizeof(**ret), compare_named);
	return r;
}

int ofs_search_index_blocks(struct ofs_search *s)
{
	OFS_FREE struct named *named = NULL;
	size_t n = 0, i = 0, at[OFS_QUERY_WORDS] = { 0 };
	struct ofs_text_block block = { .len = 1 };
	int r = add_named(s, &named, &n);

	while ((block.doc = next_number(s->docs, at, s->query->nwords, &block.words))) {
		while (i < n && named[i].first > block.doc)
			i++;
		block.label = i < n && block.doc < named[i].first + named[i].n ? named[i].label : 0;
		ofs_search_add_block(s, &block);
	}
	return r == -EUCLEAN ? 0 : r;
}
