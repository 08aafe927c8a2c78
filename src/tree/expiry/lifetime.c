/* SPDX-License-Identifier: MIT */
#include "tree/expiry/lifetime.h"

#include "base/text.h"
#include "tree/core/label.h"
#include "tree/core/place.h"
#include "tree/expiry/task_activity.h"

int ofs_lifetime_place_init(struct ofs_tree *t, const struct ofs_root *root,
			    struct ofs_lifetime_place *ret)
{
	const struct ofs_root *at = root;
	int r = 0;

	*ret = (struct ofs_lifetime_place){
		.working = true,
		.root = root,
		.ttl = ofs_categories_ttl(t->categories, OFS_CATEGORY_NONE),
	};
	for (; at->above && r == 0 && !ret->ended.age; at = at->above) {
		r = ofs_task_ended(t, at->ino, &ret->ended);
		if (ret->ended.age)
			ret->task = root->ino;
	}
	return r == -ENOENT ? 0 : r;
}

int ofs_lifetime_place_enter(struct ofs_tree *t, const struct ofs_lifetime_place *above,
			     enum ofs_top top, unsigned int depth, const struct ofs_attr *dir,
			     const char *name, struct ofs_lifetime_place *ret)
{
	unsigned int category = top == OFS_TOP_TASKS ? 2 : 1;
	struct ofs_task_end ended;
	int r = 0;

	*ret = *above;
	ret->used = OFS_MAX(above->used, dir->used);
	if (top == OFS_TOP_TASKS && depth == 1) {
		ret->task = dir->ino;
		r = ofs_task_ended(t, dir->ino, &ended);
		if (ended.age)
			ret->ended = ended;
		if (r == 0 && !ret->ended.age)
			r = ofs_task_activity_end(t, dir->ino, &ret->live);
	} else if (above->task) {
		ret->used_in_task = OFS_MAX(above->used_in_task, dir->used);
	}
	if (depth == category)
		ret->ttl = ofs_categories_ttl(t->categories, name);
	return r;
}

struct level {
	char name[OFS_NAME_MAX + 1];
	struct ofs_attr dir;
};

/* Lists the directory and those above it in its tree, the nearest first. */
static int climb(struct ofs_tree *t, const struct ofs_root *root, uint64_t dir, struct level **ret,
		 size_t *ret_n)
{
	struct level *levels = NULL;
	size_t n = 0, cap = 0;
	int r = 0;

	while (dir != root->ino && dir != OFS_ROOT_INO && r == 0) {
		levels = ofs_grow(levels, &cap, n + 1, sizeof(*levels));
		r = ofs_store_getattr(t->store, dir, &levels[n].dir);
		if (r == 0)
			r = ofs_store_name_of(t->store, dir, &dir, levels[n].name);
		n++;
	}
	*ret = levels;
	*ret_n = n;
	return r;
}

int ofs_lifetime_place_in(struct ofs_tree *t, uint64_t dir, struct ofs_lifetime_place *ret)
{
	struct ofs_lifetime_place p, next;
	OFS_FREE struct level *levels = NULL;
	enum ofs_top top = OFS_TOPS;
	struct ofs_root *root;
	size_t n = 0;
	int r = ofs_root_of(t, dir, &root);

	if (r == 0)
		r = climb(t, root, dir, &levels, &n);
	if (r == 0)
		r = ofs_lifetime_place_init(t, root, &p);
	if (r < 0)
		return r;
	if (n)
		top = ofs_root_top(root, levels[n - 1].dir.ino);
	p.working = top != OFS_TOP_PERSISTENT && top != OFS_TOP_ARCHIVE;
	/* Other directories in the root belong to no category. */
	for (size_t depth = top == OFS_TOPS ? 0 : 1; depth < n && r == 0; depth++) {
		const struct level *l = &levels[n - 1 - depth];

		r = ofs_lifetime_place_enter(t, &p, top, top == OFS_TOPS ? 0 : (unsigned int)depth,
					     &l->dir, l->name, &next);
		p = next;
	}
	if (r == 0)
		*ret = p;
	return r;
}

int ofs_lifetime_place_of(struct ofs_tree *t, uint64_t ino, struct ofs_lifetime_place *ret)
{
	char name[OFS_NAME_MAX + 1];
	uint64_t dir;
	int r = ofs_store_name_of(t->store, ino, &dir, name);

	return r < 0 ? r : ofs_lifetime_place_in(t, dir, ret);
}

struct label {
	struct ofs_tree *tree;
	int64_t ttl;
	bool important;
};

static void read_label(void *arg, const struct ofs_label *l)
{
	struct label *label = arg;

	if (!l)
		return;
	label->important = l->important;
	if (l->ttl != OFS_TTL_UNSET)
		label->ttl = l->ttl;
	else if (l->category)
		label->ttl = ofs_categories_ttl(label->tree->categories, l->category);
}

/*
 * Returns whether the file's task has ended and the file was not used since. The last use may be
 * noted up to OFS_STORE_USE_AHEAD later than it was.
 */
static bool is_left(const struct ofs_attr *file, const struct ofs_lifetime_place *p)
{
	return p->ended.age && file->ctime <= p->ended.wall &&
	       file->used <= p->ended.age + OFS_STORE_USE_AHEAD && p->used_in_task <= p->ended.age;
}

int ofs_lifetime_facts(struct ofs_tree *t, const struct ofs_attr *file,
		       const struct ofs_lifetime_place *p, struct ofs_facts *ret)
{
	struct label label = { .tree = t, .ttl = p->ttl };
	int r = ofs_labels_with(t, file->ino, read_label, &label);

	if (r < 0)
		return r;
	*ret = (struct ofs_facts){
		.working = p->working,
		.important = label.important,
		.ended = is_left(file, p),
		.live = p->live,
		.task_idle = p->task && !p->ended.age ? t->task_idle : 0,
		.grace = t->grace,
		.drop = p->ended.drop_all,
		.ttl = label.ttl,
		.used = OFS_MAX(file->used, p->used),
		.now = ofs_store_age(t->store),
		.agent = p->root->above,
		.agent_ended = p->root->above && p->task == p->root->ino,
	};
	return 0;
}

int64_t ofs_lifetime_wall_time(struct ofs_tree *t, int64_t age)
{
	/* Rounded to seconds, so that the same question gets the same answer. */
	int64_t ahead = ofs_clock_wall() - ofs_store_age(t->store) + OFS_NS_PER_S / 2;
	int64_t wall;

	if (age == OFS_TTL_NEVER ||
	    __builtin_add_overflow(age, ofs_seconds(ahead) * OFS_NS_PER_S, &wall))
		return OFS_TTL_NEVER;
	return wall;
}

int64_t ofs_lifetime_used_time(struct ofs_tree *t, int64_t used)
{
	int64_t now = ofs_store_age(t->store);

	return ofs_lifetime_wall_time(t, OFS_MIN(used, now));
}

int ofs_lifetime_end(struct ofs_tree *t, const struct ofs_attr *file,
		     const struct ofs_lifetime_place *p, int64_t *ret)
{
	struct ofs_lifetime_place own;
	struct ofs_facts f;
	int r = p ? 0 : ofs_lifetime_place_of(t, file->ino, &own);

	p = p ? p : &own;
	if (r == 0)
		r = ofs_lifetime_facts(t, file, p, &f);
	if (r < 0)
		return r;
	*ret = OFS_TTL_NEVER;
	if (f.working && !ofs_verdict_promotes(&f) &&
	    (f.ended || (!f.important && f.ttl != OFS_TTL_NEVER)))
		*ret = ofs_lifetime_wall_time(t, f.ended ? p->ended.age
							 : ofs_verdict_due(f.used, f.ttl));
	return 0;
}

/* ---- in words */

static void append_time(struct ofs_tree *t, int64_t age, struct ofs_buf *out)
{
	if (ofs_text_time(ofs_lifetime_wall_time(t, age), out) < 0)
		ofs_buf_append_str(out, "a distant date");
}

/* Appends "unused for 41m, its lifetime is 30m". */
static void append_idle(const struct ofs_facts *f, struct ofs_buf *out)
{
	int64_t idle = OFS_MAX(f->now - f->used, (int64_t)0);

	ofs_buf_append_str(out, "unused for ");
	ofs_text_duration(idle, out);
	ofs_buf_append_str(out, ", its lifetime is ");
	ofs_ttl_format(f->ttl, out);
}

static const char *const shortages[] = {
	[OFS_SHORTAGE_KEEP] = "the working tier is larger than working_keep",
	[OFS_SHORTAGE_DISK] = "less than 5% of the disk is available",
	[OFS_SHORTAGE_MAX] = "the working tier is larger than working_max",
};

/* What all agents have together must not be revealed to any of them. */
static const char *shortage_of(const struct ofs_facts *f)
{
	return f->agent ? "room is short" : shortages[f->shortage];
}

void ofs_lifetime_cause(const struct ofs_facts *f, struct ofs_buf *out)
{
	if (f->ended)
		ofs_buf_printf(out, "its %s has ended", f->agent_ended ? "agent" : "task");
	if (ofs_verdict_promotes(f))
		ofs_buf_printf(out, "%s%s", f->ended ? ", and " : "",
			       f->wanted      ? "a rule promotes it"
			       : f->important ? "it is marked important"
					      : "it never expires");
	if (f->ended || f->wanted)
		return;
	if (f->shortage)
		ofs_buf_printf(out, "%s, and this was used least recently: ", shortage_of(f));
	append_idle(f, out);
}

static void append_step(struct ofs_tree *t, uint64_t step, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_FREE char *shown = NULL;

	if (!step || ofs_place_of(t, step, &place) < 0) {
		ofs_buf_append_str(out, "a step");
		return;
	}
	shown = ofs_text_readable((const char *)place.path.data);
	ofs_buf_append_str(out, shown);
}

/* Appends the reason in words that do not change from one moment to the next. */
static void append_end(struct ofs_tree *t, const struct ofs_facts *f, struct ofs_buf *out)
{
	if (f->ended || f->wanted) {
		ofs_lifetime_cause(f, out);
	} else if (f->shortage) {
		ofs_buf_append_str(out, shortage_of(f));
	} else {
		ofs_buf_append_str(out, "its lifetime of ");
		ofs_ttl_format(f->ttl, out);
		ofs_buf_append_str(out, " ended at ");
		append_time(t, ofs_verdict_due(f->used, f->ttl), out);
	}
}

static void append_future(struct ofs_tree *t, const struct ofs_facts *f, const char *before,
			  const char *after, struct ofs_buf *out)
{
	ofs_buf_append_str(out, before);
	append_time(t, ofs_verdict_due(f->used, f->ttl), out);
	ofs_buf_append_str(out, after);
	append_time(t, ofs_verdict_over(f), out);
	ofs_buf_append_str(out, " unless it is used");
}

void ofs_lifetime_explain(struct ofs_tree *t, const struct ofs_facts *f, enum ofs_verdict v,
			  int64_t at, struct ofs_buf *out)
{
	switch (v) {
	case OFS_KEEP_TIER:
		ofs_buf_append_str(out, "kept: it is not in the working tier");
		return;
	case OFS_KEEP_IMPORTANT:
		ofs_buf_append_str(out, "kept: it is marked important");
		return;
	case OFS_KEEP_FOREVER:
		ofs_buf_append_str(out, "kept: it never expires");
		return;
	case OFS_KEEP_USED:
		append_future(t, f, "in use until ",
			      ": then evictable, stays while there is room, goes after ", out);
		return;
	case OFS_KEEP_EVICTABLE:
		append_future(t, f, "evictable since ", ": stays while there is room, goes after ",
			      out);
		return;
	case OFS_KEEP_LIVE:
		ofs_buf_append_str(out, "kept: its task is live, until ");
		append_time(t, at, out);
		ofs_buf_append_str(out, " at least");
		return;
	case OFS_KEEP_REFERENCED:
		ofs_buf_append_str(out, "kept for ");
		append_step(t, f->step, out);
		ofs_buf_append_str(out, f->unread ? ", which is too large to be read and may refer "
						    "to it: "
						  : ", which refers to it: ");
		break;
	case OFS_KEEP_PROBATION:
		ofs_buf_append_str(out, f->probation ? "on probation, goes after "
						     : "about to go on probation: ");
		if (!f->probation)
			break;
		append_time(t, at, out);
		ofs_buf_append_str(out, " unless it is used: ");
		break;
	case OFS_KEEP_OPEN:
		ofs_buf_append_str(out, "kept while somebody has it open: ");
		break;
	case OFS_PROMOTE:
		ofs_buf_append_str(out, "goes to persistent/ with the next collection: ");
		break;
	default:
		ofs_buf_append_str(out, "goes with the next collection: ");
	}
	append_end(t, f, out);
}

const char *ofs_lifetime_word(enum ofs_verdict v)
{
	switch (v) {
	case OFS_KEEP_TIER:
	case OFS_KEEP_IMPORTANT:
	case OFS_KEEP_FOREVER:
		return "kept";
	case OFS_KEEP_USED:
		return "until";
	case OFS_KEEP_LIVE:
	case OFS_KEEP_REFERENCED:
		return "live";
	default:
		return "evictable";
	}
}
