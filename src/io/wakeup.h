/* SPDX-License-Identifier: MIT */
/*
 * Waking halted processors, and keeping them from halting. On a virtual machine a halted processor
 * has often been returned to the host, which takes tens of microseconds to bring it back: longer
 * than most filesystem requests.
 */
#pragma once

#include <stdint.h>

/* Median round trips between threads on two processors, in nanoseconds. */
struct ofs_wakeup {
	int64_t halted; /* the processors may halt while they wait */
	int64_t awake; /* something keeps the processors busy */
};

/*
 * Measures round trips for about 0.1 s. On a busy machine processors do not halt, and both results
 * are the same. -ENOTSUP: the program may use only one processor; or another -errno.
 */
int ofs_wakeup_measure(struct ofs_wakeup *ret);

/*
 * Returns why optional work must not use processor time here: the machine is on battery, or the
 * control group has a quota. A static clause, or NULL if there is no reason.
 */
const char *ofs_wakeup_obstacle(void);

/*
 * Binds the calling thread to a processor and lets it run only when no other thread wants to. While
 * it runs, the processor does not halt. Returns 0 or -errno.
 */
int ofs_wakeup_guard(int processor);

/*
 * As ofs_wakeup_guard(), but with the smallest share of the processor (1.5% beside one other
 * thread), so that the kernel does not consider the processor idle and wakes threads elsewhere.
 * Returns 0 or -errno.
 */
int ofs_wakeup_occupy(int processor);

/* Spins for about a microsecond, unless another thread wants the processor. */
void ofs_wakeup_spin(void);
