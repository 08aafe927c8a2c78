/* SPDX-License-Identifier: MIT */
/* Gathers the files of an inventory, directory by directory, and sorts them. */
#include "tree/virtual/inventory.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/tokens.h"
#include "tree/core/walk.h"
#include "tree/expiry/lifetime.h"
#include "tree/search/search.h"

/* Limit of the content read to count tokens; files not yet counted by sealing are mostly new. */
#define COUNTED_MAX ((uint64_t)128 << 20)
/* From this number of files on, the list is cut early, and the store frees memory at the end. */
#define MANY ((size_t)1 << 16)
#define CLOCK_EVERY 64 /* entries between two looks at the clock */

void ofs_inventory_finish(struct ofs_inventory *v)
{
	for (size_t i = 0; i < v->n_groups; i++)
		free(v->groups[i].category);
	free(v->groups);
	free(v->list);
	ofs_buf_finish(&v->names);
	*v = (struct ofs_inventory){ 0 };
}

struct found {
	uint64_t ino;
	size_t name; /* offset in its level's `names` */
	bool is_dir;
};

/* A directory that is being read. */
struct level {
	uint64_t dir;
	struct found *list;
	size_t n, cap, next;
	struct ofs_buf names;
};

struct ofs_gathering {
	struct ofs_tree *tree;
	struct ofs_root *root;
	const struct ofs_inventory_request *request;
	struct ofs_inventory *to;
	struct ofs_search search; /* only for its filters */
	struct level *levels; /* from the root down */
	size_t n, cap;
	uint64_t counted; /* bytes read to count tokens */
};

/* ---- files */

static bool is_between(int64_t at, int64_t from, int64_t before)
{
	return at >= from && (at < before || before == INT64_MAX);
}

/* Returns 1 if the file matches, 0 if not, or -errno. */
static int admits(struct ofs_gathering *g, const struct ofs_attr *file, const char *name)
{
	const struct ofs_inventory_request *q = g->request;
	int64_t used = ofs_lifetime_used_time(g->tree, file->used);
	struct ofs_answer answer;
	int r;

	if (q->resumed && file->ino == q->after.ino)
		return 1; /* the position, which is needed to continue */
	/*
	 * A file that has changed may have moved in the order after it was shown. `used` may be
	 * later than the real last use, so only reverse order needs it: in the normal order a file
	 * used meanwhile comes before this page anyway.
	 */
	if (q->resumed && q->after.ino &&
	    (file->ctime > q->began ||
	     (q->order == OFS_ORDER_USED && q->reverse && used > q->began)))
		return 0;
	if (!is_between(used, q->used_from, q->used_before))
		return 0;
	if (!q->query->filtered)
		return 1;
	r = ofs_answer_load(&g->search, file->ino, name, &answer);
	ofs_answer_finish(&answer);
	return r;
}

/* The file's tokens if they are known or may be counted; else -1. */
static int64_t tokens_of(struct ofs_gathering *g, const struct ofs_attr *file)
{
	uint64_t cost = OFS_MIN(file->size, (uint64_t)OFS_TOKENS_SAMPLE);

	if (file->tokens < 0) {
		if (g->request->order != OFS_ORDER_TOKENS && g->counted + cost > COUNTED_MAX)
			return -1;
		g->counted += cost;
	}
	return (int64_t)OFS_MIN(ofs_source_tokens(g->tree, file), (uint64_t)INT64_MAX);
}

/* Bytes on disk; 0 where that must not be revealed (see user.offload.stored_bytes). */
static uint64_t stored_of(const struct ofs_attr *file)
{
	return file->region == OFS_ROOT_INO ? file->occupied : 0;
}

/* The key grows along the order. ~ reverses an order without overflow. */
static int key_of(struct ofs_gathering *g, const struct ofs_attr *file, uint64_t dir,
		  int64_t tokens, int64_t *ret)
{
	struct ofs_lifetime_place place;
	int r = 0;

	switch (g->request->order) {
	case OFS_ORDER_USED:
		*ret = ~file->used;
		break;
	case OFS_ORDER_MODIFIED:
		*ret = ~file->mtime;
		break;
	case OFS_ORDER_SIZE:
		*ret = ~(int64_t)file->size;
		break;
	case OFS_ORDER_TOKENS:
		*ret = ~tokens;
		break;
	case OFS_ORDER_STORED:
		*ret = ~(int64_t)stored_of(file);
		break;
	case OFS_ORDER_EXPIRES:
		r = ofs_lifetime_place_in(g->tree, dir, &place);
		if (r == 0)
			r = ofs_lifetime_end(g->tree, file, &place, ret);
		break;
	case OFS_ORDER_PATH:
	case OFS_ORDERS:
		*ret = (int64_t)g->to->files;
		break;
	}
	if (g->request->reverse)
		*ret = ~*ret;
	return r;
}

/* Adds a file to the sums of its tier and category. There are few, so a linear search suffices. */
static int add_to_group(struct ofs_gathering *g, const struct ofs_attr *file, const char *name,
			int64_t tokens)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	struct ofs_inventory *to = g->to;
	struct ofs_inventory_group *group;
	size_t i = 0;
	int r = ofs_place_of_known(g->tree, file, name, &place);

	if (r == 0)
		r = ofs_place_label(g->tree, file->ino, &place);
	if (r < 0)
		return r;
	while (i < to->n_groups && (to->groups[i].tier != ofs_place_tier(&place) ||
				    strcmp(to->groups[i].category, place.category) != 0))
		i++;
	if (i == to->n_groups)
		*ofs_append(to->groups, to->n_groups, to->cap_groups) =
			(struct ofs_inventory_group){ .tier = ofs_place_tier(&place),
						      .category = ofs_strdup(place.category) };
	group = &to->groups[i];
	group->files++;
	group->bytes += file->size;
	group->stored += stored_of(file);
	group->tokens += tokens > 0 ? (uint64_t)tokens : 0;
	return 0;
}

/*
 * Whether the file is counted in this place. A file of several names counts once: by its oldest
 * name in the directory that it was linked into last.
 */
static int is_counted_by(struct ofs_gathering *g, const struct ofs_attr *file, uint64_t dir,
			 const char *name)
{
	char last[OFS_NAME_MAX + 1];
	uint64_t in;
	int r;

	if (file->nlink == 1)
		return file->parent == dir;
	r = ofs_store_name_of(g->tree->store, file->ino, &in, last);
	return r < 0 ? r : in == dir && strcmp(name, last) == 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct ofs_inventory_entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Sorts the list and cuts it to `max`. */
static void settle(struct ofs_inventory *to)
{
	struct ofs_buf names = OFS_BUF_INIT;

	if (to->n)
		qsort(to->list, to->n, sizeof(*to->list), compare_entries);
	if (to->n <= to->max)
		return;
	to->n = to->max;
	for (size_t i = 0; i < to->n; i++) {
		const char *name = (const char *)to->names.data + to->list[i].name;

		to->list[i].name = names.len;
		ofs_buf_append(&names, name, strlen(name) + 1);
	}
	ofs_buf_finish(&to->names);
	to->names = names;
}

static void add_entry(struct ofs_inventory *to, int64_t key, uint64_t ino, const char *name)
{
	if (to->n >= MANY && to->n / 2 >= to->max)
		settle(to);
	*ofs_append(to->list, to->n, to->cap) =
		(struct ofs_inventory_entry){ key, ino, to->names.len };
	ofs_buf_append(&to->names, name, strlen(name) + 1);
}

static int take_file(struct ofs_gathering *g, uint64_t dir, uint64_t ino, const char *name)
{
	struct ofs_inventory *to = g->to;
	struct ofs_attr file;
	int64_t tokens, key;
	int r = ofs_store_getattr_in(g->tree->store, dir, ino, &file);

	if (r == 0 && file.nlink)
		r = is_counted_by(g, &file, dir, name);
	if (r > 0)
		r = admits(g, &file, name);
	if (r <= 0)
		return r == -ENOENT ? 0 : r;
	tokens = tokens_of(g, &file);
	r = g->request->groups ? add_to_group(g, &file, name, tokens)
			       : key_of(g, &file, dir, tokens, &key);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!g->request->groups) {
		add_entry(to, key, ino, name);
		to->files++;
	}
	to->bytes += file.size;
	to->stored += stored_of(&file);
	to->tokens += tokens > 0 ? (uint64_t)tokens : 0;
	to->uncounted += tokens < 0;
	return 0;
}

/* ---- directories */

static int add_found(void *arg, const char *name, const struct ofs_attr *attr)
{
	struct level *l = arg;

	if (!S_ISREG(attr->mode) && !S_ISDIR(attr->mode))
		return 0;
	*ofs_append(l->list, l->n, l->cap) = (struct found){ .ino = attr->ino,
							     .name = l->names.len,
							     .is_dir = S_ISDIR(attr->mode) };
	ofs_buf_append(&l->names, name, strlen(name) + 1);
	return 0;
}

static int compare_names(const void *a, const void *b, void *names)
{
	const struct found *x = a, *y = b;

	return strcmp((const char *)names + x->name, (const char *)names + y->name);
}

static int enter(struct ofs_gathering *g, uint64_t dir)
{
	struct level *l = ofs_append(g->levels, g->n, g->cap);
	int r;

	*l = (struct level){ .dir = dir };
	if (dir == g->root->tops[OFS_TOP_AGENTS])
		return 0;
	r = ofs_walk_entries(g->tree, dir, add_found, l);
	if (g->request->order == OFS_ORDER_PATH && l->n)
		qsort_r(l->list, l->n, sizeof(*l->list), compare_names, l->names.data);
	/* A directory that was removed meanwhile counts as empty. */
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

static void leave(struct ofs_gathering *g)
{
	struct level *l = &g->levels[--g->n];

	free(l->list);
	ofs_buf_finish(&l->names);
}

/* Handles one entry, or the end of a directory. */
static int step(struct ofs_gathering *g)
{
	struct level *l = &g->levels[g->n - 1];
	const struct found *f = l->next < l->n ? &l->list[l->next++] : NULL;

	if (f)
		return f->is_dir ? enter(g, f->ino)
				 : take_file(g, l->dir, f->ino,
					     (const char *)l->names.data + f->name);
	leave(g);
	return 0;
}

/* Looks up `path` without taking references; *ret_dir is the directory of its last name. */
static int find_below(struct ofs_tree *t, uint64_t root, const char *path, uint64_t *ret_dir,
		      struct ofs_attr *ret)
{
	int r = ofs_store_getattr(t->store, root, ret);

	while (*path && r == 0) {
		size_t len = strcspn(path, "/");
		char name[OFS_NAME_MAX + 1];

		if (len > OFS_NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		*ret_dir = ret->ino;
		r = ofs_store_lookup(t->store, *ret_dir, name, ret);
		if (r == 0)
			ofs_store_forget(t->store, ret->ino, 1);
		path += len + (path[len] == '/');
	}
	return r;
}

int ofs_gathering_create(struct ofs_tree *t, struct ofs_root *root,
			 const struct ofs_inventory_request *request, struct ofs_inventory *to,
			 struct ofs_gathering **ret)
{
	const char *slash = strrchr(request->below, '/');
	struct ofs_gathering *g;
	uint64_t dir = root->ino;
	struct ofs_attr top;
	int r = find_below(t, root->ino, request->below, &dir, &top);

	if (r < 0)
		return r;
	g = ofs_alloc(sizeof(*g));
	g->tree = t;
	g->to = to;
	g->request = request;
	/* Files up to a position are left out later, so all must be gathered. */
	to->max = request->after.ino ? SIZE_MAX : (size_t)OFS_MIN(request->max, (uint64_t)SIZE_MAX);
	g->root = root;
	g->search = (struct ofs_search){
		.tree = t, .query = request->query, .in = &g->root, .n_in = 1
	};
	if (S_ISDIR(top.mode))
		r = enter(g, top.ino);
	else if (S_ISREG(top.mode))
		r = take_file(g, dir, top.ino, slash ? slash + 1 : request->below);
	if (r < 0)
		ofs_gathering_destroy(g);
	else
		*ret = g;
	return r;
}

int ofs_gathering_run(struct ofs_gathering *g, int64_t deadline)
{
	struct ofs_inventory *to = g->to;
	int r = 0;

	for (unsigned int i = 1; g->n && r == 0; i++) {
		if (i % CLOCK_EVERY == 0 && ofs_clock_monotonic() >= deadline)
			return 1;
		r = step(g);
	}
	if (r == 0)
		settle(to);
	if (to->files > MANY)
		ofs_store_relax(g->tree->store);
	return r;
}

void ofs_gathering_destroy(struct ofs_gathering *g)
{
	if (!g)
		return;
	while (g->n)
		leave(g);
	free(g->levels);
	free(g);
}
