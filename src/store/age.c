/* SPDX-License-Identifier: MIT */
#include "store/age.h"

#include "store/store_state.h"

/* A drift between the clocks, or a time passed, up to this may be missing in the index. */
#define DRIFT_MAX OFS_NS_PER_S
#define DELAY_MAX (600 * OFS_NS_PER_S)

int64_t ofs_store_age(struct ofs_store *s)
{
	return s->age.start + (ofs_clock_boot() - s->age.boot_start);
}

void ofs_age_open(struct ofs_store *s, const struct ofs_index_meta *meta)
{
	int64_t wall = ofs_clock_wall(), closed = wall - meta->wall_high;

	s->age.boot_start = ofs_clock_boot();
	s->age.start = wall;
	if (meta->wall_high)
		s->age.start = meta->age + OFS_MIN(OFS_MAX(closed, 0), OFS_AGE_CLOSED_MAX);
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
	s->age.kept_age = meta->age;
	s->age.kept_wall = meta->age_wall;
}

/*
 * The age clock's time of a record. In replay it follows from the wall clock of the record and what
 * the index has of both clocks. As the wall clock may have been stepped in between, the result is
 * kept between the index's time and now.
 */
static int64_t age_of_record(struct ofs_store *s, int64_t time)
{
	if (!s->replaying)
		return ofs_store_age(s);
	return OFS_MIN(OFS_MAX(time - (s->age.kept_wall - s->age.kept_age), s->age.kept_age),
		       ofs_store_age(s));
}

int64_t ofs_age_round_up(int64_t age)
{
	return (ofs_seconds(age - 1) + 1) * OFS_NS_PER_S;
}

void ofs_store_changed(struct ofs_store *s, struct ofs_inode *n, int64_t time)
{
	n->seen = age_of_record(s, time);
	n->row.used = ofs_age_round_up(n->seen);
}

static bool is_further(int64_t a, int64_t b, int64_t than)
{
	return a - b > than || b - a > than;
}

bool ofs_age_is_stale(struct ofs_store *s)
{
	int64_t age = ofs_store_age(s), wall = ofs_clock_wall();

	OFS_LOCKED(&s->lock);
	return is_further(wall - age, s->age.kept_wall - s->age.kept_age, DRIFT_MAX) ||
	       is_further(age, s->age.kept_age, s->closing ? DRIFT_MAX : DELAY_MAX);
}
