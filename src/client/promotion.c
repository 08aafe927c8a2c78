/* SPDX-License-Identifier: MIT */
#include "client/promotion.h"

#include "base/name.h"
#include "client/files.h"
#include "base/text_form.h"
#include "io/path.h"

#define PROMOTION_GENERAL "general"
#define PROMOTION_CHUNK ((size_t)64 << 10)

/* The tags of a file. */
struct tagged {
	char *had; /* "": none */
	char *all; /* including the added ones */
};

/* A promotion in progress. */
struct promotion {
	const struct ofs_promotion *p;
	struct ofs_backend *b;
	struct ofs_error *err;
	bool is_dir;
	char *from; /* the source */
	char *category; /* according to its directory */
	char *folder; /* the destination; NULL: not moved */
	char *name; /* in the destination, if free */
	char *to;
	struct ofs_files files; /* to be tagged, with their paths before the move */
	struct tagged *tags; /* one for each of `files` */
	size_t set; /* number of files tagged so far */
};

static void promotion_finish(struct promotion *w)
{
	for (size_t i = 0; w->tags && i < w->files.count; i++) {
		free(w->tags[i].had);
		free(w->tags[i].all);
	}
	free(w->tags);
	ofs_files_finish(&w->files);
	free(w->from);
	free(w->category);
	free(w->folder);
	free(w->name);
	free(w->to);
}

/* Sets *ret to the attribute, allocated, or to NULL if there is none. 0 or -errno. */
static int get(struct promotion *w, const char *path, const char *name, char **ret)
{
	int r = ofs_backend_attribute(w->b, path, name, ret);

	if (r != -ENODATA && r != -EOPNOTSUPP)
		return r;
	*ret = NULL;
	return 0;
}

static int failed(struct promotion *w, int r, const char *what, const char *path)
{
	return ofs_error_set(w->err, -r, "cannot %s '%s': %s", what, path,
			     ofs_backend_strerror(-r));
}

/* ---- tags */

static bool has_tag(const char *tags, const char *tag)
{
	size_t len = strlen(tag);

	for (const char *p = tags; (p = strstr(p, tag)); p++) {
		if ((p == tags || p[-1] == ',') && (p[len] == ',' || !p[len]))
			return true;
	}
	return false;
}

char *ofs_tags_join(const char *tags, const char *more)
{
	OFS_FREE char *both = ofs_format("%s,%s", tags, more);
	char *all = ofs_alloc(strlen(both) + 2), *rest = both, *end = all;

	for (char *tag; (tag = strsep(&rest, ","));) {
		tag += strspn(tag, " ");
		for (size_t len = strlen(tag); len && tag[len - 1] == ' '; len--)
			tag[len - 1] = '\0';
		if (*tag && !has_tag(all, tag))
			end += sprintf(end, "%s%s", end > all ? "," : "", tag);
	}
	return all;
}

/* Reads and checks the tags of all files, before any is changed. */
static int read_tags(struct promotion *w)
{
	int r = ofs_files_gather(w->b, w->from, &w->files);

	if (r < 0)
		return failed(w, r, "list", w->from);
	w->tags = ofs_alloc((w->files.count + 1) * sizeof(*w->tags));
	for (size_t i = 0; i < w->files.count; i++) {
		const char *path = w->files.list[i].path;
		struct tagged *t = &w->tags[i];

		r = get(w, path, "tags", &t->had);
		if (r < 0)
			return failed(w, r, "read the tags of", path);
		if (!t->had)
			t->had = ofs_strdup("");
		t->all = ofs_tags_join(t->had, w->p->tags);
		if (strlen(t->all) > OFS_TAGS_MAX)
			return ofs_error_set(w->err, EINVAL,
					     "'%s' would have %zu bytes of tags: at most %d", path,
					     strlen(t->all), OFS_TAGS_MAX);
	}
	return 0;
}

/* Tags the files. After a failure some may be tagged, which remove_tags() reverts. */
static int add_tags(struct promotion *w)
{
	int r = w->p->tags ? read_tags(w) : 0;

	for (; r == 0 && w->set < w->files.count; w->set++) {
		const char *path = w->files.list[w->set].path;
		const struct tagged *t = &w->tags[w->set];

		if (strcmp(t->had, t->all) == 0)
			continue;
		r = ofs_backend_set_attribute(w->b, path, "tags", t->all);
		if (r == -EINVAL)
			return ofs_error_set(
				w->err, EINVAL,
				"--tag '%s': give names separated by commas, without '/'",
				w->p->tags);
		if (r < 0)
			return failed(w, r, "tag", path);
	}
	return r;
}

/* Restores the tags that the files had. */
static void remove_tags(struct promotion *w)
{
	while (w->set--)
		ofs_backend_set_attribute(w->b, w->files.list[w->set].path, "tags",
					  w->tags[w->set].had);
}

/* ---- source and destination */

static bool is_in_top(const char *path, const char *top)
{
	size_t len = strlen(top);

	return strncmp(path, top, len) == 0 && (path[len] == '/' || !path[len]);
}

/* Returns the category according to the directories of `path`, which may be one. Allocated. */
static char *category_of(const char *path, bool is_dir)
{
	const char *at = strchr(path, '/');
	size_t len;

	if (at && is_in_top(path, "tasks"))
		at = strchr(at + 1, '/');
	if (!at)
		return ofs_strdup(PROMOTION_GENERAL);
	len = strcspn(++at, "/");
	return at[len] || is_dir ? ofs_strndup(at, len) : ofs_strdup(PROMOTION_GENERAL);
}

/* Sets `from` and its category. For a ref or a link in views/ the tree tells where the file is. */
static int find_source(struct promotion *w, const char *path, mode_t mode)
{
	static const char *const tops[] = { "cache", "tasks", "persistent", "archive" };
	bool elsewhere = is_in_top(path, "refs") || is_in_top(path, "views");
	OFS_FREE char *real = NULL;
	int r;

	if (!*path)
		return ofs_error_set(w->err, EINVAL,
				     "that is the whole tree: name files or directories in it");
	r = get(w, path, "path", &real);
	if (r < 0)
		return failed(w, r, "read the attributes of", path);
	if (!real || (!S_ISREG(mode) && !S_ISDIR(mode)))
		return ofs_error_set(w->err, EINVAL,
				     "'%s' cannot be moved: it is not a stored file or directory",
				     path);
	w->is_dir = S_ISDIR(mode);
	w->from = elsewhere ? ofs_steal(real) : ofs_strdup(path);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tops); i++) {
		if (strcmp(w->from, tops[i]) == 0)
			return ofs_error_set(w->err, EINVAL,
					     "'%s' as a whole cannot be moved: name what is in it",
					     tops[i]);
	}
	w->category = category_of(w->from, w->is_dir);
	return 0;
}

/* Sets `folder` and `name` and makes the folder; if nothing is to be moved, `to` becomes `from`. */
static int find_place(struct promotion *w)
{
	const char *slash = strrchr(w->from, '/'), *name = slash ? slash + 1 : w->from;
	OFS_FREE char *own = NULL;
	const char *category = w->p->category;
	int r = 0;

	if (is_in_top(w->from, w->p->top) && (!category || strcmp(category, w->category) == 0) &&
	    (!w->p->name || strcmp(w->p->name, name) == 0)) {
		w->to = ofs_strdup(w->from);
		return 0;
	}
	if (!category && !w->is_dir)
		r = get(w, w->from, "category", &own);
	if (r < 0)
		return failed(w, r, "read the category of", w->from);
	if (!category)
		category = own && *own ? own : w->category;
	w->folder = ofs_path_join(w->p->top, category);
	w->name = ofs_strdup(w->p->name ? w->p->name : name);
	return w->p->dry ? 0 : ofs_backend_mkdirs(w->b, w->folder, w->err);
}

/* ---- the move */

/* Returns 1 if both files have the same bytes, else 0 or -errno. */
static int compare(struct promotion *w)
{
	OFS_FREE char *chunks = ofs_alloc(2 * PROMOTION_CHUNK);
	char *mine = chunks, *theirs = chunks + PROMOTION_CHUNK;
	struct ofs_backend *b = w->b;
	ofs_handle from, to;
	uint64_t off = 0;
	ssize_t n, m;
	int r = b->ops->open(b, w->from, &from);

	if (r < 0)
		return r;
	r = b->ops->open(b, w->to, &to);
	if (r == 0) {
		do {
			n = b->ops->read(b, from, mine, PROMOTION_CHUNK, off);
			m = b->ops->read(b, to, theirs, PROMOTION_CHUNK, off);
			off += n > 0 ? (uint64_t)n : 0;
		} while (n > 0 && n == m && memcmp(mine, theirs, (size_t)n) == 0);
		r = n < 0 ? (int)n : m < 0 ? (int)m : n == 0 && m == 0;
		b->ops->close(b, to);
	}
	b->ops->close(b, from);
	return r;
}

/* Moves the source to `name` in the folder, or in a dry run only checks that it is free. */
static int move_as(struct promotion *w, const char *name)
{
	struct stat there;
	int r;

	free(w->to);
	w->to = ofs_path_join(w->folder, name);
	if (!w->p->dry)
		return w->b->ops->rename(w->b, w->from, w->to, RENAME_NOREPLACE);
	r = w->b->ops->lstat(w->b, w->to, &there);
	return r == 0 ? -EEXIST : r == -ENOENT ? 0 : r;
}

static int move(struct promotion *w)
{
	char name[OFS_NAME_NUMBERED_MAX + 1];
	const char *remark = "";
	struct stat there;
	int r;

	if (!w->folder)
		return 0;
	r = move_as(w, w->name);
	for (unsigned int n = 2; w->p->numbered && (r == -EEXIST || r == -ENOTEMPTY); n++) {
		ofs_name_number(w->name, n, name);
		r = move_as(w, name);
	}
	if (r == -EEXIST || r == -ENOTEMPTY) {
		if (!w->is_dir && w->b->ops->lstat(w->b, w->to, &there) == 0) {
			r = S_ISREG(there.st_mode) ? compare(w) : 0;
			remark = r == 1	  ? ", with the same content"
				 : r == 0 ? ", with other content"
					  : "";
		}
		return ofs_error_set(w->err, EEXIST,
				     "'%s' exists already%s: to keep '%s' as well, name it with -n",
				     w->to, remark, w->from);
	}
	if (r < 0)
		return ofs_error_set(w->err, -r, "cannot move '%s' to '%s': %s", w->from, w->to,
				     ofs_backend_strerror(-r));
	return 0;
}

/* Sets the category asked for if a label of the file would override it. */
static int set_category(struct promotion *w)
{
	OFS_FREE char *now = NULL;
	int r;

	if (!w->p->category || w->is_dir)
		return 0;
	r = get(w, w->to, "category", &now);
	if (r == 0 && now && strcmp(now, w->p->category) != 0)
		r = ofs_backend_set_attribute(w->b, w->to, "category", w->p->category);
	return r < 0 ? failed(w, r, "set the category of", w->to) : 0;
}

static int make_result(struct promotion *w, json_t **ret)
{
	OFS_FREE char *category = NULL, *ref = NULL, *tags = NULL;
	const char *at = w->p->dry ? w->from : w->to;
	int r = get(w, at, "category", &category);

	if (r == 0 && !w->is_dir)
		r = get(w, at, "ref", &ref);
	if (r == 0 && !w->is_dir)
		r = get(w, at, "tags", &tags);
	if (r < 0)
		return failed(w, r, "read the attributes of", at);
	*ret = json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "ref", ofs_json_string(ref), "path",
			 ofs_json_string(w->to), "was", ofs_json_string(w->from), "category",
			 ofs_json_string(category), "tags", ofs_json_string(tags), "moved",
			 strcmp(w->from, w->to) != 0);
	return 0;
}

int ofs_promote(const struct ofs_promotion *p, struct ofs_backend *b, const char *path,
		const struct stat *attr, struct ofs_error *err, json_t **ret)
{
	OFS_CLEANUP(promotion_finish) struct promotion w = { .p = p, .b = b, .err = err };
	int r = find_source(&w, path, attr->st_mode);

	if (r == 0)
		r = find_place(&w);
	if (r == 0 && !p->dry)
		r = add_tags(&w);
	if (r == 0)
		r = move(&w);
	if (r < 0) {
		remove_tags(&w);
		return r;
	}
	r = p->dry ? 0 : set_category(&w);
	return r < 0 ? r : make_result(&w, ret);
}
