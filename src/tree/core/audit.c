/* SPDX-License-Identifier: MIT */
#include "tree/core/audit.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/thread.h"
#include "tree/core/audit_disk.h"
#include "tree/core/label.h"
#include "tree/core/place.h"

#define GATHER (50 * OFS_NS_PER_MS) /* from the first line to writing it */
#define RETRY OFS_NS_PER_S /* after a failure to write */
#define QUEUE_MAX 4096 /* lines: whoever adds more writes them */
#define UNWRITTEN_MAX ((size_t)1 << 20) /* bytes of lines that could not be written yet */

struct ofs_audit {
	bool writes;
	pthread_t thread;

	/* Held while lines are written; before `lock`. */
	pthread_mutex_t writing;
	struct ofs_audit_disk disk; /* writing */
	struct ofs_buf text; /* what is to be written; writing */
	uint64_t lost; /* lines, before those of `text`; writing */

	pthread_mutex_t lock; /* guards the rest; nothing else is called under it */
	pthread_cond_t wake;
	json_t *queue;
	bool unwritten; /* the last try has failed */
	bool running;
	bool stop;
};

/* ---- what happens */

static bool is_on(const struct ofs_tree *t)
{
	return t->audit && t->audit->writes;
}

static void put(json_t *line, const char *key, const char *text)
{
	OFS_FREE char *readable = text && *text ? ofs_text_readable(text) : NULL;

	if (readable)
		json_object_set_new(line, key, json_string(readable));
}

/* The task that a path lies in. */
static void put_task(json_t *line, const char *path)
{
	static const char tasks[] = "tasks/";
	OFS_FREE char *task = NULL;

	if (json_object_get(line, "task") || strncmp(path, tasks, strlen(tasks)) != 0)
		return;
	path += strlen(tasks);
	task = ofs_format("%.*s", (int)strcspn(path, "/"), path);
	put(line, "task", task);
}

/* The members that all lines have begin with these. */
static json_t *begin(const char *event)
{
	return json_pack("{s:n, s:s}", "time", "event", event);
}

/* What is at `path`, and was at `from` (NULL: nowhere else). */
static json_t *describe(struct ofs_tree *t, const char *event, const struct ofs_attr *attr,
			const char *path, const char *from, const char *cause)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	bool file = S_ISREG(attr->mode);
	OFS_FREE char *title = file ? ofs_label_text(t, attr->ino, OFS_LABEL_TITLE) : NULL;
	json_t *line = begin(event);
	char ref[OFS_REF_SIZE];

	if (file) {
		ofs_ref_format(t, attr->ino, ref);
		put(line, "ref", ref);
	}
	put(line, "from", from);
	put(line, "path", path);
	put_task(line, from ? from : path);
	put_task(line, path);
	if (file && ofs_place_labelled(t, attr->ino, &place) == 0)
		put(line, "category", place.category);
	if (file) {
		json_object_set_new(line, "size", json_integer((json_int_t)attr->size));
		json_object_set_new(line, "stored", json_integer((json_int_t)attr->occupied));
	}
	put(line, "title", title);
	put(line, "cause", cause);
	return line;
}

/* Allocated: the path from the root of an inode, or of an entry of it; NULL: it has none. */
static char *full_path(struct ofs_tree *t, uint64_t ino, const char *name, enum ofs_tier *ret_tier)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT;

	if (ofs_place_of(t, ino, &place) < 0 || ofs_root_path(t, place.root, t->root, &path) < 0)
		return NULL;
	*ret_tier = ofs_place_tier(&place);
	ofs_buf_append_str(&path, (const char *)place.path.data);
	if (name)
		ofs_buf_printf(&path, "%s%s", place.path.data[0] ? "/" : "", name);
	return ofs_buf_steal_str(&path);
}

json_t *ofs_audit_of(struct ofs_tree *t, const char *event, uint64_t ino, const char *cause)
{
	OFS_FREE char *path = NULL;
	struct ofs_attr attr;
	enum ofs_tier tier;

	if (!is_on(t) || ofs_store_getattr(t->store, ino, &attr) < 0)
		return NULL;
	path = full_path(t, ino, NULL, &tier);
	return describe(t, event, &attr, path ? path : "", NULL, cause);
}

/* Without a reference. */
static int find(struct ofs_tree *t, uint64_t dir, const char *name, struct ofs_attr *ret)
{
	int r = ofs_store_lookup(t->store, dir, name, ret);

	if (r == 0)
		ofs_store_forget(t->store, ret->ino, 1);
	return r;
}

json_t *ofs_audit_of_entry(struct ofs_tree *t, const char *event, uint64_t dir, const char *name,
			   const char *cause)
{
	OFS_FREE char *path = NULL;
	struct ofs_attr attr;
	enum ofs_tier tier;

	if (!is_on(t) || find(t, dir, name, &attr) < 0 || !S_ISREG(attr.mode))
		return NULL;
	path = full_path(t, dir, name, &tier);
	if (attr.nlink > 1)
		cause = "one of its names; the file stays";
	return path ? describe(t, event, &attr, path, NULL, cause) : NULL;
}

json_t *ofs_audit_of_replaced(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
			      const char *newname)
{
	OFS_FREE char *cause = NULL;
	struct ofs_attr from, to;

	/* Two names of one file: nothing is done. */
	if (!is_on(t) || find(t, newdir, newname, &to) < 0 || find(t, dir, name, &from) < 0 ||
	    from.ino == to.ino)
		return NULL;
	cause = ofs_format("replaced by %s", name);
	return ofs_audit_of_entry(t, "remove", newdir, newname, cause);
}

json_t *ofs_audit_of_store(struct ofs_tree *t, const char *event, const char *cause)
{
	json_t *line = is_on(t) ? begin(event) : NULL;

	if (line)
		put(line, "cause", cause);
	return line;
}

void ofs_audit_moved(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname, const char *cause)
{
	OFS_FREE char *from = NULL, *to = NULL;
	enum ofs_tier before, now;
	struct ofs_attr attr;

	if (!is_on(t) || dir == newdir)
		return;
	from = full_path(t, dir, name, &before);
	to = full_path(t, newdir, newname, &now);
	if (!from || !to || before == now || find(t, newdir, newname, &attr) < 0)
		return;
	ofs_audit_add(t, describe(t,
				  now < before		    ? "demote"
				  : now == OFS_TIER_ARCHIVE ? "archive"
							    : "promote",
				  &attr, to, from, cause));
}

/* ---- lines */

static void redact(json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));
	OFS_FREE char *shown = text ? ofs_redact_string(text) : NULL;

	if (shown && strcmp(shown, text) != 0)
		json_object_set_new(line, key, json_string(shown));
}

static void format(json_t *line, struct ofs_buf *out)
{
	static const char *const texts[] = { "from", "path", "task", "category", "title", "cause" };
	size_t before = out->len;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++)
		redact(line, texts[i]);
	if (ofs_json_append(json_incref(line), JSON_COMPACT, out) < 0)
		return;
	ofs_buf_append_str(out, "\n");
	if (out->len - before > OFS_AUDIT_LINE_MAX)
		out->len = before;
}

static void format_lost(uint64_t lost, struct ofs_buf *out)
{
	json_t *line = json_pack("{s:o, s:s, s:I}", "time", ofs_json_time(ofs_clock_wall()),
				 "event", "lost", "lines", (json_int_t)lost);

	format(line, out);
	json_decref(line);
}

/* `writing` held. */
static int write_text(struct ofs_audit *a)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf all = OFS_BUF_INIT;
	int r;

	if (!a->text.len)
		return 0;
	if (!a->lost)
		return ofs_audit_disk_append(&a->disk, a->text.data, a->text.len);
	format_lost(a->lost, &all);
	ofs_buf_append(&all, a->text.data, a->text.len);
	r = ofs_audit_disk_append(&a->disk, all.data, all.len);
	if (r == 0)
		a->lost = 0;
	return r;
}

static void flush(struct ofs_audit *a)
{
	OFS_LOCKED(&a->writing);
	json_t *queue, *line;
	size_t i;
	int r;

	pthread_mutex_lock(&a->lock);
	queue = a->queue;
	a->queue = json_array();
	pthread_mutex_unlock(&a->lock);
	json_array_foreach(queue, i, line) format(line, &a->text);
	json_decref(queue);
	r = write_text(a);
	if (r < 0 && a->text.len > UNWRITTEN_MAX) {
		a->lost += ofs_text_newlines(a->text.data, a->text.len);
		a->text.len = 0;
	}
	if (r == 0)
		ofs_buf_finish(&a->text);
	pthread_mutex_lock(&a->lock);
	if (r < 0 && !a->unwritten)
		ofs_log(LOG_WARNING, "the log cannot be written: %s", strerror(-r));
	a->unwritten = r < 0;
	pthread_mutex_unlock(&a->lock);
}

void ofs_audit_flush(struct ofs_tree *t)
{
	if (is_on(t))
		flush(t->audit);
}

void ofs_audit_add(struct ofs_tree *t, json_t *line)
{
	struct ofs_audit *a = t->audit;
	size_t n;

	if (!line)
		return;
	json_object_set_new(line, "time", ofs_json_time(ofs_clock_wall()));
	pthread_mutex_lock(&a->lock);
	json_array_append_new(a->queue, line);
	n = json_array_size(a->queue);
	if (n == 1 && a->running)
		pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	if (n >= QUEUE_MAX)
		flush(a);
}

/* ---- the thread */

/* Waits until there is something to write; `lock` held. */
static void wait_for_lines(struct ofs_audit *a)
{
	int64_t until = ofs_clock_monotonic() + RETRY;

	while (!a->stop && !json_array_size(a->queue)) {
		if (!a->unwritten)
			pthread_cond_wait(&a->wake, &a->lock);
		else if (!ofs_cond_wait_until(&a->wake, &a->lock, until))
			return;
	}
	until = ofs_clock_monotonic() + GATHER;
	while (!a->stop && ofs_cond_wait_until(&a->wake, &a->lock, until))
		;
}

static void *audit_main(void *arg)
{
	struct ofs_audit *a = arg;

	ofs_thread_give_way();
	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		wait_for_lines(a);
		pthread_mutex_unlock(&a->lock);
		flush(a);
		pthread_mutex_lock(&a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- life */

struct ofs_audit *ofs_audit_create(const char *path, uint64_t max, bool read_only)
{
	struct ofs_audit *a = ofs_alloc(sizeof(*a));
	int r = ofs_audit_disk_open(&a->disk, path, read_only ? 0 : max);

	if (r < 0)
		ofs_log(LOG_WARNING, "the log in '%s' cannot be used: %s", path, strerror(-r));
	a->writes = r == 0 && a->disk.max;
	a->queue = json_array();
	pthread_mutex_init(&a->writing, NULL);
	pthread_mutex_init(&a->lock, NULL);
	ofs_cond_init(&a->wake);
	return a;
}

int ofs_audit_start(struct ofs_audit *a)
{
	OFS_LOCKED(&a->lock);
	int r = a->writes ? ofs_thread_start(&a->thread, "audit", audit_main, a) : 0;

	a->running = a->writes && r == 0;
	return r;
}

void ofs_audit_stop(struct ofs_audit *a)
{
	bool running;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	running = a->running;
	a->running = false;
	a->stop = true;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	if (running)
		pthread_join(a->thread, NULL);
	if (a->writes)
		flush(a);
	a->writes = false;
	ofs_audit_disk_close(&a->disk);
}

void ofs_audit_destroy(struct ofs_audit *a)
{
	if (!a)
		return;
	ofs_audit_stop(a);
	json_decref(a->queue);
	ofs_buf_finish(&a->text);
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	pthread_mutex_destroy(&a->writing);
	free(a);
}

/* ---- reading */

int ofs_audit_bounds(struct ofs_tree *t, uint64_t *ret_start, uint64_t *ret_end)
{
	ofs_audit_flush(t);
	return ofs_audit_disk_bounds(t->audit->disk.store, ret_start, ret_end);
}

int ofs_audit_read(struct ofs_tree *t, uint64_t from, uint64_t to, const char *prefix,
		   struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r;

	if (to > from && to - from > OFS_AUDIT_PAGE_MAX)
		to = from + OFS_AUDIT_PAGE_MAX;
	ofs_audit_flush(t);
	r = ofs_audit_disk_read(t->audit->disk.store, from, to, &text);
	if (r == 0)
		ofs_audit_filter((const char *)text.data, text.len, prefix, out);
	return r;
}
