/* SPDX-License-Identifier: MIT */
/*
 * The attributes of a file that can be set: lifetime, importance, tags, title and category. They
 * are stored like any other attribute. Those that listings need are kept in memory once they were
 * asked for.
 */
#include "tree/core/label.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/util.h"
#include "tree/core/category.h"
#include "tree/core/tree_state.h"

#define PREFIX "user.offload."
/* Holds struct ofs_reads; not shown. */
#define READS PREFIX "reads"
#define TITLE_MAX 1024
#define TAGS_MAX 4096
#define VALUE_MAX 4096 /* bytes of any value */
#define LISTED_AT_ONCE 256
#define CHECKED_AT_ONCE 3

struct ofs_labels {
	pthread_mutex_t lock; /* held while the store is called; guards the rest */
	bool loaded;
	/* inode -> struct ofs_label; may include those of removed inodes for a while */
	struct ofs_map files;
	/* directory of a tree -> allocated map like `files` of what is in it; if there are many */
	struct ofs_map trees;
	uint64_t sorted; /* ofs_roots_moves() when `trees` was right; 0: never */
	size_t bytes; /* of all texts */
	size_t checked; /* position in `files` of the search for removed inodes */
};

static const char *const names[OFS_LABELS] = {
	[OFS_LABEL_TTL] = PREFIX "ttl",		  [OFS_LABEL_IMPORTANT] = PREFIX "important",
	[OFS_LABEL_TAGS] = PREFIX "tags",	  [OFS_LABEL_TITLE] = PREFIX "title",
	[OFS_LABEL_CATEGORY] = PREFIX "category",
};

const char *ofs_label_name(enum ofs_label_kind kind)
{
	return names[kind];
}

enum ofs_label_kind ofs_label_find(const char *name)
{
	int i;

	for (i = 0; i < OFS_LABELS; i++)
		if (strcmp(names[i] + strlen(PREFIX), name) == 0)
			break;
	return (enum ofs_label_kind)i;
}

/* ---- values */

bool ofs_label_has_tag(const char *tags, const char *tag)
{
	size_t len = strlen(tag);

	while (tags) {
		if (strcspn(tags, ",") == len && strncmp(tags, tag, len) == 0)
			return true;
		tags = strchr(tags, ',');
		tags += tags != NULL;
	}
	return false;
}

/* Removes repetitions and the spaces around tags. */
static int normalize_tags(const char *text, struct ofs_buf *out)
{
	char done[VALUE_MAX + 1] = "", tag[OFS_NAME_MAX + 1];
	size_t used = 0;

	for (bool more = true; more;) {
		size_t len = strcspn(text, ","), from = strspn(text, " "), to = len;

		more = text[len] == ',';
		while (to > from && text[to - 1] == ' ')
			to--;
		from = OFS_MIN(from, to);
		if (to - from > OFS_NAME_MAX)
			return -EINVAL;
		memcpy(tag, text + from, to - from);
		tag[to - from] = 0;
		if (!ofs_category_is_name(tag))
			return -EINVAL;
		if (!used || !ofs_label_has_tag(done, tag)) {
			if (used)
				done[used++] = ',';
			memcpy(done + used, tag, to - from + 1);
			used += to - from;
		}
		text += len + more;
	}
	if (used > TAGS_MAX)
		return -EINVAL;
	ofs_buf_append_str(out, done);
	return 0;
}

int ofs_label_normalize(enum ofs_label_kind kind, const void *value, size_t size,
			struct ofs_buf *out)
{
	char text[VALUE_MAX + 1];
	int64_t ttl;

	/* Some programs store a final NUL as part of the value. */
	if (size && ((const char *)value)[size - 1] == 0)
		size--;
	if (size > VALUE_MAX || (size && memchr(value, 0, size)))
		return -EINVAL;
	if (size)
		memcpy(text, value, size);
	text[size] = 0;
	switch (kind) {
	case OFS_LABEL_TTL:
		ttl = ofs_ttl_parse(text);
		if (!ttl)
			return -EINVAL;
		ofs_ttl_format(ttl, out);
		return 0;
	case OFS_LABEL_IMPORTANT:
		if (strcmp(text, "0") == 0)
			return 0;
		if (strcmp(text, "1") != 0)
			return -EINVAL;
		ofs_buf_append_str(out, text);
		return 0;
	case OFS_LABEL_TAGS:
		return size ? normalize_tags(text, out) : 0;
	case OFS_LABEL_TITLE:
		if (!(size <= TITLE_MAX && ofs_text_is_line(text)))
			return -EINVAL;
		ofs_buf_append_str(out, text);
		return 0;
	case OFS_LABEL_CATEGORY:
		if (!ofs_category_is_name(text))
			return -EINVAL;
		ofs_buf_append_str(out, text);
		return 0;
	case OFS_LABELS:
		break;
	}
	return -EINVAL;
}

/* ---- labels in memory */

static const size_t texts[] = {
	offsetof(struct ofs_label, tags),
	offsetof(struct ofs_label, category),
	offsetof(struct ofs_label, title),
	offsetof(struct ofs_label, origin_task),
	offsetof(struct ofs_label, origin_category),
};

static char **text_of(struct ofs_label *l, size_t i)
{
	return (char **)((char *)l + texts[i]);
}

static void label_destroy(struct ofs_label *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++)
		free(*text_of(l, i));
	free(l);
}

static size_t texts_size(struct ofs_label *l)
{
	size_t size = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++)
		size += *text_of(l, i) ? strlen(*text_of(l, i)) : 0;
	return size;
}

static void leave_tree(struct ofs_label *l)
{
	if (l->tree)
		ofs_map_remove(l->tree, l->ino);
	l->tree = NULL;
}

/* Frees the labels of a file; NULL is allowed. */
static void forget(struct ofs_labels *labels, struct ofs_label *l)
{
	if (l)
		leave_tree(l);
	if (l)
		labels->bytes -= texts_size(l);
	label_destroy(l);
}

struct ofs_labels *ofs_labels_create(void)
{
	struct ofs_labels *l = ofs_alloc(sizeof(*l));

	pthread_mutex_init(&l->lock, NULL);
	return l;
}

static void forget_all(struct ofs_labels *l)
{
	struct ofs_label *label;
	size_t pos = 0;

	while ((label = ofs_map_next(&l->files, &pos)))
		forget(l, label);
	ofs_map_finish(&l->files);
	l->files = (struct ofs_map)OFS_MAP_INIT;
}

void ofs_labels_destroy(struct ofs_labels *l)
{
	struct ofs_map *tree;
	size_t pos = 0;

	if (!l)
		return;
	forget_all(l);
	while ((tree = ofs_map_next(&l->trees, &pos))) {
		ofs_map_finish(tree);
		free(tree);
	}
	ofs_map_finish(&l->trees);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int ofs_label_get(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, struct ofs_buf *out)
{
	char value[VALUE_MAX];
	ssize_t n = ofs_store_getxattr(t->store, ino, names[kind], value, sizeof(value));

	if (n < 0)
		return (int)n;
	ofs_buf_append(out, value, (size_t)n);
	return 0;
}

/* Sets *ret to the value, allocated; NULL: there is none. Returns 0, or -errno if it is unknown. */
static int read_text(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, char **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT;
	int r = ofs_label_get(t, ino, kind, &value);

	*ret = r == 0 ? ofs_buf_steal_str(&value) : NULL;
	return r == -ENODATA || r == -ENOENT || r == -ERANGE ? 0 : r;
}

char *ofs_label_text(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind)
{
	char *text;

	read_text(t, ino, kind, &text);
	return text;
}

/*
 * Checks a few files and forgets removed ones. Since this is done for each file added, memory stays
 * in proportion to the number of existing files.
 */
static void forget_removed(struct ofs_tree *t)
{
	struct ofs_labels *labels = t->labels;
	struct ofs_label *l;

	for (int i = 0; i < CHECKED_AT_ONCE; i++) {
		l = ofs_map_next(&labels->files, &labels->checked);
		if (!l) {
			labels->checked = 0;
			return;
		}
		if (ofs_store_is_nameless(t->store, l->ino))
			forget(labels, ofs_map_remove(&labels->files, l->ino));
	}
}

struct ofs_reads ofs_label_reads(struct ofs_tree *t, uint64_t ino)
{
	char value[48], *end;
	ssize_t n = ofs_store_getxattr(t->store, ino, READS, value, sizeof(value) - 1);
	struct ofs_reads reads = { 0 };

	value[OFS_MAX(n, 0)] = 0;
	reads.n = (uint32_t)strtoul(value, &end, 10);
	reads.last = strtoll(end, NULL, 10);
	return reads;
}

/*
 * Reads all labels of a file from the store. If they cannot be read, they are read again each time,
 * and the file counts as important, so that it is not removed.
 */
static struct ofs_label *load(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_label *l = ofs_alloc(sizeof(*l));
	OFS_FREE char *ttl = NULL, *important = NULL;
	char **const into[OFS_LABELS] = {
		[OFS_LABEL_TTL] = &ttl,
		[OFS_LABEL_IMPORTANT] = &important,
		[OFS_LABEL_TAGS] = &l->tags,
		[OFS_LABEL_TITLE] = &l->title,
		[OFS_LABEL_CATEGORY] = &l->category,
	};
	struct ofs_origin origin;
	struct ofs_attr attr;

	l->ino = ino;
	for (int i = 0; i < OFS_LABELS && !l->brief; i++)
		l->brief = read_text(t, ino, (enum ofs_label_kind)i, into[i]) < 0;
	l->reads = ofs_label_reads(t, ino).n;
	l->ttl = ttl ? ofs_ttl_parse(ttl) : OFS_TTL_UNSET;
	l->important = l->brief || (important && strcmp(important, "1") == 0);
	if (ofs_origin_read(t, ino, &origin) > 0) {
		l->origin_task = origin.task[0] ? ofs_strdup(origin.task) : NULL;
		l->origin_category = origin.category[0] ? ofs_strdup(origin.category) : NULL;
		l->is_dir = ofs_store_getattr(t->store, ino, &attr) == 0 && S_ISDIR(attr.mode);
	}
	return l;
}

/*
 * Adds the labels to those of their tree; `lock` held. Files without a name count as in the root.
 */
static void join_tree(struct ofs_tree *t, struct ofs_label *l)
{
	struct ofs_map *trees = &t->labels->trees, *tree;
	struct ofs_root *root = t->root;

	ofs_root_of(t, l->ino, &root);
	tree = ofs_map_get(trees, root->ino);
	if (!tree) {
		tree = ofs_alloc(sizeof(*tree));
		ofs_map_put(trees, root->ino, tree);
	}
	leave_tree(l);
	ofs_map_put(tree, l->ino, l);
	l->tree = tree;
}

/* Sorts all labels by tree, if anything moved to another tree since the last time. */
static void sort_by_tree(struct ofs_tree *t)
{
	uint64_t moves = ofs_roots_moves(t);
	struct ofs_label *l;
	size_t pos = 0;

	while (t->labels->sorted != moves && (l = ofs_map_next(&t->labels->files, &pos)))
		join_tree(t, l);
	t->labels->sorted = moves;
}

/* Updates memory from the store; `lock` held. */
static void reload(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_label *l = load(t, ino), *had = ofs_map_remove(&t->labels->files, ino);
	struct ofs_labels *labels = t->labels;

	if (!had && labels->loaded)
		forget_removed(t);
	forget(labels, had);
	if (l->ttl == OFS_TTL_UNSET && !l->important && !l->reads && !texts_size(l)) {
		label_destroy(l);
		return;
	}
	l->brief = l->brief || texts_size(l) > OFS_LABELS_BYTES_MAX - labels->bytes;
	for (size_t i = 0; l->brief && i < OFS_ARRAY_SIZE(texts); i++) {
		free(*text_of(l, i));
		*text_of(l, i) = NULL;
	}
	labels->bytes += texts_size(l);
	ofs_map_put(&labels->files, ino, l);
	if (labels->sorted)
		join_tree(t, l);
}

/* Calls `fn`, with texts from the store where they are not kept. `l` may be NULL; `lock` held. */
static void show(struct ofs_tree *t, const struct ofs_label *l,
		 void (*fn)(void *arg, const struct ofs_label *l), void *arg)
{
	struct ofs_label *whole = l && l->brief ? load(t, l->ino) : NULL;

	fn(arg, whole ? whole : l);
	label_destroy(whole);
}

static int load_all(struct ofs_tree *t)
{
	uint64_t list[LISTED_AT_ONCE], after = 0;
	int n, i;

	if (!t->labels->loaded)
		forget_all(t->labels);
	while (!t->labels->loaded) {
		n = ofs_store_list_labelled(t->store, after, list, LISTED_AT_ONCE);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++)
			reload(t, list[i]);
		if (n)
			after = list[n - 1];
		t->labels->loaded = !n;
	}
	return 0;
}

int ofs_labels_with(struct ofs_tree *t, uint64_t ino,
		    void (*fn)(void *arg, const struct ofs_label *l), void *arg)
{
	int r;

	pthread_mutex_lock(&t->labels->lock);
	r = load_all(t);
	if (r == 0)
		show(t, ofs_map_get(&t->labels->files, ino), fn, arg);
	pthread_mutex_unlock(&t->labels->lock);
	return r;
}

int ofs_labels_each(struct ofs_tree *t, const struct ofs_root *root,
		    void (*fn)(void *arg, const struct ofs_label *l), void *arg)
{
	const struct ofs_map *tree = &t->labels->files;
	struct ofs_label *l;
	size_t pos = 0;
	int r;

	pthread_mutex_lock(&t->labels->lock);
	r = load_all(t);
	if (r == 0 && ofs_roots_are_many(t)) {
		sort_by_tree(t);
		tree = ofs_map_get(&t->labels->trees, root->ino);
	}
	while (r == 0 && tree && (l = ofs_map_next(tree, &pos)))
		show(t, l, fn, arg);
	pthread_mutex_unlock(&t->labels->lock);
	return r;
}

int ofs_label_set_reads(struct ofs_tree *t, uint64_t ino, struct ofs_reads reads)
{
	OFS_LOCKED(&t->labels->lock);
	char value[48];
	int n = snprintf(value, sizeof(value), "%" PRIu32 " %" PRId64, reads.n, reads.last);
	int r = ofs_store_setxattr(t->store, ino, READS, value, (size_t)n, 0);

	if (r == 0 && t->labels->loaded)
		reload(t, ino);
	return r;
}

void ofs_labels_reload(struct ofs_tree *t, uint64_t ino)
{
	OFS_LOCKED(&t->labels->lock);
	if (t->labels->loaded)
		reload(t, ino);
}

void ofs_labels_forget(struct ofs_tree *t)
{
	OFS_LOCKED(&t->labels->lock);
	t->labels->loaded = false;
}

void ofs_labels_drop(struct ofs_tree *t, uint64_t ino)
{
	pthread_mutex_lock(&t->labels->lock);
	forget(t->labels, ofs_map_remove(&t->labels->files, ino));
	pthread_mutex_unlock(&t->labels->lock);
}

/* ---- setting */

static int store_value(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind,
		       const struct ofs_buf *value, int flags)
{
	int r;

	if (value->len)
		return ofs_store_setxattr(t->store, ino, names[kind], value->data, value->len,
					  flags);
	/* Empty values are not stored, but the flags apply to them all the same. */
	if (flags & ~(XATTR_CREATE | XATTR_REPLACE) || flags == (XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	if (flags & XATTR_CREATE) {
		r = (int)ofs_store_getxattr(t->store, ino, names[kind], NULL, 0);
		return r >= 0 ? -EEXIST : r == -ENODATA ? 0 : r;
	}
	r = ofs_store_removexattr(t->store, ino, names[kind]);
	return r == -ENODATA && !(flags & XATTR_REPLACE) ? 0 : r;
}

/* Parses a canonical value. */
static int64_t label_ttl(const struct ofs_buf *normal)
{
	char text[32] = "";

	memcpy(text, normal->data, OFS_MIN(normal->len, sizeof(text) - 1));
	return ofs_ttl_parse(text);
}

int ofs_label_set(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, const void *value,
		  size_t size, int flags)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf normal = OFS_BUF_INIT;
	int r;

	r = ofs_label_normalize(kind, value, size, &normal);
	if (r < 0)
		return r;
	pthread_mutex_lock(&t->labels->lock);
	r = store_value(t, ino, kind, &normal, flags);
	if (r == 0 && t->labels->loaded)
		reload(t, ino);
	pthread_mutex_unlock(&t->labels->lock);
	if (r == 0)
		t->labelled(t, ino, kind, kind == OFS_LABEL_TTL ? label_ttl(&normal) : 0);
	return r;
}

int ofs_label_remove(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind)
{
	int r;

	pthread_mutex_lock(&t->labels->lock);
	r = ofs_store_removexattr(t->store, ino, names[kind]);
	if (r == 0 && t->labels->loaded)
		reload(t, ino);
	pthread_mutex_unlock(&t->labels->lock);
	if (r == 0)
		t->labelled(t, ino, kind, OFS_TTL_UNSET);
	return r;
}
