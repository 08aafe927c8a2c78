/* SPDX-License-Identifier: MIT */
#include "tree/core/replicate.h"

#include "base/clock.h"
#include "base/text.h"
#include "replica/follower.h"
#include "replica/replicator.h"

#define LAST_WORDS (20 * OFS_NS_PER_S) /* for sending the rest when a mount ends */

#define FOLLOWER_MAX (UINT64_C(4) << 30) /* default for the bytes of packs on this disk */

struct ofs_replicate {
	struct ofs_remote_access remote;
	struct ofs_replicator *replicator; /* NULL in a follower */
	struct ofs_follower *follower;
	char *location; /* as people see it */
};

int ofs_replicate_prepare(struct ofs_tree *t, const char *store,
			  const struct ofs_tree_options *opts, struct ofs_error *err)
{
	struct ofs_replicate *rep;
	int r;

	if (!opts->remote || !*opts->remote || opts->read_only)
		return 0;
	rep = t->replicate = ofs_alloc(sizeof(*rep));
	r = ofs_remote_access_parse(opts->remote, opts->replicate_key, err, &rep->remote);
	if (r < 0)
		return r;
	rep->location = ofs_location_text(&rep->remote.location);
	return opts->follow ? ofs_follower_create(store, &rep->remote, err, &rep->follower) : 0;
}

int ofs_replicate_open(struct ofs_tree *t, const char *store, const struct ofs_tree_options *opts,
		       struct ofs_error *err)
{
	const struct ofs_replicator_settings set = { .store = store,
						     .every = opts->replicate_ms * OFS_NS_PER_MS,
						     .on_sync = opts->replicate_on_sync,
						     .local_max = opts->local_max };
	struct ofs_replicate *rep = t->replicate;

	if (!rep)
		return 0;
	if (!rep->follower)
		return ofs_replicator_create(t->store, &rep->remote, &set, err, &rep->replicator);
	ofs_follower_attach(rep->follower, t->store,
			    opts->local_max ? opts->local_max : FOLLOWER_MAX);
	return 0;
}

int ofs_replicate_start(struct ofs_tree *t)
{
	struct ofs_replicate *rep = t->replicate;

	if (!rep || !t->background)
		return 0;
	return rep->follower ? ofs_follower_start(rep->follower)
			     : ofs_replicator_start(rep->replicator);
}

void ofs_replicate_interrupt(struct ofs_tree *t)
{
	if (!t->replicate)
		return;
	if (t->replicate->follower)
		ofs_follower_interrupt(t->replicate->follower);
	else
		ofs_replicator_interrupt(t->replicate->replicator);
}

void ofs_replicate_stop(struct ofs_tree *t)
{
	if (!t->replicate)
		return;
	ofs_replicator_stop(t->replicate->replicator, LAST_WORDS);
	ofs_follower_stop(t->replicate->follower);
}

void ofs_replicate_close(struct ofs_tree *t)
{
	struct ofs_replicate *rep = t->replicate;

	if (!rep)
		return;
	ofs_replicator_destroy(rep->replicator);
	ofs_follower_destroy(rep->follower);
	ofs_remote_access_finish(&rep->remote);
	free(rep->location);
	free(rep);
}

static json_t *time_json(int64_t time)
{
	return time ? ofs_json_time(time) : json_null();
}

json_t *ofs_replicate_status(struct ofs_tree *t)
{
	struct ofs_replication_status s;

	if (!t->replicate)
		return NULL;
	if (t->replicate->follower)
		ofs_follower_status(t->replicate->follower, &s);
	else
		ofs_replicator_status(t->replicate->replicator, &s);
	return json_pack("{s:s, s:s, s:s?, s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "location", t->replicate->location, "state",
			 ofs_replication_phase_name(s.phase), "error", s.error[0] ? s.error : NULL,
			 "epoch", (json_int_t)s.epoch, "pending_bytes", (json_int_t)s.pending,
			 "complete_until", time_json(s.complete_at), "checkpoint",
			 time_json(s.checkpoint_at), "pushes", (json_int_t)s.pushes, "pushes_due",
			 (json_int_t)s.pushes_due, "writes", (json_int_t)s.writes, "reads",
			 (json_int_t)s.reads, "brought_bytes", (json_int_t)s.brought, "local_bytes",
			 (json_int_t)s.local, "local_max", (json_int_t)s.local_max);
}

int ofs_replicate_set(struct ofs_tree *t, const char *value, size_t size)
{
	if (!t->replicate)
		return -ENODATA;
	if (t->replicate->follower)
		return -EROFS;
	if (size != strlen("push") || memcmp(value, "push", size) != 0)
		return -EINVAL;
	ofs_replicator_push(t->replicate->replicator);
	return 0;
}

int ofs_replicate_get(struct ofs_tree *t, struct ofs_buf *out)
{
	json_t *json = ofs_replicate_status(t);

	if (!json)
		return -ENODATA;
	ofs_json_append(json, JSON_COMPACT, out);
	return 0;
}
