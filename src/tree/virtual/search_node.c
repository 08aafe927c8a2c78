/* SPDX-License-Identifier: MIT */
/* search/<query>: a file with the answer, made by its lookup. */
#include "tree/virtual/nodes.h"

#include "base/clock.h"
#include "tree/core/changes.h"
#include "tree/search/indexer.h"
#include "tree/search/query.h"
#include "tree/search/search.h"

static int add_change(void *arg, struct ofs_root *root)
{
	int64_t last = ofs_changes_last(root->changes);
	uint64_t *sum = arg;

	*sum = ofs_checksum(&last, sizeof(last), *sum);
	return 0;
}

/*
 * A checksum of everything that an answer depends on, except the time. A query may ask the trees in
 * this one, too.
 */
static uint64_t state_now(struct ofs_tree *t, struct ofs_root *root)
{
	struct ofs_indexer_stats stats = { 0 };
	uint64_t changes = 0;

	/* The index has no files of agents' trees. */
	if (!root->above)
		ofs_indexer_stats(t->indexer, &stats);
	ofs_root_each(t, root, add_change, &changes);
	return ofs_checksum((const uint64_t[]){ changes, stats.files, stats.documents,
						stats.waiting },
			    4 * sizeof(uint64_t), 0);
}

/* Replaces "%2F" by '/', which a name cannot contain. */
static void decode(const char *name, char ret[OFS_NAME_MAX + 1])
{
	while (*name) {
		bool slash = strncasecmp(name, "%2F", 3) == 0;

		*ret++ = slash ? '/' : *name;
		name += slash ? 3 : 1;
	}
	*ret = 0;
}

static int answer(struct ofs_tree *t, void *arg, struct ofs_buf *out)
{
	const struct ofs_asked *asked = arg;
	char text[OFS_NAME_MAX + 1];
	struct ofs_query *q;
	int r;

	decode(asked->name, text);
	r = ofs_query_parse(text, ofs_clock_wall(), NULL, &q);
	if (r < 0)
		return r;
	r = ofs_search_run(t, asked->root, q, out);
	ofs_query_destroy(q);
	return r;
}

int ofs_search_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
		      const struct ofs_cred *cred, struct ofs_entry *ret)
{
	static const struct ofs_answers answers = { OFS_KEPT_SEARCH, state_now, answer };

	return ofs_made_answer(t, parent, name, cred, &answers, ret);
}
