/* SPDX-License-Identifier: MIT */
/*
 * The files that are searched without an index, newest first. If the directories hold more than
 * there is time for, all inodes are visited instead, from the newest on, until the time is over.
 */
#include "base/clock.h"
#include "tree/core/entry_list.h"
#include "tree/core/label.h"
#include "tree/core/walk.h"
#include "tree/search/search.h"

#define WALK_PART 2 /* the walk of directories gets this fraction of the time: a half */
#define WALK_AT_ONCE 1024 /* files between two looks at the clock */
#define INODES_AT_ONCE 256 /* inodes listed by one call */

void ofs_search_give_time(struct ofs_search *s, uint32_t ms)
{
	s->until = ofs_clock_monotonic() + ms * OFS_NS_PER_MS;
}

bool ofs_search_is_late(const struct ofs_search *s)
{
	return ofs_clock_monotonic() >= s->until;
}

struct looking {
	struct ofs_search *search;
	const struct ofs_root *root;
	enum ofs_tier first, last;
	size_t max;
	int (*fn)(void *arg, uint64_t ino, const char *name);
	void *arg;
	struct ofs_entry_list files; /* with their names; "": the place is not known */
	int64_t until; /* monotonic: end of the time for the walk */
};

static void looking_finish(struct looking *l)
{
	ofs_entry_list_finish(&l->files);
}

/* ---- in directories */

static int add_file(void *arg, uint64_t ino, const char *name)
{
	struct looking *l = arg;

	if (l->files.n == l->max ||
	    (l->files.n % WALK_AT_ONCE == 0 && ofs_clock_monotonic() >= l->until))
		return -ECANCELED;
	ofs_entry_list_add(&l->files, ino, name);
	return 0;
}

static int walk_named(struct looking *l, uint64_t dir, const char *name,
		      int (*fn)(struct looking *l, uint64_t dir))
{
	struct ofs_attr attr;
	int r = ofs_store_lookup(l->search->tree->store, dir, name, &attr);

	if (r == 0) {
		r = S_ISDIR(attr.mode) ? fn(l, attr.ino) : 0;
		ofs_store_forget(l->search->tree->store, attr.ino, 1);
	}
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

static int walk_below(struct looking *l, uint64_t dir)
{
	return ofs_walk_files(l->search->tree, dir, true, add_file, l);
}

/* Walks the categories asked for, in a directory whose directories are categories. */
static int walk_base(struct looking *l, uint64_t dir)
{
	const struct ofs_wanted *w = &l->search->query->categories;
	int r = w->n ? 0 : walk_below(l, dir);

	for (size_t i = 0; i < w->n && r == 0; i++) {
		if (strcmp(w->list[i], OFS_CATEGORY_NONE) == 0)
			r = ofs_walk_files(l->search->tree, dir, false, add_file, l);
		if (r == 0)
			r = walk_named(l, dir, w->list[i], walk_below);
	}
	return r;
}

static int walk_working_base(void *arg, uint64_t dir)
{
	struct looking *l = arg;
	enum ofs_top top = ofs_root_top(l->root, dir);

	if (ofs_clock_monotonic() >= l->until)
		return -ECANCELED;
	return top == OFS_TOP_PERSISTENT || top == OFS_TOP_ARCHIVE ? 0 : walk_base(l, dir);
}

static void take_label(void *arg, const struct ofs_label *label)
{
	struct looking *l = arg;

	if (!label->is_dir && label->category &&
	    ofs_wanted_has(&l->search->query->categories, label->category))
		ofs_entry_list_add(&l->files, label->ino, "");
}

static void take_tagged(void *arg, const struct ofs_label *label)
{
	struct looking *l = arg;

	if (ofs_label_has_tag(label->tags, l->search->query->tags.list[0]))
		ofs_entry_list_add(&l->files, label->ino, "");
}

/* Adds files that the filters may admit. A label can override the category of the directory. */
static int walk_working(struct looking *l)
{
	const struct ofs_query *q = l->search->query;
	struct ofs_tree *t = l->search->tree;
	uint64_t tasks = l->root->tops[OFS_TOP_TASKS];
	int r = 0;

	if (!q->tasks.n && !q->categories.n)
		return ofs_walk_tier(t, l->root, OFS_TIER_WORKING, add_file, l);
	for (size_t i = 0; i < q->tasks.n && r == 0; i++)
		r = walk_named(l, tasks, q->tasks.list[i], walk_base);
	if (r == 0 && q->categories.n)
		r = ofs_labels_each(t, l->root, take_label, l);
	if (r < 0 || q->tasks.n)
		return r;
	if (ofs_wanted_has(&q->categories, OFS_CATEGORY_NONE)) {
		r = walk_below(l, l->root->ino);
		if (r == 0)
			r = ofs_walk_files(t, tasks, false, add_file, l);
	}
	return r < 0 ? r : ofs_walk_bases(t, l->root, walk_working_base, l);
}

static int walk(struct looking *l)
{
	int r = 0;

	if (l->search->query->tags.n)
		return ofs_labels_each(l->search->tree, l->root, take_tagged, l);
	for (int i = (int)l->first; i <= (int)l->last && r == 0; i++) {
		if (!ofs_search_wants(l->search->query, (enum ofs_tier)i))
			continue;
		r = i == OFS_TIER_WORKING ? walk_working(l)
					  : ofs_walk_tier(l->search->tree, l->root,
							  (enum ofs_tier)i, add_file, l);
	}
	return r;
}

/* ---- by number */

/* Passes on a file whose place is not known, if that is in the tree and its tiers. */
static int give(struct looking *l, uint64_t ino)
{
	OFS_CLEANUP(ofs_answer_finish) struct ofs_answer a = { .place.path = OFS_BUF_INIT };
	const char *path, *slash;
	enum ofs_tier tier;

	if (ofs_answer_load(l->search, ino, NULL, &a) <= 0 || a.place.root != l->root)
		return 0;
	tier = ofs_place_tier(&a.place);
	path = ofs_buf_str(&a.place.path);
	slash = strrchr(path, '/');
	return tier < l->first || tier > l->last ? 0 : l->fn(l->arg, ino, slash ? slash + 1 : path);
}

/* Returns -ECANCELED if the time or the number of files did not suffice. */
static int give_inodes(struct looking *l)
{
	uint64_t found[INODES_AT_ONCE], before = INT64_MAX;
	size_t given = 0;
	int n, r = 0;

	do {
		n = ofs_store_list_files(l->search->tree->store, before, found, INODES_AT_ONCE);
		for (int i = 0; i < n && r == 0; i++) {
			if (given == l->max || (given && ofs_search_is_late(l->search)))
				return -ECANCELED;
			r = give(l, before = found[i]);
			given++;
		}
	} while (n > 0 && r == 0);
	return OFS_MIN(n, r);
}

int ofs_search_each_file(struct ofs_search *s, const struct ofs_root *root, enum ofs_tier first,
			 enum ofs_tier last, size_t max,
			 int (*fn)(void *arg, uint64_t ino, const char *name), void *arg)
{
	int64_t now = ofs_clock_monotonic();
	OFS_CLEANUP(looking_finish)
	struct looking l = {
		.search = s,
		.root = root,
		.first = first,
		.last = last,
		.max = max,
		.fn = fn,
		.arg = arg,
		.until = now + (s->until - now) / WALK_PART,
	};
	int r = walk(&l);

	if (r == -ECANCELED)
		return give_inodes(&l);
	ofs_entry_list_settle(&l.files);
	for (size_t i = l.files.n; i-- && r == 0;) {
		const char *name = ofs_entry_list_name(&l.files, i);
		uint64_t ino = l.files.entries[i].key;

		r = *name ? fn(arg, ino, name) : give(&l, ino);
	}
	return r;
}
