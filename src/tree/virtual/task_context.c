/* SPDX-License-Identifier: MIT */
/*
 * tasks/<task>/context.md: a recap of a task's steps, made by its lookup. It is not listed, a real
 * file of that name takes precedence, and it is made again only when the steps have changed.
 */
#include "tree/virtual/nodes.h"

#include <inttypes.h>
#include <stdio.h>

#include "tree/core/place.h"
#include "tree/core/walk.h"
#include "tree/expiry/step_file.h"
#include "tree/expiry/task.h"

#define FILE_NAME "context.md"
#define MAY_LIST (S_IROTH | S_IXOTH)

#define STEPS_MAX 10000u /* of a recap, the newest */
#define VALUES_MAX (4 * OFS_STEP_VALUES_MAX) /* JSON values in all steps of a recap */

/* ---- the files of steps */

struct file {
	char name[OFS_NAME_MAX + 1];
	struct ofs_attr attr;
	bool readable; /* by the caller */
};

struct files {
	struct file *list; /* in the order of the steps */
	size_t n, cap;
	size_t left_out; /* number of oldest files beyond STEPS_MAX */
};

static void files_finish(struct files *f)
{
	free(f->list);
}

static int compare_files(const void *a, const void *b)
{
	return ofs_step_file_compare(((const struct file *)a)->name,
				     ((const struct file *)b)->name);
}

/* Sorts the files, and drops the oldest if there are too many. */
static void sort_files(struct files *f)
{
	size_t over = f->n - OFS_MIN(f->n, STEPS_MAX);

	if (f->n)
		qsort(f->list, f->n, sizeof(*f->list), compare_files);
	if (over)
		memmove(f->list, f->list + over, (f->n - over) * sizeof(*f->list));
	f->n -= over;
	f->left_out += over;
}

/* A callback of ofs_walk_files(), which holds the store's lock. */
static int add_file(void *arg, uint64_t ino, const char *name)
{
	struct files *f = arg;
	struct file *file;

	if (!ofs_step_file_is(name))
		return 0;
	if (f->n == 2 * STEPS_MAX)
		sort_files(f);
	file = ofs_append(f->list, f->n, f->cap);
	*file = (struct file){ .attr = { .ino = ino } };
	snprintf(file->name, sizeof(file->name), "%s", name);
	return 0;
}

/* Loads the attributes of all files. Drops those that have been removed meanwhile. */
static int look_at(struct ofs_tree *t, const struct ofs_cred *cred, struct files *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct file *file = &f->list[i];
		int r = ofs_store_getattr(t->store, file->attr.ino, &file->attr);

		if (r == -ENOENT || (r == 0 && !file->attr.nlink))
			continue;
		if (r < 0)
			return r;
		file->readable = ofs_place_may(&file->attr, cred, S_IROTH);
		f->list[n++] = *file;
	}
	f->n = n;
	return 0;
}

/* Finds the directory of a task's steps and its files. -ENOENT: there are none. */
static int find_files(struct ofs_tree *t, uint64_t task, const struct ofs_cred *cred,
		      struct ofs_attr *ret_dir, struct files *ret)
{
	int r = ofs_store_lookup(t->store, task, OFS_STEP_DIR, ret_dir);

	if (r < 0)
		return r;
	if (!S_ISDIR(ret_dir->mode))
		r = -ENOENT;
	else if (!ofs_place_may(ret_dir, cred, MAY_LIST))
		r = -EACCES;
	else
		r = ofs_walk_files(t, ret_dir->ino, false, add_file, ret);
	ofs_store_forget(t->store, ret_dir->ino, 1);
	if (r < 0)
		return r;
	sort_files(ret);
	r = look_at(t, cred, ret);
	return r == 0 && !ret->n ? -ENOENT : r;
}

/* A checksum of everything that the text depends on. */
static uint64_t sum_of(const struct files *f)
{
	uint64_t sum = f->left_out;

	for (size_t i = 0; i < f->n; i++) {
		const struct file *file = &f->list[i];
		const uint64_t what[] = { file->attr.ino, file->attr.version, file->readable };

		sum = ofs_checksum(file->name, strlen(file->name), sum);
		sum = ofs_checksum(what, sizeof(what), sum);
	}
	return sum;
}

/* ---- making a recap */

/* Limits on what may still be read for a recap. */
struct room {
	uint64_t bytes;
	size_t values;
};

/*
 * Reads a step. Returns 0, with ret->error set if it may not be read, or the store's error. If
 * ret->len is not 0, the caller frees ret->text.
 */
static int read_step(struct ofs_tree *t, const struct file *file, struct room *left,
		     struct ofs_task_step *ret)
{
	uint64_t size = file->attr.size;
	OFS_FREE char *text = NULL;
	size_t values;
	ssize_t n;

	*ret = (struct ofs_task_step){ .name = file->name, .text = "" };
	if (!file->readable)
		ret->error = -EACCES;
	else if (size > OFS_STEP_FILE_MAX || size > left->bytes)
		ret->error = -EFBIG;
	if (ret->error || !size)
		return 0;
	text = ofs_realloc(NULL, size, 1);
	n = ofs_store_read(t->store, file->attr.ino, text, size, 0);
	if (n <= 0)
		return ret->error = (int)n;
	values = ofs_step_file_values(text, (size_t)n);
	if (values > left->values) {
		ret->error = -EFBIG;
		return 0;
	}
	left->bytes -= size;
	left->values -= values;
	ret->text = ofs_steal(text);
	ret->len = (size_t)n;
	return 0;
}

/* An ofs_kept_fn: returns 1 if a step could not be read, so that the recap is not kept. */
static int make(struct ofs_tree *t, void *arg, struct ofs_buf *out)
{
	const struct files *f = arg;
	struct ofs_task_step *steps = ofs_realloc(NULL, f->n + 1, sizeof(*steps));
	struct room left = { OFS_STEP_FILES_MAX, VALUES_MAX };
	char *made = NULL, older[64];
	size_t len = 0, i;
	bool whole = true, more = f->left_out;
	int r;

	/* From the newest on, so that a lack of room affects the oldest. */
	for (i = f->n; i-- > 0;)
		whole = read_step(t, &f->list[i], &left, &steps[more + i]) == 0 && whole;
	snprintf(older, sizeof(older), "%zu older ones", f->left_out);
	if (more)
		steps[0] = (struct ofs_task_step){ .name = older, .text = "", .error = -EFBIG };
	r = t->recap.write(t->recap.arg, steps, more + f->n, &made, &len);
	for (i = 0; i < more + f->n; i++)
		if (steps[i].len)
			free((void *)(uintptr_t)steps[i].text);
	free(steps);
	if (r == 0)
		ofs_buf_append(out, made, len);
	free(made);
	return r < 0 ? r : !whole;
}

/* ---- lookup */

bool ofs_task_context_is(struct ofs_tree *t, ofs_node parent, const char *name)
{
	struct ofs_attr dir;

	return strcmp(name, FILE_NAME) == 0 && t->recap.write && !ofs_node_is_virtual(parent) &&
	       ofs_store_getattr(t->store, parent, &dir) == 0 && ofs_task_is_dir(t, &dir);
}

int ofs_task_context_lookup(struct ofs_tree *t, ofs_node task, const struct ofs_cred *cred,
			    struct ofs_entry *ret)
{
	OFS_CLEANUP(files_finish) struct files files = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_attr attr;
	char name[64];
	struct ofs_root *root;
	int r = find_files(t, task, cred, &attr, &files);

	if (r == 0)
		r = ofs_root_of(t, task, &root);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%" PRIu64 " %" PRIu64, task, sum_of(&files));
	r = ofs_made_keep(t, root, OFS_KEPT_RECAP, name, 0, make, &files, &text);
	if (r < 0)
		return r;
	/* Its mode is that of the directory: whoever may list the steps may read it. */
	for (size_t i = 0; i < files.n; i++)
		attr.mtime = OFS_MAX(attr.mtime, files.list[i].attr.mtime);
	attr.ctime = attr.atime = attr.mtime;
	ofs_made_text(t, task, FILE_NAME, &attr, &text, ret);
	return 0;
}

bool ofs_task_context_exists(struct ofs_tree *t, ofs_node task)
{
	OFS_CLEANUP(files_finish) struct files files = { 0 };
	struct ofs_attr dir;

	return find_files(t, task, NULL, &dir, &files) == 0;
}
