/* SPDX-License-Identifier: MIT */
#include "context/steps/history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"
#include "context/steps/summary.h"
#include "io/path.h"

#define HISTORY_MODE 0600
#define HISTORY_TRIES 1000
#define STEP_PREFIX "step_"
#define STEP_JSON ".json"
#define STEP_COMPACT ".compact"
#define STEP_DIGITS_MAX 15

struct writing {
	struct ofs_backend *backend;
	const struct ofs_settings *settings;
	struct ofs_step *step;
	char *folder;
	uint64_t last; /* number */
};

/* ---- numbers */

/* The number of a step's file, of either kind; 0: it is none. */
static uint64_t number_of(const char *name)
{
	size_t prefix = strlen(STEP_PREFIX), digits;
	const char *end;

	if (strncmp(name, STEP_PREFIX, prefix) != 0)
		return 0;
	digits = strspn(name + prefix, "0123456789");
	end = name + prefix + digits;
	if (!digits || digits > STEP_DIGITS_MAX ||
	    (strcmp(end, STEP_JSON) != 0 && strcmp(end, STEP_COMPACT) != 0))
		return 0;
	return strtoull(name + prefix, NULL, 10);
}

static int note_number(void *arg, const char *name)
{
	struct writing *w = arg;

	w->last = OFS_MAX(w->last, number_of(name));
	return 0;
}

/* ---- files */

/* Makes a file with these bytes under a name that nobody reads; `ret` is its path. */
static int make_file(struct writing *w, const void *data, size_t len, char **ret)
{
	static unsigned int serial;
	OFS_FREE char *path = NULL;
	ofs_handle h;
	int r = -EEXIST;

	for (int i = 0; i < HISTORY_TRIES && r == -EEXIST; i++) {
		char name[64];

		snprintf(name, sizeof(name), ".offload-%d-%u.tmp", (int)getpid(), serial++);
		free(path);
		path = ofs_path_join(w->folder, name);
		r = w->backend->ops->create(w->backend, path, HISTORY_MODE, &h);
	}
	if (r < 0)
		return r;
	r = w->backend->ops->write(w->backend, h, data, len, 0);
	w->backend->ops->close(w->backend, h);
	if (r < 0) {
		w->backend->ops->unlink(w->backend, path);
		return r;
	}
	*ret = ofs_steal(path);
	return 0;
}

/* Gives these bytes the name, which nothing must have. -EEXIST: something has; nothing is left behind. */
static int put_file(struct writing *w, const char *suffix, const struct ofs_buf *data)
{
	OFS_FREE char *temporary = NULL, *path = NULL, *name = NULL;
	int r = make_file(w, data->data, data->len, &temporary);

	if (r < 0)
		return r;
	if (asprintf(&name, "%s%s", w->step->id, suffix) < 0)
		name = NULL;
	path = name ? ofs_path_join(w->folder, name) : NULL;
	r = path ? w->backend->ops->rename(w->backend, temporary, path, RENAME_NOREPLACE) : -ENOMEM;
	if (r < 0)
		w->backend->ops->unlink(w->backend, temporary);
	return r;
}

static void remove_json(struct writing *w)
{
	OFS_FREE char *name = NULL;
	OFS_FREE char *path = NULL;

	if (asprintf(&name, "%s" STEP_JSON, w->step->id) < 0)
		return;
	path = ofs_path_join(w->folder, name);
	w->backend->ops->unlink(w->backend, path);
}

/* Both files under one number. -EEXIST: somebody has it. */
static int write_numbered(struct writing *w, uint64_t number)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT, line = OFS_BUF_INIT;
	char id[32];
	int r;

	snprintf(id, sizeof(id), STEP_PREFIX "%03" PRIu64, number);
	free(w->step->id);
	w->step->id = ofs_strdup(id);
	r = ofs_step_print(w->step, &json);
	if (r == 0)
		ofs_buf_append_str(&json, "\n");
	if (r == 0)
		r = ofs_summary_line(w->step, w->settings, &line);
	if (r == 0)
		ofs_buf_append_str(&line, "\n");
	if (r == 0)
		r = put_file(w, STEP_JSON, &json);
	if (r < 0)
		return r;
	r = put_file(w, STEP_COMPACT, &line);
	if (r < 0)
		remove_json(w);
	return r;
}

int ofs_history_add(struct ofs_backend *backend, const char *task, const struct ofs_settings *s,
		    struct ofs_step *step, struct ofs_error *err)
{
	OFS_FREE char *top = ofs_path_join("tasks", task);
	OFS_FREE char *folder = ofs_path_join(top, "history");
	struct writing w = { .backend = backend, .settings = s, .step = step, .folder = folder };
	ofs_handle lock;
	int r = ofs_backend_mkdirs(backend, folder), locked;

	if (r < 0)
		return ofs_error_set(err, -r, "cannot make the folder '%s': %s", folder,
				     strerror(-r));
	/* It saves tries; what keeps two steps apart is that no name is replaced. */
	locked = backend->ops->lock(backend, folder, &lock);
	r = backend->ops->list(backend, folder, note_number, &w);
	if (r == 0) {
		r = -EEXIST;
		for (int i = 1; i <= HISTORY_TRIES && r == -EEXIST; i++)
			r = write_numbered(&w, w.last + (uint64_t)i);
	}
	if (locked == 0)
		backend->ops->unlock(backend, lock);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot write a step into '%s': %s", folder,
				     strerror(-r));
	return 0;
}
