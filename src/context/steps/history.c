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

/* The number in the name of a step's file of either kind; 0 if it is none. */
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

/* Creates a file with these bytes under a temporary name; `ret` is its path. */
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

/* Writes a file of the step, all or nothing. -EEXIST if its name is taken. */
static int put_file(struct writing *w, const char *suffix, const struct ofs_buf *data)
{
	OFS_FREE char *path = ofs_format("%s/%s%s", w->folder, w->step->id, suffix);
	OFS_FREE char *temporary = NULL;
	int r = make_file(w, data->data, data->len, &temporary);

	if (r < 0)
		return r;
	r = w->backend->ops->rename(w->backend, temporary, path, RENAME_NOREPLACE);
	if (r < 0)
		w->backend->ops->unlink(w->backend, temporary);
	return r;
}

static void remove_json(struct writing *w)
{
	OFS_FREE char *path = ofs_format("%s/%s" STEP_JSON, w->folder, w->step->id);

	w->backend->ops->unlink(w->backend, path);
}

/* Writes both files under one number. -EEXIST if it is taken. */
static int write_numbered(struct writing *w, uint64_t number)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT, line = OFS_BUF_INIT;
	int r;

	free(w->step->id);
	w->step->id = ofs_format(STEP_PREFIX "%03" PRIu64, number);
	ofs_step_print(w->step, &json);
	ofs_buf_append_str(&json, "\n");
	ofs_summary_line(w->step, w->settings, &line);
	ofs_buf_append_str(&line, "\n");
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
	OFS_FREE char *folder = ofs_format("tasks/%s/history", task);
	struct writing w = { .backend = backend, .settings = s, .step = step, .folder = folder };
	ofs_handle lock;
	int r = ofs_backend_mkdirs(backend, folder), locked;

	if (r < 0)
		return ofs_error_set(err, -r, "cannot make the folder '%s': %s", folder,
				     strerror(-r));
	/* The lock only saves tries: two steps stay apart because no name is replaced. */
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
