/* SPDX-License-Identifier: MIT */
/* search/<query>: a file with the answer, which a lookup makes. */
#include "tree/virtual/nodes.h"

#include "base/clock.h"
#include "tree/core/changes.h"
#include "tree/core/stat.h"
#include "tree/search/indexer.h"
#include "tree/search/query.h"
#include "tree/search/search.h"

/* A checksum of all that an answer depends on but the time. */
static uint64_t state_now(struct ofs_tree *t)
{
	struct ofs_indexer_stats stats;

	ofs_indexer_stats(t->indexer, &stats);
	return ofs_checksum((const uint64_t[]){ (uint64_t)ofs_tree_changed(t), stats.files,
						stats.documents, stats.waiting },
			    4 * sizeof(uint64_t), 0);
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

static int answer(struct ofs_tree *t, void *name, struct ofs_buf *out)
{
	char text[OFS_NAME_MAX + 1];
	struct ofs_query *q;
	int r;

	decode(name, text);
	r = ofs_query_parse(text, ofs_clock_wall(), NULL, &q);
	if (r < 0)
		return r;
	r = ofs_search_run(t, q, out);
	ofs_query_destroy(q);
	return r;
}

int ofs_search_lookup(struct ofs_tree *t, const char *name, const struct ofs_cred *cred,
		      struct ofs_entry *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_attr attr;
	int r;

	/* An answer names all files, even in directories that others may not search. */
	if (!ofs_tree_is_owner(t, cred))
		return -EACCES;
	r = ofs_made_keep(t, OFS_KEPT_SEARCH, name, state_now(t), answer, (void *)(uintptr_t)name,
			  &text);
	if (r < 0)
		return r;
	ofs_stat_make_up(t, 0, S_IFREG | 0400, &attr);
	ofs_made_text(t, OFS_NODE_SEARCH, name, &attr, &text, ret);
	return 0;
}
