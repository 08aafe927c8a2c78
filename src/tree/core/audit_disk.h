/* SPDX-License-Identifier: MIT */
/*
 * The audit log on disk. Each tree has one: the store's own in STORE/log/, those of agents in
 * STORE/log/agents/. A log is a stream of lines, each a JSON object. Positions in it count bytes
 * from the first line ever written. It is cut into segments, each in a file named after the
 * position of its first byte: the newest is plain, the others are compressed, and the oldest are
 * removed. A file that is not the newest is only ever replaced by one that also has the lines of
 * the next. So anybody who may read the directory can read the log without asking its writer. No
 * file stays open.
 */
#pragma once

#include "base/buf.h"

#define OFS_AUDIT_LINE_MAX ((size_t)64 << 10) /* longer than any line written */
#define OFS_AUDIT_PAGE_MAX (UINT64_C(1) << 20) /* bytes read at once */

/*
 * In all functions, `store` is a descriptor of the store's directory, and `agent` the number of an
 * agent's directory; 0: the log is the store's own.
 */

/*
 * Appends whole lines, as many as fill a segment, after cutting off the part of a line that a crash
 * has left. Returns the number of bytes appended, or -errno if there are none. Removes the oldest
 * segments if all together have more than `max` bytes. For one thread at a time.
 */
ssize_t ofs_audit_disk_append(int store, uint64_t agent, uint64_t max, const void *text,
			      size_t len);

/*
 * Compresses the newest lines if there are enough of them; for when no lines have come for a while.
 * Returns 0 or -errno. For the same thread.
 */
int ofs_audit_disk_rest(int store, uint64_t agent, uint64_t max);

/*
 * Sets the positions where a log begins and where its last line ends; both 0 if there is no log.
 * Returns 0 or -errno.
 */
int ofs_audit_disk_bounds(int store, uint64_t agent, uint64_t *ret_start, uint64_t *ret_end);

/* Appends the lines that begin in [from, to), as far as they exist and are sound. 0 or -errno. */
int ofs_audit_disk_read(int store, uint64_t agent, uint64_t from, uint64_t to, struct ofs_buf *out);

/* Removes an agent's log. Returns 0 or -errno. */
int ofs_audit_disk_remove(int store, uint64_t agent);

/* Calls `fn` for each agent that has a log, until it returns nonzero. */
int ofs_audit_disk_each(int store, int (*fn)(void *arg, const char *agent), void *arg);
