/* SPDX-License-Identifier: MIT */
/*
 * Injects faults for the crash tests. The environment variable OFS_FAILPOINT, read once at the
 * first hit, holds a comma-separated list of `name=action[@N]`:
 *
 *   name    where: io.open io.mkdir io.chmod io.pread io.preadv io.pwrite io.pwritev io.datasync
 *           io.sync io.truncate io.punch io.zero io.allocate io.size io.rename io.unlink io.list;
 *           index.pread index.pwrite index.sync index.truncate (SQLite's own files; also search.*);
 *           index.commit; store.move; remote.put remote.get remote.list remote.delete (requests
 *           to S3: a failed one gets no answer)
 *   action  kill          SIGKILL instead of the call
 *           kill-after    SIGKILL after the call if it succeeds; for io.open and index.pread, also
 *                         if it fails
 *           short         SIGKILL after half of a write; elsewhere the same as kill-after
 *           eio, enospc, eopnotsupp    fails with that error, without the call
 *           slow          delays the call by 20 milliseconds
 *           note          only logs the hit; later items of that name still count
 *   @N      only at the Nth hit of that name by this process, counted from 1; otherwise at every
 *   hit
 *
 * Before a failpoint fires, it appends the line `name=action@hit` to the file named by
 * OFS_FAILPOINT_LOG. An invalid list ends the process, so that no requested fault is silently
 * ignored.
 */
#pragma once

#define OFS_FAULT_KILL_AFTER 1
#define OFS_FAULT_SHORT 2

/* Zero once it is known that there are no failpoints; read with relaxed order. */
extern int ofs_failpoint_armed;

int ofs_failpoint_hit(const char *name);
void ofs_failpoint_kill(void);

/*
 * Returns 0 to continue, -errno to fail with, or an OFS_FAULT_* to give to ofs_failpoint_after().
 */
static inline int ofs_failpoint(const char *name)
{
	if (__builtin_expect(__atomic_load_n(&ofs_failpoint_armed, __ATOMIC_RELAXED), 0))
		return ofs_failpoint_hit(name);
	return 0;
}

/* Must be called once the call has succeeded. */
static inline void ofs_failpoint_after(int fault)
{
	if (__builtin_expect(fault > 0, 0))
		ofs_failpoint_kill();
}
