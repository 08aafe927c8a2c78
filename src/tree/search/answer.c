/* SPDX-License-Identifier: MIT */
/* Files that may be hits: whether the filters admit them, and whether their terms hold. */
#include "tree/search/search.h"

#include <stdio.h>

#include "base/fold.h"
#include "tree/core/label.h"
#include "tree/search/match.h"

#define PIECE ((size_t)256 * 1024) /* bytes read at once */
#define OVERLAP 4096 /* bytes shared by two pieces, so that no term is split */

bool ofs_search_wants(const struct ofs_query *q, enum ofs_tier tier)
{
	return !q->tiers || q->tiers >> tier & 1;
}

/* A file matches by its current values and by those of its origin. */
static bool has_either(const struct ofs_wanted *w, const char *now, const char *origin)
{
	return ofs_wanted_has(w, now) || (origin[0] && ofs_wanted_has(w, origin));
}

static bool admits(const struct ofs_query *q, const struct ofs_answer *a)
{
	int64_t mtime = a->attr.mtime;

	for (size_t i = 0; i < q->tags.n; i++)
		if (!ofs_label_has_tag(a->tags, q->tags.list[i]))
			return false;
	return mtime >= q->after && (mtime < q->before || q->before == INT64_MAX) &&
	       ofs_search_wants(q, ofs_place_tier(&a->place)) &&
	       has_either(&q->categories, a->place.category, a->place.origin.category) &&
	       has_either(&q->tasks, a->place.task, a->place.origin.task);
}

static void take_label(void *arg, const struct ofs_label *l)
{
	struct ofs_answer *a = arg;

	if (!l)
		return;
	a->title = l->title ? ofs_strdup(l->title) : NULL;
	a->tags = l->tags ? ofs_strdup(l->tags) : NULL;
	if (l->category)
		snprintf(a->place.category, sizeof(a->place.category), "%s", l->category);
}

static bool is_searched(const struct ofs_search *s, const struct ofs_root *root)
{
	for (size_t i = 0; i < s->n_in; i++)
		if (s->in[i] == root)
			return true;
	return false;
}

int ofs_answer_load(struct ofs_search *s, uint64_t ino, const char *name, struct ofs_answer *ret)
{
	*ret = (struct ofs_answer){ .place.path = OFS_BUF_INIT };
	if (ofs_store_getattr(s->tree->store, ino, &ret->attr) < 0 || !S_ISREG(ret->attr.mode) ||
	    !ret->attr.nlink || ofs_place_of_known(s->tree, &ret->attr, name, &ret->place) < 0 ||
	    !is_searched(s, ret->place.root) || ofs_labels_with(s->tree, ino, take_label, ret) < 0)
		return 0;
	return admits(s->query, ret);
}

void ofs_answer_finish(struct ofs_answer *a)
{
	ofs_place_finish(&a->place);
	free(a->title);
	free(a->tags);
}

/* ---- terms */

/* Adds the terms that occur in the text, as bits. */
static void look_for(const struct ofs_query *q, const char *text, size_t len, uint32_t *terms)
{
	OFS_FREE char *folded = ofs_alloc(len + 1);
	size_t at, end, n = ofs_fold(text, len, folded);

	for (size_t i = 0; i < q->wanted + q->unwanted; i++)
		if (!(*terms >> i & 1) &&
		    ofs_match_next(&q->terms[i], folded, n, 0, &at, &end) != OFS_MATCH_NONE)
			*terms |= UINT32_C(1) << i;
}

static uint32_t terms_of_names(const struct ofs_query *q, const struct ofs_answer *a)
{
	const char *path = (const char *)a->place.path.data, *slash = strrchr(path, '/');
	const char *texts[] = { slash ? slash + 1 : path, a->title, a->tags };
	uint32_t terms = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++)
		if (texts[i])
			look_for(q, texts[i], strlen(texts[i]), &terms);
	return terms;
}

/* True while the terms found so far leave open whether the file is a hit. */
static bool is_open(const struct ofs_query *q, uint32_t wanted, uint32_t terms)
{
	return !(terms & ~wanted) && (q->unwanted || terms != wanted);
}

/* Reads the content as far as needed. Returns whether that was not too much to be read. */
static bool read_terms(struct ofs_search *s, const struct ofs_attr *file, uint32_t wanted,
		       uint32_t *terms)
{
	OFS_FREE char *buf = ofs_alloc(PIECE);
	uint64_t off = 0;
	ssize_t n;

	while (is_open(s->query, wanted, *terms) && off < file->size && s->left) {
		n = ofs_store_scan(s->tree->store, file->ino, buf, PIECE, off);
		if (n <= 0)
			return false;
		s->left -= OFS_MIN(s->left, (uint64_t)n);
		look_for(s->query, buf, (size_t)n, terms);
		off += (size_t)n > OVERLAP && off + (uint64_t)n < file->size ? (uint64_t)n - OVERLAP
									     : (uint64_t)n;
	}
	if (off >= file->size || !is_open(s->query, wanted, *terms))
		return true;
	s->is_cut = true;
	return false;
}

bool ofs_candidate_holds(struct ofs_search *s, struct ofs_candidate *c,
			 const struct ofs_passages *p)
{
	const struct ofs_query *q = s->query;
	uint32_t wanted = (uint32_t)((UINT64_C(1) << q->wanted) - 1), terms = UINT32_MAX;
	uint32_t names[OFS_HIT_COPIES_MAX];
	bool enough;

	if (c->checked)
		return c->holding;
	c->checked = true;
	c->holding = c->nfiles;
	if (!q->wanted && !q->unwanted)
		return true;
	c->holding = 0;
	for (size_t i = 0; i < c->nfiles; i++) {
		names[i] = terms_of_names(q, &c->files[i]);
		terms &= names[i];
	}
	for (size_t i = 0; p && i < p->nregions; i++)
		if (p->regions[i].owner == c)
			look_for(q, p->regions[i].text, p->regions[i].len, &terms);
	enough = read_terms(s, &c->files[0].attr, wanted, &terms);
	for (size_t i = 0; i < c->nfiles; i++) {
		struct ofs_answer file = c->files[i];

		if ((terms | names[i]) != wanted || (q->unwanted && !enough))
			continue;
		memmove(&c->files[c->holding + 1], &c->files[c->holding],
			(i - c->holding) * sizeof(file));
		c->files[c->holding++] = file;
	}
	return c->holding;
}
