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

/* If the bytes that may be read run out, a content that was not fully checked does not hold. */
bool ofs_candidate_holds(struct ofs_search *s, struct ofs_candidate *c)
{
	const struct ofs_query *q = s->query;
	const struct ofs_answer *a = &c->files[0];
	uint32_t wanted = (uint32_t)((UINT64_C(1) << q->wanted) - 1), terms;
	OFS_FREE char *buf = NULL;
	uint64_t off = 0;
	ssize_t n = 0;

	if (c->checked)
		return c->holds;
	c->checked = c->holds = true;
	if (!q->wanted && !q->unwanted)
		return true;
	terms = terms_of_names(q, a);
	buf = ofs_alloc(PIECE);
	while (!(terms & ~wanted) && (q->unwanted || terms != wanted) && off < a->attr.size &&
	       s->left) {
		n = ofs_store_scan(s->tree->store, a->attr.ino, buf, PIECE, off);
		if (n <= 0)
			break;
		s->left -= OFS_MIN(s->left, (uint64_t)n);
		look_for(q, buf, (size_t)n, &terms);
		off += (size_t)n > OVERLAP && off + (uint64_t)n < a->attr.size
			       ? (uint64_t)n - OVERLAP
			       : (uint64_t)n;
	}
	c->holds = terms == wanted && (!q->unwanted || off >= a->attr.size);
	return c->holds;
}
