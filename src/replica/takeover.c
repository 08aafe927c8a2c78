/* SPDX-License-Identifier: MIT */
#include "replica/takeover.h"

#include "base/clock.h"
#include "base/text.h"

static int deposed(const struct ofs_log_place *at, struct ofs_error *err)
{
	return ofs_error_set(err, ESTALE,
			     "another host has taken the store over, after epoch %u of its log",
			     at->epoch);
}

static int note_any(void *arg, const char *key, uint64_t size)
{
	return 1;
}

/*
 * Epochs are dense, so this comes before anything else in the new one. A FENCE is the last object
 * of its epoch. If anything follows it, or somebody else has the next epoch, it lies in a hole.
 * Such evidence is at least an hour older than the hole, so that no listing is too old to show it.
 */
int ofs_takeover_note_epoch(struct ofs_lineage *l, const struct ofs_log_place *at,
			    const struct ofs_link *fence, struct ofs_error *err)
{
	OFS_FREE char *prefix = ofs_format("wal/%08x/", at->epoch);
	OFS_FREE char *key = ofs_key_wal(at->epoch, at->seq + 1);
	int r = ofs_s3_list(ofs_bucket_s3(l->bucket), prefix, key, note_any, NULL, err);

	if (r == 0)
		r = ofs_lineage_note_epoch(l, at->epoch + 1, fence, err);
	return r > 0 || r == -EEXIST ? deposed(at, err) : r;
}

/*
 * The end of the log of an ended epoch is a hole: what followed it was removed as garbage. Nothing
 * is put there.
 */
static int check_end(struct ofs_lineage *l, const struct ofs_log_place *at, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_link_finish) struct ofs_link next = { 0 };
	int r = ofs_lineage_read_epoch(l, at->epoch + 1, err, &next);

	return r == -ENOENT ? 0 : r < 0 ? r : deposed(at, err);
}

static int check_manifest(struct ofs_lineage *l, const char *manifest, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_remote_object_finish) struct ofs_remote_object o = { 0 };

	return manifest ? ofs_lineage_read(l, manifest, err, &o) : 0;
}

int ofs_takeover_fence(struct ofs_lineage *l, struct ofs_replica_state *st,
		       const struct ofs_log_place *at, ofs_lsn lsn, const char *manifest,
		       struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;
	OFS_FREE char *key = ofs_key_wal(at->epoch, at->seq + 1);
	struct ofs_link fence = {
		.kind = OFS_LINK_FENCE, .from = at->lsn, .to = lsn, .time = ofs_clock_wall()
	};
	int r;

	memcpy(fence.writer, st->writers[0], sizeof(fence.writer));
	r = check_end(l, at, err);
	if (r == 0)
		r = ofs_link_encode(l, &fence, &bytes);
	if (r == 0)
		r = ofs_lineage_put(l, key, &bytes, err);
	if (r == 0)
		r = check_manifest(l, manifest, err);
	if (r == 0)
		r = ofs_takeover_note_epoch(l, at, &fence, err);
	if (r < 0)
		return r;
	st->at = ofs_log_place_after(at, &fence);
	st->checkpoint = 0;
	return 0;
}

/* Checks that the remote belongs to this store, and claims it if it is new. */
static int check_store(struct ofs_lineage *l, const struct ofs_replica_state *st,
		       struct ofs_error *err)
{
	struct ofs_lineage there = { .bucket = l->bucket };
	int r = ofs_lineage_read_store(&there, err);

	if (r == -ENOENT)
		return st->at.epoch ? ofs_error_set(err, EOPNOTSUPP,
						    "the remote has lost the store that it had")
				    : ofs_lineage_note_store(l, err);
	if (r == 0 && memcmp(there.uuid, l->uuid, sizeof(l->uuid)) != 0)
		return ofs_error_set(err, EOPNOTSUPP,
				     "the remote has another store: use another prefix");
	return r;
}

/* Begins the lineage. Returns 1 if an earlier mount of ours did, but ended before it knew. */
static int begin(struct ofs_lineage *l, struct ofs_replica_state *st, ofs_lsn lsn,
		 struct ofs_error *err)
{
	OFS_CLEANUP(ofs_link_finish) struct ofs_link there = { 0 };
	struct ofs_link root = {
		.kind = OFS_LINK_FENCE, .from = lsn, .to = lsn, .time = ofs_clock_wall()
	};
	int r;

	memcpy(root.writer, st->writers[0], sizeof(root.writer));
	r = ofs_lineage_note_epoch(l, 1, &root, err);
	if (r == 0)
		st->at = (struct ofs_log_place){ 1, 0, lsn };
	if (r != -EEXIST)
		return r;
	r = ofs_lineage_read_epoch(l, 1, err, &there);
	if (r < 0)
		return r;
	if (!ofs_replica_state_is_ours(st, &there))
		return ofs_error_set(err, EOPNOTSUPP,
				     "the remote has the log of another copy of this store: use "
				     "another prefix");
	st->at = (struct ofs_log_place){ 1, 0, there.to };
	return 1;
}

/* Follows an object of ours after st->at. Returns 1 if there was one, 0 at the end of the log. */
static int follow(struct ofs_lineage *l, struct ofs_replica_state *st, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_link_finish) struct ofs_link link = { 0 };
	int r = ofs_lineage_next(l, &st->at, err, &link);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!ofs_replica_state_is_ours(st, &link))
		return deposed(&st->at, err);
	r = link.kind == OFS_LINK_FENCE ? ofs_takeover_note_epoch(l, &st->at, &link, err) : 0;
	if (r < 0)
		return r;
	st->based = st->based || link.kind == OFS_LINK_BASE;
	st->checkpoint = link.kind == OFS_LINK_FENCE ? 0 : st->checkpoint;
	st->at = ofs_log_place_after(&st->at, &link);
	return 1;
}

/* Saves the name before the remote can have anything that bears it. */
static int take_name(int dirfd, struct ofs_replica_state *st, struct ofs_error *err)
{
	int r = ofs_replica_state_add_writer(dirfd, st);

	return r < 0 ? ofs_error_set(err, -r, "remote/state in the store cannot be written: %s",
				     strerror(-r))
		     : 0;
}

static int go_on(struct ofs_lineage *l, int dirfd, struct ofs_replica_state *st,
		 struct ofs_error *err)
{
	int r;

	do {
		while ((r = follow(l, st, err)) > 0)
			;
		if (r == 0)
			r = take_name(dirfd, st, err);
		if (r == 0)
			r = ofs_takeover_fence(l, st, &st->at, st->at.lsn, NULL, err);
	} while (r == -EEXIST);
	return r;
}

int ofs_takeover_continue(struct ofs_lineage *l, int dirfd, struct ofs_replica_state *st,
			  ofs_lsn local_end, struct ofs_error *err)
{
	int r = check_store(l, st, err);

	if (r == 0 && !st->at.epoch) {
		r = take_name(dirfd, st, err);
		if (r == 0)
			r = begin(l, st, local_end, err);
	} else if (r == 0) {
		r = 1;
	}
	if (r > 0)
		r = go_on(l, dirfd, st, err);
	if (r < 0)
		return r;
	/* Objects with earlier names are all before this place. */
	st->nwriters = 1;
	st->logged_to = 0;
	return ofs_replica_state_save(dirfd, st);
}
