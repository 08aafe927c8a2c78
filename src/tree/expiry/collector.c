/* SPDX-License-Identifier: MIT */
#include "tree/expiry/collector.h"

#include "base/text.h"
#include "base/thread.h"
#include "tree/core/changes.h"
#include "tree/core/place.h"
#include "tree/expiry/collector_state.h"
#include "tree/expiry/promote.h"
#include "tree/expiry/task_activity.h"

struct ofs_collector *ofs_collector_create(struct ofs_tree *t, uint64_t working_max,
					   uint64_t working_keep)
{
	struct ofs_collector *c = ofs_alloc(sizeof(*c));

	c->tree = t;
	c->headroom = (struct ofs_headroom){ .store = &t->store,
					     .max = working_max,
					     .keep = working_keep };
	c->totals.due = OFS_TTL_NEVER;
	atomic_store(&c->room_left, UINT64_MAX);
	c->steps = ofs_step_refs_create();
	pthread_mutex_init(&c->steps_lock, NULL);
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

static void item_finish(struct ofs_collect_item *item)
{
	free(item->path);
	free(item->why);
	free(item->to);
}

static void clear_items(struct ofs_collector *c)
{
	for (size_t i = 0; i < c->nitems; i++)
		item_finish(&c->items[i]);
	free(c->items);
	c->items = NULL;
	c->nitems = c->cap_items = 0;
}

void ofs_collector_clear(struct ofs_collector *c, const struct ofs_root *root)
{
	atomic_store(&c->stop, false);
	OFS_LOCKED(&c->lock);
	clear_items(c);
	c->counts = (struct ofs_collect_counts){ .total = root->above ? 0 : c->totals.files };
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

uint64_t ofs_collector_room(struct ofs_collector *c)
{
	return atomic_load(&c->room_left);
}

uint64_t ofs_collector_disk_lacks(struct ofs_collector *c)
{
	return ofs_headroom_disk_lacks(&c->headroom, NULL);
}

int64_t ofs_collector_due(struct ofs_collector *c)
{
	OFS_LOCKED(&c->lock);
	return c->totals.due;
}

/* ---- facts about a file */

int ofs_collector_refresh_steps(struct ofs_collector *c, const struct ofs_root *root)
{
	int r;

	OFS_LOCKED(&c->steps_lock);
	r = ofs_step_refs_refresh(c->tree, c->steps, root);
	atomic_store(&c->unread_step, ofs_step_refs_unread(c->steps, c->tree->root));
	return r;
}

int64_t ofs_collector_steps_end(struct ofs_collector *c)
{
	OFS_LOCKED(&c->steps_lock);
	return ofs_step_refs_end(c->steps);
}

static uint64_t find_step(struct ofs_collector *c, const struct ofs_root *root, uint64_t ino,
			  bool *ret_unread)
{
	OFS_LOCKED(&c->steps_lock);
	return ofs_step_refs_find(c->steps, root, ino, ret_unread);
}

/*
 * Returns since when the file is on probation; 0: it is not. In a tree that is not served nobody
 * uses the files, so every probation is over.
 */
static int64_t find_trial(struct ofs_collector *c, uint64_t ino, int64_t used,
			  enum ofs_shortage *ret)
{
	const struct ofs_trial *trial;
	int64_t since = 0;

	if (!c->tree->background)
		return 1;
	OFS_LOCKED(&c->lock);
	trial = ofs_map_get(&c->trials, ino);
	if (trial && trial->used == used) {
		since = trial->since;
		*ret = trial->shortage;
	}
	return since;
}

int ofs_collector_facts(struct ofs_collector *c, const struct ofs_attr *file,
			const struct ofs_lifetime_place *place, struct ofs_facts *ret)
{
	enum ofs_shortage shortage;
	int r = ofs_lifetime_facts(c->tree, file, place, ret);

	if (r < 0)
		return r;
	ret->step = find_step(c, place->root, file->ino, &ret->unread);
	ret->probation = find_trial(c, file->ino, ret->used, &shortage);
	ret->wanted = ofs_promote_wants(c->tree, file->ino, ret->ended);
	return 0;
}

/* Decides on a file as it is now. */
static int judge(struct ofs_collector *c, const struct ofs_attr *file,
		 const struct ofs_lifetime_place *place, struct ofs_facts *facts,
		 enum ofs_verdict *ret, int64_t *ret_at)
{
	int r = ofs_collector_refresh_steps(c, place->root);

	if (r == 0)
		r = ofs_collector_facts(c, file, place, facts);
	if (r < 0)
		return r;
	find_trial(c, file->ino, facts->used, &facts->shortage);
	/* The caller may be the only holder, so facts->open stays unset. */
	*ret = ofs_verdict_reach(facts, ret_at);
	return 0;
}

int ofs_collector_word(struct ofs_collector *c, const struct ofs_attr *file,
		       const struct ofs_lifetime_place *p, const char **ret)
{
	enum ofs_verdict v = OFS_KEEP_USED;
	struct ofs_facts facts;
	int r = judge(c, file, p, &facts, &v, NULL);

	*ret = ofs_lifetime_word(v);
	return r;
}

int ofs_collector_explain(struct ofs_collector *c, const struct ofs_attr *file,
			  const struct ofs_cred *cred, struct ofs_buf *out)
{
	enum ofs_verdict v = OFS_KEEP_USED;
	struct ofs_lifetime_place place;
	struct ofs_facts facts;
	struct ofs_attr step;
	int64_t at;
	int r = ofs_lifetime_place_of(c->tree, file->ino, &place);

	if (r == 0)
		r = judge(c, file, &place, &facts, &v, &at);
	if (r < 0)
		return r;
	if (facts.step && (ofs_store_getattr(c->tree->store, facts.step, &step) < 0 ||
			   ofs_place_check(c->tree, place.root, &step, cred) < 0))
		facts.step = 0;
	ofs_lifetime_explain(c->tree, &facts, v, at, out);
	return 0;
}

/* ---- reports */

/* Returns a path in the tree `in` as the requesting tree sees it, allocated. */
static char *path_for(struct ofs_collector *c, const struct ofs_root *in, const char *path)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf full = OFS_BUF_INIT;

	ofs_root_path(c->tree, in, c->asking, &full);
	ofs_buf_append_str(&full, path);
	return ofs_text_readable(ofs_buf_str(&full));
}

/* Completes the item of a file in the tree `in` and adds it; true. Takes the bytes of `why`. */
static bool add_item(struct ofs_collector *c, const struct ofs_root *in,
		     struct ofs_collect_item item, struct ofs_buf *why, const char *path,
		     const char *to)
{
	ofs_buf_append(why, "", 1);
	item.path = path_for(c, in, path);
	item.to = to ? path_for(c, in, to) : NULL;
	item.why = (char *)ofs_steal(why->data);
	OFS_LOCKED(&c->lock);
	*ofs_append(c->items, c->nitems, c->cap_items) = item;
	return true;
}

bool ofs_collector_tell(struct ofs_collector *c, const struct ofs_attr *file, const char *action,
			const struct ofs_facts *facts, int64_t at)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf why = OFS_BUF_INIT;
	struct ofs_collect_item item = { .ino = file->ino, .size = file->size, .action = action };
	struct ofs_facts known = *facts;
	struct ofs_root *in;

	if (c->nitems == OFS_COLLECT_ITEMS_MAX || ofs_place_of(c->tree, file->ino, &place) < 0)
		return false;
	if (facts->step &&
	    (ofs_root_of(c->tree, facts->step, &in) < 0 || !ofs_root_is_in(in, c->asking)))
		known.step = 0;
	if (facts->step)
		ofs_lifetime_explain(c->tree, &known, OFS_KEEP_REFERENCED, 0, &why);
	else
		ofs_lifetime_cause(facts, &why);
	item.at = at ? ofs_lifetime_wall_time(c->tree, at) : 0;
	return add_item(c, place.root, item, &why, (const char *)place.path.data, NULL);
}

void ofs_collector_tell_promoted(struct ofs_collector *c, const struct ofs_attr *file,
				 const struct ofs_facts *facts, const char *path, const char *to)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf why = OFS_BUF_INIT;

	if (c->nitems == OFS_COLLECT_ITEMS_MAX)
		return;
	ofs_lifetime_cause(facts, &why);
	add_item(c, ofs_root_of_attr(c->tree, file),
		 (struct ofs_collect_item){
			 .ino = file->ino, .size = file->size, .action = "promote" },
		 &why, path, to);
}

void ofs_collector_untell(struct ofs_collector *c, uint64_t ino)
{
	size_t i = c->nitems;

	OFS_LOCKED(&c->lock);
	while (i && c->items[i - 1].ino != ino)
		i--;
	if (!i)
		return;
	item_finish(&c->items[i - 1]);
	memmove(&c->items[i - 1], &c->items[i], (c->nitems - i) * sizeof(*c->items));
	c->nitems--;
}

json_t *ofs_collector_status(struct ofs_collector *c)
{
	struct ofs_collect_counts counts = { 0 };
	const struct ofs_collect_counts *n = &counts;
	size_t items = 0;

	if (c) {
		pthread_mutex_lock(&c->lock);
		counts = c->counts;
		items = c->nitems;
		pthread_mutex_unlock(&c->lock);
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "looked", (json_int_t)n->looked, "done", (json_int_t)n->looked, "total",
			 (json_int_t)OFS_MAX(n->total, n->looked), "removed",
			 (json_int_t)n->removed, "promoted", (json_int_t)n->promoted,
			 "removed_bytes", (json_int_t)n->removed_bytes, "freed_bytes",
			 (json_int_t)n->freed_bytes, "evictable", (json_int_t)n->evictable,
			 "evictable_bytes", (json_int_t)n->evictable_bytes, "probation",
			 (json_int_t)n->probation, "open", (json_int_t)n->open, "kept",
			 (json_int_t)n->kept, "items", (json_int_t)items);
}

json_t *ofs_collector_item(struct ofs_collector *c, size_t i)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf at = OFS_BUF_INIT;
	char ref[OFS_REF_SIZE];
	json_t *json = NULL;

	OFS_LOCKED(&c->lock);
	if (i < c->nitems) {
		const struct ofs_collect_item *item = &c->items[i];

		ofs_ref_format(c->tree, item->ino, ref);
		if (item->at && item->at != OFS_TTL_NEVER && ofs_text_time(item->at, &at) == 0)
			ofs_buf_append(&at, "", 1);
		json = json_pack("{s:s, s:s, s:I, s:s, s:s, s:s?, s:s?}", "path", item->path, "ref",
				 ref, "size", (json_int_t)item->size, "action", item->action, "why",
				 item->why, "at", at.len ? (const char *)at.data : NULL, "to",
				 item->to);
	}
	return json;
}

json_t *ofs_collector_stats(struct ofs_collector *c)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	const struct ofs_collect_totals *n = &c->totals;
	uint64_t step = atomic_load(&c->unread_step);
	uint64_t keep = ofs_headroom_keep(&c->headroom),
		 lacks = ofs_headroom_disk_lacks(&c->headroom, NULL);
	OFS_FREE char *unread = NULL;
	json_t *json;

	if (step && ofs_place_of(c->tree, step, &place) == 0)
		unread = ofs_text_readable((const char *)place.path.data);
	OFS_LOCKED(&c->lock);
	json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:s?}",
			 "working_files", (json_int_t)n->files, "working_bytes",
			 (json_int_t)n->bytes, "working_stored", (json_int_t)n->stored,
			 "working_max", (json_int_t)c->headroom.max, "working_keep",
			 (json_int_t)keep, "evictable_files", (json_int_t)n->evictable,
			 "evictable_stored", (json_int_t)n->evictable_stored, "disk_lacks",
			 (json_int_t)lacks, "expired", (json_int_t)n->expired, "task_ended",
			 (json_int_t)n->ended, "evicted", (json_int_t)n->surplus, "pressed",
			 (json_int_t)n->pressed, "freed_bytes", (json_int_t)n->freed, "probation",
			 (json_int_t)c->trials.count, "unread_step", unread);
	return json;
}
