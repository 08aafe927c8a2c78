/* SPDX-License-Identifier: MIT */
/* How those who write and those who make room wait for each other. */
#include "base/clock.h"
#include "base/thread.h"
#include "base/util.h"
#include "store/internal.h"

/*
 * What a record changed is in memory until it is sealed, however small the record is: with this many
 * that is some 300 MB. More than two of the journal's segments hold.
 */
#define RECORDS_MAX (UINT64_C(512) << 10)

/* Whether the journal holds more than that part of what it may. */
static bool is_beyond(struct ofs_store *s, unsigned int part)
{
	uint64_t records, size = ofs_journal_size(s->journal, &records);

	return size > s->journal_max / part || records > RECORDS_MAX / part;
}

/* From a quarter on drafts do not wait to become quiet. */
bool ofs_store_is_pressed(struct ofs_store *s)
{
	return is_beyond(s, 4);
}

bool ofs_store_is_stopping(struct ofs_store *s)
{
	bool stop;

	pthread_mutex_lock(&s->lock);
	stop = s->stop && s->sealer_runs;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

/* Waits for as long as it takes, unless a cycle meanwhile comes to an error. */
static int wait_for_cycle(struct ofs_store *s)
{
	uint64_t cycles;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	cycles = s->cycles;
	pthread_cond_signal(&s->sealer_wake);
	while (r == 0 && !s->stop && ofs_store_would_wait(s)) {
		pthread_cond_wait(&s->room, &s->lock);
		r = s->cycles != cycles ? s->cycle_error : 0;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* How long a writer that found the disk full waits for room. */
#define ROOM_TIMEOUT (30 * OFS_NS_PER_S)

bool ofs_store_make_room(struct ofs_store *s)
{
	int64_t until = ofs_clock_monotonic() + ROOM_TIMEOUT;
	bool worth;
	uint64_t squeezes;

	pthread_mutex_lock(&s->lock);
	/* When nothing has changed since the last time, this one would find nothing more. */
	worth = s->sealer_runs && s->changes != s->squeezed_changes;
	squeezes = s->squeezes;
	if (worth) {
		s->squeezed = true;
		pthread_cond_signal(&s->sealer_wake);
	}
	while (worth && s->squeezes == squeezes && !s->stop)
		if (!ofs_cond_wait_until(&s->room, &s->lock, until))
			break;
	worth = worth && s->squeezes != squeezes;
	pthread_mutex_unlock(&s->lock);
	return worth;
}

bool ofs_store_would_wait(struct ofs_store *s)
{
	return is_beyond(s, 1);
}

int ofs_store_wait_for_room(struct ofs_store *s)
{
	if (!ofs_store_would_wait(s))
		return 0;
	return s->sealer_runs ? wait_for_cycle(s) : ofs_store_seal(s);
}
