/* SPDX-License-Identifier: MIT */
#include "tree/expiry/collect_run.h"

#include <time.h>

#include "tree/core/ref.h"
#include "tree/expiry/promote.h"

void ofs_collect_pause(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / OFS_NS_PER_S, .tv_nsec = ns % OFS_NS_PER_S };

	nanosleep(&ts, NULL);
}

int ofs_collect_check_stop(const struct ofs_collect_run *run)
{
	return atomic_load(&run->c->stop) || atomic_load(&run->c->stop_for_good) ? -ECANCELED : 0;
}

void ofs_collect_release(struct ofs_collect_run *run, const struct ofs_attr *attr)
{
	if (!attr->held || !run->tree->events.release)
		return;
	ofs_tree_release(run->tree, attr);
	if (++run->releases % OFS_COLLECT_BATCH == 0)
		ofs_collect_pause(OFS_COLLECT_BREATH);
}

bool ofs_collect_is_asked_for(const struct ofs_collect_run *run,
			      const struct ofs_lifetime_place *place)
{
	return run->request && place->task && place->task == run->request->task;
}

int ofs_collect_facts(struct ofs_collect_run *run, const struct ofs_attr *file,
		      const struct ofs_lifetime_place *place, struct ofs_facts *ret)
{
	struct ofs_lifetime_place step;
	int r = ofs_collector_facts(run->c, file, place, ret);

	if (r < 0 || !run->request || !run->request->task)
		return r;
	if (ofs_collect_is_asked_for(run, place)) {
		ret->ended = true;
		ret->drop = run->request->drop_all;
		ret->wanted = ofs_promote_wants(run->tree, file->ino, true);
	}
	/* The steps of the task treated as ended keep nothing. */
	if (ret->step && ofs_lifetime_place_of(run->tree, ret->step, &step) == 0 &&
	    ofs_collect_is_asked_for(run, &step))
		ret->step = 0;
	return 0;
}

int ofs_collect_look(struct ofs_collect_run *run, uint64_t ino, struct ofs_attr *ret_file,
		     struct ofs_facts *ret)
{
	struct ofs_lifetime_place place;
	int r = ofs_store_getattr(run->tree->store, ino, ret_file);

	if (r == 0)
		r = ret_file->nlink ? ofs_lifetime_place_of(run->tree, ino, &place) : -ENOENT;
	return r < 0 ? r : ofs_collect_facts(run, ret_file, &place, ret);
}

bool ofs_collect_tell(struct ofs_collect_run *run, const struct ofs_attr *file, const char *action,
		      const struct ofs_facts *facts, int64_t at)
{
	return run->request && ofs_collector_tell(run->c, file, action, facts, at);
}
