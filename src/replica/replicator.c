/* SPDX-License-Identifier: MIT */
#include "replica/replicator.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "io/file.h"
#include "replica/checkpoint_out.h"
#include "replica/fetcher.h"
#include "replica/takeover.h"

#define TIMEOUT (60 * OFS_NS_PER_S) /* limit of one request */
#define SYNC_TIMEOUT (30 * OFS_NS_PER_S) /* limit of an fsync that waits for the remote */
#define ROOM_TIMEOUT TIMEOUT /* limit of the sealer's wait while nothing is sent */
#define TOGETHER (OFS_NS_PER_S / 2) /* changes this soon after the first are sent with it */
#define IDLE_MAX (600 * OFS_NS_PER_S) /* between checks for garbage */
#define LAST_CHANCE (3 * OFS_NS_PER_S)
#define TEST_TICK (250 * OFS_NS_PER_MS)
#define RETRY_MIN (OFS_NS_PER_S / 2)
#define RETRY_MAX (30 * OFS_NS_PER_S)
#define LOG_OBJECT ((size_t)16 << 20) /* bytes of the log in an object */
#define LOG_HELD (UINT64_C(256) << 20) /* bytes of log kept while the remote cannot be reached */
#define CHECKPOINT_OBJECTS 60 /* objects of the log before a checkpoint is due */
#define CHECKPOINT_BYTES (UINT64_C(64) << 20)

#define DEPOSED "another host has taken the store over: 'offload salvage' finds what it lacks"

struct ofs_replicator {
	struct ofs_store *store;
	const struct ofs_remote_access *remote;
	int dirfd;
	int64_t every;
	bool on_sync;
	uint64_t local_max;
	struct ofs_fetcher *fetcher;
	atomic_bool cancel; /* cancels the thread's requests */

	pthread_t thread;
	bool runs;
	/* For the thread alone. */
	struct ofs_lineage lineage;
	struct ofs_replica_state state;
	struct ofs_checkpoint_out out;
	bool connected;
	unsigned int objects; /* objects of the log since the last checkpoint */
	uint64_t bytes; /* bytes of the log since the last checkpoint */
	struct ofs_buf unsettled; /* object of the log whose outcome is unknown, or empty */
	struct ofs_link unsettled_link;

	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t wake; /* for the thread */
	pthread_cond_t done; /* a round has ended */
	bool stop;
	bool ended; /* the thread has finished */
	bool urgent; /* somebody is waiting */
	bool crowded; /* packs take too much room on this disk */
	uint64_t pushes; /* requested */
	uint64_t rounds; /* rounds that ended, and the result of the last one */
	int outcome;
	int64_t ended_at; /* end of the last round; on the monotonic clock, like the next two */
	int64_t sent_at; /* end of the last round that sent something */
	int64_t changed_at; /* first change not yet sent; 0: none */
	int64_t retry; /* pause after a failed round */
	ofs_lsn reached; /* the remote has the log up to here */
	int failure; /* final error: -ESTALE or -EOPNOTSUPP; 0: none */
	struct ofs_replication_status status;
};

/* Waits until the thread has made room, or cannot: see ofs_store_bound_packs(). */
static void make_room(void *arg)
{
	struct ofs_replicator *rp = arg;
	uint64_t rounds, sent;

	OFS_LOCKED(&rp->lock);
	if (!rp->runs || rp->status.phase != OFS_REPLICATION_CURRENT)
		return;
	rounds = rp->rounds;
	rp->crowded = rp->urgent = true;
	pthread_cond_signal(&rp->wake);
	/* The current round may have started before. */
	while (rp->rounds < rounds + 2 && rp->crowded && !rp->stop && !rp->failure &&
	       rp->outcome == 0) {
		sent = rp->out.sent;
		if (!ofs_cond_wait_until(&rp->done, &rp->lock,
					 ofs_clock_monotonic() + ROOM_TIMEOUT) &&
		    sent == rp->out.sent)
			return;
	}
}

/* ---- the log */

static void log_reached(struct ofs_replicator *rp, const struct ofs_log_place *at)
{
	rp->state.at = *at;
	ofs_store_hold_log(rp->store, at->lsn, LOG_HELD);
	OFS_LOCKED(&rp->lock);
	rp->reached = rp->state.based ? at->lsn : 0;
	pthread_cond_broadcast(&rp->done);
}

/* Sends the object of the log whose outcome is unknown. */
static int settle_log(struct ofs_replicator *rp, struct ofs_error *err)
{
	OFS_FREE char *key = ofs_key_wal(rp->state.at.epoch, rp->state.at.seq + 1);
	struct ofs_log_place at = ofs_log_place_after(&rp->state.at, &rp->unsettled_link);
	int r = ofs_lineage_put(&rp->lineage, key, &rp->unsettled, err);

	if (r == -EEXIST)
		return ofs_error_set(err, ESTALE,
				     "another host has taken the store over: see %s in the remote",
				     key);
	if (r < 0)
		return r;
	rp->unsettled.len = 0;
	if (rp->unsettled_link.kind == OFS_LINK_DATA)
		ofs_checkpoint_out_note_log(&rp->out, &rp->state.at);
	rp->state.based = rp->state.based || rp->unsettled_link.kind == OFS_LINK_BASE;
	log_reached(rp, &at);
	ofs_garbage_note_link(&rp->out.garbage);
	return 0;
}

/* Sends an object of the log, `link`, to follow state.at. */
static int send_link(struct ofs_replicator *rp, struct ofs_link *link, struct ofs_error *err)
{
	int r;

	memcpy(link->writer, rp->state.writers[0], sizeof(link->writer));
	link->time = ofs_clock_wall();
	rp->unsettled.len = 0;
	r = ofs_link_encode(&rp->lineage, link, &rp->unsettled);
	if (r < 0) {
		rp->unsettled.len = 0;
		return r;
	}
	rp->unsettled_link = *link;
	rp->unsettled_link.log = (struct ofs_buf)OFS_BUF_INIT;
	return settle_log(rp, err);
}

/* Sends the log up to `lsn`. -ENODATA: part of it is gone. */
static int send_log(struct ofs_replicator *rp, ofs_lsn lsn, struct ofs_error *err)
{
	int r = rp->unsettled.len ? settle_log(rp, err) : 0;

	while (r == 0 && rp->state.at.lsn < lsn && !rp->cancel) {
		OFS_CLEANUP(ofs_link_finish)
		struct ofs_link link = {
			.kind = OFS_LINK_DATA,
			.from = rp->state.at.lsn,
			.checkpoint = rp->out.newest,
		};

		r = ofs_store_export_log(rp->store, link.from, lsn, LOG_OBJECT, &link.log, &link.to,
					 &link.segment);
		if (r == -ESTALE || r == -EUCLEAN)
			return ofs_error_set(err, ENODATA, "part of the log is gone");
		if (r < 0)
			return ofs_error_set(err, -r, "the log cannot be read: %s", strerror(-r));
		if (link.to == link.from)
			break;
		rp->objects++;
		rp->bytes += link.log.len;
		r = send_link(rp, &link, err);
	}
	return r;
}

/* See struct ofs_checkpoint_request. */
static int send_log_to(void *arg, ofs_lsn lsn, struct ofs_log_place *ret, struct ofs_error *err)
{
	struct ofs_replicator *rp = arg;
	int r = send_log(rp, lsn, err);

	*ret = rp->state.at;
	return r == 0 && ret->lsn < lsn ? ofs_error_set(err, EAGAIN, "the log was not sent") : r;
}

/* Returns the place that the BASE will have. */
static int skip_log_to(void *arg, ofs_lsn lsn, struct ofs_log_place *ret, struct ofs_error *err)
{
	struct ofs_replicator *rp = arg;

	*ret = (struct ofs_log_place){ rp->state.at.epoch, rp->state.at.seq + 1,
				       OFS_MAX(lsn, rp->state.at.lsn) };
	return 0;
}

/* ---- rounds */

static int send_checkpoint(struct ofs_replicator *rp,
			   int (*send)(void *arg, ofs_lsn lsn, struct ofs_log_place *ret,
				       struct ofs_error *err),
			   ofs_lsn *ret_lsn, struct ofs_error *err)
{
	struct ofs_checkpoint_request rq = { .send_log = send,
					     .arg = rp,
					     .writer = rp->state.writers[0] };
	int r = ofs_checkpoint_out_make(&rp->out, &rq, err);

	if (r < 0)
		return r;
	rp->objects = 0;
	rp->bytes = 0;
	rp->state.checkpoint = rp->out.newest;
	rp->state.durable = rp->out.durable;
	ofs_fetcher_set_durable(rp->fetcher, rp->out.durable);
	*ret_lsn = rq.lsn;
	pthread_mutex_lock(&rp->lock);
	rp->status.checkpoint_at = ofs_clock_wall();
	pthread_mutex_unlock(&rp->lock);
	r = ofs_replica_state_save(rp->dirfd, &rp->state);
	if (r == 0)
		return 0;
	/* The place in the saved state must not become garbage. */
	ofs_garbage_finish(&rp->out.garbage);
	return ofs_error_set(err, -r, "remote/state in the store cannot be written: %s",
			     strerror(-r));
}

/*
 * Sends a checkpoint in place of log that is gone or never was; the log continues after its BASE.
 */
static int send_base(struct ofs_replicator *rp, struct ofs_error *err)
{
	struct ofs_link base = { .kind = OFS_LINK_BASE };
	int r;

	ofs_checkpoint_out_forget_log(&rp->out);
	/* The log is needed from here on; the checkpoint will tell from where exactly. */
	ofs_store_hold_log(rp->store, ofs_store_log_end(rp->store), LOG_HELD);
	r = ofs_checkpoint_out_frames(&rp->out, err);
	if (r == 0)
		r = send_checkpoint(rp, skip_log_to, &base.to, err);
	if (r < 0)
		return r;
	base.from = rp->state.at.lsn;
	base.checkpoint = rp->out.newest;
	return send_link(rp, &base, err);
}

/* Sends all that is new, once connected. */
static int send_all(struct ofs_replicator *rp, bool checkpoint, struct ofs_error *err)
{
	ofs_lsn lsn;
	int r = send_log(rp, ofs_store_log_tail(rp->store), err);

	if (r == -ENODATA || (r == 0 && !rp->state.based)) {
		r = send_base(rp, err);
		if (r == 0)
			r = send_log(rp, ofs_store_log_tail(rp->store), err);
	} else if (r == 0) {
		r = ofs_checkpoint_out_frames(&rp->out, err);
	}
	if (r == 0 &&
	    (checkpoint || rp->objects >= CHECKPOINT_OBJECTS || rp->bytes >= CHECKPOINT_BYTES))
		r = send_checkpoint(rp, send_log_to, &lsn, err);
	if (r == 0)
		r = ofs_garbage_sweep(&rp->out.garbage, &rp->lineage, err);
	return r;
}

static int connect_remote(struct ofs_replicator *rp, struct ofs_error *err)
{
	int r = rp->lineage.bucket ? 0
				   : ofs_bucket_open(rp->remote, TIMEOUT, &rp->cancel, err,
						     &rp->lineage.bucket);

	if (r == 0)
		r = ofs_s3_probe(ofs_bucket_s3(rp->lineage.bucket), err);
	if (r == 0)
		r = ofs_takeover_continue(&rp->lineage, rp->dirfd, &rp->state,
					  ofs_store_log_end(rp->store), err);
	if (r < 0)
		return r;
	ofs_checkpoint_out_begin(&rp->out, rp->state.at.epoch);
	log_reached(rp, &rp->state.at);
	rp->connected = true;
	OFS_LOCKED(&rp->lock);
	rp->status.epoch = rp->state.at.epoch;
	return 0;
}

static bool is_final(int r)
{
	return r == -ESTALE || r == -EOPNOTSUPP;
}

/* ---- the thread */

struct round {
	bool checkpoint;
	bool crowded;
	uint64_t pushes;
	int64_t began; /* start of the round, by the wall clock */
	ofs_lsn reached;
};

/* Publishes the result of the round. */
static void end_round(struct ofs_replicator *rp, const struct round *round, int r,
		      const struct ofs_error *err)
{
	struct ofs_s3 *s3 = rp->lineage.bucket ? ofs_bucket_s3(rp->lineage.bucket) : NULL;

	OFS_LOCKED(&rp->lock);
	if (r < 0 && strcmp(rp->status.error, err->text) != 0)
		ofs_log(is_final(r) ? LOG_ERR : LOG_WARNING, "replication: %s", err->text);
	if (r == 0 && rp->status.phase == OFS_REPLICATION_BEHIND)
		ofs_log(LOG_NOTICE, "replication: the remote is up to date again");
	snprintf(rp->status.error, sizeof(rp->status.error), "%s", r < 0 ? err->text : "");
	rp->failure = is_final(r) ? r : 0;
	rp->status.phase = r == 0	      ? OFS_REPLICATION_CURRENT
			   : r == -ESTALE     ? OFS_REPLICATION_DEPOSED
			   : r == -EOPNOTSUPP ? OFS_REPLICATION_REFUSED
			   : rp->connected    ? OFS_REPLICATION_BEHIND
					      : OFS_REPLICATION_CONNECTING;
	if (r == 0) {
		rp->status.complete_at = round->began;
		rp->status.pushes = round->pushes;
		rp->crowded = rp->crowded && !round->crowded;
	}
	if (s3) {
		rp->status.writes = ofs_s3_requests(s3, OFS_S3_WRITES);
		rp->status.reads = ofs_s3_requests(s3, OFS_S3_READS);
	}
	rp->rounds++;
	rp->outcome = r;
	rp->ended_at = ofs_clock_monotonic();
	rp->retry = r < 0 ? OFS_MIN(OFS_MAX(2 * rp->retry, RETRY_MIN), RETRY_MAX) : 0;
	if (rp->reached != round->reached)
		rp->sent_at = rp->ended_at;
	pthread_cond_broadcast(&rp->done);
}

/* Called after a change, with locks of the store held. */
static void note_change(void *arg)
{
	struct ofs_replicator *rp = arg;

	OFS_LOCKED(&rp->lock);
	rp->changed_at = ofs_clock_monotonic();
	pthread_cond_signal(&rp->wake);
}

/* Returns when the next round is due if nobody is waiting. With the lock. */
static int64_t next_round(const struct ofs_replicator *rp)
{
	if (rp->outcome < 0)
		return rp->ended_at + rp->retry;
	if (rp->changed_at)
		return OFS_MAX(rp->changed_at + OFS_MIN(rp->every, TOGETHER),
			       rp->sent_at + rp->every);
	return rp->ended_at + (ofs_clock_is_controlled() ? TEST_TICK : IDLE_MAX);
}

/* Sleeps until the next round; returns false at the end. */
static bool begin_round(struct ofs_replicator *rp, struct round *ret)
{
	int64_t now, until;
	bool stop;

	pthread_mutex_lock(&rp->lock);
	while (!rp->stop && !(rp->urgent && rp->outcome == 0) &&
	       (now = ofs_clock_monotonic()) < (until = next_round(rp))) {
		/* A test may advance the clock by hours. */
		if (ofs_clock_is_controlled())
			until = OFS_MIN(until, now + TEST_TICK);
		ofs_cond_wait_until(&rp->wake, &rp->lock, until);
	}
	rp->urgent = false;
	rp->changed_at = 0;
	*ret = (struct round){ .checkpoint = rp->crowded || rp->pushes > rp->status.pushes,
			       .crowded = rp->crowded,
			       .pushes = rp->pushes,
			       .began = ofs_clock_wall(),
			       .reached = rp->reached };
	stop = rp->stop;
	pthread_mutex_unlock(&rp->lock);
	/* Watches before the log is examined, so no change is missed. */
	ofs_store_watch(rp->store, note_change, rp);
	return !stop;
}

static int do_round(struct ofs_replicator *rp, const struct round *round, struct ofs_error *err)
{
	int r = rp->connected ? 0 : connect_remote(rp, err);

	if (r == 0)
		r = send_all(rp, round->checkpoint, err);
	if (r < 0 && !err->text[0])
		ofs_error_set(err, -r, "what is to be sent cannot be read: %s", strerror(-r));
	if (r == 0) {
		r = ofs_fetcher_evict(rp->fetcher);
		if (r < 0)
			ofs_error_set(err, -r, "content cannot be evicted: %s", strerror(-r));
	}
	if (r == -ESTALE) {
		ofs_store_depose(rp->store, DEPOSED);
		log_reached(rp, &rp->state.at);
		rp->state.deposed = true;
		ofs_replica_state_save(rp->dirfd, &rp->state);
	}
	return r;
}

static void *run(void *arg)
{
	struct ofs_replicator *rp = arg;
	struct round round;
	int r = 0;

	ofs_thread_give_way();
	while (!is_final(r) && begin_round(rp, &round)) {
		struct ofs_error err = { "" };

		r = do_round(rp, &round, &err);
		end_round(rp, &round, r, &err);
	}
	OFS_LOCKED(&rp->lock);
	rp->ended = true;
	pthread_cond_broadcast(&rp->done);
	return NULL;
}

/* Waits until the remote has the log up to `lsn`, so that a sync may return 0. */
static int wait_sent(void *arg, ofs_lsn lsn)
{
	struct ofs_replicator *rp = arg;
	int64_t until = ofs_clock_monotonic() + SYNC_TIMEOUT;

	OFS_LOCKED(&rp->lock);
	while (rp->reached < lsn && !rp->failure && !rp->stop) {
		rp->urgent = true;
		pthread_cond_signal(&rp->wake);
		if (!ofs_cond_wait_until(&rp->done, &rp->lock, until))
			break;
	}
	return rp->reached >= lsn ? 0 : -EIO;
}

/* ---- for the store's owner */

static int open_state(struct ofs_replicator *rp, const char *store, struct ofs_error *err)
{
	OFS_FREE char *location = ofs_location_text(&rp->remote->location);
	int r;

	rp->dirfd = ofs_io_open(AT_FDCWD, store, O_RDONLY | O_DIRECTORY, 0);
	r = rp->dirfd < 0 ? rp->dirfd : ofs_replica_state_load(rp->dirfd, &rp->state);
	if (r == -ENOENT) {
		rp->state.location = ofs_steal(location);
		return 0;
	}
	if (r < 0)
		return ofs_error_set(err, -r, "'%s/remote/state' cannot be used: %s", store,
				     strerror(-r));
	if (strcmp(rp->state.location, location) != 0)
		return ofs_error_set(err, EINVAL,
				     "the store is replicated to %s: 'offload remote remove' ends "
				     "that",
				     rp->state.location);
	return 0;
}

int ofs_replicator_create(struct ofs_store *s, const struct ofs_remote_access *remote,
			  const struct ofs_replicator_settings *set, struct ofs_error *err,
			  struct ofs_replicator **ret)
{
	struct ofs_replicator *rp = ofs_alloc(sizeof(*rp));
	int r;

	rp->store = s;
	rp->remote = remote;
	rp->every = OFS_MAX(set->every, OFS_NS_PER_MS);
	rp->on_sync = set->on_sync;
	rp->local_max = set->local_max;
	rp->dirfd = -1;
	pthread_mutex_init(&rp->lock, NULL);
	ofs_cond_init(&rp->wake);
	ofs_cond_init(&rp->done);
	rp->fetcher = ofs_fetcher_create(remote);
	r = open_state(rp, set->store, err);
	if (r < 0) {
		ofs_replicator_destroy(rp);
		return r;
	}
	memcpy(rp->lineage.uuid, ofs_store_uuid(s), sizeof(rp->lineage.uuid));
	rp->out.lineage = &rp->lineage;
	rp->out.store = s;
	rp->out.dirfd = rp->dirfd;
	rp->reached = rp->state.based ? rp->state.at.lsn : 0;
	if (rp->state.nwriters && !rp->state.logged_to) {
		rp->state.logged_to = ofs_store_log_end(s);
		ofs_replica_state_save(rp->dirfd, &rp->state);
	}
	rp->out.durable = rp->state.durable;
	ofs_fetcher_set_durable(rp->fetcher, rp->out.durable);
	if (rp->state.at.epoch)
		ofs_store_hold_log(s, rp->state.at.lsn, LOG_HELD);
	ofs_fetcher_attach(rp->fetcher, s, set->local_max);
	if (rp->state.deposed) {
		ofs_store_depose(s, DEPOSED);
		rp->status.phase = OFS_REPLICATION_DEPOSED;
		snprintf(rp->status.error, sizeof(rp->status.error), DEPOSED);
		rp->failure = -ESTALE;
	}
	*ret = rp;
	return 0;
}

int ofs_replicator_start(struct ofs_replicator *rp)
{
	int r;

	if (rp->failure)
		return 0;
	rp->status.phase = OFS_REPLICATION_CONNECTING;
	rp->urgent = true;
	r = ofs_thread_start(&rp->thread, "replicator", run, rp);
	rp->runs = r == 0;
	if (r < 0)
		return r;
	if (rp->local_max)
		ofs_store_bound_packs(rp->store, rp->local_max, make_room, rp);
	if (rp->on_sync)
		ofs_store_set_sync_hook(rp->store, wait_sent, rp);
	return 0;
}

/* True if the remote has the whole log, or waiting is useless. With the lock. */
static bool is_settled(struct ofs_replicator *rp)
{
	return rp->failure || rp->reached >= ofs_store_log_tail(rp->store);
}

void ofs_replicator_interrupt(struct ofs_replicator *rp)
{
	if (rp)
		ofs_fetcher_cancel(rp->fetcher);
}

void ofs_replicator_stop(struct ofs_replicator *rp, int64_t wait)
{
	int64_t until;

	if (!rp || !rp->runs)
		return;
	ofs_store_bound_packs(rp->store, 0, make_room, rp);
	pthread_mutex_lock(&rp->lock);
	/* A remote that could not be reached gets one last chance. */
	if (rp->outcome < 0)
		wait = OFS_MIN(wait, LAST_CHANCE);
	rp->outcome = 0;
	until = ofs_clock_monotonic() + wait;
	while (!is_settled(rp)) {
		rp->urgent = true;
		pthread_cond_signal(&rp->wake);
		if (!ofs_cond_wait_until(&rp->done, &rp->lock, until))
			break;
	}
	rp->stop = true;
	rp->cancel = !is_settled(rp);
	pthread_cond_signal(&rp->wake);
	pthread_cond_broadcast(&rp->done);
	/* The thread may be sending content. */
	while (!rp->ended && ofs_cond_wait_until(&rp->done, &rp->lock, until))
		;
	rp->cancel = true;
	pthread_mutex_unlock(&rp->lock);
	pthread_join(rp->thread, NULL);
	ofs_store_watch(rp->store, NULL, NULL);
	rp->runs = false;
}

void ofs_replicator_destroy(struct ofs_replicator *rp)
{
	if (!rp)
		return;
	ofs_fetcher_destroy(rp->fetcher);
	ofs_bucket_close(rp->lineage.bucket);
	ofs_replica_state_finish(&rp->state);
	ofs_checkpoint_out_finish(&rp->out);
	ofs_buf_finish(&rp->unsettled);
	ofs_io_close(&rp->dirfd);
	pthread_cond_destroy(&rp->wake);
	pthread_cond_destroy(&rp->done);
	pthread_mutex_destroy(&rp->lock);
	free(rp);
}

void ofs_replicator_push(struct ofs_replicator *rp)
{
	OFS_LOCKED(&rp->lock);

	rp->pushes++;
	rp->urgent = true;
	pthread_cond_signal(&rp->wake);
}

void ofs_replicator_status(struct ofs_replicator *rp, struct ofs_replication_status *ret)
{
	ofs_lsn end = ofs_store_log_tail(rp->store);
	struct ofs_fetcher_counts fetched;

	ofs_fetcher_count(rp->fetcher, &fetched);
	OFS_LOCKED(&rp->lock);
	*ret = rp->status;
	ret->pushes_due = rp->pushes;
	ret->pending = end - OFS_MIN(end, rp->reached);
	if (!ret->pending && ret->phase == OFS_REPLICATION_CURRENT)
		ret->complete_at = ofs_clock_wall();
	ret->reads += fetched.requests;
	ret->brought = fetched.bytes;
	ret->local = fetched.local;
	ret->local_max = fetched.local_max;
}

const char *ofs_replication_phase_name(enum ofs_replication_phase phase)
{
	static const char *const names[] = {
		[OFS_REPLICATION_OFF] = "off",	       [OFS_REPLICATION_CONNECTING] = "connecting",
		[OFS_REPLICATION_CURRENT] = "current", [OFS_REPLICATION_BEHIND] = "behind",
		[OFS_REPLICATION_DEPOSED] = "deposed", [OFS_REPLICATION_REFUSED] = "refused",
	};

	return names[phase];
}
