/* SPDX-License-Identifier: MIT */
/* A run of garbage collection: removing files, and promoting those that are to be kept. */
#include "tree/expiry/collect_run.h"

#include "base/log.h"
#include "base/thread.h"
#include "tree/core/audit.h"
#include "tree/core/entry_list.h"
#include "tree/core/label.h"
#include "tree/core/walk.h"
#include "tree/expiry/promote.h"
#include "tree/expiry/tombstone_report.h"

#define ROUND (20 * OFS_NS_PER_MS) /* between two tries, for the kernel to release files */
#define ROUNDS 50
#define TRIES 8 /* in a row, when files are moved meanwhile */

struct check {
	struct ofs_collect_run *run;
	const struct ofs_attr *file;
	const struct ofs_facts *facts; /* as seen by one of its names */
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
		r = ofs_lifetime_facts(check->run->tree, check->file, &place, &f);
	if (r < 0)
		return r;
	f.ended = f.ended || ofs_collect_is_asked_for(check->run, &place);
	f.drop = check->facts->drop;
	f.wanted = check->facts->wanted;
	f.step = check->facts->step;
	f.shortage = check->facts->shortage;
	f.probation = check->facts->probation;
	check->stays = check->stays || !ofs_verdict_is_removal(ofs_verdict_reach(&f, NULL));
	ofs_map_put(&check->run->touched, dir, check->run);
	return 0;
}

/* Returns -EXDEV if one of the names of a file keeps it. */
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
	run->found.pressed += v == OFS_REMOVE_PRESSED;
	if (v == OFS_REMOVE_EXPIRED || v == OFS_REMOVE_PRESSED) {
		run->found.evictable -= OFS_MIN(run->found.evictable, (uint64_t)1);
		run->found.evictable_stored -= OFS_MIN(run->found.evictable_stored, file->occupied);
	}
	run->found.freed += file->occupied;
	ofs_map_put(&run->touched, file->parent, run);
	ofs_labels_drop(run->tree, file->ino);
	OFS_LOCKED(&run->c->lock);
	free(ofs_map_remove(&run->c->trials, file->ino));
}

static bool is_eviction(enum ofs_verdict v)
{
	return v == OFS_REMOVE_SURPLUS || v == OFS_REMOVE_PRESSED;
}

static int expire(struct ofs_collect_run *run, const struct ofs_attr *file,
		  const struct ofs_facts *facts, enum ofs_verdict v, uint64_t moves)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf stone = OFS_BUF_INIT;
	const struct ofs_expire_guard guard = { .ctime = file->ctime, .moves = moves };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf why = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_audit_line_finish) struct ofs_audit_line line = { 0 };
	int r = ofs_place_labelled(run->tree, file->ino, &place);

	if (r == 0)
		ofs_tombstone_format(run->tree, file, &place,
				     ofs_lifetime_used_time(run->tree, facts->used), facts->ttl, v,
				     &stone);
	if (r < 0)
		return r;
	ofs_lifetime_cause(facts, &why);
	ofs_audit_describe(run->tree, is_eviction(v) ? "evict" : "expire", file->ino, &line);
	line.cause = ofs_buf_str(&why);
	r = ofs_store_expire(run->tree->store, file->ino, facts->used, &guard, stone.data,
			     stone.len);
	if (r == 0)
		ofs_audit_add(run->tree, &line);
	return r;
}

/*
 * Moves a file to persistent/. -EAGAIN: something was moved or the file was used meanwhile; -EXDEV:
 * it cannot be promoted, and stays.
 */
static int promote(struct ofs_collect_run *run, const struct ofs_attr *file,
		   const struct ofs_facts *facts, uint64_t moves)
{
	const struct ofs_expire_guard guard = { .ctime = file->ctime, .moves = moves };
	OFS_CLEANUP(ofs_place_finish) struct ofs_place was = { 0 };
	OFS_CLEANUP(ofs_place_finish) struct ofs_place is = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf to = OFS_BUF_INIT;
	int r = ofs_place_of(run->tree, file->ino, &was);

	if (r == 0)
		r = run->dry
			    ? ofs_promote_where(run->tree, file, &run->planned, &to)
			    : ofs_promote_file(run->tree, file, facts->used, &guard, &run->planned);
	if (r == 0 && !run->dry && ofs_place_of(run->tree, file->ino, &is) == 0)
		ofs_buf_append_str(&to, (const char *)is.path.data);
	if (r == -EAGAIN || r == -ENOENT)
		return r;
	if (r < 0) {
		ofs_log(LOG_WARNING, "cannot promote '%s', which stays where it is: %s",
			(const char *)was.path.data, strerror(-r));
		return -EXDEV;
	}
	run->counts.promoted++;
	if (!run->dry) {
		run->found.files--;
		run->found.bytes -= OFS_MIN(run->found.bytes, file->size);
		run->found.stored -= OFS_MIN(run->found.stored, file->occupied);
	}
	if (run->request)
		ofs_collector_tell_promoted(run->c, file, facts, (const char *)was.path.data,
					    ofs_buf_str(&to));
	return 0;
}

/*
 * Removes or promotes a file. -EBUSY: it is held; -EAGAIN: something was moved meanwhile; -EXDEV:
 * it stays after all.
 */
static int try_candidate(struct ofs_collect_run *run, const struct ofs_collect_candidate *cand)
{
	uint64_t moves = ofs_store_moves(run->tree->store);
	struct ofs_facts facts;
	struct ofs_attr file;
	enum ofs_verdict v;
	bool told;
	int r = ofs_collect_look(run, cand->ino, &file, &facts);

	if (r < 0)
		return r;
	facts.shortage = cand->shortage;
	facts.open = file.held;
	v = ofs_verdict_reach(&facts, NULL);
	if (v == OFS_KEEP_OPEN)
		return -EBUSY;
	if (v == OFS_PROMOTE)
		return promote(run, &file, &facts, moves);
	r = ofs_verdict_is_removal(v) ? check_names(run, &file, &facts) : -EXDEV;
	if (r < 0)
		return r;
	/* Report it first, while the file still has a path. */
	told = ofs_collect_tell(run, &file, "remove", &facts, 0);
	r = run->dry ? 0 : expire(run, &file, &facts, v, moves);
	if (r == 0)
		note_removed(run, &file, v);
	else if (told)
		ofs_collector_untell(run->c, file.ino);
	return r;
}

static int remove_candidate(struct ofs_collect_run *run, const struct ofs_collect_candidate *cand)
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

	for (size_t i = 0; run->touched.slots && i <= run->touched.mask; i++) {
		const struct ofs_map_slot *slot = &run->touched.slots[i];

		if (slot->value && t->events.attr_changed)
			t->events.attr_changed(t->events.arg, slot->key);
		if (slot->value)
			ofs_tree_touch(t, slot->key);
	}
	ofs_map_finish(&run->touched);
	run->touched = (struct ofs_map)OFS_MAP_INIT;
}

/* Removes one file. Returns 1 to try again later, 0 if done, or -errno. */
static int settle_candidate(struct ofs_collect_run *run, struct ofs_collect_candidate *cand,
			    bool first)
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

/* Removes the files that nobody holds. Returns how many are left, or -errno. */
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
			/* Steps written meanwhile count. */
			r = ofs_collector_refresh_steps(run->c, NULL);
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
		const struct ofs_collect_candidate *cand = &run->candidates[i];
		struct ofs_facts facts;
		struct ofs_attr file;

		if (cand->done || ofs_collect_look(run, cand->ino, &file, &facts) < 0)
			continue;
		run->counts.open++;
		ofs_collect_tell(run, &file, "open", &facts, 0);
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

/* Adds the directories below `dir`, inner ones first, and then `dir`. */
static int add_dirs(struct ofs_collect_run *run, uint64_t dir)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list found = { 0 };
	int r = 0;

	ofs_u64_list_add(&found, dir);
	for (size_t i = 0; i < found.n && r == 0; i++) {
		OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list subdirs = { 0 };

		r = ofs_walk_subdirs(run->tree, found.at[i], &subdirs);
		r = r == -ENOENT ? 0 : r;
		for (size_t k = 0; k < subdirs.n; k++)
			ofs_u64_list_add(&found, subdirs.entries[k].key);
	}
	while (found.n)
		ofs_u64_list_add(&run->dirs, found.at[--found.n]);
	return r;
}

/*
 * Adds the directory of an ended task, or those in the tree of an ended agent. The agent's own is
 * removed in another way (ofs_tree_rmdir()).
 */
static int add_ended(struct ofs_collect_run *run, uint64_t dir)
{
	const struct ofs_root *root = ofs_root_at(run->tree, dir);
	int r = root ? 0 : add_dirs(run, dir);

	for (int i = OFS_TOP_CACHE; root && i <= OFS_TOP_TASKS && r == 0; i++) {
		OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list subdirs = { 0 };

		r = ofs_walk_subdirs(run->tree, root->tops[i], &subdirs);
		for (size_t k = 0; k < subdirs.n && r == 0; k++)
			r = add_dirs(run, subdirs.entries[k].key);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

/* False if the directory was moved to where it stays. Checking takes time with its depth. */
static bool may_go(struct ofs_collect_run *run, const struct ofs_attr *dir)
{
	struct ofs_lifetime_place place;

	if (ofs_store_moves(run->tree->store) == run->moves)
		return true;
	return ofs_lifetime_place_in(run->tree, dir->ino, &place) == 0 && place.working &&
	       (!place.task || place.ended.age);
}

/* Removes the empty directories. Returns how many of them are held. */
static int rmdir_round(struct ofs_collect_run *run)
{
	struct ofs_attr dir;
	int busy = 0, r;

	for (size_t i = 0; i < run->dirs.n && ofs_collect_check_stop(run) == 0; i++) {
		uint64_t ino = run->dirs.at[i];

		if (!ino || ofs_store_getattr(run->tree->store, ino, &dir) < 0)
			continue;
		r = may_go(run, &dir) ? ofs_store_rmdir_unheld(run->tree->store, ino) : -ENOENT;
		if (r == -EBUSY)
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
			r = add_ended(run, run->tasks.slots[i].key);
	busy = run->dirs.n && r == 0 ? rmdir_round(run) : 0;
	for (int i = 0; i < ROUNDS && busy > 0 && ofs_collect_check_stop(run) == 0; i++) {
		ofs_collect_pause(ROUND);
		busy = rmdir_round(run);
	}
	return r;
}
