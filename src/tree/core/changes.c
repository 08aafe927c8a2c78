/* SPDX-License-Identifier: MIT */
#include "tree/core/changes.h"

#include "base/clock.h"
#include "base/thread.h"
#include "base/u64_list.h"

struct ofs_changes {
	pthread_mutex_t lock; /* nothing else is called under it */
	struct ofs_u64_list shown; /* directories whose times the kernel has; guarded by `lock` */
	atomic_bool any_shown;
	_Atomic int64_t last; /* wall clock */
	_Atomic int64_t number; /* ofs_tree_touches() after the last change */
};

struct ofs_changes *ofs_changes_create(void)
{
	struct ofs_changes *c = ofs_alloc(sizeof(*c));

	pthread_mutex_init(&c->lock, NULL);
	atomic_store(&c->last, ofs_clock_wall());
	return c;
}

void ofs_changes_destroy(struct ofs_changes *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->lock);
	ofs_u64_list_finish(&c->shown);
	free(c);
}

/*
 * The kernel keeps a listing until the directory's modification time changes, and keeps that time
 * until it is told to drop it. Here a directory is noted before the time is read;
 * ofs_changes_touch() sets the time before it notifies the kernel of noted directories. So no
 * outdated time remains in the kernel.
 */
int64_t ofs_changes_show(struct ofs_changes *c, ofs_node dir)
{
	int64_t last;
	size_t i;

	OFS_LOCKED(&c->lock);
	for (i = 0; i < c->shown.n && c->shown.at[i] != dir; i++)
		;
	if (i == c->shown.n)
		ofs_u64_list_add(&c->shown, dir);
	atomic_store(&c->any_shown, true);
	last = atomic_load(&c->last);
	return last;
}

void ofs_changes_touch(struct ofs_changes *c, struct ofs_tree *t)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list shown = { 0 };
	int64_t now = ofs_clock_wall(), last = atomic_load(&c->last);
	int64_t number = atomic_fetch_add(&t->touches, 1) + 2, before = atomic_load(&c->number);

	while (before < number && !atomic_compare_exchange_weak(&c->number, &before, number))
		;
	/* No two changes have the same time. */
	while (!atomic_compare_exchange_weak(&c->last, &last, OFS_MAX(now, last + 1)))
		;
	if (!atomic_load(&c->any_shown))
		return;
	pthread_mutex_lock(&c->lock);
	shown = ofs_steal(c->shown);
	atomic_store(&c->any_shown, false);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < shown.n && t->events.attr_changed; i++)
		t->events.attr_changed(t->events.arg, shown.at[i]);
}

int64_t ofs_changes_last(const struct ofs_changes *c)
{
	return atomic_load(&c->last);
}

int64_t ofs_changes_number(const struct ofs_changes *c)
{
	return atomic_load(&c->number);
}
