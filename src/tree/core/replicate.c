/* SPDX-License-Identifier: MIT */
#include "tree/core/replicate.h"

#include "base/clock.h"
#include "base/text.h"
#include "replica/replicator.h"

#define LAST_WORDS (20 * OFS_NS_PER_S) /* of a mount that ends, for what is not sent yet */

struct ofs_replicate {
	struct ofs_remote_access remote;
	struct ofs_replicator *replicator;
	char *location; /* as people see it */
};

int ofs_replicate_open(struct ofs_tree *t, const char *store, const struct ofs_tree_options *opts,
		       struct ofs_error *err)
{
	const struct ofs_replicator_settings set = { .store = store,
						     .every = opts->replicate_ms * OFS_NS_PER_MS,
						     .on_sync = opts->replicate_on_sync,
						     .local_max = opts->local_max };
	struct ofs_replicate *rep;
	int r;

	/* A follower sends nothing. */
	if (t->follow || !opts->remote || !*opts->remote)
		return 0;
	rep = t->replicate = ofs_alloc(sizeof(*rep));
	r = ofs_remote_access_parse(opts->remote, opts->remote_credentials, opts->replicate_key, err,
				    &rep->remote);
	if (r == 0)
		r = ofs_replicator_create(t->store, &rep->remote, &set, err, &rep->replicator);
	if (r == 0)
		rep->location = ofs_location_text(&rep->remote.location);
	return r;
}

int ofs_replicate_start(struct ofs_tree *t)
{
	return t->replicate && t->background ? ofs_replicator_start(t->replicate->replicator) : 0;
}

void ofs_replicate_stop(struct ofs_tree *t)
{
	if (t->replicate)
		ofs_replicator_stop(t->replicate->replicator, LAST_WORDS);
}

void ofs_replicate_close(struct ofs_tree *t)
{
	struct ofs_replicate *rep = t->replicate;

	if (!rep)
		return;
	ofs_replicator_destroy(rep->replicator);
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
	ofs_replicator_status(t->replicate->replicator, &s);
	return json_pack("{s:s, s:s, s:s?, s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "location", t->replicate->location, "state",
			 ofs_replication_phase_name(s.phase), "error", s.error[0] ? s.error : NULL,
			 "epoch", (json_int_t)s.epoch, "pending_bytes", (json_int_t)s.pending,
			 "complete_until", time_json(s.complete_at), "checkpoint",
			 time_json(s.checkpoint_at), "pushes", (json_int_t)s.pushes, "writes",
			 (json_int_t)s.writes, "reads", (json_int_t)s.reads, "brought_bytes",
			 (json_int_t)s.brought, "local_bytes", (json_int_t)s.local, "local_max",
			 (json_int_t)s.local_max);
}

int ofs_replicate_set(struct ofs_tree *t, const char *value, size_t size)
{
	if (!t->replicate)
		return -ENODATA;
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
