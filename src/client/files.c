/* SPDX-License-Identifier: MIT */
#include "client/files.h"

#include "base/buf.h"
#include "base/text_form.h"
#include "io/path.h"

void ofs_files_finish(struct ofs_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].path);
	free(f->list);
	*f = (struct ofs_files){ 0 };
}

/* Takes ownership of `path`. */
static void files_add(struct ofs_files *f, char *path, const struct stat *attr)
{
	*ofs_append(f->list, f->count, f->cap) = (struct ofs_file){ .path = path, .attr = *attr };
}

static int files_compare(const void *a, const void *b)
{
	return strcmp(((const struct ofs_file *)a)->path, ((const struct ofs_file *)b)->path);
}

/* Takes names only, since the tree cannot be asked for anything during a listing. */
static int files_take_name(void *arg, const char *name)
{
	static const struct stat unknown;

	files_add(arg, ofs_strdup(name), &unknown);
	return 0;
}

int ofs_files_list(struct ofs_backend *b, const char *path, struct ofs_files *f)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files names = { 0 };
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
	OFS_CLEANUP(ofs_files_finish) struct ofs_files here = { 0 };
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
		if (r == -ENOENT) /* garbage collection removed it after the listing */
			r = 0;
	}
	return r;
}

json_t *ofs_file_describe(struct ofs_backend *b, const struct ofs_file *file)
{
	OFS_FREE char *ref = NULL, *lifecycle = NULL;

	if (ofs_backend_attribute(b, file->path, "ref", &ref) < 0)
		ref = NULL;
	if (ofs_backend_attribute(b, file->path, "lifecycle", &lifecycle) < 0)
		lifecycle = NULL;
	return json_pack("{s:o, s:o, s:I, s:o}", "path", ofs_json_string(file->path), "ref",
			 ofs_json_string(ref), "size", (json_int_t)file->attr.st_size, "lifecycle",
			 ofs_json_string(lifecycle));
}

#define TASKS_DIR "tasks"
#define TASKS_NAMED 10 /* maximum number of tasks named in a message */
#define TASKS_NAMED_BYTES 320 /* maximum length of their names together */

char *ofs_task_path(const char *name)
{
	return ofs_path_join(TASKS_DIR, name);
}

static const char *task_name(const struct ofs_file *dir)
{
	return dir->path + strlen(TASKS_DIR "/");
}

/* Adds a task to `tasks`. -ENOENT: it vanished meanwhile; or another -errno. */
static int task_load(struct ofs_backend *b, const struct ofs_file *dir, json_t *tasks)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = { 0 };
	OFS_FREE char *state = NULL;
	json_int_t bytes = 0;
	int r = ofs_backend_attribute(b, dir->path, "state", &state);

	if (r == 0)
		r = ofs_files_gather(b, dir->path, &files);
	if (r < 0)
		return r;
	for (size_t i = 0; i < files.count; i++)
		bytes += files.list[i].attr.st_size;
	json_array_append_new(tasks, json_pack("{s:o, s:s, s:I, s:I}", "name",
					       ofs_json_string(task_name(dir)), "state", state,
					       "files", (json_int_t)files.count, "bytes", bytes));
	return 0;
}

static int tasks_failed(int r, const char *what, const char *name, struct ofs_error *err)
{
	if (r == -ENODATA || r == -EOPNOTSUPP || r == -EINVAL)
		return ofs_error_set(err, -r,
				     "the daemon is older than this tool and knows no states of "
				     "tasks: mount the tree again");
	return ofs_error_set(err, -r, "cannot %s '%s': %s", what, name, ofs_backend_strerror(-r));
}

int ofs_tasks_load(struct ofs_backend *b, struct ofs_error *err, json_t **ret)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files dirs = { 0 };
	json_t *tasks = json_array();
	int r = ofs_files_list(b, TASKS_DIR, &dirs);

	for (size_t i = 0; i < dirs.count && r == 0; i++) {
		if (S_ISDIR(dirs.list[i].attr.st_mode))
			r = task_load(b, &dirs.list[i], tasks);
		if (r == -ENOENT)
			r = 0;
	}
	if (r < 0) {
		json_decref(tasks);
		return tasks_failed(r, "list", TASKS_DIR, err);
	}
	*ret = tasks;
	return 0;
}

/* Sets "there is no task 'x'; there are: a, b, and 3 more" and returns -ENOENT. */
static int task_unknown(struct ofs_backend *b, const char *name, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files dirs = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf names = OFS_BUF_INIT;
	size_t count = 0, named = 0;

	ofs_files_list(b, TASKS_DIR, &dirs);
	for (size_t i = 0; i < dirs.count; i++) {
		const char *each = task_name(&dirs.list[i]);

		if (!S_ISDIR(dirs.list[i].attr.st_mode) || count++ != named ||
		    named == TASKS_NAMED || names.len + strlen(each) > TASKS_NAMED_BYTES)
			continue;
		ofs_buf_printf(&names, "%s%s", named++ ? ", " : "", each);
	}
	if (!count)
		return ofs_error_set(err, ENOENT, "there is no task '%s', nor any other", name);
	if (named < count)
		ofs_buf_printf(&names, "%s%zu more", named ? ", and " : "", count - named);
	return ofs_error_set(err, ENOENT, "there is no task '%s'; there are: %.*s", name,
			     (int)names.len, (const char *)names.data);
}

int ofs_task_check(struct ofs_backend *b, const char *name, struct ofs_error *err)
{
	OFS_FREE char *path = ofs_task_path(name);
	struct stat attr;
	int r;

	if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return task_unknown(b, name, err);
	r = b->ops->lstat(b, path, &attr);
	if (r == 0 && S_ISDIR(attr.st_mode))
		return 0;
	if (r == 0 || r == -ENOENT || r == -ENAMETOOLONG)
		return task_unknown(b, name, err);
	return ofs_error_set(err, -r, "cannot find the task '%s': %s", name,
			     ofs_backend_strerror(-r));
}

int ofs_tasks_set_state(struct ofs_backend *b, const char *name, const char *state,
			struct ofs_error *err)
{
	OFS_FREE char *path = ofs_task_path(name);
	int r = ofs_backend_set_attribute(b, path, "state", state);

	return r < 0 ? tasks_failed(r, "set the state of the task", name, err) : 0;
}
