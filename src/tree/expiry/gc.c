/* SPDX-License-Identifier: MIT */
#include "tree/expiry/gc.h"

#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/text.h"
#include "tree/expiry/collector.h"
#include "tree/expiry/lifetime.h"
#include "tree/expiry/promote.h"

#define TICK (60 * OFS_NS_PER_S) /* real time between two looks at the store's clock */
#define TICK_LIMITED (5 * OFS_NS_PER_S) /* the same if the size is limited */
#define TICK_CONTROLLED (20 * OFS_NS_PER_MS) /* the same if a test controls the clock */
#define START (5 * OFS_NS_PER_S) /* delay after the start, which has other work */
#define REST 20 /* pause between runs, in multiples of the last run's duration */
#define DAY (24 * 3600 * OFS_NS_PER_S)
#define REPORTED_MAX 20000 /* files in earlier reports of an agent, with agents in it */

const char *const ofs_work_states[] = { "none", "running", "done", "stopped", "failed" };

struct ofs_gc {
	struct ofs_tree *tree;
	struct ofs_gc_options opts;
	struct ofs_collector *collector; /* has a lock of its own */
	pthread_t thread;

	pthread_mutex_t lock; /* guards the rest; only the store's clock is called under it */
	pthread_cond_t wake;
	bool runs; /* `thread` has to be joined */
	bool stop;
	bool kicked; /* run soon */
	bool roused; /* ofs_promote_settle() has something to do */
	int64_t shortest; /* shortest lifetime in use, including that of tasks */
	int64_t next; /* when the next run is due (age clock); OFS_TTL_NEVER: after activity */
	int64_t last; /* start of the last run (wall clock); 0: none */

	struct ofs_map jobs; /* directory of a tree -> struct job */
	struct job *running; /* NULL: none */
	struct job *queue; /* those that wait for their turn, which are "running", too */
};

/* The last request by user.offload.gc of a tree's directory. */
struct job {
	enum ofs_work_state state;
	int error; /* errno, for OFS_WORK_FAILED */
	struct ofs_collect_request request;
	json_t *status, *items; /* NULL while it runs: the collector has them */
	struct job *next; /* in the queue */
};

static void job_clear(struct job *job)
{
	json_decref(job->status);
	json_decref(job->items);
	*job = (struct job){ .state = OFS_WORK_NONE };
}

struct ofs_gc *ofs_gc_create(struct ofs_tree *t, const struct ofs_gc_options *opts)
{
	struct ofs_gc *g = ofs_alloc(sizeof(*g));

	g->tree = t;
	g->opts = *opts;
	g->shortest = OFS_MIN(ofs_categories_shortest(t->categories), t->task_idle);
	g->collector = ofs_collector_create(t, opts->working_max, opts->working_keep);
	pthread_mutex_init(&g->lock, NULL);
	ofs_cond_init(&g->wake);
	return g;
}

void ofs_gc_destroy(struct ofs_gc *g)
{
	struct job *job;
	size_t pos = 0;

	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	g->stop = true;
	ofs_collector_stop(g->collector, true);
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	if (g->runs)
		pthread_join(g->thread, NULL);
	ofs_collector_destroy(g->collector);
	while ((job = ofs_map_next(&g->jobs, &pos))) {
		job_clear(job);
		free(job);
	}
	ofs_map_finish(&g->jobs);
	pthread_cond_destroy(&g->wake);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

void ofs_gc_note_use(struct ofs_gc *g, uint64_t ino)
{
	bool noted = ofs_promote_note_read(g->tree, ino);

	ofs_store_use(g->tree->store, ino);
	if (!noted)
		return;
	OFS_LOCKED(&g->lock);
	g->roused = true;
	pthread_cond_signal(&g->wake);
}

void ofs_gc_note(struct ofs_gc *g, int64_t ttl)
{
	OFS_LOCKED(&g->lock);
	if (ttl < g->shortest) {
		g->shortest = ttl;
		g->kicked = true;
		pthread_cond_signal(&g->wake);
	}
}

/* ---- the thread */

/* Returns a number that changes whenever files are read or changed. */
static uint64_t activity(struct ofs_tree *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < OFS_TREE_OPS; i++)
		if (i == OFS_TREE_READ || i == OFS_TREE_WRITE || i == OFS_TREE_CHANGE)
			sum += atomic_load_explicit(&t->ops[i], memory_order_relaxed);
	return sum;
}

/* Only a run that removes whatever is due counts: neither a dry run nor one of an agent's tree. */
struct rhythm {
	uint64_t activity; /* at the last run */
	uint64_t written; /* bytes written until then */
	int64_t began; /* age clock; 0: there was no run */
	int64_t rested; /* no run before this time (monotonic clock) */
	int64_t cleaned; /* last removal of old tombstones (age clock) */
	bool lacks; /* the disk has less room than it should */
	bool lacked; /* and had at the last run */
	bool due; /* a run is due that nobody has asked for */
	bool asked; /* the last run was for a job */
};

/* Returns whether so much was written that a limit may be exceeded. */
static bool has_grown(struct ofs_gc *g, const struct rhythm *h)
{
	uint64_t written =
		atomic_load_explicit(&g->tree->bytes_written, memory_order_relaxed) - h->written;

	return written > ofs_collector_room(g->collector);
}

/* Returns when to run next (age clock); `lock` held. */
static int64_t next_look(struct ofs_gc *g, const struct rhythm *h)
{
	int64_t at = g->next;
	bool now = g->kicked || has_grown(g, h) || (h->lacks && !h->lacked);
	bool soon = now || ofs_collector_is_pressed(g->collector);

	if (!h->began)
		return 0;
	/* Files created since then can be due no earlier than that. */
	if (activity(g->tree) != h->activity)
		at = OFS_MIN(at, h->began + g->shortest / (2 * OFS_VERDICT_HIDDEN_PART));
	if (now)
		at = h->began;
	return soon ? at : OFS_MAX(at, h->began + g->opts.interval);
}

/* Returns whether it runs of its own accord; if not, it runs only on request. */
static bool is_acting(const struct ofs_gc *g)
{
	return g->tree->background && !g->tree->follow;
}

/* Waits until a run is due (true) or the clock must be read again (false); `lock` held. */
static bool wait_for_look(struct ofs_gc *g, struct rhythm *h)
{
	int64_t age = ofs_store_age(g->tree->store), at = next_look(g, h);
	int64_t mono = ofs_clock_monotonic(), rest = h->rested - mono, left;

	h->due = at <= age && rest <= 0 && is_acting(g);
	if (g->queue || h->due)
		return true;
	if (g->roused)
		return false;
	left = at <= age ? rest : at - age;
	left = OFS_MIN(left, g->opts.working_max ? TICK_LIMITED : TICK);
	if (!is_acting(g))
		left = TICK;
	else if (ofs_clock_is_controlled())
		left = OFS_MIN(left, TICK_CONTROLLED);
	ofs_cond_wait_until(&g->wake, &g->lock, mono + OFS_MAX(left, OFS_NS_PER_MS));
	return false;
}

/* Drops the reports of an agent's trees, which may be many, if they are too long; `lock` held. */
static void limit_reports(struct ofs_gc *g, const struct ofs_root *agent)
{
	struct job *job;
	size_t n = 0;

	for (size_t pos = 0; (job = ofs_map_next(&g->jobs, &pos));)
		if (job->items && ofs_root_agent(job->request.root) == agent)
			n += json_array_size(job->items);
	for (size_t pos = 0; n > REPORTED_MAX && (job = ofs_map_next(&g->jobs, &pos));)
		if (job->items && ofs_root_agent(job->request.root) == agent)
			json_decref(ofs_steal(job->items));
}

/* Ends the running job in the given state; `lock` held. */
static void end_job(struct ofs_gc *g, enum ofs_work_state state, int error)
{
	struct job *job = g->running;
	json_t *item;

	job->state = state;
	job->error = error;
	limit_reports(g, ofs_root_agent(job->request.root));
	job->status = ofs_collector_status(g->collector);
	job->items = json_array();
	for (size_t i = 0; (item = ofs_collector_item(g->collector, i)); i++)
		json_array_append_new(job->items, item);
	ofs_collector_clear(g->collector, g->tree->root);
	g->running = NULL;
}

/* True if the job does all that a run of the collector's own accord would do. */
static bool is_whole(const struct job *job)
{
	return !job->request.dry && !job->request.root->above;
}

/*
 * Starts the first job, unless it is the turn of a run that nobody has asked for and that the job
 * does not do; `lock` held.
 */
static struct job *start_job(struct ofs_gc *g, struct rhythm *h)
{
	struct job *job = g->queue;

	if (job && h->due && h->asked && !is_whole(job))
		job = NULL;
	if (job) {
		g->queue = job->next;
		ofs_collector_clear(g->collector, job->request.root);
	}
	h->asked = job;
	g->running = job;
	return job;
}

/* Runs the collector once. */
static void look(struct ofs_gc *g, struct rhythm *h)
{
	int64_t mono = ofs_clock_monotonic(), wall = ofs_clock_wall(), next = OFS_TTL_NEVER;
	struct job *job;
	bool whole;
	int r;

	pthread_mutex_lock(&g->lock);
	job = start_job(g, h);
	whole = job ? is_whole(job) : h->due;
	g->kicked = g->kicked && !whole;
	pthread_mutex_unlock(&g->lock);
	if (!job && !whole)
		return;
	if (whole) {
		h->activity = activity(g->tree);
		h->written = atomic_load_explicit(&g->tree->bytes_written, memory_order_relaxed);
		h->began = ofs_store_age(g->tree->store);
		h->lacked = h->lacks;
	}
	r = ofs_collector_run(g->collector, job ? &job->request : NULL, &next);
	if (whole)
		h->rested = ofs_clock_monotonic() + REST * (ofs_clock_monotonic() - mono);
	pthread_mutex_lock(&g->lock);
	if (whole) {
		g->last = wall;
		g->next = r < 0 ? h->began + g->opts.interval : next;
	} else if (r == 0 && !job->request.dry) {
		g->next = OFS_MIN(g->next, next);
	}
	if (job)
		end_job(g,
			r == 0		  ? OFS_WORK_DONE
			: r == -ECANCELED ? OFS_WORK_STOPPED
					  : OFS_WORK_FAILED,
			r < 0 ? -r : 0);
	pthread_mutex_unlock(&g->lock);
	if (r < 0 && r != -ECANCELED)
		ofs_log(LOG_ERR, "cannot collect expired files: %s", strerror(-r));
}

static void keep_clock(struct ofs_gc *g, struct rhythm *h)
{
	int64_t age = ofs_store_age(g->tree->store);

	ofs_store_keep_age(g->tree->store);
	if (g->opts.tombstones == OFS_TTL_NEVER || age - h->cleaned < DAY)
		return;
	h->cleaned = age;
	ofs_store_drop_tombstones(g->tree->store, ofs_clock_wall() - g->opts.tombstones);
}

/* Done once a tick, so that a disk filled by others is noticed, too. */
static void look_at_disk(struct ofs_gc *g, struct rhythm *h)
{
	h->lacks = ofs_collector_disk_lacks(g->collector);
	h->lacked = h->lacked && h->lacks;
}

static void *gc_main(void *arg)
{
	struct ofs_gc *g = arg;
	struct rhythm h = { 0 };
	bool due, reached;

	ofs_thread_give_way();
	if (!ofs_clock_is_controlled())
		h.rested = ofs_clock_monotonic() + START;

	pthread_mutex_lock(&g->lock);
	while (!g->stop) {
		due = wait_for_look(g, &h);
		if (g->stop)
			break;
		g->roused = false;
		pthread_mutex_unlock(&g->lock);
		if (is_acting(g)) {
			keep_clock(g, &h);
			look_at_disk(g, &h);
		}
		reached = ofs_promote_settle(g->tree);
		if (due)
			look(g, &h);
		pthread_mutex_lock(&g->lock);
		g->kicked = g->kicked || reached;
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* `lock` held. */
static int start_locked(struct ofs_gc *g)
{
	int r = g->runs ? 0 : ofs_thread_start(&g->thread, "gc", gc_main, g);

	g->runs = r == 0;
	return r;
}

int ofs_gc_start(struct ofs_gc *g)
{
	OFS_LOCKED(&g->lock);
	return start_locked(g);
}

/* ---- user.offload.gc */

int ofs_gc_explain(struct ofs_gc *g, const struct ofs_attr *file, const struct ofs_cred *cred,
		   struct ofs_buf *out)
{
	return ofs_collector_explain(g->collector, file, cred, out);
}

int ofs_gc_word(struct ofs_gc *g, const struct ofs_attr *file, const struct ofs_lifetime_place *p,
		const char **ret)
{
	return ofs_collector_word(g->collector, file, p, ret);
}

/* Parses "run", "dry-run", "dry-run task T" or "dry-run drop-all task T". */
static int parse_request(struct ofs_tree *t, struct ofs_root *root, const char *value,
			 struct ofs_collect_request *ret)
{
	static const char *const tasks[] = { "dry-run task ", "dry-run drop-all task " };
	struct ofs_attr dir;
	size_t len;
	int r;

	*ret = (struct ofs_collect_request){ .root = root,
					     .dry = strncmp(value, "dry-run", 7) == 0 };
	if (strcmp(value, "run") == 0 || strcmp(value, "dry-run") == 0)
		return 0;
	ret->drop_all = strncmp(value, tasks[1], strlen(tasks[1])) == 0;
	len = strlen(tasks[ret->drop_all]);
	if (strncmp(value, tasks[ret->drop_all], len) != 0)
		return -EINVAL;
	r = ofs_store_lookup(t->store, root->tops[OFS_TOP_TASKS], value + len, &dir);
	if (r < 0)
		return r;
	ofs_store_forget(t->store, dir.ino, 1);
	ret->task = dir.ino;
	return S_ISDIR(dir.mode) ? 0 : -ENOTDIR;
}

/* `lock` held. */
static struct job *job_of(struct ofs_gc *g, const struct ofs_root *root)
{
	struct job *job = ofs_map_get(&g->jobs, root->ino);

	if (!job) {
		job = ofs_alloc(sizeof(*job));
		ofs_map_put(&g->jobs, root->ino, job);
	}
	return job;
}

/* Returns the link to a job in the queue; if it is not there, the link at the end. `lock` held. */
static struct job **find_queued(struct ofs_gc *g, const struct job *job)
{
	struct job **at = &g->queue;

	while (*at && *at != job)
		at = &(*at)->next;
	return at;
}

static int begin(struct ofs_gc *g, const struct ofs_collect_request *request)
{
	OFS_LOCKED(&g->lock);
	struct job *job = job_of(g, request->root);
	int r = job->state == OFS_WORK_RUNNING ? -EBUSY : start_locked(g);

	if (r < 0)
		return r;
	job_clear(job);
	job->request = *request;
	job->state = OFS_WORK_RUNNING;
	*find_queued(g, job) = job;
	pthread_cond_signal(&g->wake);
	return 0;
}

static int stop_job(struct ofs_gc *g, const struct ofs_root *root)
{
	OFS_LOCKED(&g->lock);
	struct job *job = job_of(g, root), **queued = find_queued(g, job);

	if (job == g->running) {
		ofs_collector_stop(g->collector, false);
	} else if (*queued) {
		*queued = job->next;
		job->state = OFS_WORK_STOPPED;
	}
	return 0;
}

int ofs_gc_set(struct ofs_gc *g, struct ofs_root *root, const char *value, size_t size)
{
	struct ofs_collect_request request;
	OFS_FREE char *text = size <= 2 * OFS_NAME_MAX ? strndup(value, size) : NULL;
	int r;

	if (!text)
		return -EINVAL;
	if (strcmp(text, "stop") == 0)
		return stop_job(g, root);
	r = parse_request(g->tree, root, text, &request);
	return r < 0 ? r : begin(g, &request);
}

static void set_time(json_t *json, const char *name, int64_t wall)
{
	json_object_set_new(json, name,
			    !wall || wall == OFS_TTL_NEVER ? json_null() : ofs_json_time(wall));
}

/* Returns the wall clock time of the next run; 0: none is planned. `lock` held. */
static int64_t next_time(struct ofs_gc *g)
{
	return g->next == OFS_TTL_NEVER || !g->next ? 0 : ofs_lifetime_wall_time(g->tree, g->next);
}

/* `lock` held. */
static json_t *status_json(struct ofs_gc *g, const struct ofs_root *root)
{
	struct job *job = job_of(g, root);
	json_t *json = job->status ? json_copy(job->status) : NULL;

	if (!json)
		json = ofs_collector_status(job == g->running ? g->collector : NULL);
	json_object_set_new(json, "state", json_string(ofs_work_states[job->state]));
	json_object_set_new(json, "error",
			    job->state == OFS_WORK_FAILED ? json_string(strerror(job->error))
							  : json_null());
	json_object_set_new(json, "dry_run", json_boolean(job->request.dry));
	/* An agent must not learn when files of others can be removed. */
	set_time(json, "next",
		 root->above ? 0
			     : ofs_lifetime_wall_time(g->tree, ofs_collector_due(g->collector)));
	return json;
}

/* `lock` held. */
static json_t *item_json(struct ofs_gc *g, const struct ofs_root *root, size_t i)
{
	struct job *job = job_of(g, root);

	if (job == g->running)
		return ofs_collector_item(g->collector, i);
	return json_incref(json_array_get(job->items, i));
}

json_t *ofs_gc_stats(struct ofs_gc *g)
{
	json_t *json = ofs_collector_stats(g->collector);

	OFS_LOCKED(&g->lock);
	set_time(json, "last_gc", g->last);
	set_time(json, "next_gc", next_time(g));
	return json;
}

int ofs_gc_get(struct ofs_gc *g, const struct ofs_root *root, const char *which,
	       struct ofs_buf *out)
{
	json_t *json;
	size_t len = strlen(which);

	OFS_LOCKED(&g->lock);
	if (!len)
		json = status_json(g, root);
	else if (which[0] == '.' && len > 1 && len < 10 &&
		 strspn(which + 1, "0123456789") == len - 1)
		json = item_json(g, root, strtoul(which + 1, NULL, 10));
	else
		return -ENODATA;
	if (!json)
		return -ENODATA;
	ofs_json_append(json, JSON_COMPACT, out);
	return 0;
}
