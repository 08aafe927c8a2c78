/* SPDX-License-Identifier: MIT */
/*
 * search/<query>: a file that a lookup makes. Programs look a file up several times to read it and
 * must get the same answer each time, so the last few answers are kept.
 */

#include "tree/virtual/nodes.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "tree/core/changes.h"
#include "tree/core/stat.h"
#include "tree/core/tree_state.h"
#include "tree/search/indexer.h"
#include "tree/search/query.h"
#include "tree/search/search.h"
#include "tree/virtual/made.h"

#define ANSWERS_MAX 8
/* An answer is given again until this age, whatever has changed, */
#define FRESH_FOR OFS_NS_PER_S
/* until SETTLED_FOR if it was given within SEEN_FOR, */
#define SEEN_FOR (OFS_NS_PER_S / 10)
#define SETTLED_FOR (2 * OFS_NS_PER_S)
/* and until this age if nothing has changed: ages in a query count from now. */
#define SAME_FOR (10 * OFS_NS_PER_S)

/* All that an answer depends on but the time. */
struct state {
	int64_t changed; /* the tree's last change */
	uint64_t files, documents, waiting; /* of the search index */
};

struct answer {
	char name[OFS_NAME_MAX + 1]; /* "": none */
	struct ofs_buf text;
	struct state state; /* before it was made */
	int64_t made, seen; /* monotonic */
};

struct ofs_searches {
	pthread_mutex_t lock; /* held while a query runs, so that one request at a time runs one */
	struct answer answers[ANSWERS_MAX];
};

struct ofs_searches *ofs_searches_create(void)
{
	struct ofs_searches *s = ofs_alloc(sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void ofs_searches_destroy(struct ofs_searches *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < ANSWERS_MAX; i++)
		ofs_buf_finish(&s->answers[i].text);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct state state_now(struct ofs_tree *t)
{
	struct ofs_indexer_stats stats;

	ofs_indexer_stats(t->indexer, &stats);
	return (struct state){ ofs_tree_changed(t), stats.files, stats.documents, stats.waiting };
}

static bool is_same(const struct state *a, const struct state *b)
{
	return a->changed == b->changed && a->files == b->files && a->documents == b->documents &&
	       a->waiting == b->waiting;
}

static bool is_fresh(const struct answer *a, const struct state *state, int64_t now)
{
	int64_t age = now - a->made;

	if (age < FRESH_FOR || (age < SETTLED_FOR && now - a->seen < SEEN_FOR))
		return true;
	return age < SAME_FOR && is_same(&a->state, state);
}

/* The answer to that query, else the least recently given one. */
static struct answer *find(struct ofs_searches *s, const char *name)
{
	struct answer *oldest = &s->answers[0];

	for (size_t i = 0; i < ANSWERS_MAX; i++) {
		if (strcmp(s->answers[i].name, name) == 0)
			return &s->answers[i];
		if (s->answers[i].seen < oldest->seen)
			oldest = &s->answers[i];
	}
	return oldest;
}

/* A name has no '/': "%2F" stands for it. */
static void decode(const char *name, char ret[OFS_NAME_MAX + 1])
{
	while (*name) {
		bool slash = strncasecmp(name, "%2F", 3) == 0;

		*ret++ = slash ? '/' : *name;
		name += slash ? 3 : 1;
	}
	*ret = 0;
}

/* Runs the query; the answer is empty after an error. */
static int answer_query(struct ofs_tree *t, const char *name, struct answer *a)
{
	char text[OFS_NAME_MAX + 1];
	struct ofs_query *q;
	int r;

	decode(name, text);
	r = ofs_query_parse(text, ofs_clock_wall(), NULL, &q);
	if (r < 0)
		return r;
	a->name[0] = 0;
	a->text.len = 0;
	a->made = ofs_clock_monotonic();
	r = ofs_search_run(t, q, &a->text);
	ofs_query_destroy(q);
	if (r == 0)
		memcpy(a->name, name, strlen(name) + 1);
	return r;
}

static int get_answer(struct ofs_tree *t, const char *name, struct ofs_buf *out)
{
	struct ofs_searches *s = t->searches;
	struct state state;
	struct answer *a;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	state = state_now(t);
	a = find(s, name);
	if (strcmp(a->name, name) != 0 || !is_fresh(a, &state, ofs_clock_monotonic())) {
		r = answer_query(t, name, a);
		a->state = state;
	}
	if (r == 0) {
		a->seen = ofs_clock_monotonic();
		ofs_buf_append(out, a->text.data, a->text.len);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int ofs_search_lookup(struct ofs_tree *t, const char *name, const struct ofs_cred *cred,
		      struct ofs_entry *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_attr attr;
	int r;

	/* An answer names all files, even in directories that others may not search. */
	if (cred && cred->uid && cred->uid != t->uid)
		return -EACCES;
	r = get_answer(t, name, &text);
	if (r < 0)
		return r;
	ofs_stat_make_up(t, 0, S_IFREG | 0400, &attr);
	ofs_made_text(t, OFS_NODE_SEARCH, name, &attr, &text, ret);
	return 0;
}
