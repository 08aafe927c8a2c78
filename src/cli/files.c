/* SPDX-License-Identifier: MIT */
#include "cli/files.h"

#include "io/path.h"

void ofs_files_finish(struct ofs_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].path);
	free(f->list);
	*f = (struct ofs_files)OFS_FILES_INIT;
}

/* Takes `path`. */
static void files_add(struct ofs_files *f, char *path, const struct stat *attr)
{
	*ofs_append(f->list, f->count, f->cap) = (struct ofs_file){ .path = path, .attr = *attr };
}

static int files_compare(const void *a, const void *b)
{
	return strcmp(((const struct ofs_file *)a)->path, ((const struct ofs_file *)b)->path);
}

/* Names only: while a directory is listed nothing else can be asked. */
static int files_take_name(void *arg, const char *name)
{
	static const struct stat unknown;

	files_add(arg, ofs_strdup(name), &unknown);
	return 0;
}

int ofs_files_list(struct ofs_backend *b, const char *path, struct ofs_files *f)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files names = OFS_FILES_INIT;
	int r = b->ops->list(b, path, files_take_name, &names);

	if (r < 0)
		return r;
	if (names.count)
		qsort(names.list, names.count, sizeof(*names.list), files_compare);
	for (size_t i = 0; i < names.count; i++) {
		OFS_FREE char *full = ofs_path_join(path, names.list[i].path);
		struct stat attr;

		r = b->ops->lstat(b, full, &attr);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0)
			files_add(f, ofs_steal(full), &attr);
	}
	return 0;
}

int ofs_files_gather(struct ofs_backend *b, const char *path, struct ofs_files *f)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files here = OFS_FILES_INIT;
	struct stat attr;
	int r = ofs_files_list(b, path, &here);

	if (r == -ENOTDIR) {
		r = b->ops->lstat(b, path, &attr);
		if (r == 0)
			files_add(f, ofs_strdup(path), &attr);
	}
	for (size_t i = 0; i < here.count && r == 0; i++) {
		struct ofs_file *each = &here.list[i];

		if (S_ISREG(each->attr.st_mode))
			files_add(f, ofs_steal(each->path), &each->attr);
		else if (S_ISDIR(each->attr.st_mode))
			r = ofs_files_gather(b, each->path, f);
		if (r == -ENOENT) /* collected since it was listed */
			r = 0;
	}
	return r;
}
