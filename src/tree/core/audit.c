/* SPDX-License-Identifier: MIT */
#include "tree/core/audit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/thread.h"
#include "io/file.h"
#include "tree/core/audit_disk.h"
#include "tree/core/label.h"

#define GATHER (50 * OFS_NS_PER_MS) /* from the first line to writing it */
#define RETRY OFS_NS_PER_S /* after a failure to write */
#define REST (10 * OFS_NS_PER_S) /* from the last line to compression */
#define QUEUE_MAX ((size_t)1 << 20) /* bytes; whoever exceeds it writes the queue */
#define UNWRITTEN_MAX ((size_t)1 << 20) /* bytes of lines that could not be written yet */
#define AGENT_PART 16 /* an agent's log may have this part of the store's limit */

/* The log of one tree. */
struct ofs_audit_stream {
	const struct ofs_root *root;
	pthread_mutex_t writing; /* before the other `lock`; guards `unwritten` and `lost` */
	struct ofs_buf unwritten; /* formatted lines */
	uint64_t lost; /* number of lines lost before those */
	/*
	 * New lines, in parts separated by NULs: log text and, in every second part, a string to be
	 * redacted and quoted. Guarded by `lock` of struct ofs_audit.
	 */
	struct ofs_buf queue;
};

struct ofs_audit {
	struct ofs_tree *tree;
	int store; /* descriptor of its directory */
	uint64_t max;
	bool writes;
	pthread_t thread;

	pthread_mutex_t lock; /* guards the rest; nothing else is called under it */
	pthread_cond_t wake;
	struct ofs_audit_stream **streams; /* never removed */
	size_t n, cap;
	int64_t second; /* of the last line; `head` is how a line of that second begins */
	struct ofs_buf head;
	bool waiting; /* there are new lines */
	bool failed; /* the last attempt to write failed */
	bool rested; /* no line has come since the last compression; only used by the thread */
	bool running;
	bool stop;
};

static bool is_on(const struct ofs_tree *t)
{
	return t->audit && t->audit->writes;
}

/* ---- events */

void ofs_audit_line_finish(struct ofs_audit_line *line)
{
	ofs_place_finish(&line->at);
	ofs_place_finish(&line->from);
	free(line->title);
}

void ofs_audit_describe(struct ofs_tree *t, const char *event, uint64_t ino,
			struct ofs_audit_line *ret)
{
	struct ofs_root *root = ino ? ofs_root_at(t, ino) : t->root;

	if (!is_on(t) || (ino && ofs_store_getattr(t->store, ino, &ret->attr) < 0))
		return;
	ret->event = event;
	if (root) {
		ret->at.root = root->above ? root->above : root;
		ofs_root_path(t, root, ret->at.root, &ret->at.path);
		ret->at.path.len -= ret->at.path.len ? 1 : 0; /* the final slash */
		ofs_buf_append(&ret->at.path, "", 1);
	} else if (ofs_place_labelled(t, ino, &ret->at) < 0) {
		ret->at = (struct ofs_place){ .root = t->root };
	} else if (S_ISREG(ret->attr.mode)) {
		ret->title = ofs_label_text(t, ino, OFS_LABEL_TITLE);
	}
}

void ofs_audit_tell(struct ofs_tree *t, const char *event, uint64_t ino, const char *cause)
{
	OFS_CLEANUP(ofs_audit_line_finish) struct ofs_audit_line line = { .cause = cause };

	ofs_audit_describe(t, event, ino, &line);
	ofs_audit_add(t, &line);
}

static const char *move_of(const struct ofs_place *from, const struct ofs_place *to)
{
	enum ofs_tier before = ofs_place_tier(from), now = ofs_place_tier(to);

	if (before == now)
		return from->root == to->root ? NULL : "move";
	if (now < before)
		return "demote";
	return now == OFS_TIER_ARCHIVE ? "archive" : "promote";
}

void ofs_audit_moved(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname)
{
	OFS_CLEANUP(ofs_audit_line_finish) struct ofs_audit_line line = { 0 };
	struct ofs_attr moved;

	if (!is_on(t) || dir == newdir || ofs_place_of(t, dir, &line.from) < 0 ||
	    ofs_store_lookup(t->store, newdir, newname, &moved) < 0)
		return;
	ofs_store_forget(t->store, moved.ino, 1);
	if (line.from.path.len > 1)
		line.from.path.data[line.from.path.len - 1] = '/';
	else
		line.from.path.len = 0;
	ofs_buf_append(&line.from.path, name, strlen(name) + 1);
	ofs_audit_describe(t, "", moved.ino, &line);
	line.event = line.at.path.len ? move_of(&line.from, &line.at) : NULL;
	ofs_audit_add(t, &line);
}

/* ---- lines */

/* Appends a member in the form of `queue`. */
static void put(struct ofs_buf *line, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	ofs_buf_append_str(line, ",\"");
	ofs_buf_append_str(line, key);
	ofs_buf_append(line, "\":", sizeof("\":"));
	ofs_buf_append(line, text, strlen(text) + 1);
}

/*
 * Appends a path as seen from the tree `root`, and sets `task` to the task in it if that is still
 * empty. Returns false if the path is not visible there.
 */
static bool put_path(struct ofs_tree *t, const struct ofs_root *root, struct ofs_buf *line,
		     const char *key, const struct ofs_place *place, char task[OFS_NAME_MAX + 1])
{
	static const char tasks[] = "tasks/";
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT;
	const char *text;

	if (!place->path.len || !ofs_root_is_in(place->root, root) ||
	    ofs_root_path(t, place->root, root, &path) < 0)
		return false;
	ofs_buf_append(&path, place->path.data, place->path.len);
	text = (const char *)path.data;
	put(line, key, text);
	if (!*task && strncmp(text, tasks, strlen(tasks)) == 0)
		snprintf(task, OFS_NAME_MAX + 1, "%.*s", (int)strcspn(text + strlen(tasks), "/"),
			 text + strlen(tasks));
	return true;
}

/* Begins a line; `lock` held. The time is formatted once a second. */
static void append_head(struct ofs_audit *a, struct ofs_buf *out)
{
	int64_t now = ofs_clock_wall();

	if (!a->head.len || now / OFS_NS_PER_S != a->second) {
		a->second = now / OFS_NS_PER_S;
		a->head.len = 0;
		ofs_buf_append_str(&a->head, "{\"time\":\"");
		ofs_text_time(now, &a->head);
		ofs_buf_append_str(&a->head, "\",\"event\":\"");
	}
	ofs_buf_append(out, a->head.data, a->head.len);
}

/* Appends the rest of a line as seen from the tree `root`; it reveals nothing about other trees. */
static void format(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_audit_line *l,
		   struct ofs_buf *line)
{
	char ref[OFS_REF_SIZE] = "", task[OFS_NAME_MAX + 1] = "";
	bool file = S_ISREG(l->attr.mode), here;

	ofs_buf_append_str(line, l->event);
	ofs_buf_append_str(line, "\"");
	if (file)
		ofs_ref_format(t, l->attr.ino, ref);
	put(line, "ref", ref);
	put_path(t, root, line, "from", &l->from, task);
	here = put_path(t, root, line, "path", &l->at, task);
	put(line, "task", task);
	if (file && here)
		put(line, "category", l->at.category);
	if (file)
		ofs_buf_printf(line, ",\"size\":%" PRIu64, l->attr.size);
	if (file && !root->above)
		ofs_buf_printf(line, ",\"stored\":%" PRIu64, l->attr.occupied);
	put(line, "title", l->title);
	/* The cause of a repair mentions packs, which agents' trees must not see. */
	if (!root->above || strcmp(l->event, "repair") != 0)
		put(line, "cause", l->cause);
	ofs_buf_append_str(line, "}\n");
}

static void append_string(const char *text, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf shown = OFS_BUF_INIT;
	OFS_FREE char *readable = ofs_text_readable(text);

	ofs_redact_text(&shown, readable, strlen(readable));
	ofs_json_append_string(ofs_buf_str(&shown), out);
}

/* Formats the lines of a queue. */
static void append_lines(const struct ofs_buf *queue, struct ofs_buf *out)
{
	const char *p = (const char *)queue->data, *end = p + queue->len;
	size_t start = out->len, n; /* start of the current line */

	for (bool text = true; p < end; p += n + 1, text = !text) {
		const char *eol;

		n = strnlen(p, (size_t)(end - p));
		if (!text) {
			append_string(p, out);
			continue;
		}
		eol = memchr(p, '\n', n);
		ofs_buf_append(out, p, eol ? (size_t)(eol + 1 - p) : n);
		if (!eol)
			continue;
		if (out->len - start > OFS_AUDIT_LINE_MAX)
			out->len = start;
		start = out->len;
		ofs_buf_append(out, eol + 1, n - (size_t)(eol + 1 - p));
	}
}

/* ---- streams */

static struct ofs_audit_stream *stream_at(struct ofs_audit *a, size_t i)
{
	OFS_LOCKED(&a->lock);

	return i < a->n ? a->streams[i] : NULL;
}

/* `lock` held. */
static struct ofs_audit_stream *stream_of(struct ofs_audit *a, struct ofs_root *root)
{
	struct ofs_audit_stream *s = root->log;

	if (s)
		return s;
	s = ofs_alloc(sizeof(*s));
	s->root = root;
	pthread_mutex_init(&s->writing, NULL);
	*ofs_append(a->streams, a->n, a->cap) = s;
	root->log = s; /* from here on, seen without the lock */
	return s;
}

static uint64_t agent_of(const struct ofs_root *root)
{
	return root->above ? root->ino : 0;
}

static uint64_t max_of(const struct ofs_audit *a, const struct ofs_root *root)
{
	return root->above ? a->max / AGENT_PART : a->max;
}

static int write_stream(struct ofs_audit *a, struct ofs_audit_stream *s)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf queue = OFS_BUF_INIT, all = OFS_BUF_INIT;
	const struct ofs_root *root = s->root;
	size_t done = 0;
	ssize_t n = 0;

	OFS_LOCKED(&s->writing);
	pthread_mutex_lock(&a->lock);
	queue = ofs_buf_steal(&s->queue);
	if (s->lost) {
		append_head(a, &all);
		ofs_buf_printf(&all, "lost\",\"lines\":%" PRIu64 "}\n", s->lost);
	}
	pthread_mutex_unlock(&a->lock);
	append_lines(&queue, &s->unwritten);
	ofs_buf_append(&all, s->unwritten.data, s->unwritten.len);
	while (n >= 0 && done < all.len && !root->gone) {
		n = ofs_audit_disk_append(a->store, agent_of(root), max_of(a, root),
					  all.data + done, all.len - done);
		done += (size_t)OFS_MAX(n, (ssize_t)0);
	}
	if (root->gone)
		done = all.len;
	if (done) {
		s->lost = 0;
		ofs_buf_finish(&s->unwritten);
		ofs_buf_append(&s->unwritten, all.data + done, all.len - done);
	}
	if (n < 0 && s->unwritten.len > UNWRITTEN_MAX) {
		s->lost += ofs_text_newlines(s->unwritten.data, s->unwritten.len);
		s->unwritten.len = 0;
	}
	return (int)OFS_MIN(n, (ssize_t)0);
}

static void flush(struct ofs_audit *a)
{
	struct ofs_audit_stream *s;
	int r = 0;

	pthread_mutex_lock(&a->lock);
	a->waiting = false;
	pthread_mutex_unlock(&a->lock);
	for (size_t i = 0; (s = stream_at(a, i)); i++)
		r = OFS_MIN(r, write_stream(a, s));
	OFS_LOCKED(&a->lock);
	if (r < 0 && !a->failed)
		ofs_log(LOG_WARNING, "the log cannot be written: %s", strerror(-r));
	a->failed = r < 0;
}

static void rest(struct ofs_audit *a)
{
	struct ofs_audit_stream *s;

	for (size_t i = 0; (s = stream_at(a, i)); i++) {
		OFS_LOCKED(&s->writing);

		if (!s->root->gone)
			ofs_audit_disk_rest(a->store, agent_of(s->root), max_of(a, s->root));
	}
}

/* Queues a line for one tree. */
static void tell(struct ofs_tree *t, struct ofs_root *root, const struct ofs_audit_line *line)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_audit *a = t->audit;
	struct ofs_audit_stream *s;
	bool full;

	format(t, root, line, &text);
	pthread_mutex_lock(&a->lock);
	s = stream_of(a, root);
	append_head(a, &s->queue);
	ofs_buf_append(&s->queue, text.data, text.len);
	full = s->queue.len > QUEUE_MAX;
	if (!a->waiting && a->running)
		pthread_cond_signal(&a->wake);
	a->waiting = true;
	pthread_mutex_unlock(&a->lock);
	if (full)
		write_stream(a, s);
}

void ofs_audit_add(struct ofs_tree *t, const struct ofs_audit_line *line)
{
	struct ofs_root *root;

	if (!line->event)
		return;
	for (root = line->at.root; root; root = root->above)
		tell(t, root, line);
	for (root = line->from.root; root && !ofs_root_is_in(line->at.root, root);
	     root = root->above)
		tell(t, root, line);
}

/* ---- the thread */

/* Waits for lines to write. Returns false if none came for REST; `lock` held. */
static bool wait_for_lines(struct ofs_audit *a)
{
	int64_t until = ofs_clock_monotonic() + (a->failed ? RETRY : REST);

	while (!a->stop && !a->waiting) {
		if (!a->failed && a->rested)
			pthread_cond_wait(&a->wake, &a->lock);
		else if (!ofs_cond_wait_until(&a->wake, &a->lock, until))
			return a->failed;
	}
	until = ofs_clock_monotonic() + GATHER;
	while (!a->stop && ofs_cond_wait_until(&a->wake, &a->lock, until))
		;
	return true;
}

static void *audit_main(void *arg)
{
	struct ofs_audit *a = arg;

	ofs_thread_give_way();
	a->rested = true;
	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		a->rested = !wait_for_lines(a);
		pthread_mutex_unlock(&a->lock);
		if (a->rested)
			rest(a);
		else
			flush(a);
		pthread_mutex_lock(&a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- creation and end */

/* Removes the log of an agent that was removed by a daemon which died before it removed the log. */
static int remove_stray(void *arg, const char *agent)
{
	struct ofs_audit *a = arg;
	uint64_t dir = strtoull(agent, NULL, 10);

	if (dir && !ofs_root_at(a->tree, dir))
		ofs_audit_disk_remove(a->store, dir);
	return 0;
}

struct ofs_audit *ofs_audit_create(struct ofs_tree *t, const char *path, uint64_t max,
				   bool read_only)
{
	struct ofs_audit *a = ofs_alloc(sizeof(*a));

	a->tree = t;
	a->max = max;
	a->store = ofs_io_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	a->writes = a->store >= 0 && max && !read_only;
	pthread_mutex_init(&a->lock, NULL);
	ofs_cond_init(&a->wake);
	if (!read_only)
		ofs_audit_disk_each(a->store, remove_stray, a);
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
	flush(a);
	a->writes = false;
	ofs_io_close(&a->store);
}

void ofs_audit_destroy(struct ofs_audit *a)
{
	if (!a)
		return;
	ofs_audit_stop(a);
	for (size_t i = 0; i < a->n; i++) {
		ofs_buf_finish(&a->streams[i]->unwritten);
		ofs_buf_finish(&a->streams[i]->queue);
		pthread_mutex_destroy(&a->streams[i]->writing);
		free(a->streams[i]);
	}
	free(a->streams);
	ofs_buf_finish(&a->head);
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

void ofs_audit_remove(struct ofs_tree *t, const struct ofs_root *root)
{
	struct ofs_audit_stream *s = root->log;

	/* The tree is marked as gone, so anybody who writes after this writes nothing. */
	if (s)
		pthread_mutex_lock(&s->writing);
	ofs_audit_disk_remove(t->audit->store, root->ino);
	if (s)
		pthread_mutex_unlock(&s->writing);
}

/* ---- reading */

/* Writes the waiting lines of this tree alone: the time it takes reveals nothing of others. */
static void flush_root(struct ofs_audit *a, const struct ofs_root *root)
{
	if (a->writes && root->log)
		write_stream(a, root->log);
}

int ofs_audit_bounds(struct ofs_tree *t, const struct ofs_root *root, uint64_t *ret_start,
		     uint64_t *ret_end)
{
	flush_root(t->audit, root);
	return ofs_audit_disk_bounds(t->audit->store, agent_of(root), ret_start, ret_end);
}

int ofs_audit_read(struct ofs_tree *t, const struct ofs_root *root, uint64_t from, uint64_t to,
		   struct ofs_buf *out)
{
	if (to > from && to - from > OFS_AUDIT_PAGE_MAX)
		to = from + OFS_AUDIT_PAGE_MAX;
	flush_root(t->audit, root);
	return ofs_audit_disk_read(t->audit->store, agent_of(root), from, to, out);
}
