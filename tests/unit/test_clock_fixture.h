/* SPDX-License-Identifier: MIT */
/* Replaces the library's clocks with ones that a test can move. */
#pragma once

#include <time.h>

#include "base/clock.h"

/* Nanoseconds added to every clock, and to the wall clock alone. */
static int64_t ahead, stepped;

static inline int64_t clock_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * OFS_NS_PER_S + ts.tv_nsec + ahead;
}

int64_t ofs_clock_wall(void)
{
	return clock_now(CLOCK_REALTIME) + stepped;
}

int64_t ofs_clock_monotonic(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

int64_t ofs_clock_boot(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

int64_t ofs_clock_rate(void)
{
	return 1;
}

bool ofs_clock_is_controlled(void)
{
	return true;
}
