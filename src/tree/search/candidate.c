/* SPDX-License-Identifier: MIT */
#include "base/map.h"
#include "base/util.h"
#include "tree/core/label.h"
#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/search/hit.h"
#include "tree/search/match.h"
#include "tree/search/passage.h"
#include "tree/search/query.h"
#include "tree/search/search.h"

bool ofs_search_wants(const struct ofs_query *q, enum ofs_tier tier)
{
	return !q->tiers || q->tiers >> tier & 1;
}

/* A file that may answer the query. */
struct candidate {
	struct ofs_attr attr;
	struct ofs_place place;
	char *title, *tags; /* NULL: none */
	enum ofs_match names[OFS_TERMS_MAX];
};

static void candidate_finish(struct candidate *c)
{
	ofs_place_finish(&c->place);
	free(c->title);
	free(c->tags);
}

/* False when there is no such file, or none that can be read. */
static bool load(struct ofs_tree *t, uint64_t ino, struct candidate *ret)
{
	int r = ofs_store_getattr(t->store, ino, &ret->attr);

	if (r < 0 || !S_ISREG(ret->attr.mode) || !ret->attr.nlink ||
	    ofs_place_labelled(t, ino, &ret->place) < 0)
		return false;
	ret->title = ofs_label_text(t, ino, OFS_LABEL_TITLE);
	ret->tags = ofs_label_text(t, ino, OFS_LABEL_TAGS);
	return true;
}

static bool has_wanted_tag(const struct ofs_query *q, const char *tags)
{
	for (size_t i = 0; i < q->tags.n; i++)
		if (ofs_label_has_tag(tags, q->tags.list[i]))
			return true;
	return !q->tags.n;
}

static bool is_in_time(const struct ofs_query *q, const struct ofs_attr *file)
{
	return file->mtime >= q->after && (file->mtime < q->before || q->before == INT64_MAX);
}

static bool is_in_place(const struct ofs_query *q, const struct ofs_place *place)
{
	return ofs_search_wants(q, ofs_place_tier(place)) &&
	       ofs_wanted_has(&q->categories, place->category) &&
	       ofs_wanted_has(&q->tasks, place->task);
}

bool ofs_search_is_filtered(const struct ofs_query *q)
{
	return q->categories.n || q->tasks.n || q->tags.n || q->by_time;
}

bool ofs_search_admits(struct ofs_search *s, const struct ofs_attr *file)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { .path = OFS_BUF_INIT };
	const struct ofs_query *q = s->query;
	OFS_FREE char *tags = NULL;

	if (!is_in_time(q, file))
		return false;
	if ((q->categories.n || q->tasks.n) &&
	    (ofs_place_labelled(s->tree, file->ino, &place) < 0 || !is_in_place(q, &place)))
		return false;
	if (q->tags.n)
		tags = ofs_label_text(s->tree, file->ino, OFS_LABEL_TAGS);
	return has_wanted_tag(q, tags);
}

/* Looks for all terms in the names; true if names and content have what the query wants. */
static bool matches(const struct ofs_query *q, const struct ofs_passages *p, struct candidate *c)
{
	const char *path = (const char *)c->place.path.data, *slash = strrchr(path, '/');
	const char *texts[] = { slash ? slash + 1 : path, c->title, c->tags };
	enum ofs_match how;

	for (size_t i = 0; i < q->wanted + q->unwanted; i++) {
		for (size_t k = 0; k < OFS_ARRAY_SIZE(texts); k++) {
			how = ofs_match_best(&q->terms[i], texts[k]);
			c->names[i] = OFS_MAX(c->names[i], how);
		}
		how = p ? p->found[i] : OFS_MATCH_NONE;
		how = OFS_MAX(how, c->names[i]);
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

int ofs_search_add(struct ofs_search *s, uint64_t ino, const struct ofs_passages *p,
		   double relevance)
{
	OFS_CLEANUP(candidate_finish) struct candidate c = { .place.path = OFS_BUF_INIT };
	struct ofs_content_hash digest = { .has_sha = false };
	struct ofs_answer answer;
	int r;

	if (ofs_map_get(&s->seen, ino))
		return 1;
	if (!load(s->tree, ino, &c) || !is_in_time(s->query, &c.attr) ||
	    !is_in_place(s->query, &c.place) || !has_wanted_tag(s->query, c.tags) ||
	    !matches(s->query, p, &c))
		return 0;
	/* A list by filters names every copy of a content. */
	if (s->query->wanted && ofs_store_get_hash(s->tree->store, ino, &digest) < 0)
		return 0;
	answer = (struct ofs_answer){
		.attr = &c.attr,
		.place = &c.place,
		.sha = digest.has_sha ? digest.sha : NULL,
		.passages = p,
		.names = c.names,
		.title = c.title,
		.relevance = relevance,
	};
	r = ofs_hits_add(s->hits, &answer);
	if (r == 0)
		ofs_map_put(&s->seen, ino, s);
	return r < 0 ? r : 1;
}
