/* SPDX-License-Identifier: MIT */
/* A look at the working tier. */
#include "tree/collect.h"

#include <stdio.h>
#include <time.h>

#include "base/text.h"
#include "tree/collect_internal.h"
#include "tree/sweep.h"

#define MANY 4096 /* files, after which memory is given back */
#define EMPTY_FOR (24 * 3600 * OFS_NS_PER_S) /* before a directory goes */

void ofs_numbers_add(struct ofs_numbers *l, uint64_t number)
{
	l->list = ofs_grow(l->list, &l->cap, l->n + 1, sizeof(*l->list));
	l->list[l->n++] = number;
}

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
	int r;

	if (!run->request || c->nitems == OFS_COLLECT_ITEMS_MAX ||
	    ofs_place_of(run->tree, file->ino, &place) < 0)
		return false;
	r = 0;
	if (step)
		r = ofs_life_explain(run->tree, facts, OFS_KEEP_REFERENCED, 0, step, &why);
	else
		ofs_life_cause(facts, &why);
	if (r < 0)
		return false;
	ofs_buf_append(&why, "", 1);
	item.path = ofs_text_readable((const char *)place.path.data);
	item.why = (char *)ofs_steal(why.data);
	item.at = at ? ofs_life_wall_time(run->tree, at) : 0;
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

static bool is_asked_for(const struct ofs_collect_run *run, const struct ofs_life_place *place)
{
	return run->request && place->task && place->task == run->request->task;
}

int ofs_collect_facts(struct ofs_collect_run *run, const struct ofs_attr *file,
		      const struct ofs_life_place *place, struct ofs_facts *ret)
{
	int r = ofs_life_facts(run->tree, file, place, ret);

	ret->ended = r == 0 && (ret->ended || is_asked_for(run, place));
	return r;
}

static int find_facts(struct ofs_collect_run *run, const struct ofs_attr *file,
		      const struct ofs_life_place *place, struct ofs_facts *ret, uint64_t *ret_step)
{
	struct ofs_life_place step;
	int r = ofs_collector_facts(run->c, file, place, ret, ret_step);

	if (r < 0 || !run->request || !run->request->task)
		return r;
	ret->ended = ret->ended || is_asked_for(run, place);
	/* Its own steps would keep nothing any more. */
	if (*ret_step && ofs_life_place_of(run->tree, *ret_step, &step) == 0 &&
	    is_asked_for(run, &step)) {
		*ret_step = 0;
		ret->referenced = false;
	}
	return 0;
}

int ofs_collect_look(struct ofs_collect_run *run, uint64_t ino, struct ofs_attr *ret_file,
		     struct ofs_facts *ret, uint64_t *ret_step)
{
	struct ofs_life_place place;
	int r = ofs_store_getattr(run->tree->store, ino, ret_file);

	if (r == 0)
		r = ret_file->nlink ? ofs_life_place_of(run->tree, ino, &place) : -ENOENT;
	return r < 0 ? r : find_facts(run, ret_file, &place, ret, ret_step);
}

/* Puts a file on probation, or sees that it still is. */
static void try_file(struct ofs_collect_run *run, uint64_t ino, const struct ofs_facts *facts)
{
	struct ofs_collector *c = run->c;
	struct ofs_trial *trial;

	pthread_mutex_lock(&c->lock);
	trial = ofs_map_get(&c->trials, ino);
	if (!trial && !run->dry) {
		trial = ofs_alloc(sizeof(*trial));
		trial->ino = ino;
		ofs_map_put(&c->trials, ino, trial);
	}
	if (trial) {
		if (trial->used != facts->used || !trial->since) {
			trial->used = facts->used;
			trial->since = facts->now;
		}
		trial->run = c->runs;
	}
	pthread_mutex_unlock(&c->lock);
}

static void add_candidate(struct ofs_collect_run *run, uint64_t ino, bool surplus)
{
	run->candidates = ofs_grow(run->candidates, &run->cap_candidates, run->ncandidates + 1,
				   sizeof(*run->candidates));
	run->candidates[run->ncandidates++] =
		(struct ofs_candidate){ .ino = ino, .surplus = surplus };
}

static void want_next(struct ofs_collect_run *run, int64_t at)
{
	if (at && at < run->next)
		run->next = at;
}

/* A file can go then. */
static void note_due(struct ofs_collect_run *run, int64_t at)
{
	want_next(run, at);
	if (at && at < run->due)
		run->due = at;
}

/* What a verdict means for the file now. */
static void act(struct ofs_collect_run *run, const struct ofs_attr *file,
		const struct ofs_facts *facts, uint64_t step)
{
	int64_t at, hidden;
	enum ofs_verdict v = ofs_verdict_reach(facts, &at);

	switch (v) {
	case OFS_KEEP_USED:
		note_due(run, at);
		run->counts.kept++;
		break;
	case OFS_KEEP_PROBATION:
		note_due(run, at);
		run->counts.probation++;
		ofs_collect_tell(run, file, "probation", facts, at, step);
		ofs_collect_release(run, file);
		try_file(run, file->ino, facts);
		return;
	case OFS_KEEP_REFERENCED:
		run->counts.kept++;
		ofs_collect_tell(run, file, "referenced", facts, 0, step);
		break;
	case OFS_REMOVE_EXPIRED:
	case OFS_REMOVE_ENDED:
	case OFS_REMOVE_SURPLUS:
		add_candidate(run, file->ino, facts->surplus);
		try_file(run, file->ino, facts);
		return;
	default:
		run->counts.kept++;
	}
	/* Whatever is to become of it later, its uses are to be seen. */
	if (file->held && ofs_verdict_is_hidden(facts, &hidden))
		ofs_collect_release(run, file);
	else if (file->held && v == OFS_KEEP_USED)
		want_next(run, hidden);
}

static int on_file(void *arg, const struct ofs_attr *file, const struct ofs_life_place *place)
{
	struct ofs_collect_run *run = arg;
	struct ofs_facts facts;
	uint64_t step;
	int r = ofs_collect_check_stop(run);

	if (r == 0)
		r = find_facts(run, file, place, &facts, &step);
	if (r < 0)
		return r;
	run->counts.looked++;
	run->found.files++;
	run->found.bytes += file->size;
	run->found.stored += file->occupied;
	if (run->c->working_max) {
		run->leaves = ofs_grow(run->leaves, &run->cap_leaves, run->nleaves + 1,
				       sizeof(*run->leaves));
		run->leaves[run->nleaves++] =
			(struct ofs_leaf){ facts.used, file->ino, file->occupied };
	}
	if (place->ended.age)
		ofs_map_put(&run->tasks, place->task, run);
	if (run->request && run->counts.looked % 1024 == 0) {
		pthread_mutex_lock(&run->c->lock);
		run->c->counts.looked = run->counts.looked;
		pthread_mutex_unlock(&run->c->lock);
	}
	act(run, file, &facts, step);
	return 0;
}

static int on_empty(void *arg, const struct ofs_attr *dir, const struct ofs_life_place *place)
{
	struct ofs_collect_run *run = arg;
	int64_t now = ofs_store_age(run->tree->store);
	int64_t wall = ofs_clock_wall() - OFS_MAX(dir->mtime, dir->ctime);

	if (place->ended.age) {
		ofs_map_put(&run->tasks, place->task, run);
		return 0;
	}
	if (wall >= EMPTY_FOR && now - dir->used >= EMPTY_FOR)
		ofs_numbers_add(&run->dirs, dir->ino);
	return 0;
}

/* ---- the size limit */

static int compare_leaves(const void *a, const void *b)
{
	const struct ofs_leaf *x = a, *y = b;

	if (x->used != y->used)
		return x->used < y->used ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Those used longest ago are too much, as far as the limit asks for it. */
static int apply_limit(struct ofs_collect_run *run)
{
	OFS_CLEANUP(ofs_map_finish) struct ofs_map known = OFS_MAP_INIT;
	struct ofs_collector *c = run->c;
	uint64_t excess, step;
	int r = 0;

	atomic_store(&c->pressed, false);
	if (!c->working_max || run->found.stored <= c->working_max)
		return 0;
	excess = run->found.stored - c->working_max;
	for (size_t i = 0; i < run->ncandidates; i++)
		ofs_map_put(&known, run->candidates[i].ino, run);
	qsort(run->leaves, run->nleaves, sizeof(*run->leaves), compare_leaves);
	for (size_t i = 0; i < run->nleaves && excess && r == 0; i++) {
		const struct ofs_leaf *leaf = &run->leaves[i];
		struct ofs_facts facts;
		struct ofs_attr file;
		enum ofs_verdict v;

		if (ofs_map_get(&known, leaf->ino)) {
			excess -= OFS_MIN(excess, leaf->stored);
			continue;
		}
		r = ofs_collect_look(run, leaf->ino, &file, &facts, &step);
		if (r < 0) {
			r = r == -ENOENT ? 0 : r;
			continue;
		}
		facts.surplus = true;
		v = ofs_verdict_reach(&facts, NULL);
		if (v != OFS_KEEP_PROBATION && !ofs_verdict_is_removal(v))
			continue;
		excess -= OFS_MIN(excess, leaf->stored);
		atomic_store(&c->pressed, true);
		act(run, &file, &facts, step);
		r = 0;
	}
	return r;
}

/* ---- the whole */

/* Files that were used, or are gone, are not on probation. */
static void end_trials(struct ofs_collector *c)
{
	struct ofs_map kept = OFS_MAP_INIT;
	struct ofs_trial *trial;
	size_t pos = 0;

	pthread_mutex_lock(&c->lock);
	while ((trial = ofs_map_next(&c->trials, &pos))) {
		if (trial->run == c->runs)
			ofs_map_put(&kept, trial->ino, trial);
		else
			free(trial);
	}
	ofs_map_finish(&c->trials);
	c->trials = kept;
	pthread_mutex_unlock(&c->lock);
}

/* A file may have grown between being counted and being removed. */
static uint64_t less(uint64_t all, uint64_t removed)
{
	return all - OFS_MIN(all, removed);
}

static void publish(struct ofs_collect_run *run, bool whole)
{
	struct ofs_collector *c = run->c;
	struct ofs_collect_totals *all = &c->totals;

	pthread_mutex_lock(&c->lock);
	if (run->request)
		c->counts = run->counts;
	c->counts.total = OFS_MAX(c->counts.total, run->found.files);
	all->expired += run->found.expired;
	all->ended += run->found.ended;
	all->surplus += run->found.surplus;
	all->freed += run->found.freed;
	if (whole) {
		all->due = run->due;
		all->files = less(run->found.files, run->dry ? 0 : run->counts.removed);
		all->bytes = less(run->found.bytes, run->dry ? 0 : run->counts.removed_bytes);
		all->stored = less(run->found.stored, run->dry ? 0 : run->counts.freed_bytes);
	}
	pthread_mutex_unlock(&c->lock);
}

static void run_finish(struct ofs_collect_run *run)
{
	free(run->candidates);
	free(run->leaves);
	free(run->dirs.list);
	ofs_map_finish(&run->tasks);
	ofs_map_finish(&run->touched);
}

int ofs_collector_run(struct ofs_collector *c, const struct ofs_collect_request *request,
		      int64_t *ret_next)
{
	OFS_CLEANUP(run_finish)
	struct ofs_collect_run run = { .c = c,
				       .tree = c->tree,
				       .request = request,
				       .dry = request && request->dry,
				       .next = OFS_TTL_NEVER,
				       .due = OFS_TTL_NEVER };
	const struct ofs_sweep sweep = { .file = on_file, .empty = on_empty, .arg = &run };
	int r;

	c->runs++;
	r = ofs_collector_refresh_steps(c);
	if (r == 0)
		r = ofs_sweep_working(c->tree, &sweep);
	if (r == 0)
		r = apply_limit(&run);
	if (r == 0)
		r = ofs_collect_remove_files(&run);
	if (r == 0 && !run.dry)
		r = ofs_collect_remove_dirs(&run);
	if (r == 0 && !run.dry)
		end_trials(c);
	publish(&run, r == 0);
	if (run.counts.looked > MANY)
		ofs_store_relax(c->tree->store);
	if (run.counts.open)
		want_next(&run, ofs_store_age(c->tree->store));
	*ret_next = run.next;
	atomic_store(&c->stop, false);
	return r;
}
