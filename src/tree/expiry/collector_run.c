/* SPDX-License-Identifier: MIT */
/* A run of garbage collection: finding the files that may go. */

#include "tree/expiry/collector_run.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "base/u64_list.h"
#include "tree/core/category.h"
#include "tree/expiry/collector.h"
#include "tree/expiry/lifetime.h"
#include "tree/expiry/tier_scan.h"
#include "tree/expiry/verdict.h"

#define MANY 4096 /* files, after which caches are trimmed */
#define EMPTY_FOR (24 * 3600 * OFS_NS_PER_S) /* before a directory goes */

/* Puts a file on probation, or notes that it still is. */
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

/* Carries out the verdict on a file as far as it goes without removing it. */
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
	/* Later uses must be seen, whatever the verdict is now. */
	if (file->held && ofs_verdict_is_hidden(facts, &hidden))
		ofs_collect_release(run, file);
	else if (file->held && v == OFS_KEEP_USED)
		want_next(run, hidden);
}

static int on_file(void *arg, const struct ofs_attr *file, const struct ofs_lifetime_place *place)
{
	struct ofs_collect_run *run = arg;
	struct ofs_facts facts;
	uint64_t step;
	int r = ofs_collect_check_stop(run);

	if (r == 0)
		r = ofs_collect_find_facts(run, file, place, &facts, &step);
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

static int on_empty(void *arg, const struct ofs_attr *dir, const struct ofs_lifetime_place *place)
{
	struct ofs_collect_run *run = arg;
	int64_t now = ofs_store_age(run->tree->store);
	int64_t wall = ofs_clock_wall() - OFS_MAX(dir->mtime, dir->ctime);

	if (place->ended.age) {
		ofs_map_put(&run->tasks, place->task, run);
		return 0;
	}
	if (wall >= EMPTY_FOR && now - dir->used >= EMPTY_FOR)
		ofs_u64_list_add(&run->dirs, dir->ino);
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

/* Marks the least recently used files as surplus until the rest fits the limit. */
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

/* ---- the run */

/* Ends the probation of files that this run did not meet as due. */
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
	ofs_u64_list_finish(&run->dirs);
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
	const struct ofs_tier_scan scan = { .file = on_file, .empty = on_empty, .arg = &run };
	int r;

	c->runs++;
	r = ofs_collector_refresh_steps(c);
	if (r == 0)
		r = ofs_tier_scan_run(c->tree, &scan);
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
