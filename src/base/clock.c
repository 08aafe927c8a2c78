/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

static int64_t clock_read(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * OFS_NS_PER_S + ts.tv_nsec;
}

int64_t ofs_clock_wall(void)
{
	return clock_read(CLOCK_REALTIME);
}

int64_t ofs_clock_monotonic(void)
{
	return clock_read(CLOCK_MONOTONIC);
}
