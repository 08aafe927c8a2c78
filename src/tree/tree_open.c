/* SPDX-License-Identifier: MIT */
/* Opening and closing a tree. */

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "tree/core/audit.h"
#include "tree/core/category.h"
#include "tree/core/label.h"
#include "tree/core/place.h"
#include "tree/core/quota.h"
#include "tree/core/ref.h"
#include "tree/core/replicate.h"
#include "tree/core/tree_state.h"
#include "tree/expiry/gc.h"
#include "tree/expiry/promote.h"
#include "tree/expiry/task_activity.h"
#include "tree/followed.h"
#include "tree/search/indexer.h"
#include "tree/search/meaning.h"
#include "tree/virtual/nodes.h"
#include "tree/virtual/made.h"
#include "tree/virtual/view.h"

#define SEARCH_INDEX "search.db" /* in the store's directory */
#define EMBED_TIMEOUT (60 * OFS_NS_PER_S)

/* Virtual nodes are as old as the store. */
static int note_age(struct ofs_tree *t)
{
	struct ofs_attr root;
	int r = ofs_store_getattr(t->store, OFS_ROOT_INO, &root);

	if (r == 0)
		t->created = root.btime;
	return r;
}

static void on_attr_changed(void *arg, uint64_t ino)
{
	struct ofs_tree *t = arg;

	ofs_indexer_note_sealed(t->indexer, ino);
	ofs_promote_note_sealed(t, ino);
	if (t->events.attr_changed && ofs_store_blocks_vary(t->store, ino))
		t->events.attr_changed(t->events.arg, ino);
}

static void on_sealed(void *arg, uint64_t ino, bool again)
{
	struct ofs_tree *t = arg;

	ofs_audit_tell(t, again ? "rewrite" : "offload", ino, NULL);
}

static void on_closing(void *arg)
{
	ofs_audit_stop(((struct ofs_tree *)arg)->audit);
}

static void on_labelled(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, int64_t ttl)
{
	if (kind == OFS_LABEL_TTL)
		ofs_gc_note(t->gc, ttl);
	if (kind == OFS_LABEL_TITLE || kind == OFS_LABEL_TAGS)
		ofs_indexer_note(t->indexer, ino);
}

static void on_moved(struct ofs_tree *t, const struct ofs_move *m)
{
	ofs_indexer_note_rename(t->indexer, m->dir, m->name, m->newdir, m->newname, m->flags);
	ofs_view_moved(t, m);
}

/* Creates the missing directories of the tree, and starts its background threads. */
static int start(struct ofs_tree *t, const char *path, const struct ofs_tree_options *opts)
{
	OFS_FREE char *index = NULL;
	int r = ofs_roots_open(t);

	if (r == 0)
		r = note_age(t);
	if (r < 0)
		return r;
	t->audit = ofs_audit_create(t, path, opts->log_max, opts->read_only || opts->follow);
	index = ofs_format("%s/" SEARCH_INDEX, ofs_store_scratch(t->store, path));
	t->indexer = ofs_indexer_create(t, index);
	t->meaning = ofs_meaning_create(t, &(struct ofs_embed_settings){
						   .model = opts->embed_model,
						   .url = opts->embed_url,
						   .key = opts->embed_key,
						   .timeout = EMBED_TIMEOUT,
					   });
	if (t->background && !t->follow)
		r = ofs_audit_start(t->audit);
	if (r == 0 && t->background && !t->follow)
		r = ofs_store_start(t->store);
	if (r == 0 && !t->follow)
		r = ofs_replicate_start(t);
	if (r == 0 && t->background)
		r = ofs_indexer_start(t->indexer);
	if (r == 0 && t->background)
		r = ofs_meaning_start(t->meaning);
	if (r == 0 && t->background && !t->follow)
		r = ofs_gc_start(t->gc);
	/* The follower notifies everything started above, so it starts last. */
	return r == 0 && t->follow ? ofs_replicate_start(t) : r;
}

/* A search through a workspace must not find the outputs of earlier searches in the mount there. */
static bool hides_working(const struct ofs_tree_options *opts)
{
	const char *slash = opts->mountpoint ? strrchr(opts->mountpoint, '/') : NULL;

	if (opts->hide_working == OFS_HIDE_AUTO)
		return slash && strcmp(slash + 1, ".offload") == 0;
	return opts->hide_working == OFS_HIDE_ON;
}

static int open_tree(const char *path, const struct ofs_tree_options *opts, struct ofs_error *err,
		     struct ofs_tree **ret)
{
	struct ofs_tree *t;
	struct ofs_store_options store = {
		.create = opts->create,
		.read_only = opts->read_only,
		.follow = opts->follow,
		.blocks_data = opts->shared || opts->blocks == OFS_BLOCKS_DATA,
		.mountpoint = opts->mountpoint,
		.seal_delay_ms = opts->seal_delay_ms,
		.cache_bytes = opts->cache_bytes,
		.scrub_ms = opts->scrub_ms,
		.journal_max = opts->journal_max,
		.classify = ofs_place_classify,
		.attr_changed = on_attr_changed,
		.sealed = on_sealed,
		.followed = ofs_tree_followed,
		.closing = on_closing,
	};
	struct ofs_gc_options gc = {
		.interval = opts->gc_interval_ms * OFS_NS_PER_MS,
		.working_max = opts->working_max,
		.working_keep = opts->working_keep,
		.tombstones = ofs_ttl_of_seconds(opts->tombstones_s),
	};
	struct ofs_error must;
	int r;

	if (opts->promote_match && ofs_promote_check_match(opts->promote_match, &must) < 0)
		return ofs_error_set(err, EINVAL, "promote_match must be %s", must.text);
	t = store.events_arg = ofs_alloc(sizeof(*t));
	t->quota = ofs_quota_create(opts->agent_max, opts->agent_limits, opts->n_agent_limits);
	t->refs = ofs_refs_create();
	t->made = ofs_made_nodes_create();
	t->labelled = on_labelled;
	t->moved = on_moved;
	t->verify_job = ofs_verify_job_create(t);
	t->events = opts->events;
	t->uid = geteuid();
	t->gid = getegid();
	t->background = opts->background;
	t->follow = opts->follow;
	t->shared = opts->shared;
	t->opened = ofs_clock_monotonic();
	t->views = ofs_views_create();
	t->inventories = ofs_inventories_create();
	t->labels = ofs_labels_create();
	t->categories = ofs_categories_create(opts->lifetimes, opts->n_lifetimes);
	t->grace = opts->grace_s ? ofs_ttl_of_seconds(opts->grace_s) : 0;
	t->task_idle = ofs_ttl_of_seconds(OFS_MAX(opts->task_idle_s, UINT64_C(1)));
	t->task_activity = ofs_task_activity_create();
	t->gc = ofs_gc_create(t, &gc);
	t->promoter =
		ofs_promoter_create(opts->follow ? NULL : opts->promote_match, opts->promote_reads);
	t->recap = opts->recap;
	t->config = opts->config ? ofs_strdup(opts->config) : NULL;
	t->mountpoint = opts->mountpoint ? ofs_strdup(opts->mountpoint) : NULL;
	t->hide_working = hides_working(opts);
	t->slice_max_lines = opts->slice_max_lines;
	t->slice_max_bytes = opts->slice_max_bytes;
	t->search_ms = opts->search_ms;
	r = t->made ? ofs_replicate_prepare(t, path, opts, err)
		    : ofs_error_set(err, EIO, "cannot get random numbers");
	if (r == 0)
		r = ofs_store_open(path, &store, err, &t->store);
	if (r == 0)
		r = ofs_replicate_open(t, path, opts, err);
	if (r == 0) {
		t->ref_seed = ofs_store_ref_seed(t->store);
		r = start(t, path, opts);
		if (r == -EROFS && (opts->read_only || opts->follow))
			ofs_error_set(err, -r,
				      "the store '%s' is empty: it was never mounted, or its "
				      "journal was lost",
				      path);
		else if (r < 0)
			ofs_error_set(err, -r, "cannot use the store '%s': %s", path, strerror(-r));
	}
	if (r < 0) {
		ofs_tree_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

int ofs_tree_open(const char *path, const struct ofs_tree_options *opts, struct ofs_error *err,
		  struct ofs_tree **ret)
{
	struct ofs_tree_options known = OFS_TREE_OPTIONS_INIT;

	if (!opts->size)
		return ofs_error_set(
			err, EINVAL,
			"the options have no size: initialise them with OFS_TREE_OPTIONS_INIT");
	memcpy(&known, opts, OFS_MIN(opts->size, sizeof(known)));
	return open_tree(path, &known, err, ret);
}

void ofs_tree_interrupt(struct ofs_tree *t)
{
	ofs_replicate_interrupt(t);
}

int ofs_tree_close(struct ofs_tree *t)
{
	int r;

	if (!t)
		return 0;
	/* The threads that end below may be waiting for content of the remote. */
	ofs_replicate_interrupt(t);
	/* The follower notifies everything stopped below, so it stops first. */
	if (t->follow)
		ofs_replicate_stop(t);
	ofs_gc_destroy(t->gc);
	ofs_verify_job_destroy(t->verify_job);
	ofs_meaning_stop(t->meaning);
	ofs_indexer_stop(t->indexer);
	ofs_made_nodes_destroy(t->made);
	if (!t->follow)
		ofs_replicate_stop(t);
	r = ofs_store_close(t->store);
	ofs_replicate_close(t);
	ofs_audit_destroy(t->audit);
	ofs_indexer_destroy(t->indexer);
	ofs_meaning_destroy(t->meaning);
	ofs_views_destroy(t->views);
	ofs_inventories_destroy(t->inventories);
	ofs_labels_destroy(t->labels);
	ofs_task_activity_destroy(t->task_activity);
	ofs_promoter_destroy(t->promoter);
	ofs_categories_destroy(t->categories);
	ofs_refs_destroy(t->refs);
	ofs_roots_destroy(t->roots);
	ofs_quota_destroy(t->quota);
	free(t->mountpoint);
	free(t->config);
	free(t);
	return r;
}
