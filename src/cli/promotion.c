/* SPDX-License-Identifier: MIT */
#include "cli/promotion.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "cli/files.h"
#include "cli/report.h"
#include "io/path.h"

#define PROMOTION_GENERAL "general"
#define PROMOTION_CHUNK ((size_t)64 << 10)

/* One promotion under way. */
struct promotion {
	const struct ofs_promotion *p;
	struct ofs_backend *b;
	struct ofs_error *err;
	bool is_dir;
	char *from; /* where it is */
	char *category; /* that its directory gives it */
	char *to;
	struct ofs_files tagged; /* files that get tags, with their paths before the move */
	char **had; /* their tags before, as many; NULL: none */
	size_t set; /* those that have got them */
};

void ofs_promoted_finish(struct ofs_promoted *p)
{
	free(p->ref);
	free(p->path);
	free(p->was);
	free(p->category);
	free(p->tags);
	*p = (struct ofs_promoted){ 0 };
}

static void promotion_finish(struct promotion *w)
{
	free(w->from);
	free(w->category);
	free(w->to);
	for (size_t i = 0; w->had && i < w->tagged.count; i++)
		free(w->had[i]);
	free(w->had);
	ofs_files_finish(&w->tagged);
}

/* ---- tags */

static void tags_append(char **to, char *all, const char *tag, size_t len)
{
	for (const char *p = all; *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && strncmp(p, tag, len) == 0)
			return;
		p += n + (p[n] == ',');
	}
	if (*to != all)
		*(*to)++ = ',';
	memcpy(*to, tag, len);
	*to += len;
	**to = '\0';
}

char *ofs_tags_join(const char *tags, const char *more)
{
	const char *const lists[] = { tags, more };
	char *all = ofs_alloc(strlen(tags) + strlen(more) + 2), *to = all;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(lists); i++) {
		for (const char *p = lists[i]; *p;) {
			size_t n = strcspn(p, ","), from = strspn(p, " "), end = n;

			while (end > from && p[end - 1] == ' ')
				end--;
			if (end > from)
				tags_append(&to, all, p + from, end - from);
			p += n + (p[n] == ',');
		}
	}
	return all;
}

/* The attribute, allocated, NULL where there is none; 0 or -errno. */
static int promotion_attribute(struct promotion *w, const char *path, const char *name, char **ret)
{
	int r = ofs_backend_attribute(w->b, path, name, ret);

	if (r != -ENODATA && r != -EOPNOTSUPP)
		return r;
	*ret = NULL;
	return 0;
}

static int promotion_failed(struct promotion *w, int r, const char *what, const char *path)
{
	return ofs_error_set(w->err, -r, "cannot %s '%s': %s", what, path, ofs_report_errno(-r));
}

/* Puts the tags back that the files had. */
static void promotion_untag(struct promotion *w)
{
	while (w->set) {
		const char *had = w->had[--w->set];

		ofs_backend_set_attribute(w->b, w->tagged.list[w->set].path, "tags",
					  had ? had : "");
	}
}

/* Looks at the tags of all files before any is set. */
static int promotion_read_tags(struct promotion *w, const struct stat *attr)
{
	struct ofs_files *f = &w->tagged;
	int r = 0;

	if (w->is_dir) {
		r = ofs_files_gather(w->b, w->from, f);
	} else {
		f->list = ofs_grow(f->list, &f->cap, 1, sizeof(*f->list));
		f->list[f->count++] =
			(struct ofs_file){ .path = ofs_strdup(w->from), .attr = *attr };
	}
	if (r < 0)
		return promotion_failed(w, r, "list", w->from);
	w->had = ofs_alloc((f->count + 1) * sizeof(*w->had));
	for (size_t i = 0; i < f->count; i++) {
		OFS_FREE char *all = NULL;

		r = promotion_attribute(w, f->list[i].path, "tags", &w->had[i]);
		if (r < 0)
			return promotion_failed(w, r, "read the tags of", f->list[i].path);
		all = ofs_tags_join(w->had[i] ? w->had[i] : "", w->p->tags);
		if (strlen(all) > OFS_TAGS_MAX)
			return ofs_error_set(w->err, EINVAL,
					     "'%s' would have %zu bytes of tags: at most %d",
					     f->list[i].path, strlen(all), OFS_TAGS_MAX);
	}
	return 0;
}

/* On failure some may have got theirs: see promotion_untag(). */
static int promotion_tag(struct promotion *w, const struct stat *attr)
{
	int r;

	if (!w->p->tags)
		return 0;
	r = promotion_read_tags(w, attr);
	for (; r == 0 && w->set < w->tagged.count; w->set++) {
		const char *path = w->tagged.list[w->set].path, *had = w->had[w->set];
		OFS_FREE char *all = ofs_tags_join(had ? had : "", w->p->tags);

		if (had && strcmp(had, all) == 0)
			continue;
		r = ofs_backend_set_attribute(w->b, path, "tags", all);
		if (r == -EINVAL)
			r = ofs_error_set(w->err, EINVAL,
					  "--tag '%s': give names separated by commas, without '/'",
					  w->p->tags);
		else if (r < 0)
			r = promotion_failed(w, r, "tag", path);
		if (r < 0)
			break;
	}
	return r;
}

/* ---- from where to where */

/* The component number `i` of a path, allocated; NULL: it has not so many. */
static char *promotion_component(const char *path, size_t i)
{
	for (; *path; path += *path == '/') {
		size_t len = strcspn(path, "/");

		if (i-- == 0)
			return strndup(path, len);
		path += len;
	}
	return NULL;
}

static bool promotion_in_top(const char *path, const char *top)
{
	size_t len = strlen(top);

	return strncmp(path, top, len) == 0 && (path[len] == '/' || !path[len]);
}

/* What directories say of a file's category; of that of a directory, it itself. */
static char *promotion_place(const struct promotion *w)
{
	size_t at = promotion_in_top(w->from, "tasks") ? 2 : 1;
	OFS_FREE char *category = promotion_component(w->from, at);
	OFS_FREE char *below = promotion_component(w->from, at + 1);

	if (!category || (!below && !w->is_dir))
		return ofs_strdup(PROMOTION_GENERAL);
	return ofs_steal(category);
}

/* A ref, and a link in views/, says little of where its file is: the tree knows that. */
static int promotion_find(struct promotion *w, const char *path, const struct stat *attr)
{
	static const char *const kept[] = { "cache", "tasks", "persistent", "archive" };
	bool elsewhere = promotion_in_top(path, "refs") || promotion_in_top(path, "views");
	OFS_FREE char *real = NULL;
	int r;

	if (!*path)
		return ofs_error_set(w->err, EINVAL,
				     "that is the whole tree: name files or directories in it");
	r = promotion_attribute(w, path, "path", &real);
	if (r < 0)
		return promotion_failed(w, r, "read the attributes of", path);
	if (!real || (!S_ISREG(attr->st_mode) && !S_ISDIR(attr->st_mode)))
		return ofs_error_set(w->err, EINVAL,
				     "'%s' is no file or directory that can be moved", path);
	w->is_dir = S_ISDIR(attr->st_mode);
	w->from = elsewhere ? ofs_steal(real) : ofs_strdup(path);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(kept); i++) {
		if (strcmp(w->from, kept[i]) == 0)
			return ofs_error_set(w->err, EINVAL,
					     "'%s' is a tree as a whole: name what is in it",
					     kept[i]);
	}
	w->category = promotion_place(w);
	return 0;
}

static const char *promotion_name(const struct promotion *w)
{
	const char *slash = strrchr(w->from, '/');

	return slash ? slash + 1 : w->from;
}

/* Whether there is nothing to move. */
static bool promotion_is_there(const struct promotion *w)
{
	return promotion_in_top(w->from, w->p->top) &&
	       (!w->p->category || strcmp(w->p->category, w->category) == 0) &&
	       (!w->p->name || strcmp(w->p->name, promotion_name(w)) == 0);
}

static int promotion_aim(struct promotion *w)
{
	OFS_FREE char *own = NULL, *folder = NULL;
	const char *category = w->p->category;
	int r = 0;

	if (!category && !w->is_dir)
		r = promotion_attribute(w, w->from, "category", &own);
	if (r < 0)
		return promotion_failed(w, r, "read the category of", w->from);
	if (!category)
		category = own && *own ? own : w->category;
	folder = ofs_path_join(w->p->top, category);
	w->to = ofs_path_join(folder, w->p->name ? w->p->name : promotion_name(w));
	r = ofs_backend_mkdirs(w->b, folder);
	return r < 0 ? promotion_failed(w, r, "make the directory", folder) : 0;
}

/* ---- the move */

/* 1 when both files hold the same bytes, else 0 or -errno. */
static int promotion_compare_bytes(struct promotion *w)
{
	OFS_FREE char *chunks = ofs_alloc(2 * PROMOTION_CHUNK);
	ofs_handle a, b;
	uint64_t off = 0;
	ssize_t n, m;
	int r;

	r = w->b->ops->open(w->b, w->from, &a);
	if (r < 0)
		return r;
	r = w->b->ops->open(w->b, w->to, &b);
	if (r == 0) {
		do {
			n = w->b->ops->read(w->b, a, chunks, PROMOTION_CHUNK, off);
			m = w->b->ops->read(w->b, b, chunks + PROMOTION_CHUNK, PROMOTION_CHUNK,
					    off);
			off += n > 0 ? (uint64_t)n : 0;
		} while (n > 0 && n == m &&
			 memcmp(chunks, chunks + PROMOTION_CHUNK, (size_t)n) == 0);
		r = n < 0 ? (int)n : m < 0 ? (int)m : n == 0 && m == 0;
		w->b->ops->close(w->b, b);
	}
	w->b->ops->close(w->b, a);
	return r;
}

/* 1 when what has the name already is the same content, else 0 or -errno. */
static int promotion_compare(struct promotion *w, const struct stat *attr)
{
	OFS_FREE char *mine = NULL, *theirs = NULL;
	struct stat other;
	int r = w->b->ops->lstat(w->b, w->to, &other);

	if (r < 0)
		return r;
	if (w->is_dir || !S_ISREG(other.st_mode) || other.st_size != attr->st_size)
		return 0;
	/* What is not sealed yet has no hash. */
	if (promotion_attribute(w, w->from, "sha256", &mine) == 0 && mine &&
	    promotion_attribute(w, w->to, "sha256", &theirs) == 0 && theirs)
		return strcmp(mine, theirs) == 0;
	return promotion_compare_bytes(w);
}

static int promotion_taken(struct promotion *w, const struct stat *attr)
{
	int same = promotion_compare(w, attr);

	return ofs_error_set(w->err, EEXIST,
			     "'%s' exists already%s: to keep '%s' as well, name it with -n", w->to,
			     same == 1		       ? ", with the same content"
			     : same == 0 && !w->is_dir ? ", with other content"
						       : "",
			     w->from);
}

static int promotion_move(struct promotion *w, const struct stat *attr)
{
	int r = w->b->ops->rename(w->b, w->from, w->to, RENAME_NOREPLACE);

	if (r == -EEXIST || r == -ENOTEMPTY)
		return promotion_taken(w, attr);
	if (r < 0)
		return ofs_error_set(w->err, -r, "cannot move '%s' to '%s': %s", w->from, w->to,
				     ofs_report_errno(-r));
	return 0;
}

/* A category that was set for the file would go before the one that was asked for. */
static int promotion_set_category(struct promotion *w)
{
	OFS_FREE char *now = NULL;
	int r;

	if (!w->p->category || w->is_dir)
		return 0;
	r = promotion_attribute(w, w->to, "category", &now);
	if (r == 0 && now && strcmp(now, w->p->category) != 0)
		r = ofs_backend_set_attribute(w->b, w->to, "category", w->p->category);
	return r < 0 ? promotion_failed(w, r, "set the category of", w->to) : 0;
}

static int promotion_result(struct promotion *w, struct ofs_promoted *ret)
{
	OFS_CLEANUP(ofs_promoted_finish) struct ofs_promoted done = { 0 };
	int r = promotion_attribute(w, w->to, "category", &done.category);

	if (r == 0 && !w->is_dir)
		r = promotion_attribute(w, w->to, "ref", &done.ref);
	if (r == 0 && !w->is_dir)
		r = promotion_attribute(w, w->to, "tags", &done.tags);
	if (r < 0)
		return promotion_failed(w, r, "read the attributes of", w->to);
	done.path = ofs_steal(w->to);
	done.was = ofs_steal(w->from);
	*ret = done;
	done = (struct ofs_promoted){ 0 };
	return 0;
}

int ofs_promote(const struct ofs_promotion *p, struct ofs_backend *b, const char *path,
		const struct stat *attr, struct ofs_error *err, struct ofs_promoted *ret)
{
	OFS_CLEANUP(promotion_finish) struct promotion w = { .p = p, .b = b, .err = err };
	int r = promotion_find(&w, path, attr);

	if (r == 0 && promotion_is_there(&w)) {
		w.to = ofs_strdup(w.from);
		r = promotion_tag(&w, attr);
	} else {
		if (r == 0)
			r = promotion_aim(&w);
		if (r == 0)
			r = promotion_tag(&w, attr);
		if (r == 0)
			r = promotion_move(&w, attr);
	}
	if (r < 0) {
		promotion_untag(&w);
		return r;
	}
	r = promotion_set_category(&w);
	return r < 0 ? r : promotion_result(&w, ret);
}
