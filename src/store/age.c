/* SPDX-License-Identifier: MIT */
/*
 * The age clock, by which it is told how long something was not used. It begins as the wall clock and
 * runs with the boot clock, so that a step of the wall clock makes nothing older. Over the time that
 * the store is closed only the wall clock can tell: what it is ahead of the highest that the index
 * knows is added, and never less than nothing. So the index must know of a step soon
 * (ofs_store_keep_age()).
 */
#include "base/clock.h"
#include "base/util.h"
#include "store/internal.h"

#define DRIFT_MAX OFS_NS_PER_S /* between the clocks, that the index need not know of */
#define KEEP_DELAY (600 * OFS_NS_PER_S)

int64_t ofs_store_age(struct ofs_store *s)
{
	return s->age_start + (ofs_clock_boot() - s->boot_start);
}

void ofs_age_open(struct ofs_store *s, const struct ofs_index_meta *meta)
{
	int64_t wall = ofs_clock_wall();

	s->boot_start = ofs_clock_boot();
	s->age_start = wall;
	if (meta->wall_high)
		s->age_start = meta->age + OFS_MAX(wall - meta->wall_high, 0);
	ofs_age_kept(s, meta);
}

void ofs_age_take(struct ofs_store *s, struct ofs_index_meta *meta)
{
	meta->age = ofs_store_age(s);
	meta->age_wall = ofs_clock_wall();
	meta->wall_high = OFS_MAX(meta->wall_high, meta->age_wall);
}

void ofs_age_kept(struct ofs_store *s, const struct ofs_index_meta *meta)
{
	s->kept_age = meta->age;
	s->kept_wall = meta->age_wall;
}

/*
 * When a record was made. In replay the wall clock that it was made by is compared with what the index
 * knows of it; whether it was stepped in between cannot be told, so that nothing becomes older than
 * the index, or younger than now.
 */
static int64_t age_of_record(struct ofs_store *s, int64_t time)
{
	if (!s->replaying)
		return ofs_store_age(s);
	return OFS_MIN(OFS_MAX(time - (s->kept_wall - s->kept_age), s->kept_age), s->age_start);
}

/* To a whole second, as the index keeps it, and never to an earlier time. */
static int64_t round_up(int64_t age)
{
	return (ofs_seconds(age - 1) + 1) * OFS_NS_PER_S;
}

void ofs_store_changed(struct ofs_store *s, struct ofs_inode *n, int64_t time)
{
	n->row.used = round_up(age_of_record(s, time));
}

void ofs_store_use(struct ofs_store *s, uint64_t ino)
{
	int64_t age = ofs_store_age(s);
	struct ofs_inode *n;

	pthread_mutex_lock(&s->lock);
	n = ofs_map_get(&s->inodes, ino);
	if (n && !n->gone && age > n->row.used) {
		/* On a full disk it is remembered in memory alone: the index would grow. */
		if (s->tight || s->broken) {
			n->row.used = round_up(age);
		} else {
			n->row.used = round_up(age + OFS_STORE_USE_AHEAD);
			ofs_store_touch(s, n);
		}
	}
	pthread_mutex_unlock(&s->lock);
}

static bool is_further(int64_t a, int64_t b, int64_t than)
{
	return a - b > than || b - a > than;
}

/* How far age and wall clock have come from what the index knows: whether it is to be told. */
static bool age_is_stale(struct ofs_store *s, int64_t delay)
{
	int64_t age = ofs_store_age(s), wall = ofs_clock_wall();
	bool stale;

	pthread_mutex_lock(&s->lock);
	stale = is_further(wall - age, s->kept_wall - s->kept_age, DRIFT_MAX) ||
		is_further(age, s->kept_age, delay);
	pthread_mutex_unlock(&s->lock);
	return stale;
}

bool ofs_age_is_to_be_closed(struct ofs_store *s)
{
	return s->closing && age_is_stale(s, DRIFT_MAX);
}

int ofs_store_keep_age(struct ofs_store *s)
{
	int r;

	if (!age_is_stale(s, KEEP_DELAY))
		return 0;
	pthread_mutex_lock(&s->cycle);
	r = s->broken ? -EIO : ofs_store_checkpoint(s, NULL);
	/* It has taken what was removed along: no other cycle will come by for that. */
	if (r == 0)
		r = ofs_store_reclaim(s);
	pthread_mutex_unlock(&s->cycle);
	pthread_mutex_lock(&s->lock);
	s->unsettled = true;
	pthread_mutex_unlock(&s->lock);
	ofs_store_tell(s);
	return r;
}
