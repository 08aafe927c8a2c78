/* SPDX-License-Identifier: MIT */
/* The background thread and its cycle: when to seal, to write a checkpoint and to repack. */
#include "store/cycle.h"

#include <malloc.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/wakeup.h"
#include "store/record.h"
#include "store/store_state.h"

#define CHECKPOINT_AGE (5 * OFS_NS_PER_S) /* longest wait of a change for the index */
#define BATCHES_MAX 8 /* in one cycle, under pressure */
#define DIRTY_LOOK 64 /* changes between two looks at the room on the disk */
#define TICK_MIN (20 * OFS_NS_PER_MS)
#define TICK_MAX (250 * OFS_NS_PER_MS)
#define RETRY_DELAY (5 * OFS_NS_PER_S) /* after a failed cycle */
#define SETTLE_DELAY (10 * OFS_NS_PER_S) /* of quiet, before small remainders are joined */
#define SCRUB_START (60 * OFS_NS_PER_S) /* after the start, which is busy enough */
#define SCRUB_PASS (24 * 3600 * OFS_NS_PER_S) /* from the end of one scrub to the next */
#define ROOM_TIMEOUT (30 * OFS_NS_PER_S) /* for a writer that found the disk full */
#define REPACK_DELAY OFS_NS_PER_S /* of quiet, before anything is moved */
#define DENSE_AGE (2 * 3600 * OFS_NS_PER_S) /* content unused for this long is made dense */
#define DENSE_DELAY (600 * OFS_NS_PER_S) /* after the start, or while machine or disk is busy */
#define DENSE_PASS (6 * 3600 * OFS_NS_PER_S) /* from the end of one pass to the next */
#define DENSE_SHARE 288 /* one part in this many of a processor's time: 5 minutes a day */

static int finish_cycle(struct ofs_store *s, bool checkpoint, bool sealed)
{
	bool needed = checkpoint && (ofs_store_is_dirty(s) || ofs_age_is_stale(s));
	int r = needed ? ofs_store_checkpoint(s, NULL) : 0;

	if (r == 0 && (sealed || checkpoint))
		r = ofs_store_reclaim(s);
	/* Empties a write-ahead log that has grown large, while nothing waits for it. */
	if (r == 0 && checkpoint)
		r = ofs_index_checkpoint(s->index);
	return r;
}

/* Packs exceed their bound on this disk. */
static bool is_crowded(struct ofs_store *s)
{
	uint64_t used, max = s->packs_max;

	return max && ofs_packset_disk_usage(s->packs, &used) == 0 && used > max;
}

static int seal_all(struct ofs_store *s, const struct ofs_seal_when *when, int *ret_sealed)
{
	struct ofs_seal_when now = *when;
	struct ofs_seal_batch *b;
	int r, n, batches = 0;

	/* Under pressure this might never end: removed content must get its turn as well. */
	do {
		n = ofs_seal_collect(s, &now, &b);
		if (n < 0)
			return n;
		r = n > 0 ? ofs_store_checkpoint(s, b) : 0;
		if (r == 0 && n > 0) {
			OFS_LOCKED(&s->lock);
			ofs_store_tell_news(s);
		}
		ofs_seal_batch_destroy(b);
		*ret_sealed += n;
		now.pressed = when->pressed || ofs_store_is_pressed(s);
	} while (r == 0 && n > 0 && !ofs_store_is_stopping(s) && !is_crowded(s) &&
		 (!now.pressed || !when->delay || ++batches < BATCHES_MAX));
	return r;
}

/*
 * The disk is full. With the room that was set aside, first gives back what was removed, then seals
 * small portions, each of which gives back more than it takes.
 */
static int squeeze(struct ofs_store *s, const struct ofs_seal_when *when)
{
	int r, end, sealed = 0;

	r = finish_cycle(s, true, true);
	if (r == 0)
		r = seal_all(s, when, &sealed);
	end = finish_cycle(s, true, true);
	return r < 0 ? r : end;
}

static int run_cycle(struct ofs_store *s, const struct ofs_seal_when *when, bool checkpoint)
{
	int r, sealed = 0;

	if (!ofs_store_is_whole(s))
		return -EIO;
	r = s->reserve.tight ? 0 : seal_all(s, when, &sealed);
	if (r == 0)
		r = finish_cycle(s, checkpoint, sealed);
	if (ofs_store_is_full(r))
		ofs_reserve_release(s);
	if (s->reserve.tight) {
		r = squeeze(s, when);
		ofs_reserve_fill(s);
	}
	return r;
}

int ofs_store_cycle(struct ofs_store *s, const struct ofs_seal_when *when, bool always_checkpoint)
{
	int r;

	if (s->read_only)
		return -EROFS;
	pthread_mutex_lock(&s->cycle);
	r = run_cycle(s, when, always_checkpoint);
	pthread_mutex_unlock(&s->cycle);
	if (r == -EROFS)
		ofs_store_break(s, OFS_STORE_ON_READ_ONLY);
	pthread_mutex_lock(&s->lock);
	/* Whoever waits for the journal to become shorter would wait for as long as reading fails. */
	if (r == 0 && !s->dirty.n && ofs_store_would_wait(s) && ofs_seal_is_stuck(s))
		s->room.error = -EIO;
	else
		s->room.error = r;
	s->room.cycles++;
	s->unsettled = true;
	pthread_cond_broadcast(&s->room.made);
	pthread_mutex_unlock(&s->lock);
	ofs_store_tell(s);
	return r;
}

int ofs_store_keep_age(struct ofs_store *s)
{
	struct ofs_seal_when nothing = { .now = INT64_MIN / 2 };

	return ofs_age_is_stale(s) ? ofs_store_cycle(s, &nothing, true) : 0;
}

/* Moves a portion of content to where it belongs; 0: all of it is there. */
static int repack_step(struct ofs_store *s, bool settle)
{
	int r;

	pthread_mutex_lock(&s->cycle);
	r = ofs_store_repack(s, settle);
	if (r > 0 && ofs_store_reclaim(s) < 0)
		r = -EIO;
	/* Nothing is left to do: gives back what journal and index have grown by. */
	if (r == 0 && settle)
		r = ofs_store_trim(s, true);
	if (r == 0 && settle)
		r = ofs_index_settle(s->index);
	/* Returns the memory of a burst of work to the system. */
	if (r == 0 && settle)
		malloc_trim(0);
	pthread_mutex_unlock(&s->cycle);
	ofs_store_tell(s);
	return r;
}

/* With a test's clock always true: the test decides when there is work. */
static bool is_machine_at_rest(void)
{
	double load;

	if (ofs_clock_is_controlled())
		return true;
	return getloadavg(&load, 1) == 1 && load * 2 <= (double)sysconf(_SC_NPROCESSORS_ONLN) &&
	       !ofs_wakeup_obstacle();
}

/* Makes some idle content dense. The processor time that this takes sets when the next step is. */
static int dense_step(struct ofs_store *s)
{
	int64_t began = ofs_thread_time(), wait = DENSE_DELAY;
	int r = 0;

	if (!s->reserve.tight && is_machine_at_rest()) {
		pthread_mutex_lock(&s->cycle);
		r = ofs_store_densify(s, ofs_store_age(s) - DENSE_AGE);
		if (r >= 0 && ofs_store_reclaim(s) < 0)
			r = -EIO;
		pthread_mutex_unlock(&s->cycle);
		ofs_store_tell(s);
		if (r >= 0)
			wait = r ? (ofs_thread_time() - began) * DENSE_SHARE : DENSE_PASS;
	}
	s->sealer.dense_at = ofs_clock_boot() + wait;
	return r;
}

enum work {
	WORK_NONE,
	WORK_SEAL,
	WORK_CHECKPOINT, /* seals first */
	WORK_SQUEEZE, /* the same with the room that was set aside */
	WORK_REPACK,
	WORK_SETTLE,
	WORK_SCRUB,
	WORK_DENSE
};

/* When the next scrub or dense step is due. A test's clock may reach that at any time. */
static int64_t next_look(struct ofs_store *s)
{
	int64_t now = ofs_clock_monotonic();
	int64_t dense = now + (s->sealer.dense_at - ofs_clock_boot());

	if (ofs_clock_is_controlled())
		return now + TICK_MAX;
	return s->scrub_ms ? OFS_MIN(s->sealer.scrub_at, dense) : dense;
}

/* Sleeps until there is something to look at; `lock` held. */
static void sealer_wait(struct ofs_store *s)
{
	int64_t until = ofs_clock_monotonic() + s->sealer.pause;

	if (!s->drafts.n && !s->dirty_since && !s->unsettled && !s->room.wanted)
		until = OFS_MAX(until, next_look(s));
	ofs_cond_wait_until(&s->sealer.wake, &s->lock, until);
}

/* Counts dirty inodes, less those that drafts keep in memory anyway; `lock` held. */
static bool is_too_dirty(struct ofs_store *s, size_t times)
{
	size_t n = s->dirty.n - OFS_MIN(s->dirty.n, s->drafts.n);

	return n && n / times > ofs_store_dirty_max(s);
}

/* Returns what to do next, and for which drafts; `lock` held. */
static enum work choose_work(struct ofs_store *s, struct ofs_seal_when *when)
{
	when->now = ofs_clock_monotonic();
	when->delay = OFS_MAX(s->seal_delay_ms, 1u) * OFS_NS_PER_MS;
	when->pressed = ofs_store_is_pressed(s);
	/* A writer found the disk full: drafts are sealed even if they are soon written anew. */
	if (s->room.wanted) {
		s->room.wanted = false;
		when->pressed = true;
		return WORK_SQUEEZE;
	}
	if (s->broken) /* fails, which wakes those who wait for it */
		return WORK_SEAL;
	if (s->dirty_since && (s->dirty_since <= when->now - CHECKPOINT_AGE || is_too_dirty(s, 1) ||
			       ofs_store_is_heavy(s, 1)))
		return WORK_CHECKPOINT;
	if (ofs_seal_is_due(s, when))
		return WORK_SEAL;
	if (s->scrub_ms && s->sealer.scrub_at <= when->now)
		return WORK_SCRUB;
	if (when->now - s->sealer.quiet_since < REPACK_DELAY)
		return WORK_NONE;
	if (s->sealer.dense_at <= ofs_clock_boot())
		return WORK_DENSE;
	if (!s->unsettled)
		return WORK_NONE;
	return when->now - s->sealer.quiet_since < SETTLE_DELAY ? WORK_REPACK : WORK_SETTLE;
}

static int scrub_step(struct ofs_store *s)
{
	int r;

	pthread_mutex_lock(&s->cycle);
	r = ofs_store_scrub(s);
	pthread_mutex_unlock(&s->cycle);
	s->sealer.scrub_at =
		ofs_clock_monotonic() + (r > 0 ? s->scrub_ms * OFS_NS_PER_MS : (int64_t)SCRUB_PASS);
	return r;
}

static int squeeze_step(struct ofs_store *s, const struct ofs_seal_when *when)
{
	uint64_t changes;
	int r;

	pthread_mutex_lock(&s->lock);
	changes = s->changes;
	pthread_mutex_unlock(&s->lock);
	ofs_reserve_release(s);
	r = ofs_store_cycle(s, when, true);
	pthread_mutex_lock(&s->lock);
	s->room.changes = changes;
	s->room.rounds++;
	pthread_cond_broadcast(&s->room.made);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* `lock` is not held. */
static void do_work(struct ofs_store *s, enum work work, const struct ofs_seal_when *when)
{
	static const char *const names[] = {
		[WORK_SEAL] = "sealing",     [WORK_CHECKPOINT] = "sealing",
		[WORK_SQUEEZE] = "sealing",  [WORK_REPACK] = "repacking",
		[WORK_SETTLE] = "repacking", [WORK_SCRUB] = "scrubbing",
		[WORK_DENSE] = "repacking",
	};
	int r;

	if (work == WORK_SCRUB) {
		r = scrub_step(s);
	} else if (work == WORK_DENSE) {
		r = dense_step(s);
	} else if (work == WORK_REPACK || work == WORK_SETTLE) {
		r = repack_step(s, work == WORK_SETTLE);
		if (r >= 0)
			s->sealer.pause = r > 0 ? 0 : OFS_NS_PER_S;
		/* Nothing more can be done, or tried, until something changes. */
		if (r <= 0 && work == WORK_SETTLE) {
			OFS_LOCKED(&s->lock);
			s->unsettled = false;
		}
	} else {
		if (is_crowded(s))
			s->crowded(s->crowded_arg);
		r = work == WORK_SQUEEZE ? squeeze_step(s, when)
					 : ofs_store_cycle(s, when, work == WORK_CHECKPOINT);
		s->sealer.quiet_since = ofs_clock_monotonic();
	}
	if (r < 0) {
		if (!s->broken)
			ofs_log(LOG_ERR, "%s failed, trying again: %s", names[work], strerror(-r));
		s->sealer.pause = RETRY_DELAY;
	}
}

static void *sealer_main(void *arg)
{
	struct ofs_store *s = arg;
	int64_t tick = OFS_MIN(TICK_MAX, s->seal_delay_ms * OFS_NS_PER_MS / 4);
	struct ofs_seal_when when;
	enum work work;

	ofs_thread_give_way();
	s->sealer.pause = tick = OFS_MAX(TICK_MIN, tick);
	s->sealer.quiet_since = ofs_clock_monotonic();
	s->sealer.scrub_at = s->sealer.quiet_since + SCRUB_START;
	s->sealer.dense_at = ofs_clock_boot() + DENSE_DELAY;
	pthread_mutex_lock(&s->lock);
	while (!s->sealer.stop) {
		if (s->sealer.pause)
			sealer_wait(s);
		s->sealer.pause = tick;
		work = s->sealer.stop ? WORK_NONE : choose_work(s, &when);
		if (work == WORK_NONE)
			continue;
		pthread_mutex_unlock(&s->lock);
		do_work(s, work, &when);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int ofs_store_start(struct ofs_store *s)
{
	int r;

	ofs_reserve_fill(s);
	ofs_index_disk_usage(s->index, &s->room.index);
	r = ofs_thread_start(&s->sealer.thread, "sealer", sealer_main, s);
	s->sealer.runs = r == 0;
	return r;
}

void ofs_sealer_stop(struct ofs_store *s)
{
	if (!s->sealer.runs)
		return;
	pthread_mutex_lock(&s->lock);
	s->sealer.stop = true;
	pthread_cond_signal(&s->sealer.wake);
	pthread_cond_broadcast(&s->room.made);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->sealer.thread, NULL);
	s->sealer.runs = false;
}

int ofs_store_seal(struct ofs_store *s)
{
	struct ofs_seal_when when = { .now = ofs_clock_monotonic() };

	return ofs_store_cycle(s, &when, true);
}

/* ---- waiting for room */

static _Thread_local bool nonblocking;

void ofs_store_set_nonblocking(bool on)
{
	nonblocking = on;
}

bool ofs_store_is_nonblocking(void)
{
	return nonblocking;
}

int ofs_store_wait_for_room(struct ofs_store *s)
{
	uint64_t cycles;
	int r = 0;

	if (!ofs_store_would_wait(s))
		return 0;
	if (nonblocking)
		return -EAGAIN;
	if (!s->sealer.runs)
		return ofs_store_seal(s);
	OFS_LOCKED(&s->lock);
	cycles = s->room.cycles;
	pthread_cond_signal(&s->sealer.wake);
	/* For as long as it takes, unless a cycle fails meanwhile. */
	while (r == 0 && !s->sealer.stop && ofs_store_would_wait(s)) {
		pthread_cond_wait(&s->room.made, &s->lock);
		r = s->room.cycles != cycles ? s->room.error : 0;
	}
	return r;
}

int ofs_store_wait_for_checkpoint(struct ofs_store *s)
{
	uint64_t cycles = s->room.cycles;

	if (!ofs_store_is_heavy(s, 4) && (s->dirty.n % DIRTY_LOOK || !is_too_dirty(s, 2)))
		return 0;
	while (s->dirty_since && s->sealer.runs && !s->sealer.stop && s->room.cycles == cycles) {
		pthread_cond_signal(&s->sealer.wake);
		if (nonblocking)
			return -EAGAIN;
		pthread_cond_wait(&s->room.made, &s->lock);
	}
	return 0;
}

bool ofs_store_make_room(struct ofs_store *s, int *r)
{
	int64_t until = ofs_clock_monotonic() + ROOM_TIMEOUT;
	uint64_t rounds;

	if (!ofs_store_is_full(*r))
		return false;
	OFS_LOCKED(&s->lock);
	/* If nothing has changed since the last round, another one would find nothing more. */
	if (!s->sealer.runs || s->changes == s->room.changes)
		return false;
	if (nonblocking) {
		*r = -EAGAIN;
		return false;
	}
	rounds = s->room.rounds;
	s->room.wanted = true;
	pthread_cond_signal(&s->sealer.wake);
	while (s->room.rounds == rounds && !s->sealer.stop)
		if (!ofs_cond_wait_until(&s->room.made, &s->lock, until))
			break;
	return s->room.rounds != rounds;
}
