/* SPDX-License-Identifier: MIT */
/* views/recent and views/expiring: the first few of all files by a time. */
#include "base/alloc.h"
#include "base/util.h"
#include "tree/core/category.h"
#include "tree/core/entry_list.h"
#include "tree/core/tree_state.h"
#include "tree/core/walk.h"
#include "tree/expiry/lifetime.h"
#include "tree/virtual/view.h"
#include "tree/virtual/view_gather.h"

#define SHOWN_MAX 100

struct ranked {
	int64_t rank; /* the lowest come first */
	uint64_t ino;
	char name[OFS_NAME_MAX + 1];
};

struct ranking {
	struct ofs_tree *tree;
	enum ofs_view view;
	struct ranked *list; /* a heap: the worst is first */
	size_t n;
};

static void sift_down(struct ranked *list, size_t n)
{
	size_t i = 0, child;
	struct ranked swap;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && list[child + 1].rank > list[child].rank)
			child++;
		if (list[i].rank >= list[child].rank)
			return;
		swap = list[i];
		list[i] = list[child];
		list[child] = swap;
		i = child;
	}
}

static void sift_up(struct ranked *list, size_t i)
{
	struct ranked swap;

	for (; i && list[(i - 1) / 2].rank < list[i].rank; i = (i - 1) / 2) {
		swap = list[i];
		list[i] = list[(i - 1) / 2];
		list[(i - 1) / 2] = swap;
	}
}

static void rank(struct ranking *k, int64_t value, uint64_t ino, const char *name)
{
	struct ranked *to;

	if (k->n == SHOWN_MAX && value >= k->list[0].rank)
		return;
	to = k->n == SHOWN_MAX ? &k->list[0] : &k->list[k->n++];
	to->rank = value;
	to->ino = ino;
	memcpy(to->name, name, strlen(name) + 1);
	if (to == &k->list[0])
		sift_down(k->list, k->n);
	else
		sift_up(k->list, k->n - 1);
}

/* By what is found; of files that do not expire nothing is shown. */
static int rank_file(struct ranking *k, uint64_t ino, const char *name)
{
	struct ofs_tree *t = k->tree;
	struct ofs_attr attr;
	int64_t expires;
	int r;

	r = ofs_store_getattr(t->store, ino, &attr);
	if (r < 0 || !attr.nlink)
		return r == -ENOENT ? 0 : r;
	if (k->view == OFS_VIEW_RECENT) {
		rank(k, -OFS_MAX(attr.mtime, -INT64_MAX), ino, name);
		return 0;
	}
	r = ofs_lifetime_end(t, &attr, &expires);
	if (r == 0 && expires != OFS_TTL_NEVER)
		rank(k, expires, ino, name);
	return r == -ENOENT ? 0 : r;
}

static int add_file(void *arg, uint64_t ino, const char *name)
{
	ofs_entry_list_add(arg, ino, name);
	return 0;
}

int ofs_view_gather_ranked(struct ofs_tree *t, enum ofs_view view, struct ofs_entry_list *ret)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list files = { 0 };
	struct ranking k = { .tree = t, .view = view };
	int r;

	k.list = ofs_realloc(NULL, SHOWN_MAX, sizeof(*k.list));
	r = ofs_walk_files(t, OFS_ROOT_INO, true, add_file, &files);
	for (int i = 0; i < OFS_TOPS && r == 0; i++)
		if (view == OFS_VIEW_RECENT || i == OFS_TOP_CACHE || i == OFS_TOP_TASKS)
			r = ofs_walk_files(t, t->tops[i], true, add_file, &files);
	ofs_entry_list_settle(&files);
	for (size_t i = 0; i < files.n && r == 0; i++)
		r = rank_file(&k, files.entries[i].key, ofs_entry_list_name(&files, i));
	for (size_t i = 0; i < k.n && r == 0; i++)
		ofs_entry_list_add(ret, k.list[i].ino, k.list[i].name);
	free(k.list);
	return r;
}
