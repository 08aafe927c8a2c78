/* SPDX-License-Identifier: MIT */
/*
 * Room for the day the disk is full: a file that only takes up space. Whoever frees space by what
 * it does (removing, cutting, a checkpoint) may have that room when there is no other; from then on
 * nothing else is written until the room could be set aside again.
 */
#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "io/file.h"
#include "store/internal.h"

#define RESERVE_BYTES (UINT64_C(8) << 20)
#define RETRY_NS (250 * OFS_NS_PER_MS)

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
	int r;

	pthread_mutex_lock(&s->reserve_lock);
	r = reserve_resize(s, RESERVE_BYTES);
	if (r < 0 && !s->tight)
		ofs_log(LOG_WARNING, "the disk is full: removing is all that works now");
	if (r == 0 && s->tight)
		ofs_log(LOG_INFO, "there is room on the disk again");
	s->reserved = r == 0;
	/* Where room cannot be set aside for another reason, the store does without. */
	s->tight = ofs_store_is_full(r);
	s->reserve_tried = ofs_clock_monotonic();
	pthread_mutex_unlock(&s->reserve_lock);
}

bool ofs_reserve_release(struct ofs_store *s)
{
	bool had;

	pthread_mutex_lock(&s->reserve_lock);
	had = s->reserved;
	if (had) {
		reserve_resize(s, 0);
		ofs_log(LOG_WARNING, "the disk is full: removing is all that works now");
	}
	s->reserved = false;
	s->tight = true;
	pthread_mutex_unlock(&s->reserve_lock);
	return had;
}

bool ofs_reserve_is_tight(struct ofs_store *s)
{
	bool again;

	if (!s->tight)
		return false;
	pthread_mutex_lock(&s->reserve_lock);
	again = ofs_clock_monotonic() - s->reserve_tried > RETRY_NS;
	pthread_mutex_unlock(&s->reserve_lock);
	if (again)
		ofs_reserve_fill(s);
	return s->tight;
}

uint64_t ofs_reserve_missing(struct ofs_store *s)
{
	uint64_t missing;

	pthread_mutex_lock(&s->reserve_lock);
	missing = s->reserved ? 0 : RESERVE_BYTES;
	pthread_mutex_unlock(&s->reserve_lock);
	return missing;
}

void ofs_reserve_remove(struct ofs_store *s)
{
	ofs_io_unlink(s->dirfd, "reserve");
}
