/* SPDX-License-Identifier: MIT */
/* A run of garbage collection: finding the files to remove. */
#include "tree/expiry/collect_run.h"

#include "base/thread.h"
#include "tree/expiry/tier_scan.h"

#define MANY 4096 /* files after which caches are trimmed */
#define EMPTY_FOR (24 * 3600 * OFS_NS_PER_S) /* for this long before a directory is removed */

/* A run that one agent asked for does not look at everything. */
static bool is_partial(const struct ofs_collect_run *run)
{
	return run->request && run->request->root->above;
}

/* Files that stay take up at most half of the report, which leaves room for those removed. */
static void tell_kept(struct ofs_collect_run *run, const struct ofs_attr *file, const char *action,
		      const struct ofs_facts *facts, int64_t at)
{
	if (run->c->nitems < OFS_COLLECT_ITEMS_MAX / 2)
		ofs_collect_tell(run, file, action, facts, at);
}

/* ---- looking at files */

/* Puts a file on probation, or notes that it still is. */
static void try_file(struct ofs_collect_run *run, uint64_t ino, const struct ofs_facts *facts)
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

static void add_candidate(struct ofs_collect_run *run, uint64_t ino, enum ofs_shortage shortage)
{
	*ofs_append(run->candidates, run->ncandidates, run->cap_candidates) =
		(struct ofs_collect_candidate){ .ino = ino, .shortage = shortage };
}

static void want_next(struct ofs_collect_run *run, int64_t at)
{
	if (at && at < run->next)
		run->next = at;
}

/* Notes when a file can be removed. */
static void note_due(struct ofs_collect_run *run, int64_t at)
{
	want_next(run, at);
	if (at && at < run->due)
		run->due = at;
}

/* Notes when a file that stays for now is due next, if it is not used. */
static void await(struct ofs_collect_run *run, const struct ofs_facts *facts, int64_t at)
{
	int64_t pressable = ofs_verdict_pressable(facts);

	want_next(run, at);
	run->due = OFS_MIN(run->due, OFS_MAX(at, ofs_verdict_over(facts)));
	if (facts->now < pressable)
		run->pressable = OFS_MIN(run->pressable, OFS_MAX(at, pressable));
}

/* Asks the kernel to release the file if uses must be seen from now on; else notes when. */
static void release_in_time(struct ofs_collect_run *run, const struct ofs_attr *file,
			    const struct ofs_facts *facts)
{
	int64_t hidden;

	if (!file->held)
		return;
	if (ofs_verdict_is_hidden(facts, &hidden))
		ofs_collect_release(run, file);
	else
		want_next(run, hidden);
}

/* Carries out the verdict on a file, short of removing it; returns the verdict. */
static enum ofs_verdict act(struct ofs_collect_run *run, const struct ofs_attr *file,
			    const struct ofs_facts *facts)
{
	int64_t at;
	enum ofs_verdict v = ofs_verdict_reach(facts, &at);

	switch (v) {
	case OFS_KEEP_PROBATION:
		note_due(run, at);
		run->counts.probation++;
		tell_kept(run, file, "probation", facts, at);
		ofs_collect_release(run, file);
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

/* Adds the file to the totals. */
static void count_file(struct ofs_collect_run *run, const struct ofs_attr *file,
		       const struct ofs_facts *facts, enum ofs_verdict v, bool told)
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
			(struct ofs_collect_leaf){ .used = facts->used,
						   .ino = file->ino,
						   .stored = file->occupied,
						   .verdict = v,
						   .told = told,
						   .evictable = evictable };
}

static int on_file(void *arg, const struct ofs_attr *file, const struct ofs_lifetime_place *place)
{
	struct ofs_collect_run *run = arg;
	size_t told = run->c->nitems;
	struct ofs_facts facts;
	enum ofs_verdict v;
	int r = ofs_collect_check_stop(run);

	if (r == 0)
		r = ofs_collect_facts(run, file, place, &facts);
	if (r < 0)
		return r;
	if (place->ended.age)
		ofs_map_put(&run->tasks, place->task, run);
	v = act(run, file, &facts);
	count_file(run, file, &facts, v, run->c->nitems > told);
	if (run->request && run->counts.looked % 1024 == 0) {
		pthread_mutex_lock(&run->c->lock);
		run->c->counts.looked = run->counts.looked;
		pthread_mutex_unlock(&run->c->lock);
	}
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

/* ---- shortage of room */

static int compare_leaves(const void *a, const void *b)
{
	const struct ofs_collect_leaf *x = a, *y = b;

	if (x->used != y->used)
		return x->used < y->used ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* A file may have grown since it was counted. */
static uint64_t less(uint64_t all, uint64_t part)
{
	return all - OFS_MIN(all, part);
}

/* Takes back how act() has counted the file. */
static void uncount(struct ofs_collect_run *run, const struct ofs_collect_leaf *leaf, uint64_t size)
{
	if (leaf->verdict == OFS_KEEP_PROBATION) {
		run->counts.probation--;
	} else if (leaf->verdict == OFS_KEEP_EVICTABLE) {
		run->counts.evictable--;
		run->counts.evictable_bytes = less(run->counts.evictable_bytes, size);
	} else {
		run->counts.kept--;
	}
}

/* Puts the file on probation or among the candidates, if it may be removed. */
static int take_leaf(struct ofs_collect_run *run, struct ofs_collect_leaf *leaf,
		     enum ofs_shortage shortage)
{
	struct ofs_facts facts, pressed;
	struct ofs_attr file;
	enum ofs_verdict v;
	int r = ofs_collect_look(run, leaf->ino, &file, &facts);

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
	uncount(run, leaf, file.size);
	if (leaf->told)
		ofs_collector_untell(run->c, leaf->ino);
	act(run, &file, &pressed);
	return 0;
}

/* Takes the least recently used files until `want` bytes are going. */
static int take_leaves(struct ofs_collect_run *run, enum ofs_shortage shortage, uint64_t want)
{
	int r = 0;

	for (size_t i = 0; i < run->nleaves && run->going < want && r == 0; i++) {
		struct ofs_collect_leaf *leaf = &run->leaves[i];

		r = ofs_collect_check_stop(run);
		if (r == 0 && !leaf->taken && (leaf->evictable || shortage == OFS_SHORTAGE_MAX))
			r = take_leaf(run, leaf, shortage);
	}
	/* Look again, as removing files may free less than they occupy. */
	if (run->going && want)
		want_next(run, ofs_store_age(run->tree->store) + OFS_PROBATION_SURPLUS);
	if (run->going < want && shortage != OFS_SHORTAGE_MAX)
		note_due(run, run->pressable);
	return r;
}

/* Evictable files go first. */
static int make_room(struct ofs_collect_run *run)
{
	uint64_t wants[OFS_SHORTAGES];
	bool pressed = false;
	int r = 0;

	ofs_headroom_wants(&run->c->headroom, run->found.stored, wants);
	if (run->nleaves &&
	    (wants[OFS_SHORTAGE_KEEP] || wants[OFS_SHORTAGE_DISK] || wants[OFS_SHORTAGE_MAX]))
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

/* ---- the run */

/* Ends the probation of files that were not due in this run. */
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

static void publish(struct ofs_collect_run *run, bool whole)
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

static void run_finish(struct ofs_collect_run *run)
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
	struct ofs_collect_run run = { .c = c,
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
	r = ofs_collector_refresh_steps(c, NULL);
	if (r == 0)
		r = ofs_tier_scan_run(c->tree, request ? request->root : c->tree->root, &scan);
	if (r == 0 && !is_partial(&run))
		r = make_room(&run);
	if (r == 0)
		r = ofs_collect_remove_files(&run);
	if (r == 0 && !run.dry)
		r = ofs_collect_remove_dirs(&run);
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
