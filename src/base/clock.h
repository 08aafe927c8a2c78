/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/util.h"

/* Nanoseconds since 1970, as file times use them; may step. */
int64_t ofs_clock_wall(void);

/* Nanoseconds on a clock that never steps back; for delays. */
int64_t ofs_clock_monotonic(void);

/*
 * Nanoseconds since the machine was started, without the time that it slept; never steps. For ages:
 * what nobody could use meanwhile does not become older.
 */
int64_t ofs_clock_boot(void);

/*
 * Changes the wall and boot clocks, for tests; the monotonic one stays as it is. From the moment of
 * control on both run `rate` times as fast (0 and 1: as they are), and the offsets are added.
 * Offsets may change at any time, by an atomic store; the boot clock stops rather than run
 * backwards.
 */
struct ofs_clock_control {
	int64_t wall_offset; /* nanoseconds */
	int64_t boot_offset;
	int64_t rate;
};

/*
 * Borrowed until another one takes over; NULL: the machine's clocks again, at once. Not while other
 * threads look at a clock.
 */
void ofs_clock_set_control(const struct ofs_clock_control *c);

/*
 * Takes control from a file that holds the three numbers, little-endian, and stays mapped: whoever
 * writes to it changes the clocks of this process. It must not become shorter. -EINVAL: it is too
 * short; else as open(2) and mmap(2).
 */
int ofs_clock_control_from_file(const char *path);

/* How much faster the boot clock runs, at least 1: to sleep until a boot time, divide by it. */
int64_t ofs_clock_rate(void);

/* A test controls the clocks: whoever sleeps should look often. */
bool ofs_clock_is_controlled(void);

#define OFS_NS_PER_MS INT64_C(1000000)
#define OFS_NS_PER_S INT64_C(1000000000)

/* Whole seconds of a time, rounded down. */
static inline int64_t ofs_seconds(int64_t ns)
{
	return ns / OFS_NS_PER_S - (ns % OFS_NS_PER_S < 0);
}
