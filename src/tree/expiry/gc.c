/* SPDX-License-Identifier: MIT */

#include "tree/expiry/gc.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "tree/core/category.h"
#include "tree/core/json_out.h"
#include "tree/core/tree_state.h"
#include "tree/expiry/collector.h"
#include "tree/expiry/collector_run.h"
#include "tree/expiry/lifetime.h"
#include "tree/expiry/verdict.h"

#define TICK (60 * OFS_NS_PER_S) /* real time, after which the store's clock is looked at */
#define TICK_LIMITED (5 * OFS_NS_PER_S) /* the same where the size is limited */
#define TICK_CONTROLLED (20 * OFS_NS_PER_MS) /* and where a test moves the clock */
#define START (5 * OFS_NS_PER_S) /* after the start, which has other things to do */
#define REST 20 /* times as long as a look has taken there is none */
#define DAY (24 * 3600 * OFS_NS_PER_S)

enum state {
	STATE_NONE,
	STATE_RUNNING,
	STATE_DONE,
	STATE_STOPPED,
	STATE_FAILED
};

static const char *const state_names[] = { "none", "running", "done", "stopped", "failed" };

struct ofs_gc {
	struct ofs_tree *tree;
	struct ofs_gc_options opts;
	struct ofs_collector *collector; /* has a lock of its own */
	pthread_t thread;

	pthread_mutex_t lock; /* guards the rest; never held while the store is called */
	pthread_cond_t wake;
	bool runs; /* `thread` is to be joined */
	bool stop;
	bool kicked; /* look soon */
	bool wanted; /* the job below is to be done */
	int64_t shortest; /* the shortest time to live that there is */
	int64_t next; /* when the next look is, age clock; OFS_TTL_NEVER: when something happens */
	int64_t last; /* when the last one began, 0: there was none; wall clock */

	/* What was asked for by name. */
	enum state state;
	int error; /* errno of STATE_FAILED */
	struct ofs_collect_request request;
};

struct ofs_gc *ofs_gc_create(struct ofs_tree *t, const struct ofs_gc_options *opts)
{
	struct ofs_gc *k = ofs_alloc(sizeof(*k));

	k->tree = t;
	k->opts = *opts;
	k->shortest = ofs_categories_shortest(t->categories);
	k->collector = ofs_collector_create(t, opts->working_max);
	pthread_mutex_init(&k->lock, NULL);
	ofs_cond_init(&k->wake);
	return k;
}

void ofs_gc_destroy(struct ofs_gc *k)
{
	if (!k)
		return;
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	ofs_collector_stop(k->collector, true);
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->lock);
	if (k->runs)
		pthread_join(k->thread, NULL);
	ofs_collector_destroy(k->collector);
	pthread_cond_destroy(&k->wake);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

void ofs_gc_note(struct ofs_gc *k, int64_t ttl)
{
	pthread_mutex_lock(&k->lock);
	if (ttl < k->shortest) {
		k->shortest = ttl;
		k->kicked = true;
		pthread_cond_signal(&k->wake);
	}
	pthread_mutex_unlock(&k->lock);
}

/* ---- the thread */

/* What happens to files shows in these: whether there was anything since the last look. */
static uint64_t activity(struct ofs_tree *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < OFS_TREE_OPS; i++)
		if (i == OFS_TREE_READ || i == OFS_TREE_WRITE || i == OFS_TREE_CHANGE)
			sum += atomic_load_explicit(&t->ops[i], memory_order_relaxed);
	return sum;
}

struct rhythm {
	uint64_t activity; /* at the last look */
	uint64_t written; /* bytes by then */
	int64_t began; /* age clock; 0: there was no look */
	int64_t rested; /* monotonic: no look before */
	int64_t cleaned; /* when tombstones were last thinned out, age clock */
};

/* Whether so much was written that the limit may be passed; a part of it may be. */
static bool has_grown(struct ofs_gc *k, const struct rhythm *h)
{
	uint64_t written =
		atomic_load_explicit(&k->tree->bytes_written, memory_order_relaxed) - h->written;

	return k->opts.working_max && written > k->opts.working_max / 16;
}

/* When to look next, by the age clock; `lock` held. */
static int64_t next_look(struct ofs_gc *k, const struct rhythm *h)
{
	int64_t at = k->next;
	bool soon = k->kicked || has_grown(k, h) || ofs_collector_is_pressed(k->collector);

	if (!h->began)
		return 0;
	/* Files that came since can be due no earlier than that. */
	if (activity(k->tree) != h->activity)
		at = OFS_MIN(at, h->began + k->shortest / (2 * OFS_VERDICT_HIDDEN_PART));
	if (k->kicked || has_grown(k, h))
		at = h->began;
	return soon ? at : OFS_MAX(at, h->began + k->opts.interval);
}

/* Sleeps for at most so long, real time; `lock` held. */
static void sleep_for(struct ofs_gc *k, int64_t ns)
{
	ofs_cond_wait_until(&k->wake, &k->lock, ofs_clock_monotonic() + ns);
}

/* Until a look is due, or the clock is to be looked at; `lock` held. True: look. */
static bool wait_for_look(struct ofs_gc *k, const struct rhythm *h)
{
	int64_t age = ofs_store_age(k->tree->store), at = next_look(k, h);
	int64_t mono = ofs_clock_monotonic(), rest = h->rested - mono, left;

	if (k->wanted || (at <= age && rest <= 0 && k->tree->background))
		return true;
	left = at <= age ? rest : at - age;
	left = OFS_MIN(left, k->opts.working_max ? TICK_LIMITED : TICK);
	if (!k->tree->background)
		left = TICK;
	else if (ofs_clock_is_controlled())
		left = OFS_MIN(left, TICK_CONTROLLED);
	sleep_for(k, OFS_MAX(left, OFS_NS_PER_MS));
	return false;
}

/* One look at everything. */
static void look(struct ofs_gc *k, struct rhythm *h)
{
	int64_t mono = ofs_clock_monotonic(), next = OFS_TTL_NEVER, wall;
	struct ofs_collect_request request = { 0 };
	bool wanted;
	int r;

	pthread_mutex_lock(&k->lock);
	wanted = k->wanted;
	if (wanted)
		request = k->request;
	k->wanted = k->kicked = false;
	pthread_mutex_unlock(&k->lock);
	wall = ofs_clock_wall();
	h->activity = activity(k->tree);
	h->written = atomic_load_explicit(&k->tree->bytes_written, memory_order_relaxed);
	h->began = ofs_store_age(k->tree->store);
	r = ofs_collector_run(k->collector, wanted ? &request : NULL, &next);
	h->rested = ofs_clock_monotonic() + REST * (ofs_clock_monotonic() - mono);
	pthread_mutex_lock(&k->lock);
	k->last = wall; /* with what it counted */
	k->next = r < 0 ? h->began + k->opts.interval : next;
	if (wanted) {
		k->state = r == 0 ? STATE_DONE : r == -ECANCELED ? STATE_STOPPED : STATE_FAILED;
		k->error = r < 0 ? -r : 0;
	}
	pthread_mutex_unlock(&k->lock);
	if (r < 0 && r != -ECANCELED)
		ofs_log(LOG_ERR, "collecting what has expired failed: %s", strerror(-r));
}

static void keep_clock(struct ofs_gc *k, struct rhythm *h)
{
	int64_t age = ofs_store_age(k->tree->store);

	ofs_store_keep_age(k->tree->store);
	if (k->opts.tombstones == OFS_TTL_NEVER || age - h->cleaned < DAY)
		return;
	h->cleaned = age;
	ofs_store_drop_tombstones(k->tree->store, ofs_clock_wall() - k->opts.tombstones);
}

static void *keeper_main(void *arg)
{
	struct ofs_gc *k = arg;
	struct rhythm h = { 0 };
	bool due;

	ofs_thread_give_way();
	if (!ofs_clock_is_controlled())
		h.rested = ofs_clock_monotonic() + START;

	pthread_mutex_lock(&k->lock);
	while (!k->stop) {
		due = wait_for_look(k, &h);
		if (k->stop)
			break;
		pthread_mutex_unlock(&k->lock);
		if (k->tree->background)
			keep_clock(k, &h);
		if (due)
			look(k, &h);
		pthread_mutex_lock(&k->lock);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* `lock` held. */
static int start_locked(struct ofs_gc *k)
{
	int r = k->runs ? 0 : ofs_thread_start(&k->thread, "keeper", keeper_main, k);

	k->runs = r == 0;
	return r;
}

int ofs_gc_start(struct ofs_gc *k)
{
	int r;

	pthread_mutex_lock(&k->lock);
	r = start_locked(k);
	pthread_mutex_unlock(&k->lock);
	return r;
}

/* ---- what is asked for */

int ofs_gc_explain(struct ofs_gc *k, const struct ofs_attr *file, struct ofs_buf *out)
{
	return ofs_collector_explain(k->collector, file, out);
}

/* "run", "dry-run", "dry-run task T" */
static int parse_request(struct ofs_tree *t, const char *value, struct ofs_collect_request *ret)
{
	static const char task[] = "dry-run task ";
	struct ofs_attr dir;
	int r;

	*ret = (struct ofs_collect_request){ .dry = strncmp(value, "dry-run", 7) == 0 };
	if (strcmp(value, "run") == 0 || strcmp(value, "dry-run") == 0)
		return 0;
	if (strncmp(value, task, strlen(task)) != 0)
		return -EINVAL;
	r = ofs_store_lookup(t->store, t->tops[OFS_TOP_TASKS], value + strlen(task), &dir);
	if (r < 0)
		return r;
	ofs_store_forget(t->store, dir.ino, 1);
	ret->task = dir.ino;
	return S_ISDIR(dir.mode) ? 0 : -ENOTDIR;
}

static int begin(struct ofs_gc *k, const struct ofs_collect_request *request)
{
	int r = -EBUSY;

	pthread_mutex_lock(&k->lock);
	if (k->state != STATE_RUNNING) {
		r = start_locked(k);
		if (r == 0) {
			ofs_collector_clear(k->collector);
			k->request = *request;
			k->state = STATE_RUNNING;
			k->wanted = true;
			pthread_cond_signal(&k->wake);
		}
	}
	pthread_mutex_unlock(&k->lock);
	return r;
}

int ofs_gc_set(struct ofs_gc *k, const char *value, size_t size)
{
	struct ofs_collect_request request;
	OFS_FREE char *text = size <= 2 * OFS_NAME_MAX ? strndup(value, size) : NULL;
	int r;

	if (!text)
		return -EINVAL;
	if (strcmp(text, "stop") == 0) {
		pthread_mutex_lock(&k->lock);
		if (k->wanted) {
			k->wanted = false;
			k->state = STATE_STOPPED;
		} else if (k->state == STATE_RUNNING)
			ofs_collector_stop(k->collector, false);
		pthread_mutex_unlock(&k->lock);
		return 0;
	}
	r = parse_request(k->tree, text, &request);
	return r < 0 ? r : begin(k, &request);
}

static void set_time(json_t *json, const char *name, int64_t wall)
{
	json_object_set_new(json, name,
			    !wall || wall == OFS_TTL_NEVER ? json_null() : ofs_json_time(wall));
}

/* When the next file can go, or is looked at; wall clock, 0: none is known. `lock` held. */
static int64_t next_time(struct ofs_gc *k)
{
	return k->next == OFS_TTL_NEVER || !k->next ? 0 : ofs_lifetime_wall_time(k->tree, k->next);
}

static json_t *status_json(struct ofs_gc *k)
{
	json_t *json = ofs_collector_status(k->collector);

	pthread_mutex_lock(&k->lock);
	json_object_set_new(json, "state", json_string(state_names[k->state]));
	json_object_set_new(json, "error",
			    k->state == STATE_FAILED ? json_string(strerror(k->error))
						     : json_null());
	json_object_set_new(json, "dry_run", json_boolean(k->request.dry));
	set_time(json, "next", ofs_lifetime_wall_time(k->tree, ofs_collector_due(k->collector)));
	pthread_mutex_unlock(&k->lock);
	return json;
}

json_t *ofs_gc_stats(struct ofs_gc *k)
{
	json_t *json = ofs_collector_stats(k->collector);

	pthread_mutex_lock(&k->lock);
	set_time(json, "last_gc", k->last);
	set_time(json, "next_gc", next_time(k));
	pthread_mutex_unlock(&k->lock);
	return json;
}

int ofs_gc_get(struct ofs_gc *k, const char *which, struct ofs_buf *out)
{
	json_t *json;
	size_t len = strlen(which);

	if (!len)
		json = status_json(k);
	else if (which[0] == '.' && len > 1 && len < 10 &&
		 strspn(which + 1, "0123456789") == len - 1)
		json = ofs_collector_item(k->collector, strtoul(which + 1, NULL, 10));
	else
		return -ENODATA;
	if (!json)
		return -ENODATA;
	ofs_json_append(json, JSON_COMPACT, out);
	return 0;
}
