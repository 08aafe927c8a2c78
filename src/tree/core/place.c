/* SPDX-License-Identifier: MIT */
/* Where a node is: its path, and what the path says about it. */
#include "tree/core/place.h"

#include "tree/core/category.h"
#include "tree/core/label.h"

void ofs_place_finish(struct ofs_place *p)
{
	ofs_buf_finish(&p->path);
}

const char *const ofs_tier_names[OFS_TIERS] = { "working", "long-term", "archive" };

enum ofs_tier ofs_place_tier(const struct ofs_place *p)
{
	switch (p->top) {
	case OFS_TOP_PERSISTENT:
		return OFS_TIER_LONG_TERM;
	case OFS_TOP_ARCHIVE:
		return OFS_TIER_ARCHIVE;
	default:
		return OFS_TIER_WORKING;
	}
}

/*
 * The names from the node up to its tree's directory, last one first, and the inode below that one
 * that it goes through.
 */
struct chain {
	char (*names)[OFS_NAME_MAX + 1];
	size_t n, cap;
	uint64_t top;
};

static void chain_finish(struct chain *c)
{
	free(c->names);
}

static int chain_walk(struct ofs_tree *t, const struct ofs_root *root, uint64_t ino,
		      struct chain *c)
{
	uint64_t dir;
	int r;

	while (ino != root->ino) {
		if (ino == OFS_ROOT_INO)
			return -EAGAIN; /* it was just moved to another tree */
		c->names = ofs_grow(c->names, &c->cap, c->n + 1, sizeof(*c->names));
		r = ofs_store_name_of(t->store, ino, &dir, c->names[c->n]);
		if (r < 0)
			return r;
		c->n++;
		c->top = ino;
		ino = dir;
	}
	return 0;
}

static void copy_name(char to[OFS_NAME_MAX + 1], const char *from)
{
	memcpy(to, from, strlen(from) + 1);
}

/*
 * Reads category and task off the names; only directories count, so the node's own name does not.
 */
static void place_classify(const struct chain *c, struct ofs_place *p)
{
	size_t depth = 1; /* of the category below the root */
	enum ofs_top top;

	p->top = OFS_TOP_CACHE;
	copy_name(p->category, OFS_CATEGORY_NONE);
	p->task[0] = 0;
	if (!c->n)
		return;
	top = ofs_root_top(p->root, c->top);
	if (top >= OFS_TOP_AGENTS)
		return;
	p->top = top;
	if (p->top == OFS_TOP_TASKS) {
		if (c->n > depth + 1)
			copy_name(p->task, c->names[c->n - 1 - depth]);
		depth++;
	}
	if (c->n > depth + 1)
		copy_name(p->category, c->names[c->n - 1 - depth]);
}

int ofs_place_of(struct ofs_tree *t, uint64_t ino, struct ofs_place *ret)
{
	OFS_CLEANUP(chain_finish) struct chain c = { 0 };
	int r;

	*ret = (struct ofs_place){ .path = OFS_BUF_INIT };
	do {
		c.n = 0;
		r = ofs_root_of(t, ino, &ret->root);
		if (r == 0)
			r = chain_walk(t, ret->root, ino, &c);
	} while (r == -EAGAIN);
	if (r < 0)
		return r;
	place_classify(&c, ret);
	for (size_t i = c.n; i-- > 0;)
		ofs_buf_printf(&ret->path, "%s%s", c.names[i], i ? "/" : "");
	ofs_buf_append(&ret->path, "", 1);
	return 0;
}

int ofs_place_label(struct ofs_tree *t, uint64_t ino, struct ofs_place *p)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf category = OFS_BUF_INIT;
	int r = ofs_label_get(t, ino, OFS_LABEL_CATEGORY, &category);

	if (r == -ENODATA)
		return 0;
	if (r == 0 && category.len && category.len <= OFS_NAME_MAX) {
		memcpy(p->category, category.data, category.len);
		p->category[category.len] = 0;
	}
	return r;
}

int ofs_place_labelled(struct ofs_tree *t, uint64_t ino, struct ofs_place *ret)
{
	int r = ofs_place_of(t, ino, ret);

	if (r < 0)
		return r;
	r = ofs_place_label(t, ino, ret);
	if (r < 0)
		ofs_place_finish(ret);
	return r;
}

bool ofs_place_may(const struct ofs_attr *attr, const struct ofs_cred *cred, uint32_t want)
{
	uint32_t owner = attr->mode >> 6 & want, group = attr->mode >> 3 & want;
	uint32_t other = attr->mode & want;

	if (!cred || !cred->uid)
		return true;
	if (attr->uid == cred->uid)
		return owner == want;
	/* Membership of the group is asked for only where it matters. */
	if (group != other &&
	    (attr->gid == cred->gid || (cred->in_group && cred->in_group(cred->arg, attr->gid))))
		return group == want;
	return other == want;
}

int ofs_place_check(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_attr *file,
		    const struct ofs_cred *cred)
{
	struct ofs_root *in;
	char name[OFS_NAME_MAX + 1];
	uint64_t ino = file->ino;
	struct ofs_attr dir;
	int r = 0;

	if (ofs_roots_are_many(t)) {
		r = ofs_root_of(t, ino, &in);
		if (r == 0 && !ofs_root_is_in(in, root))
			r = -ENOENT;
		if (r < 0)
			return r;
	}
	if (ofs_root_is_owner(t, root, cred) || file->uid == cred->uid)
		return 0;
	while (ino != root->ino && ino != OFS_ROOT_INO && r == 0) {
		r = ofs_store_name_of(t->store, ino, &ino, name);
		if (r == 0)
			r = ofs_store_getattr(t->store, ino, &dir);
		if (r == 0 && !ofs_place_may(&dir, cred, S_IROTH | S_IXOTH))
			r = -ENOENT;
	}
	return r;
}

uint32_t ofs_place_classify(void *arg, uint64_t top, uint64_t second)
{
	struct ofs_tree *t = arg;
	char category[OFS_NAME_MAX + 1];
	struct ofs_attr attr = { .region = OFS_ROOT_INO };
	uint64_t dir;

	if (top)
		ofs_store_getattr(t->store, top, &attr);
	switch (ofs_root_top(ofs_root_of_attr(t, &attr), top)) {
	case OFS_TOP_ARCHIVE:
		return OFS_CLASS_ARCHIVE;
	case OFS_TOP_PERSISTENT:
		return OFS_CLASS_LONG_TERM;
	case OFS_TOP_TASKS:
		return OFS_CLASS_TASK;
	case OFS_TOP_CACHE:
		if (second && ofs_store_name_of(t->store, second, &dir, category) == 0)
			break;
		/* fall through */
	default:
		copy_name(category, OFS_CATEGORY_NONE);
	}
	return ofs_category_class(ofs_categories_ttl(t->categories, category));
}
