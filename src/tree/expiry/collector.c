/* SPDX-License-Identifier: MIT */

#include "tree/expiry/collector.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "tree/core/category.h"
#include "tree/core/changes.h"
#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/expiry/collector_run.h"
#include "tree/expiry/lifetime.h"
#include "tree/expiry/step_refs.h"
#include "tree/expiry/verdict.h"

struct ofs_collector *ofs_collector_create(struct ofs_tree *t, uint64_t working_max)
{
	struct ofs_collector *c = ofs_alloc(sizeof(*c));

	c->tree = t;
	c->working_max = working_max;
	c->totals.due = OFS_TTL_NEVER;
	c->steps = ofs_step_refs_create();
	pthread_mutex_init(&c->steps_lock, NULL);
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

static void clear_items(struct ofs_collector *c)
{
	for (size_t i = 0; i < c->nitems; i++) {
		free(c->items[i].path);
		free(c->items[i].why);
	}
	free(c->items);
	c->items = NULL;
	c->nitems = c->cap_items = 0;
}

void ofs_collector_clear(struct ofs_collector *c)
{
	atomic_store(&c->stop, false);
	pthread_mutex_lock(&c->lock);
	clear_items(c);
	c->counts = (struct ofs_collect_counts){ .total = c->totals.files };
	pthread_mutex_unlock(&c->lock);
}

void ofs_collector_destroy(struct ofs_collector *c)
{
	struct ofs_trial *trial;
	size_t pos = 0;

	if (!c)
		return;
	while ((trial = ofs_map_next(&c->trials, &pos)))
		free(trial);
	ofs_map_finish(&c->trials);
	clear_items(c);
	ofs_step_refs_destroy(c->steps);
	pthread_mutex_destroy(&c->steps_lock);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void ofs_collector_stop(struct ofs_collector *c, bool for_good)
{
	if (for_good)
		atomic_store(&c->stop_for_good, true);
	atomic_store(&c->stop, true);
}

bool ofs_collector_is_pressed(struct ofs_collector *c)
{
	return atomic_load(&c->pressed);
}

int64_t ofs_collector_due(struct ofs_collector *c)
{
	int64_t due;

	pthread_mutex_lock(&c->lock);
	due = c->totals.due;
	pthread_mutex_unlock(&c->lock);
	return due;
}

/* ---- the facts about a file */

int ofs_collector_refresh_steps(struct ofs_collector *c)
{
	int64_t changed = ofs_tree_changed(c->tree);
	int r = 0;

	pthread_mutex_lock(&c->steps_lock);
	if (c->steps_as_of != changed) {
		r = ofs_step_refs_refresh(c->tree, c->steps);
		c->steps_as_of = r == 0 ? changed : 0;
	}
	pthread_mutex_unlock(&c->steps_lock);
	return r;
}

static uint64_t find_step(struct ofs_collector *c, uint64_t ino)
{
	uint64_t step;

	pthread_mutex_lock(&c->steps_lock);
	step = ofs_step_refs_find(c->steps, ino);
	pthread_mutex_unlock(&c->steps_lock);
	return step;
}

/*
 * Since when the file is on probation, 0: it is not. Nobody uses the files of a tree that is not
 * served, so there every probation is over.
 */
static int64_t find_trial(struct ofs_collector *c, uint64_t ino, int64_t used)
{
	const struct ofs_trial *trial;
	int64_t since = 0;

	if (!c->tree->background)
		return 1;
	pthread_mutex_lock(&c->lock);
	trial = ofs_map_get(&c->trials, ino);
	if (trial && trial->used == used)
		since = trial->since;
	pthread_mutex_unlock(&c->lock);
	return since;
}

int ofs_collector_facts(struct ofs_collector *c, const struct ofs_attr *file,
			const struct ofs_lifetime_place *place, struct ofs_facts *ret,
			uint64_t *ret_step)
{
	int r = ofs_lifetime_facts(c->tree, file, place, ret);

	if (r < 0)
		return r;
	*ret_step = find_step(c, file->ino);
	ret->referenced = *ret_step;
	ret->probation = find_trial(c, file->ino, ret->used);
	return 0;
}

int ofs_collector_explain(struct ofs_collector *c, const struct ofs_attr *file, struct ofs_buf *out)
{
	struct ofs_lifetime_place place;
	struct ofs_facts facts;
	enum ofs_verdict v;
	uint64_t step;
	int64_t at;
	int r = ofs_lifetime_place_of(c->tree, file->ino, &place);

	if (r == 0)
		r = ofs_collector_refresh_steps(c);
	if (r == 0)
		r = ofs_collector_facts(c, file, &place, &facts, &step);
	if (r < 0)
		return r;
	/* The caller may be the only holder, so facts.open stays unset. */
	v = ofs_verdict_reach(&facts, &at);
	if (v == OFS_KEEP_REFERENCED && step == file->ino) {
		ofs_buf_append_str(out, "kept: it is a step of a live task");
		return 0;
	}
	ofs_lifetime_explain(c->tree, &facts, v, at, step, out);
	return 0;
}

/* ---- what a run and its removals share */

void ofs_collect_pause(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / OFS_NS_PER_S, .tv_nsec = ns % OFS_NS_PER_S };

	nanosleep(&ts, NULL);
}

int ofs_collect_check_stop(const struct ofs_collect_run *run)
{
	return atomic_load(&run->c->stop) || atomic_load(&run->c->stop_for_good) ? -ECANCELED : 0;
}

struct releasing {
	struct ofs_tree *tree;
	uint64_t ino;
};

static int release_name(void *arg, uint64_t dir, const char *name)
{
	const struct releasing *r = arg;

	r->tree->events.release(r->tree->events.arg, r->ino, dir, name);
	return 0;
}

void ofs_collect_release(struct ofs_collect_run *run, const struct ofs_attr *attr)
{
	struct releasing r = { .tree = run->tree, .ino = attr->ino };
	char ref[OFS_REF_SIZE];

	if (!attr->held || !run->tree->events.release)
		return;
	ofs_store_names(run->tree->store, attr->ino, release_name, &r);
	if (S_ISREG(attr->mode)) {
		ofs_ref_format(attr->ino, ref);
		release_name(&r, OFS_NODE_REFS, ref);
	}
	if (++run->releases % OFS_COLLECT_BATCH == 0)
		ofs_collect_pause(OFS_COLLECT_BREATH);
}

bool ofs_collect_tell(struct ofs_collect_run *run, const struct ofs_attr *file, const char *action,
		      const struct ofs_facts *facts, int64_t at, uint64_t step)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf why = OFS_BUF_INIT;
	struct ofs_collector *c = run->c;
	struct ofs_collect_item item = { .ino = file->ino, .size = file->size, .action = action };

	if (!run->request || c->nitems == OFS_COLLECT_ITEMS_MAX ||
	    ofs_place_of(run->tree, file->ino, &place) < 0)
		return false;
	if (step)
		ofs_lifetime_explain(run->tree, facts, OFS_KEEP_REFERENCED, 0, step, &why);
	else
		ofs_lifetime_cause(facts, &why);
	ofs_buf_append(&why, "", 1);
	item.path = ofs_text_readable((const char *)place.path.data);
	item.why = (char *)ofs_steal(why.data);
	item.at = at ? ofs_lifetime_wall_time(run->tree, at) : 0;
	pthread_mutex_lock(&c->lock);
	c->items = ofs_grow(c->items, &c->cap_items, c->nitems + 1, sizeof(*c->items));
	c->items[c->nitems++] = item;
	pthread_mutex_unlock(&c->lock);
	return true;
}

void ofs_collect_untell(struct ofs_collect_run *run)
{
	struct ofs_collector *c = run->c;

	pthread_mutex_lock(&c->lock);
	c->nitems--;
	free(c->items[c->nitems].path);
	free(c->items[c->nitems].why);
	pthread_mutex_unlock(&c->lock);
}

static bool is_asked_for(const struct ofs_collect_run *run, const struct ofs_lifetime_place *place)
{
	return run->request && place->task && place->task == run->request->task;
}

int ofs_collect_facts(struct ofs_collect_run *run, const struct ofs_attr *file,
		      const struct ofs_lifetime_place *place, struct ofs_facts *ret)
{
	int r = ofs_lifetime_facts(run->tree, file, place, ret);

	ret->ended = r == 0 && (ret->ended || is_asked_for(run, place));
	return r;
}

int ofs_collect_find_facts(struct ofs_collect_run *run, const struct ofs_attr *file,
			   const struct ofs_lifetime_place *place, struct ofs_facts *ret,
			   uint64_t *ret_step)
{
	struct ofs_lifetime_place step;
	int r = ofs_collector_facts(run->c, file, place, ret, ret_step);

	if (r < 0 || !run->request || !run->request->task)
		return r;
	ret->ended = ret->ended || is_asked_for(run, place);
	/* The steps of the task that would end keep nothing. */
	if (*ret_step && ofs_lifetime_place_of(run->tree, *ret_step, &step) == 0 &&
	    is_asked_for(run, &step)) {
		*ret_step = 0;
		ret->referenced = false;
	}
	return 0;
}

int ofs_collect_look(struct ofs_collect_run *run, uint64_t ino, struct ofs_attr *ret_file,
		     struct ofs_facts *ret, uint64_t *ret_step)
{
	struct ofs_lifetime_place place;
	int r = ofs_store_getattr(run->tree->store, ino, ret_file);

	if (r == 0)
		r = ret_file->nlink ? ofs_lifetime_place_of(run->tree, ino, &place) : -ENOENT;
	return r < 0 ? r : ofs_collect_find_facts(run, ret_file, &place, ret, ret_step);
}

/* ---- reports */

json_t *ofs_collector_status(struct ofs_collector *c)
{
	const struct ofs_collect_counts *n = &c->counts;
	json_t *json;

	pthread_mutex_lock(&c->lock);
	json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "looked",
			 (json_int_t)n->looked, "done", (json_int_t)n->looked, "total",
			 (json_int_t)OFS_MAX(n->total, n->looked), "removed",
			 (json_int_t)n->removed, "removed_bytes", (json_int_t)n->removed_bytes,
			 "freed_bytes", (json_int_t)n->freed_bytes, "probation",
			 (json_int_t)n->probation, "open", (json_int_t)n->open, "kept",
			 (json_int_t)n->kept, "items", (json_int_t)c->nitems);
	pthread_mutex_unlock(&c->lock);
	return json;
}

json_t *ofs_collector_item(struct ofs_collector *c, size_t i)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf at = OFS_BUF_INIT;
	char ref[OFS_REF_SIZE];
	json_t *json = NULL;

	pthread_mutex_lock(&c->lock);
	if (i < c->nitems) {
		const struct ofs_collect_item *item = &c->items[i];

		ofs_ref_format(item->ino, ref);
		if (item->at && item->at != OFS_TTL_NEVER && ofs_text_time(item->at, &at) == 0)
			ofs_buf_append(&at, "", 1);
		json = json_pack("{s:s, s:s, s:I, s:s, s:s, s:s?}", "path", item->path, "ref", ref,
				 "size", (json_int_t)item->size, "action", item->action, "why",
				 item->why, "at", at.len ? (const char *)at.data : NULL);
	}
	pthread_mutex_unlock(&c->lock);
	return json;
}

json_t *ofs_collector_stats(struct ofs_collector *c)
{
	const struct ofs_collect_totals *n = &c->totals;
	json_t *json;

	pthread_mutex_lock(&c->lock);
	json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "working_files",
			 (json_int_t)n->files, "working_bytes", (json_int_t)n->bytes,
			 "working_stored", (json_int_t)n->stored, "working_max",
			 (json_int_t)c->working_max, "expired", (json_int_t)n->expired,
			 "task_ended", (json_int_t)n->ended, "evicted", (json_int_t)n->surplus,
			 "freed_bytes", (json_int_t)n->freed, "probation",
			 (json_int_t)c->trials.count);
	pthread_mutex_unlock(&c->lock);
	return json;
}
