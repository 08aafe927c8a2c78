/* SPDX-License-Identifier: MIT */
#include "tree/expiry/task_activity.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/u64_list.h"
#include "tree/core/entry_list.h"
#include "tree/core/walk.h"
#include "tree/expiry/verdict.h"

#define ANSWERS_MAX 4096
#define MANY 4096 /* files after which caches are trimmed */
#define KNOWN_CONTROLLED (20 * OFS_NS_PER_MS)

struct answer {
	int64_t end;
	int64_t asked; /* monotonic clock */
};

struct ofs_task_activity {
	pthread_mutex_t lock; /* guards the rest; only the store's clock is called under it */
	struct ofs_map answers; /* directory -> struct answer */
};

struct ofs_task_activity *ofs_task_activity_create(void)
{
	struct ofs_task_activity *a = ofs_alloc(sizeof(*a));

	pthread_mutex_init(&a->lock, NULL);
	return a;
}

static void forget_all(struct ofs_task_activity *a)
{
	struct answer *answer;
	size_t pos = 0;

	while ((answer = ofs_map_next(&a->answers, &pos)))
		free(answer);
	ofs_map_finish(&a->answers);
	a->answers = (struct ofs_map)OFS_MAP_INIT;
}

void ofs_task_activity_destroy(struct ofs_task_activity *a)
{
	forget_all(a);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

int64_t ofs_task_activity_known(void)
{
	return ofs_clock_is_controlled() ? KNOWN_CONTROLLED : OFS_TASK_IDLE_KNOWN;
}

static bool recall(struct ofs_tree *t, uint64_t dir, int64_t *ret)
{
	struct ofs_task_activity *a = t->task_activity;
	const struct answer *answer;

	OFS_LOCKED(&a->lock);
	answer = ofs_map_get(&a->answers, dir);
	if (!answer || (answer->end <= ofs_store_age(t->store) &&
			ofs_clock_monotonic() - answer->asked >= ofs_task_activity_known()))
		return false;
	*ret = answer->end;
	return true;
}

static void remember(struct ofs_tree *t, uint64_t dir, int64_t end)
{
	struct ofs_task_activity *a = t->task_activity;
	struct answer *answer;

	OFS_LOCKED(&a->lock);
	answer = ofs_map_get(&a->answers, dir);
	if (!answer) {
		if (a->answers.count == ANSWERS_MAX)
			forget_all(a);
		answer = ofs_alloc(sizeof(*answer));
		ofs_map_put(&a->answers, dir, answer);
	}
	*answer = (struct answer){ end, ofs_clock_monotonic() };
}

static int add_file(void *arg, uint64_t ino, const char *name)
{
	(void)name;
	return ofs_u64_list_collect(arg, ino);
}

static int take_use(struct ofs_tree *t, uint64_t ino, int64_t *used)
{
	struct ofs_attr attr;
	int r = ofs_store_getattr(t->store, ino, &attr);

	if (r == 0)
		*used = OFS_MAX(*used, attr.used);
	return r == -ENOENT ? 0 : r;
}

static int list_dir(struct ofs_tree *t, uint64_t dir, struct ofs_u64_list *files,
		    struct ofs_u64_list *dirs)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list subdirs = { 0 };
	int r;

	files->n = 0;
	r = ofs_walk_files(t, dir, false, add_file, files);
	if (r == 0)
		r = ofs_walk_subdirs(t, dir, &subdirs);
	for (size_t i = 0; i < subdirs.n; i++)
		ofs_u64_list_add(dirs, subdirs.entries[i].key);
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* Finds the last use of anything in the directory, or any use at `enough` or later. */
static int find_use(struct ofs_tree *t, uint64_t dir, int64_t enough, int64_t *ret)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list dirs = { 0 }, files = { 0 };
	size_t looked = 0;
	int r = 0;

	*ret = 0;
	ofs_u64_list_add(&dirs, dir);
	while (dirs.n && *ret < enough && r == 0) {
		dir = dirs.at[--dirs.n];
		r = take_use(t, dir, ret);
		if (r == 0 && *ret < enough)
			r = list_dir(t, dir, &files, &dirs);
		for (size_t i = 0; i < files.n && *ret < enough && r == 0; i++, looked++)
			r = take_use(t, files.at[i], ret);
	}
	if (looked > MANY)
		ofs_store_relax(t->store);
	return r;
}

int ofs_task_activity_end(struct ofs_tree *t, uint64_t dir, int64_t *ret)
{
	int64_t used;
	int r;

	if (recall(t, dir, ret))
		return 0;
	/* A use that is merely recent enough gives an answer that holds for long. */
	r = find_use(t, dir, ofs_store_age(t->store) - t->task_idle / 2, &used);
	if (r < 0)
		return r;
	*ret = ofs_verdict_task_end(used, t->task_idle);
	remember(t, dir, *ret);
	return 0;
}

void ofs_task_activity_note(struct ofs_tree *t, uint64_t dir)
{
	ofs_store_use(t->store, dir);
	remember(t, dir, ofs_verdict_task_end(ofs_store_age(t->store), t->task_idle));
}
