/* SPDX-License-Identifier: MIT */
#ifndef OFS_BASE_CLOCK_H
#define OFS_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds since 1970, as file times use them; may step. */
int64_t ofs_clock_wall(void);

/* Nanoseconds on a clock that never steps back; for delays. */
int64_t ofs_clock_monotonic(void);

/*
 * Nanoseconds since the machine was started, the time that it slept included; never steps. For how
 * long ago something was.
 */
int64_t ofs_clock_boot(void);

/*
 * Another course of wall and boot clock, for tests; the monotonic one stays what it is. Both run
 * `rate` times as fast from the moment on at which control was taken (0 and 1: as they are), and
 * the offsets are added. Offsets may change at any time, by an atomic store; the boot clock stands
 * where it would have to run backwards.
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

/*
 * How much faster the boot clock runs, at least 1: who sleeps until a boot time divides by it what is
 * left.
 */
int64_t ofs_clock_rate(void);

/* Whether a test has them in its hands, so that who sleeps should look often. */
bool ofs_clock_is_controlled(void);

#define OFS_NS_PER_MS INT64_C(1000000)
#define OFS_NS_PER_S INT64_C(1000000000)

/* Whole seconds of a time, rounded down. */
static inline int64_t ofs_seconds(int64_t ns)
{
	return ns / OFS_NS_PER_S - (ns % OFS_NS_PER_S < 0);
}

#endif
