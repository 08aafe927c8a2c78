/* SPDX-License-Identifier: MIT */
/*
 * Faults on demand, for the crash tests. The environment variable OFS_FAILPOINT, read once at the
 * first hit, holds a comma-separated list of `name=action[@N]`:
 *
 *   name    where: io.open io.mkdir io.pread io.preadv io.pwrite io.pwritev io.datasync io.sync
 *           io.truncate io.punch io.zero io.allocate io.size io.rename io.unlink io.list,
 *           index.pwrite index.sync index.truncate (SQLite's own files), or another layer's
 *           name: remote.put remote.get remote.list remote.delete (requests to S3: one that fails
 *           is one without an answer)
 *   action  kill          SIGKILL instead of the call
 *           kill-after    the call, when it succeeds, and then SIGKILL; io.open: also when it fails
 *           short         half of a write and then SIGKILL; elsewhere the same as kill-after
 *           eio, enospc, eopnotsupp    the call is not made and fails with that error
 *           slow          the call, 20 milliseconds later
 *           note          nothing but the line in the log; later items of that name still count
 *   @N      only at the Nth hit of that name by this process, counted from 1; else at every hit
 *
 * A point that fires first appends the line `name=action@hit` to the file that OFS_FAILPOINT_LOG
 * names. A list that does not parse ends the process: a fault that was asked for must not be left
 * out silently.
 */
#pragma once

#define OFS_FAULT_KILL_AFTER 1
#define OFS_FAULT_SHORT 2

/* Nonzero unless it is known that no failpoint was asked for; read with relaxed order. */
extern int ofs_failpoint_armed;

int ofs_failpoint_hit(const char *name);
void ofs_failpoint_kill(void);

/* 0: go on; negative: fail with that; positive: an OFS_FAULT_* for ofs_failpoint_after(). */
static inline int ofs_failpoint(const char *name)
{
	if (__builtin_expect(__atomic_load_n(&ofs_failpoint_armed, __ATOMIC_RELAXED), 0))
		return ofs_failpoint_hit(name);
	return 0;
}

/* After the call succeeded. */
static inline void ofs_failpoint_after(int fault)
{
	if (__builtin_expect(fault > 0, 0))
		ofs_failpoint_kill();
}
