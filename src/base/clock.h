/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/util.h"

/* Nanoseconds since 1970, as in file times. May jump. */
int64_t ofs_clock_wall(void);

/* Nanoseconds on a clock that never goes backwards; for delays. */
int64_t ofs_clock_monotonic(void);

/*
 * Nanoseconds since boot, not counting suspend; never jumps. For ages: files do not age while
 * nobody could have used them.
 */
int64_t ofs_clock_boot(void);

/*
 * Controls the wall and boot clocks in tests; the monotonic clock is not affected. From the start
 * of control both clocks run `rate` times as fast (0 and 1: normally) and are shifted by the
 * offsets. Members may be changed at any time by atomic stores. The boot clock stops rather than
 * run backwards.
 */
struct ofs_clock_control {
	int64_t wall_offset; /* nanoseconds */
	int64_t boot_offset;
	int64_t rate;
};

/*
 * Puts the clocks under control; NULL returns to the machine's clocks at once. Borrows `c` until
 * the next call. No other thread may read a clock during the call.
 */
void ofs_clock_set_control(const struct ofs_clock_control *c);

/*
 * Puts the clocks under control of a file that holds the three numbers, little-endian. The file
 * stays mapped, so writing to it changes the clocks of this process; it must not shrink. Returns 0,
 * -EINVAL if the file is too short, or the -errno of open(2) or mmap(2).
 */
int ofs_clock_control_from_file(const char *path);

/* The factor by which the boot clock runs faster, at least 1. Divide a delay in boot time by it. */
int64_t ofs_clock_rate(void);

/* True if the clocks are under control; sleeping threads should then check the time often. */
bool ofs_clock_is_controlled(void);

#define OFS_NS_PER_MS INT64_C(1000000)
#define OFS_NS_PER_S INT64_C(1000000000)

/* Converts nanoseconds to seconds, rounded down. */
static inline int64_t ofs_seconds(int64_t ns)
{
	return ns / OFS_NS_PER_S - (ns % OFS_NS_PER_S < 0);
}
