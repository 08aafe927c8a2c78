/* SPDX-License-Identifier: MIT */
#include "store/pressure.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/file.h"
#include "store/store_state.h"

#define RESERVE_BYTES (UINT64_C(8) << 20)
#define RETRY_NS (250 * OFS_NS_PER_MS)

/* ---- the journal */

/*
 * What a record changed is in memory until it is sealed, however small the record is: with this many
 * that is some 300 MB. More than two of the journal's segments hold.
 */
#define RECORDS_MAX (UINT64_C(512) << 10)

/* Whether the journal holds more than a `part`th of what it may. */
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
	OFS_LOCKED(&s->lock);

	return s->sealer.stop && s->sealer.runs;
}

bool ofs_store_would_wait(struct ofs_store *s)
{
	return is_beyond(s, 1);
}

/* ---- the disk */

bool ofs_store_is_full(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

/* Makes the file `size` bytes large, and all of them there. */
static int reserve_resize(struct ofs_store *s, uint64_t size)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "reserve", O_WRONLY | O_CREAT, 0600);
	int r = fd < 0 ? fd : 0;

	if (r == 0)
		r = size ? ofs_io_allocate(fd, size) : ofs_io_truncate(fd, 0);
	if (r < 0 && fd >= 0)
		ofs_io_truncate(fd, 0);
	return r;
}

void ofs_reserve_fill(struct ofs_store *s)
{
	OFS_LOCKED(&s->reserve.lock);
	int r = reserve_resize(s, RESERVE_BYTES);

	if (r < 0 && !s->reserve.tight)
		ofs_log(LOG_WARNING, "the disk is full: removing is all that works now");
	if (r == 0 && s->reserve.tight)
		ofs_log(LOG_INFO, "there is room on the disk again");
	s->reserve.there = r == 0;
	/* Where room cannot be set aside for another reason, the store does without. */
	s->reserve.tight = ofs_store_is_full(r);
	s->reserve.tried = ofs_clock_monotonic();
}

bool ofs_reserve_release(struct ofs_store *s)
{
	OFS_LOCKED(&s->reserve.lock);
	bool had = s->reserve.there;

	if (had) {
		reserve_resize(s, 0);
		ofs_log(LOG_WARNING, "the disk is full: removing is all that works now");
	}
	s->reserve.there = false;
	s->reserve.tight = true;
	return had;
}

bool ofs_reserve_is_tight(struct ofs_store *s)
{
	bool again;

	if (!s->reserve.tight)
		return false;
	pthread_mutex_lock(&s->reserve.lock);
	again = ofs_clock_monotonic() - s->reserve.tried > RETRY_NS;
	pthread_mutex_unlock(&s->reserve.lock);
	if (again)
		ofs_reserve_fill(s);
	return s->reserve.tight;
}

uint64_t ofs_reserve_missing(struct ofs_store *s)
{
	OFS_LOCKED(&s->reserve.lock);

	return s->reserve.there ? 0 : RESERVE_BYTES;
}

void ofs_reserve_remove(struct ofs_store *s)
{
	ofs_io_unlink(s->dirfd, "reserve");
}
