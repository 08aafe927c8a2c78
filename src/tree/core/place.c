/* SPDX-License-Identifier: MIT */
/* Where a node is: its path, and what follows from the path. */
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

/* A component of the path from its tree's directory to a node; the node comes first. */
struct level {
	uint64_t ino;
	char name[OFS_NAME_MAX + 1];
};

struct chain {
	struct ofs_root *root;
	struct level *levels;
	size_t n, cap;
	enum ofs_top top; /* OFS_TOPS: none of them */
};

static void chain_finish(struct chain *c)
{
	free(c->levels);
}

static int try_walk(struct ofs_tree *t, uint64_t ino, struct chain *c)
{
	int r = 0;

	c->root = t->root;
	if (ofs_roots_are_many(t))
		r = ofs_root_of(t, ino, &c->root);
	while (r == 0 && ino != c->root->ino) {
		if (ino == OFS_ROOT_INO)
			return -EAGAIN; /* it was moved to another tree just now */
		c->levels = ofs_grow(c->levels, &c->cap, c->n + 1, sizeof(*c->levels));
		c->levels[c->n].ino = ino;
		r = ofs_store_name_of(t->store, ino, &ino, c->levels[c->n].name);
		c->n++;
	}
	if (r == 0)
		c->top = c->n ? ofs_root_top(c->root, c->levels[c->n - 1].ino) : OFS_TOPS;
	return r;
}

/* Adds everything above to the chain. */
static int chain_walk(struct ofs_tree *t, uint64_t ino, struct chain *c)
{
	size_t n = c->n;
	int r;

	do {
		c->n = n;
		r = try_walk(t, ino, c);
	} while (r == -EAGAIN);
	return r;
}

static bool keeps(enum ofs_top top)
{
	return top == OFS_TOP_PERSISTENT || top == OFS_TOP_ARCHIVE;
}

/* Returns the name of the directory `depth` levels below the root; "" if there is none. */
static const char *dir_name(const struct chain *c, size_t depth, bool is_dir)
{
	if (c->n < depth + 1 || (c->n == depth + 1 && !is_dir))
		return "";
	return c->levels[c->n - 1 - depth].name;
}

static void copy_name(char to[OFS_NAME_MAX + 1], const char *from)
{
	memcpy(to, from, strlen(from) + 1);
}

static int is_dir(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_attr attr;
	int r = ofs_store_getattr(t->store, ino, &attr);

	return r < 0 ? r : S_ISDIR(attr.mode);
}

/*
 * Finds the nearest mark from the node upwards. *ret_depth is the depth of the category: 2 if the
 * entry directly in the tier is a whole task, so that the directories in it are categories; else 1.
 * Returns 1, 0 if there is no mark, or -errno.
 */
static int nearest_mark(struct ofs_tree *t, const struct chain *c, struct ofs_origin *ret,
			size_t *ret_depth)
{
	struct ofs_origin mark;
	bool found = false;
	int r;

	*ret_depth = 1;
	*ret = (struct ofs_origin){ 0 };
	for (size_t i = 0; i + 1 < c->n; i++) {
		r = ofs_origin_read(t, c->levels[i].ino, &mark);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (i && i + 2 == c->n && ofs_origin_is_task(&mark))
			*ret_depth = 2;
		if (found)
			continue;
		found = true;
		*ret = mark;
		if (i && ofs_origin_is_task(&mark) && (i > 1 || is_dir(t, c->levels[0].ino) > 0))
			copy_name(ret->category, c->levels[i - 1].name);
	}
	return found;
}

/* Sets category, task and origin from marks and from the names of directories above the node. */
static int place_classify(struct ofs_tree *t, const struct chain *c, struct ofs_place *p)
{
	size_t depth = c->top == OFS_TOP_TASKS ? 2 : 1; /* depth of the category below the root */
	const char *category = "";
	int r = 0;

	p->top = c->top < OFS_TOP_AGENTS ? c->top : OFS_TOP_CACHE;
	if (c->top == OFS_TOP_TASKS)
		copy_name(p->task, dir_name(c, 1, false));
	if (keeps(c->top))
		r = nearest_mark(t, c, &p->origin, &depth);
	if (c->top < OFS_TOP_AGENTS)
		category = dir_name(c, depth, false);
	if (!category[0])
		category = p->origin.category[0] ? p->origin.category : OFS_CATEGORY_NONE;
	copy_name(p->category, category);
	return OFS_MIN(r, 0);
}

/* Builds the chain of the entry by this very name in `dir`. */
static int chain_of_entry(struct ofs_tree *t, uint64_t dir, uint64_t ino, const char *name,
			  struct chain *c)
{
	c->levels = ofs_grow(c->levels, &c->cap, 1, sizeof(*c->levels));
	c->levels[0].ino = ino;
	copy_name(c->levels[0].name, name);
	c->n = 1;
	return chain_walk(t, dir, c);
}

/* Makes a place of a chain that was walked with the result `r`. */
static int place_of_chain(struct ofs_tree *t, const struct chain *c, int r, struct ofs_place *ret)
{
	*ret = (struct ofs_place){ .path = OFS_BUF_INIT, .root = c->root };
	if (r == 0)
		r = place_classify(t, c, ret);
	if (r < 0)
		return r;
	ret->dir = c->n > 1 ? c->levels[1].ino : c->root->ino;
	for (size_t i = c->n; i-- > 0;) {
		ofs_buf_append_str(&ret->path, c->levels[i].name);
		if (i)
			ofs_buf_append_str(&ret->path, "/");
	}
	ofs_buf_append(&ret->path, "", 1);
	return 0;
}

int ofs_place_of(struct ofs_tree *t, uint64_t ino, struct ofs_place *ret)
{
	OFS_CLEANUP(chain_finish) struct chain c = { 0 };
	int r = chain_walk(t, ino, &c);

	return place_of_chain(t, &c, r, ret);
}

int ofs_place_of_known(struct ofs_tree *t, const struct ofs_attr *node, const char *name,
		       struct ofs_place *ret)
{
	OFS_CLEANUP(chain_finish) struct chain c = { 0 };
	int r = name ? ofs_store_is_name(t->store, node->ino, node->parent, name) : 0;

	if (r <= 0)
		return r < 0 ? r : ofs_place_of(t, node->ino, ret);
	r = chain_of_entry(t, node->parent, node->ino, name, &c);
	return place_of_chain(t, &c, r, ret);
}

bool ofs_place_keeps(struct ofs_tree *t, const struct ofs_root *root, uint64_t ino)
{
	OFS_CLEANUP(chain_finish) struct chain c = { 0 };

	return chain_walk(t, ino, &c) == 0 && keeps(c.top) && (!root || c.root == root);
}

/* Sets *ret to the task and category of an inode in the working tier. */
static int made_as(struct ofs_tree *t, const struct chain *c, struct ofs_origin *ret)
{
	OFS_FREE char *label = ofs_label_text(t, c->levels[0].ino, OFS_LABEL_CATEGORY);
	bool task = c->top == OFS_TOP_TASKS;
	int dir = is_dir(t, c->levels[0].ino);

	*ret = (struct ofs_origin){ 0 };
	if (dir < 0)
		return dir;
	if (task)
		copy_name(ret->task, dir_name(c, 1, dir));
	if (label && strlen(label) <= OFS_NAME_MAX)
		copy_name(ret->category, label);
	else if (c->top < OFS_TOP_AGENTS)
		copy_name(ret->category, dir_name(c, task ? 2 : 1, dir));
	return 1;
}

int ofs_place_mark(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
		   struct ofs_buf *out)
{
	OFS_CLEANUP(chain_finish) struct chain from = { 0 };
	struct ofs_origin origin;
	struct ofs_attr entry;
	size_t depth;
	int r = ofs_store_lookup(t->store, dir, name, &entry);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	ofs_store_forget(t->store, entry.ino, 1);
	/* A renamed directory is a new category for its contents; a renamed file stays as it is. */
	if (dir == newdir && !S_ISDIR(entry.mode))
		return 0;
	r = chain_of_entry(t, dir, entry.ino, name, &from);
	if (r == 0 && keeps(from.top))
		r = nearest_mark(t, &from, &origin, &depth);
	else if (r == 0 && ofs_place_keeps(t, NULL, newdir))
		r = made_as(t, &from, &origin);
	if (r > 0)
		ofs_origin_write(&origin, out);
	return OFS_MIN(r, 0);
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
	/* Group membership is only asked for if it matters. */
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
