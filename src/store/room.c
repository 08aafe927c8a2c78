/* SPDX-License-Identifier: MIT */
/* How those who write and those who make room wait for each other. */
#include "store/room.h"

#include "base/clock.h"
#include "base/thread.h"
#include "base/util.h"
#include "store/store.h"
#include "store/store_state.h"
#include <pthread.h>

/* Waits for as long as it takes, unless a cycle meanwhile comes to an error. */
static int wait_for_cycle(struct ofs_store *s)
{
	uint64_t cycles;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	cycles = s->room.cycles;
	pthread_cond_signal(&s->sealer.wake);
	while (r == 0 && !s->sealer.stop && ofs_store_would_wait(s)) {
		pthread_cond_wait(&s->room.made, &s->lock);
		r = s->room.cycles != cycles ? s->room.error : 0;
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
	worth = s->sealer.runs && s->changes != s->room.changes;
	squeezes = s->room.rounds;
	if (worth) {
		s->room.wanted = true;
		pthread_cond_signal(&s->sealer.wake);
	}
	while (worth && s->room.rounds == squeezes && !s->sealer.stop)
		if (!ofs_cond_wait_until(&s->room.made, &s->lock, until))
			break;
	worth = worth && s->room.rounds != squeezes;
	pthread_mutex_unlock(&s->lock);
	return worth;
}

int ofs_store_wait_for_room(struct ofs_store *s)
{
	if (!ofs_store_would_wait(s))
		return 0;
	return s->sealer.runs ? wait_for_cycle(s) : ofs_store_seal(s);
}
