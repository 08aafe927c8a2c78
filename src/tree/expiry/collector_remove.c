/* SPDX-License-Identifier: MIT */
/* Removing files, and the directories that they leave empty. */
#include <pthread.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/u64_list.h"
#include "tree/core/changes.h"
#include "tree/core/entry_list.h"
#include "tree/core/label.h"
#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/core/walk.h"
#include "tree/expiry/collector_run.h"
#include "tree/expiry/lifetime.h"
#include "tree/expiry/tombstone_report.h"
#include "tree/expiry/verdict.h"

#define ROUND (20 * OFS_NS_PER_MS) /* between two tries, for the kernel to let go */
#define ROUNDS 50
#define TRIES 8 /* in a row, when files are moved meanwhile */

struct check {
	struct ofs_collect_run *run;
	const struct ofs_attr *file;
	const struct ofs_facts *facts; /* by one of its names */
	bool stays;
};

static int check_name(void *arg, uint64_t dir, const char *name)
{
	struct check *check = arg;
	struct ofs_lifetime_place place;
	struct ofs_facts f;
	int r;

	(void)name;
	r = ofs_lifetime_place_in(check->run->tree, dir, &place);
	if (r == 0)
		r = ofs_collect_facts(check->run, check->file, &place, &f);
	if (r < 0)
		return r;
	f.referenced = check->facts->referenced;
	f.surplus = check->facts->surplus;
	f.probation = check->facts->probation;
	check->stays = check->stays || !ofs_verdict_is_removal(ofs_verdict_reach(&f, NULL));
	ofs_map_put(&check->run->touched, dir, check->run);
	return 0;
}

/* A file with several names stays (-EXDEV) if one of them keeps it. */
static int check_names(struct ofs_collect_run *run, const struct ofs_attr *file,
		       const struct ofs_facts *facts)
{
	struct check check = { .run = run, .file = file, .facts = facts };
	int r = file->nlink > 1 ? ofs_store_names(run->tree->store, file->ino, check_name, &check)
				: 0;

	return r < 0 ? r : check.stays ? -EXDEV : 0;
}

static void note_removed(struct ofs_collect_run *run, const struct ofs_attr *file,
			 enum ofs_verdict v)
{
	run->counts.removed++;
	run->counts.removed_bytes += file->size;
	run->counts.freed_bytes += file->occupied;
	if (run->dry)
		return;
	run->found.expired += v == OFS_REMOVE_EXPIRED;
	run->found.ended += v == OFS_REMOVE_ENDED;
	run->found.surplus += v == OFS_REMOVE_SURPLUS;
	run->found.freed += file->occupied;
	ofs_map_put(&run->touched, file->parent, run);
	ofs_labels_drop(run->tree, file->ino);
	pthread_mutex_lock(&run->c->lock);
	free(ofs_map_remove(&run->c->trials, file->ino));
	pthread_mutex_unlock(&run->c->lock);
}

static int expire(struct ofs_collect_run *run, const struct ofs_attr *file,
		  const struct ofs_facts *facts, enum ofs_verdict v, uint64_t moves)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf stone = OFS_BUF_INIT;
	const struct ofs_expire_guard guard = { .ctime = file->ctime, .moves = moves };
	int r = ofs_place_labelled(run->tree, file->ino, &place);

	if (r == 0)
		ofs_tombstone_format(run->tree, file, &place,
				     ofs_lifetime_used_time(run->tree, facts->used), facts->ttl, v,
				     &stone);
	return r < 0 ? r
		     : ofs_store_expire(run->tree->store, file->ino, facts->used, &guard,
					stone.data, stone.len);
}

/*
 * -EBUSY: the file is held; -EAGAIN: something was moved meanwhile; -EXDEV: it stays after all.
 */
static int try_candidate(struct ofs_collect_run *run, const struct ofs_candidate *cand)
{
	uint64_t moves = ofs_store_moves(run->tree->store), step;
	struct ofs_facts facts;
	struct ofs_attr file;
	enum ofs_verdict v;
	bool told;
	int r = ofs_collect_look(run, cand->ino, &file, &facts, &step);

	if (r < 0)
		return r;
	facts.surplus = cand->surplus;
	facts.open = file.held;
	v = ofs_verdict_reach(&facts, NULL);
	if (v == OFS_KEEP_OPEN)
		return -EBUSY;
	r = ofs_verdict_is_removal(v) ? check_names(run, &file, &facts) : -EXDEV;
	if (r < 0)
		return r;
	/* Reported first, while the file still has a path. */
	told = ofs_collect_tell(run, &file, "remove", &facts, 0, step);
	r = run->dry ? 0 : expire(run, &file, &facts, v, moves);
	if (r == 0)
		note_removed(run, &file, v);
	else if (told)
		ofs_collect_untell(run);
	return r;
}

static int remove_candidate(struct ofs_collect_run *run, const struct ofs_candidate *cand)
{
	int r = -EAGAIN;

	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = try_candidate(run, cand);
	return r;
}

/* Tells the kernel which directories have lost entries. */
static void tell_touched(struct ofs_collect_run *run)
{
	struct ofs_tree *t = run->tree;

	for (size_t i = 0; run->touched.slots && i <= run->touched.mask; i++)
		if (run->touched.slots[i].value && t->events.attr_changed)
			t->events.attr_changed(t->events.arg, run->touched.slots[i].key);
	if (run->touched.count)
		ofs_tree_touch(t);
	ofs_map_finish(&run->touched);
	run->touched = (struct ofs_map)OFS_MAP_INIT;
}

/* Removes one file. 1: try again later; 0: done; or -errno. */
static int settle_candidate(struct ofs_collect_run *run, struct ofs_candidate *cand, bool first)
{
	struct ofs_attr file;
	int r = remove_candidate(run, cand);

	cand->done = r != -EBUSY && r != -EAGAIN;
	if (r == -EBUSY && first && ofs_store_getattr(run->tree->store, cand->ino, &file) == 0)
		ofs_collect_release(run, &file);
	if (!cand->done)
		return 1;
	return r == -ENOENT || r == -EXDEV ? 0 : r;
}

/* Removes the files that nobody holds; returns how many are left. */
static int remove_round(struct ofs_collect_run *run, bool first)
{
	int left = 0, r = 0;
	size_t n = 0;

	for (size_t i = 0; i < run->ncandidates && r >= 0; i++) {
		if (run->candidates[i].done)
			continue;
		r = ofs_collect_check_stop(run);
		if (r == 0 && n++ % OFS_COLLECT_BATCH == 0) {
			tell_touched(run);
			ofs_collect_pause(OFS_COLLECT_BREATH);
			/* Steps that were written meanwhile count. */
			r = ofs_collector_refresh_steps(run->c);
		}
		if (r == 0)
			r = settle_candidate(run, &run->candidates[i], first);
		left += r > 0;
	}
	tell_touched(run);
	return r < 0 ? r : left;
}

static void tell_open(struct ofs_collect_run *run)
{
	for (size_t i = 0; i < run->ncandidates; i++) {
		const struct ofs_candidate *cand = &run->candidates[i];
		struct ofs_facts facts;
		struct ofs_attr file;
		uint64_t step;

		if (cand->done || ofs_collect_look(run, cand->ino, &file, &facts, &step) < 0)
			continue;
		run->counts.open++;
		ofs_collect_tell(run, &file, "open", &facts, 0, step);
	}
}

int ofs_collect_remove_files(struct ofs_collect_run *run)
{
	int busy = run->ncandidates ? remove_round(run, true) : 0;

	for (int i = 0; i < ROUNDS && busy > 0; i++) {
		ofs_collect_pause(ROUND);
		busy = remove_round(run, false);
	}
	if (busy > 0)
		tell_open(run);
	return OFS_MIN(busy, 0);
}

/* ---- directories */

/* Adds the directories below `dir`, the deepest first, and then `dir`. */
static int add_dirs(struct ofs_collect_run *run, uint64_t dir)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list subdirs = { 0 };
	int r = ofs_walk_subdirs(run->tree, dir, &subdirs);

	for (size_t i = 0; i < subdirs.n && r == 0; i++)
		r = add_dirs(run, subdirs.entries[i].key);
	ofs_u64_list_add(&run->dirs, dir);
	return r == -ENOENT ? 0 : r;
}

/* The directory may have been moved to a place where it stays. */
static bool may_go(struct ofs_collect_run *run, const struct ofs_attr *dir)
{
	struct ofs_lifetime_place place;

	return ofs_lifetime_place_in(run->tree, dir->ino, &place) == 0 && place.working &&
	       (!place.task || place.ended.age);
}

/* Removes the directories that are empty; returns how many somebody holds. */
static int rmdir_round(struct ofs_collect_run *run, bool first)
{
	struct ofs_attr dir;
	int busy = 0, r;

	for (size_t i = 0; i < run->dirs.n; i++) {
		uint64_t ino = run->dirs.at[i];

		if (!ino || ofs_store_getattr(run->tree->store, ino, &dir) < 0)
			continue;
		r = may_go(run, &dir) ? ofs_store_rmdir_unheld(run->tree->store, ino) : -ENOENT;
		if (r == -EBUSY && first)
			ofs_collect_release(run, &dir);
		if (r == 0)
			ofs_map_put(&run->touched, dir.parent, run);
		if (r != -EBUSY && r != -ENOTEMPTY)
			run->dirs.at[i] = 0;
		busy += r == -EBUSY;
	}
	tell_touched(run);
	return busy;
}

int ofs_collect_remove_dirs(struct ofs_collect_run *run)
{
	int busy, r = 0;

	for (size_t i = 0; run->tasks.slots && i <= run->tasks.mask && r == 0; i++)
		if (run->tasks.slots[i].value)
			r = add_dirs(run, run->tasks.slots[i].key);
	busy = run->dirs.n && r == 0 ? rmdir_round(run, true) : 0;
	for (int i = 0; i < ROUNDS && busy > 0 && ofs_collect_check_stop(run) == 0; i++) {
		ofs_collect_pause(ROUND);
		busy = rmdir_round(run, true);
	}
	return r;
}
