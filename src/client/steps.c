/* SPDX-License-Identifier: MIT */
#include "client/steps.h"

#include "tree/expiry/step_refs.h"

void ofs_step_files_finish(struct ofs_step_files *f)
{
	while (f->n--) {
		free((void *)(uintptr_t)f->list[f->n].name);
		free((void *)(uintptr_t)f->list[f->n].text);
	}
	free(f->list);
	*f = (struct ofs_step_files){ 0 };
}

static int add_name(void *arg, const char *name)
{
	struct ofs_step_files *f = arg;

	if (!ofs_step_file_is(name))
		return 0;
	*ofs_append(f->list, f->n, f->cap) = (struct ofs_task_step){ .name = ofs_strdup(name) };
	return 0;
}

static int compare(const void *a, const void *b)
{
	return ofs_step_file_compare(((const struct ofs_task_step *)a)->name,
				     ((const struct ofs_task_step *)b)->name);
}

/* 0, or -ENOENT: it is gone, or no file. */
static int read_step(struct ofs_backend *b, const char *dir, uint64_t *left,
		     struct ofs_task_step *step)
{
	OFS_FREE char *path = ofs_format("%s/%s", dir, step->name), *text = NULL;
	struct stat attr;
	size_t len = 0;
	ofs_handle h;
	int r;

	r = b->ops->lstat(b, path, &attr);
	if (r == 0 && !S_ISREG(attr.st_mode))
		return -ENOENT;
	if (r == 0)
		r = b->ops->open(b, path, &h);
	if (r == 0) {
		r = ofs_backend_read_all(b, h, OFS_MIN(*left, OFS_STEP_FILE_MAX), &text, &len);
		b->ops->close(b, h);
	}
	step->error = r;
	if (r < 0)
		return r == -ENOENT ? r : 0;
	*left -= len;
	step->len = len;
	step->text = ofs_steal(text);
	return 0;
}

int ofs_step_files_load(struct ofs_backend *b, const char *task, struct ofs_step_files *ret)
{
	OFS_CLEANUP(ofs_step_files_finish) struct ofs_step_files f = { 0 };
	uint64_t left = OFS_STEP_FILES_MAX;
	OFS_FREE char *dir = ofs_format("tasks/%s/" OFS_STEP_DIR, task);
	int r;

	r = b->ops->list(b, dir, add_name, &f);
	if (r < 0)
		return r == -ENOTDIR ? -ENOENT : r;
	if (f.n)
		qsort(f.list, f.n, sizeof(*f.list), compare);
	/* If there are too many, the oldest are left out. */
	for (size_t i = f.n; i-- > 0;) {
		if (read_step(b, dir, &left, &f.list[i]) == 0)
			continue;
		free((void *)(uintptr_t)f.list[i].name);
		memmove(&f.list[i], &f.list[i + 1], (--f.n - i) * sizeof(*f.list));
	}
	*ret = ofs_steal(f);
	return 0;
}
