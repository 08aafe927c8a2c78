/* SPDX-License-Identifier: MIT */
/*
 * Waking processors that have halted, and keeping them from it. On a virtual machine a halted
 * processor has often been given back to the host, which takes tens of microseconds to bring it
 * back: more than most requests of a filesystem take.
 */
#pragma once

#include <stdint.h>

/* Round trips between threads on two processors, in nanoseconds; medians. */
struct ofs_wakeup {
	int64_t halted; /* the processors halt while they wait */
	int64_t awake; /* something keeps them busy meanwhile */
};

/*
 * Measures for about 0.1 s. On a busy machine the processors do not halt, and both take the same.
 * -ENOTSUP: the program may use only one processor; or another -errno.
 */
int ofs_wakeup_measure(struct ofs_wakeup *ret);

/*
 * Why processor time must not be spent on what could be left out here: the machine is on battery, or the
 * control group has a quota. A clause, static; NULL: nothing speaks against it.
 */
const char *ofs_wakeup_obstacle(void);

/*
 * Binds the calling thread to a processor and lets it run only where no other thread wants to:
 * while it runs, the processor does not halt. 0 or -errno.
 */
int ofs_wakeup_guard(int processor);

/*
 * The same with the least share of the processor (1.5% beside one other thread) instead of none, so
 * that the kernel does not take it for idle: threads that wake up are put elsewhere. 0 or -errno.
 */
int ofs_wakeup_occupy(int processor);

/* Spins for about a microsecond, unless another thread wants the processor. */
void ofs_wakeup_spin(void);
