/* SPDX-License-Identifier: MIT */
/* Files that may answer a query: the filters, and what their names have. */
#include "tree/search/answer.h"

#include <stdio.h>

#include "tree/core/label.h"

bool ofs_search_wants(const struct ofs_query *q, enum ofs_tier tier)
{
	return !q->tiers || q->tiers >> tier & 1;
}

bool ofs_search_is_filtered(const struct ofs_query *q)
{
	return q->categories.n || q->tasks.n || q->tags.n || q->by_time;
}

static bool admits(const struct ofs_query *q, const struct ofs_answer *a)
{
	int64_t mtime = a->attr.mtime;
	bool tagged = !q->tags.n;

	for (size_t i = 0; i < q->tags.n && !tagged; i++)
		tagged = ofs_label_has_tag(a->tags, q->tags.list[i]);
	return tagged && mtime >= q->after && (mtime < q->before || q->before == INT64_MAX) &&
	       ofs_search_wants(q, ofs_place_tier(&a->place)) &&
	       ofs_wanted_has(&q->categories, a->place.category) &&
	       ofs_wanted_has(&q->tasks, a->place.task);
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

int ofs_answer_load(struct ofs_search *s, uint64_t ino, struct ofs_answer *ret)
{
	*ret = (struct ofs_answer){ .place.path = OFS_BUF_INIT };
	if (ofs_map_get(&s->seen, ino))
		return 0;
	if (ofs_store_getattr(s->tree->store, ino, &ret->attr) < 0 || !S_ISREG(ret->attr.mode) ||
	    !ret->attr.nlink)
		return -ENOENT;
	return 1;
}

int ofs_answer_fill(struct ofs_search *s, struct ofs_answer *a)
{
	uint64_t ino = a->attr.ino;

	if (!a->place.path.len && (ofs_place_of(s->tree, ino, &a->place) < 0 ||
				   ofs_labels_with(s->tree, ino, take_label, a) < 0))
		return -ENOENT;
	return admits(s->query, a);
}

void ofs_answer_finish(struct ofs_answer *a)
{
	ofs_place_finish(&a->place);
	free(a->title);
	free(a->tags);
}

/* Looks for all terms in the names; true if names and content have what the query wants. */
static bool matches(const struct ofs_query *q, struct ofs_answer *a)
{
	const char *path = (const char *)a->place.path.data, *slash = strrchr(path, '/');
	const char *texts[] = { slash ? slash + 1 : path, a->title, a->tags };
	enum ofs_match how;

	for (size_t i = 0; i < q->wanted + q->unwanted; i++) {
		for (size_t k = 0; k < OFS_ARRAY_SIZE(texts); k++) {
			how = ofs_match_best(&q->terms[i], texts[k]);
			a->names[i] = OFS_MAX(a->names[i], how);
		}
		how = a->passages ? a->passages->found[i] : OFS_MATCH_NONE;
		how = OFS_MAX(how, a->names[i]);
		/* Only whole words exclude a file: -port keeps "import". */
		if (i < q->wanted ? how == OFS_MATCH_NONE : how >= OFS_MATCH_WORD)
			return false;
	}
	return true;
}

double ofs_search_relevance(const struct ofs_query *q, const struct ofs_passages *p)
{
	double sum = 0;

	for (size_t i = 0; i < q->wanted; i++)
		sum += (double)p->count[i] / ((double)p->count[i] + 2);
	return 0.5 * sum / (double)q->wanted;
}

int ofs_search_add(struct ofs_search *s, struct ofs_answer *a, const struct ofs_passages *p,
		   double relevance)
{
	struct ofs_content_hash digest = { .has_sha = false };
	int r;

	a->passages = p;
	a->relevance = relevance;
	if (ofs_answer_fill(s, a) <= 0 || !matches(s->query, a))
		return 0;
	/* A list by filters names every copy of a content. */
	if (s->query->wanted && ofs_store_get_hash(s->tree->store, a->attr.ino, &digest) < 0)
		return 0;
	a->has_sha = digest.has_sha;
	memcpy(a->sha, digest.sha, sizeof(a->sha));
	r = ofs_hits_add(s, a);
	if (r == 0)
		ofs_map_put(&s->seen, a->attr.ino, s);
	return r;
}
