/* SPDX-License-Identifier: MIT */
#include "tree/core/quota.h"

struct ofs_quota {
	uint64_t max; /* for agents that have no limit of their own */
	struct ofs_agent_limit *limits;
	size_t n;
};

struct ofs_quota *ofs_quota_create(uint64_t max, const struct ofs_agent_limit *limits, size_t n)
{
	struct ofs_quota *q = max || n ? ofs_alloc(sizeof(*q)) : NULL;

	if (!q)
		return NULL;
	q->max = max;
	q->limits = ofs_alloc(n * sizeof(*q->limits) + 1);
	q->n = n;
	for (size_t i = 0; i < n; i++)
		q->limits[i] = (struct ofs_agent_limit){ ofs_strdup(limits[i].agent),
							 limits[i].max_bytes };
	return q;
}

void ofs_quota_destroy(struct ofs_quota *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->n; i++)
		free((char *)q->limits[i].agent);
	free(q->limits);
	free(q);
}

uint64_t ofs_quota_max(struct ofs_tree *t, const struct ofs_root *root)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf name = OFS_BUF_INIT;
	const struct ofs_quota *q = t->quota;

	if (!q || !root->above || ofs_root_name(t, root, t->root, &name) < 0)
		return 0;
	for (size_t i = 0; i < q->n; i++)
		if (strcmp(q->limits[i].agent, ofs_buf_str(&name)) == 0)
			return q->limits[i].max_bytes;
	return q->max;
}

/*
 * Checks whether the tree, and those around it up to but without `end`, have room for `more` bytes.
 */
static int check(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_root *end,
		 uint64_t more)
{
	struct ofs_region_counts counts;
	uint64_t max;
	int r = 0;

	for (; root->above && root != end && r == 0; root = root->above) {
		max = ofs_quota_max(t, root);
		r = max ? ofs_store_count_region(t->store, root->ino, &counts) : 0;
		if (r == 0 && max && (counts.bytes > max || more > max - counts.bytes))
			r = -EDQUOT;
	}
	return r;
}

int ofs_quota_check(struct ofs_tree *t, uint64_t ino, uint64_t size)
{
	struct ofs_attr attr;
	int r;

	if (!t->quota || !ofs_roots_are_many(t))
		return 0;
	r = ofs_store_getattr(t->store, ino, &attr);
	/* A file without a name counts nowhere. */
	if (r < 0 || size <= attr.size || !attr.nlink)
		return r;
	return check(t, ofs_root_of_attr(t, &attr), NULL, size - attr.size);
}

int ofs_quota_check_move(struct ofs_tree *t, const struct ofs_root *from, const struct ofs_root *to,
			 uint64_t size)
{
	const struct ofs_root *common = from;

	if (!t->quota || from == to)
		return 0;
	while (common && !ofs_root_is_in(to, common))
		common = common->above;
	return check(t, to, common, size);
}
