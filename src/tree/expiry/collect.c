/* SPDX-License-Identifier: MIT */
/* A run of garbage collection: finding the files that may go, and removing them. */
#include "tree/expiry/collector_state.h"

#include <time.h>

#include "base/log.h"
#include "base/thread.h"
#include "tree/core/audit.h"
#include "tree/core/changes.h"
#include "tree/core/entry_list.h"
#include "tree/core/label.h"
#include "tree/core/ref.h"
#include "tree/core/walk.h"
#include "tree/expiry/promote.h"
#include "tree/expiry/tier_scan.h"
#include "tree/expiry/tombstone_report.h"

#define MANY 4096 /* files, after which caches are trimmed */
#define EMPTY_FOR (24 * 3600 * OFS_NS_PER_S) /* before a directory goes */
#define BATCH 32 /* removals, or names released, between two pauses */
#define BREATH (4 * OFS_NS_PER_MS)
#define ROUND (20 * OFS_NS_PER_MS) /* between two tries, for the kernel to let go */
#define ROUNDS 50
#define TRIES 8 /* in a row, when files are moved meanwhile */

struct candidate {
	uint64_t ino;
	enum ofs_shortage shortage;
	bool done;
};

/* Of a file that may go for want of room. */
struct leaf {
	int64_t used;
	uint64_t ino;
	uint64_t stored : 62;
	uint64_t evictable : 1;
	uint64_t taken : 1;
};

struct run {
	struct ofs_collector *c;
	struct ofs_tree *tree;
	const struct ofs_collect_request *request; /* NULL: none */
	bool dry;
	int64_t next; /* when the next run is useful, age clock */
	int64_t due; /* when the next file can go */
	int64_t pressable; /* when the next one can for want of room */
	struct ofs_collect_totals found;
	struct ofs_collect_counts counts;
	struct candidate *candidates;
	size_t ncandidates, cap_candidates;
	struct leaf *leaves; /* those that are evictable; where there is a limit, all */
	size_t nleaves, cap_leaves;
	uint64_t going; /* bytes on disk of what goes, or is on probation for want of room */
	struct ofs_u64_list dirs; /* that may go, those within others first */
	uint64_t moves; /* ofs_store_moves() before they were looked for */
	struct ofs_map tasks; /* that have ended */
	struct ofs_map planned; /* paths that files would be promoted to */
	struct ofs_map touched; /* directories that files were removed from */
	unsigned int releases;
};

static void pause_for(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / OFS_NS_PER_S, .tv_nsec = ns % OFS_NS_PER_S };

	nanosleep(&ts, NULL);
}

/* -ECANCELED if the run was asked to stop, else 0. */
static int check_stop(const struct run *run)
{
	return atomic_load(&run->c->stop) || atomic_load(&run->c->stop_for_good) ? -ECANCELED : 0;
}

/* Asks the kernel to let go of an inode, so that its next use is seen. */
static void release(struct run *run, const struct ofs_attr *attr)
{
	if (!attr->held || !run->tree->events.release)
		return;
	ofs_tree_release(run->tree, attr);
	if (++run->releases % BATCH == 0)
		pause_for(BREATH);
}

/* What one agent asks for is no look at everything. */
static bool is_partial(const struct run *run)
{
	return run->request && run->request->root->above;
}

static bool is_asked_for(const struct run *run, const struct ofs_lifetime_place *place)
{
	return run->request && place->task && place->task == run->request->task;
}

/* All facts of a file as the run sees them, but open and shortage. */
static int find_facts(struct run *run, const struct ofs_attr *file,
		      const struct ofs_lifetime_place *place, struct ofs_facts *ret)
{
	struct ofs_lifetime_place step;
	int r = ofs_collector_facts(run->c, file, place, ret);

	if (r < 0 || !run->request || !run->request->task)
		return r;
	if (is_asked_for(run, place)) {
		ret->ended = true;
		ret->drop = run->request->drop_all;
		ret->wanted = ofs_promote_wants(run->tree, file->ino, true);
	}
	/* The steps of the task that would end keep nothing. */
	if (ret->step && ofs_lifetime_place_of(run->tree, ret->step, &step) == 0 &&
	    is_asked_for(run, &step))
		ret->step = 0;
	return 0;
}

/* The file as it is now, and its facts. -ENOENT: it is gone. */
static int look(struct run *run, uint64_t ino, struct ofs_attr *ret_file, struct ofs_facts *ret)
{
	struct ofs_lifetime_place place;
	int r = ofs_store_getattr(run->tree->store, ino, ret_file);

	if (r == 0)
		r = ret_file->nlink ? ofs_lifetime_place_of(run->tree, ino, &place) : -ENOENT;
	return r < 0 ? r : find_facts(run, ret_file, &place, ret);
}

/* Adds a file to the report, if one was asked for; false if it was not added. */
static bool tell(struct run *run, const struct ofs_attr *file, const char *action,
		 const struct ofs_facts *facts, int64_t at)
{
	return run->request && ofs_collector_tell(run->c, file, action, facts, at);
}

/* What stays leaves room in the report for what goes. */
static void tell_kept(struct run *run, const struct ofs_attr *file, const char *action,
		      const struct ofs_facts *facts, int64_t at)
{
	if (run->c->nitems < OFS_COLLECT_ITEMS_MAX / 2)
		tell(run, file, action, facts, at);
}

/* ---- finding what may go */

/* Puts a file on probation, or notes that it still is. */
static void try_file(struct run *run, uint64_t ino, const struct ofs_facts *facts)
{
	struct ofs_collector *c = run->c;
	struct ofs_trial *trial;

	OFS_LOCKED(&c->lock);
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
		trial->shortage = facts->shortage;
		trial->run = c->runs;
	}
}

static void add_candidate(struct run *run, uint64_t ino, enum ofs_shortage shortage)
{
	*ofs_append(run->candidates, run->ncandidates, run->cap_candidates) =
		(struct candidate){ .ino = ino, .shortage = shortage };
}

static void want_next(struct run *run, int64_t at)
{
	if (at && at < run->next)
		run->next = at;
}

/* A file can go then. */
static void note_due(struct run *run, int64_t at)
{
	want_next(run, at);
	if (at && at < run->due)
		run->due = at;
}

/* What becomes of the file without being used, if that is nothing for now. */
static void await(struct run *run, const struct ofs_facts *facts, int64_t at)
{
	int64_t pressable = ofs_verdict_pressable(facts);

	want_next(run, at);
	run->due = OFS_MIN(run->due, OFS_MAX(at, ofs_verdict_over(facts)));
	if (facts->now < pressable)
		run->pressable = OFS_MIN(run->pressable, OFS_MAX(at, pressable));
}

/* The kernel lets go of the file, so that later uses are seen, now or when that must be. */
static void release_in_time(struct run *run, const struct ofs_attr *file,
			    const struct ofs_facts *facts)
{
	int64_t hidden;

	if (!file->held)
		return;
	if (ofs_verdict_is_hidden(facts, &hidden))
		release(run, file);
	else
		want_next(run, hidden);
}

/* Carries out the verdict on a file as far as it goes without removing it; returns it. */
static enum ofs_verdict act(struct run *run, const struct ofs_attr *file,
			    const struct ofs_facts *facts)
{
	int64_t at;
	enum ofs_verdict v = ofs_verdict_reach(facts, &at);

	switch (v) {
	case OFS_KEEP_PROBATION:
		note_due(run, at);
		run->counts.probation++;
		tell_kept(run, file, "probation", facts, at);
		release(run, file);
		try_file(run, file->ino, facts);
		return v;
	case OFS_PROMOTE:
		add_candidate(run, file->ino, facts->shortage);
		return v;
	case OFS_REMOVE_EXPIRED:
	case OFS_REMOVE_ENDED:
	case OFS_REMOVE_SURPLUS:
	case OFS_REMOVE_PRESSED:
		add_candidate(run, file->ino, facts->shortage);
		try_file(run, file->ino, facts);
		return v;
	case OFS_KEEP_EVICTABLE:
		await(run, facts, at);
		run->counts.evictable++;
		run->counts.evictable_bytes += file->size;
		if (run->dry)
			tell_kept(run, file, "evictable", facts, ofs_verdict_over(facts));
		break;
	case OFS_KEEP_USED:
	case OFS_KEEP_LIVE:
		await(run, facts, at);
		run->counts.kept++;
		break;
	case OFS_KEEP_REFERENCED:
		want_next(run, ofs_collector_steps_end(run->c));
		run->counts.kept++;
		tell_kept(run, file, "referenced", facts, 0);
		break;
	default:
		run->counts.kept++;
	}
	release_in_time(run, file, facts);
	return v;
}

/* Adds the file to what there is. */
static void count_file(struct run *run, const struct ofs_attr *file, const struct ofs_facts *facts,
		       enum ofs_verdict v)
{
	bool evictable = v == OFS_KEEP_EVICTABLE || v == OFS_KEEP_PROBATION ||
			 v == OFS_REMOVE_EXPIRED;

	run->counts.looked++;
	run->found.files++;
	run->found.bytes += file->size;
	run->found.stored += file->occupied;
	if (evictable) {
		run->found.evictable++;
		run->found.evictable_stored += file->occupied;
	}
	if (ofs_verdict_is_removal(v) || v == OFS_PROMOTE) {
		run->going += file->occupied;
		return;
	}
	evictable = evictable && facts->now >= ofs_verdict_pressable(facts);
	if (run->c->headroom.max || evictable)
		*ofs_append(run->leaves, run->nleaves, run->cap_leaves) =
			(struct leaf){ .used = facts->used,
				       .ino = file->ino,
				       .stored = file->occupied,
				       .evictable = evictable };
}

static int on_file(void *arg, const struct ofs_attr *file, const struct ofs_lifetime_place *place)
{
	struct run *run = arg;
	struct ofs_facts facts;
	int r = check_stop(run);

	if (r == 0)
		r = find_facts(run, file, place, &facts);
	if (r < 0)
		return r;
	if (place->ended.age)
		ofs_map_put(&run->tasks, place->task, run);
	count_file(run, file, &facts, act(run, file, &facts));
	if (run->request && run->counts.looked % 1024 == 0) {
		pthread_mutex_lock(&run->c->lock);
		run->c->counts.looked = run->counts.looked;
		pthread_mutex_unlock(&run->c->lock);
	}
	return 0;
}

static int on_empty(void *arg, const struct ofs_attr *dir, const struct ofs_lifetime_place *place)
{
	struct run *run = arg;
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

/* ---- want of room */

static int compare_leaves(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;

	if (x->used != y->used)
		return x->used < y->used ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* The look at the file counted it otherwise. */
static void uncount(struct run *run, const struct ofs_attr *file, const struct ofs_facts *facts)
{
	enum ofs_verdict v = ofs_verdict_reach(facts, NULL);

	if (v == OFS_KEEP_PROBATION) {
		run->counts.probation--;
	} else if (v == OFS_KEEP_EVICTABLE) {
		run->counts.evictable--;
		run->counts.evictable_bytes -= file->size;
	} else {
		run->counts.kept--;
	}
}

/* Puts the file on probation, or among those that go, if it may go. */
static int take_leaf(struct run *run, struct leaf *leaf, enum ofs_shortage shortage)
{
	struct ofs_facts facts, pressed;
	struct ofs_attr file;
	enum ofs_verdict v;
	int r = look(run, leaf->ino, &file, &facts);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	pressed = facts;
	pressed.shortage = shortage;
	v = ofs_verdict_reach(&pressed, NULL);
	if ((v != OFS_KEEP_PROBATION && !ofs_verdict_is_removal(v)) ||
	    ofs_verdict_is_removal(ofs_verdict_reach(&facts, NULL)))
		return 0;
	leaf->taken = true;
	run->going += leaf->stored;
	uncount(run, &file, &facts);
	act(run, &file, &pressed);
	return 0;
}

/* Takes the files that were used longest ago until `want` bytes are going. */
static int take_leaves(struct run *run, enum ofs_shortage shortage, uint64_t want)
{
	int r = 0;

	for (size_t i = 0; i < run->nleaves && run->going < want && r == 0; i++) {
		struct leaf *leaf = &run->leaves[i];

		r = check_stop(run);
		if (r == 0 && !leaf->taken && (leaf->evictable || shortage == OFS_SHORTAGE_MAX))
			r = take_leaf(run, leaf, shortage);
	}
	/* It is looked at again, as what goes may free less than it occupies. */
	if (run->going && want)
		want_next(run, ofs_store_age(run->tree->store) + OFS_PROBATION_SURPLUS);
	if (run->going < want && shortage != OFS_SHORTAGE_MAX)
		note_due(run, run->pressable);
	return r;
}

/* What is evictable goes first. */
static int make_room(struct run *run)
{
	uint64_t wants[OFS_SHORTAGES];
	bool pressed = false;
	int r = 0;

	ofs_headroom_wants(&run->c->headroom, run->found.stored, wants);
	if (wants[OFS_SHORTAGE_KEEP] || wants[OFS_SHORTAGE_DISK] || wants[OFS_SHORTAGE_MAX])
		qsort(run->leaves, run->nleaves, sizeof(*run->leaves), compare_leaves);
	for (int i = OFS_SHORTAGE_KEEP; i < OFS_SHORTAGES && r == 0; i++) {
		if (!wants[i])
			continue;
		r = take_leaves(run, (enum ofs_shortage)i, wants[i]);
		pressed = pressed || run->going;
	}
	atomic_store(&run->c->pressed, pressed);
	return r;
}

/* ---- removing it */

struct check {
	struct run *run;
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
		r = ofs_lifetime_facts(check->run->tree, check->file, &place, &f);
	if (r < 0)
		return r;
	f.ended = f.ended || is_asked_for(check->run, &place);
	f.drop = check->facts->drop;
	f.wanted = check->facts->wanted;
	f.step = check->facts->step;
	f.shortage = check->facts->shortage;
	f.probation = check->facts->probation;
	check->stays = check->stays || !ofs_verdict_is_removal(ofs_verdict_reach(&f, NULL));
	ofs_map_put(&check->run->touched, dir, check->run);
	return 0;
}

/* A file with several names stays (-EXDEV) if one of them keeps it. */
static int check_names(struct run *run, const struct ofs_attr *file, const struct ofs_facts *facts)
{
	struct check check = { .run = run, .file = file, .facts = facts };
	int r = file->nlink > 1 ? ofs_store_names(run->tree->store, file->ino, check_name, &check)
				: 0;

	return r < 0 ? r : check.stays ? -EXDEV : 0;
}

static void note_removed(struct run *run, const struct ofs_attr *file, enum ofs_verdict v)
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
		run->found.evictable--;
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

static int expire(struct run *run, const struct ofs_attr *file, const struct ofs_facts *facts,
		  enum ofs_verdict v, uint64_t moves)
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
 * Moves a file to persistent/. -EAGAIN: something was moved meanwhile, or it was used. What cannot
 * be promoted stays (-EXDEV).
 */
static int promote(struct run *run, const struct ofs_attr *file, const struct ofs_facts *facts,
		   uint64_t moves)
{
	const struct ofs_expire_guard guard = { .ctime = file->ctime, .moves = moves };
	OFS_CLEANUP(ofs_place_finish) struct ofs_place was = { 0 };
	OFS_CLEANUP(ofs_place_finish) struct ofs_place is = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf to = OFS_BUF_INIT;
	int r = ofs_place_of(run->tree, file->ino, &was);

	if (r == 0)
		r = run->dry ? ofs_promote_where(run->tree, file, &run->planned, &to)
			     : ofs_promote_file(run->tree, file, facts->used, &guard);
	if (r == 0 && !run->dry && ofs_place_of(run->tree, file->ino, &is) == 0)
		ofs_buf_append_str(&to, (const char *)is.path.data);
	if (r == -EAGAIN || r == -ENOENT)
		return r;
	if (r < 0) {
		ofs_log(LOG_WARNING, "cannot promote '%s', which stays: %s",
			(const char *)was.path.data, strerror(-r));
		return -EXDEV;
	}
	run->counts.promoted++;
	if (!run->dry) {
		run->found.files--;
		run->found.bytes -= file->size;
		run->found.stored -= file->occupied;
	}
	if (run->request)
		ofs_collector_tell_promoted(run->c, file, facts, (const char *)was.path.data,
					    ofs_buf_str(&to));
	return 0;
}

/*
 * -EBUSY: the file is held; -EAGAIN: something was moved meanwhile; -EXDEV: it stays after all.
 */
static int try_candidate(struct run *run, const struct candidate *cand)
{
	uint64_t moves = ofs_store_moves(run->tree->store);
	struct ofs_facts facts;
	struct ofs_attr file;
	enum ofs_verdict v;
	bool told;
	int r = look(run, cand->ino, &file, &facts);

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
	/* Reported first, while the file still has a path. */
	told = tell(run, &file, "remove", &facts, 0);
	r = run->dry ? 0 : expire(run, &file, &facts, v, moves);
	if (r == 0)
		note_removed(run, &file, v);
	else if (told)
		ofs_collector_untell(run->c);
	return r;
}

static int remove_candidate(struct run *run, const struct candidate *cand)
{
	int r = -EAGAIN;

	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = try_candidate(run, cand);
	return r;
}

/* Tells the kernel which directories have lost entries. */
static void tell_touched(struct run *run)
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

/* Removes one file. 1: try again later; 0: done; or -errno. */
static int settle_candidate(struct run *run, struct candidate *cand, bool first)
{
	struct ofs_attr file;
	int r = remove_candidate(run, cand);

	cand->done = r != -EBUSY && r != -EAGAIN;
	if (r == -EBUSY && first && ofs_store_getattr(run->tree->store, cand->ino, &file) == 0)
		release(run, &file);
	if (!cand->done)
		return 1;
	return r == -ENOENT || r == -EXDEV ? 0 : r;
}

/* Removes the files that nobody holds; returns how many are left. */
static int remove_round(struct run *run, bool first)
{
	int left = 0, r = 0;
	size_t n = 0;

	for (size_t i = 0; i < run->ncandidates && r >= 0; i++) {
		if (run->candidates[i].done)
			continue;
		r = check_stop(run);
		if (r == 0 && n++ % BATCH == 0) {
			tell_touched(run);
			pause_for(BREATH);
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

static void tell_open(struct run *run)
{
	for (size_t i = 0; i < run->ncandidates; i++) {
		const struct candidate *cand = &run->candidates[i];
		struct ofs_facts facts;
		struct ofs_attr file;

		if (cand->done || look(run, cand->ino, &file, &facts) < 0)
			continue;
		run->counts.open++;
		tell(run, &file, "open", &facts, 0);
	}
}

static int remove_files(struct run *run)
{
	int busy = run->ncandidates ? remove_round(run, true) : 0;

	for (int i = 0; i < ROUNDS && busy > 0; i++) {
		pause_for(ROUND);
		busy = remove_round(run, false);
	}
	if (busy > 0)
		tell_open(run);
	return OFS_MIN(busy, 0);
}

/* Adds the directories below `dir`, those within others first, and then `dir`. */
static int add_dirs(struct run *run, uint64_t dir)
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

/* The directory of a task, or of an agent, which goes otherwise (ofs_tree_rmdir()). */
static int add_ended(struct run *run, uint64_t dir)
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

/* It may have been moved to a place where it stays. To ask takes time with its depth. */
static bool may_go(struct run *run, const struct ofs_attr *dir)
{
	struct ofs_lifetime_place place;

	if (ofs_store_moves(run->tree->store) == run->moves)
		return true;
	return ofs_lifetime_place_in(run->tree, dir->ino, &place) == 0 && place.working &&
	       (!place.task || place.ended.age);
}

/* Removes the directories that are empty; returns how many somebody holds. */
static int rmdir_round(struct run *run, bool first)
{
	struct ofs_attr dir;
	int busy = 0, r;

	for (size_t i = 0; i < run->dirs.n && check_stop(run) == 0; i++) {
		uint64_t ino = run->dirs.at[i];

		if (!ino || ofs_store_getattr(run->tree->store, ino, &dir) < 0)
			continue;
		r = may_go(run, &dir) ? ofs_store_rmdir_unheld(run->tree->store, ino) : -ENOENT;
		if (r == -EBUSY && first)
			release(run, &dir);
		if (r == 0)
			ofs_map_put(&run->touched, dir.parent, run);
		if (r != -EBUSY && r != -ENOTEMPTY)
			run->dirs.at[i] = 0;
		busy += r == -EBUSY;
	}
	tell_touched(run);
	return busy;
}

static int remove_dirs(struct run *run)
{
	int busy, r = 0;

	for (size_t i = 0; run->tasks.slots && i <= run->tasks.mask && r == 0; i++)
		if (run->tasks.slots[i].value)
			r = add_ended(run, run->tasks.slots[i].key);
	busy = run->dirs.n && r == 0 ? rmdir_round(run, true) : 0;
	for (int i = 0; i < ROUNDS && busy > 0 && check_stop(run) == 0; i++) {
		pause_for(ROUND);
		busy = rmdir_round(run, true);
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

	OFS_LOCKED(&c->lock);
	while ((trial = ofs_map_next(&c->trials, &pos))) {
		if (trial->run == c->runs)
			ofs_map_put(&kept, trial->ino, trial);
		else
			free(trial);
	}
	ofs_map_finish(&c->trials);
	c->trials = kept;
}

/* A file may have grown between being counted and being removed. */
static uint64_t less(uint64_t all, uint64_t removed)
{
	return all - OFS_MIN(all, removed);
}

static void publish(struct run *run, bool whole)
{
	struct ofs_collector *c = run->c;
	struct ofs_collect_totals *all = &c->totals;

	OFS_LOCKED(&c->lock);
	if (run->request)
		c->counts = run->counts;
	if (!is_partial(run))
		c->counts.total = OFS_MAX(c->counts.total, run->found.files);
	all->expired += run->found.expired;
	all->ended += run->found.ended;
	all->surplus += run->found.surplus;
	all->pressed += run->found.pressed;
	all->freed += run->found.freed;
	if (whole && !is_partial(run)) {
		all->due = run->due;
		all->files = less(run->found.files, run->dry ? 0 : run->counts.removed);
		all->bytes = less(run->found.bytes, run->dry ? 0 : run->counts.removed_bytes);
		all->stored = less(run->found.stored, run->dry ? 0 : run->counts.freed_bytes);
		all->evictable = run->found.evictable;
		all->evictable_stored = run->found.evictable_stored;
		atomic_store(&c->room_left, ofs_headroom_left(&c->headroom, all->stored));
	}
}

static void run_finish(struct run *run)
{
	free(run->candidates);
	free(run->leaves);
	ofs_u64_list_finish(&run->dirs);
	ofs_map_finish(&run->tasks);
	ofs_map_finish(&run->planned);
	ofs_map_finish(&run->touched);
}

int ofs_collector_run(struct ofs_collector *c, const struct ofs_collect_request *request,
		      int64_t *ret_next)
{
	OFS_CLEANUP(run_finish)
	struct run run = { .c = c,
			   .tree = c->tree,
			   .request = request,
			   .dry = request && request->dry,
			   .moves = ofs_store_moves(c->tree->store),
			   .next = OFS_TTL_NEVER,
			   .due = OFS_TTL_NEVER,
			   .pressable = OFS_TTL_NEVER };
	const struct ofs_tier_scan scan = { .file = on_file, .empty = on_empty, .arg = &run };
	int r;

	c->runs++;
	c->asking = request ? request->root : c->tree->root;
	r = ofs_collector_refresh_steps(c);
	if (r == 0)
		r = ofs_tier_scan_run(c->tree, request ? request->root : c->tree->root, &scan);
	if (r == 0 && !is_partial(&run))
		r = make_room(&run);
	if (r == 0)
		r = remove_files(&run);
	if (r == 0 && !run.dry)
		r = remove_dirs(&run);
	if (r == 0 && !run.dry && !is_partial(&run))
		end_trials(c);
	if (run.found.freed)
		ofs_headroom_note(&c->headroom, run.found.freed);
	publish(&run, r == 0);
	if (run.counts.looked > MANY)
		ofs_store_relax(c->tree->store);
	if (run.counts.open)
		want_next(&run, ofs_store_age(c->tree->store));
	*ret_next = run.next;
	atomic_store(&c->stop, false);
	return r;
}
