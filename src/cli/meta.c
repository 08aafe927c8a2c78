/* SPDX-License-Identifier: MIT */
#include "cli/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/util.h"

void ofs_meta_finish(struct ofs_meta *m)
{
	free(m->path);
	free(m->ref);
	free(m->tier);
	free(m->category);
	free(m->task);
	free(m->title);
	free(m->tags);
	free(m->type);
	free(m->sha256);
	free(m->created);
	free(m->modified);
	free(m->expires);
	free(m->used);
	free(m->ttl);
	free(m->lifecycle);
	*m = (struct ofs_meta){ 0 };
}

/* An attribute that the file, or its tree, does not have is no error. */
static int meta_text(struct ofs_backend *b, const char *path, const char *name, char **ret)
{
	OFS_FREE char *text = NULL;
	int r = ofs_backend_attribute(b, path, name, &text);

	if (r == -ENODATA || r == -ENOTSUP)
		return 0;
	if (r == 0 && *text)
		*ret = ofs_steal(text);
	return r;
}

static int meta_number(struct ofs_backend *b, const char *path, const char *name, int64_t *ret)
{
	OFS_FREE char *text = NULL;
	int r = meta_text(b, path, name, &text);

	*ret = r == 0 && text ? strtoll(text, NULL, 10) : -1;
	return r;
}

static const char *meta_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symbolic link";
	default:
		return "special file";
	}
}

static char *meta_time(time_t seconds)
{
	struct ofs_buf text = OFS_BUF_INIT;

	ofs_text_time((int64_t)seconds * OFS_NS_PER_S, &text);
	return ofs_buf_steal_str(&text);
}

int ofs_meta_load(struct ofs_backend *b, const char *path, const struct stat *attr,
		  struct ofs_meta *ret)
{
	OFS_CLEANUP(ofs_meta_finish)
	struct ofs_meta m = {
		.is_file = S_ISREG(attr->st_mode),
		.size = attr->st_size,
	};
	const struct {
		const char *name;
		char **ret;
	} texts[] = {
		{ "path", &m.path },	   { "ref", &m.ref },
		{ "tier", &m.tier },	   { "category", &m.category },
		{ "task", &m.task },	   { "title", &m.title },
		{ "mime", &m.type },	   { "sha256", &m.sha256 },
		{ "created", &m.created }, { "tags", &m.tags },
		{ "ttl", &m.ttl },	   { "expires", &m.expires },
		{ "used", &m.used },	   { "lifecycle", &m.lifecycle },
	};
	const struct {
		const char *name;
		int64_t *ret;
	} numbers[] = {
		{ "lines", &m.lines },
		{ "tokens", &m.tokens },
		{ "important", &m.important },
		{ "stored_bytes", &m.stored_bytes },
	};
	int r;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		r = meta_text(b, path, texts[i].name, texts[i].ret);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(numbers); i++) {
		r = meta_number(b, path, numbers[i].name, numbers[i].ret);
		if (r < 0)
			return r;
	}
	if (!m.type)
		m.type = ofs_strdup(meta_kind(attr->st_mode));
	m.modified = meta_time(attr->st_mtim.tv_sec);
	*ret = m;
	m = (struct ofs_meta){ 0 };
	return 0;
}
