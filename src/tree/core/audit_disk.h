/* SPDX-License-Identifier: MIT */
/*
 * The audit log on disk. Each tree has one: that of the store in STORE/log/, those of agents in
 * STORE/log/agents/. It is a text of lines, each a JSON object, whose bytes are counted from the
 * first one that was ever written, and is cut into segments, each in a file named after the
 * position of its first byte: the newest is plain, the others are compressed, and the oldest are
 * removed. A file that is not the newest is only ever replaced by one that has the next one's lines
 * as well, so whoever may read the directory can read the log without asking its writer. Nothing is
 * kept open.
 */
#pragma once

#include "base/buf.h"

#define OFS_AUDIT_LINE_MAX ((size_t)64 << 10) /* more than any line that is written */
#define OFS_AUDIT_PAGE_MAX (UINT64_C(1) << 20) /* positions that are read at once */

/* `store` is the directory of a store, `agent` the number of an agent's directory; 0: none. */

/*
 * Appends whole lines, after cutting off what a crash has left of one: as many as fill a segment.
 * Returns how many bytes these are, or -errno and none was appended. The oldest segments go when
 * all together have more than `max` bytes. One thread at a time.
 */
ssize_t ofs_audit_disk_append(int store, uint64_t agent, uint64_t max, const void *text,
			      size_t len);

/*
 * Compresses the newest lines, if there are enough of them: for when none have come for a while.
 * 0 or -errno. The same thread.
 */
int ofs_audit_disk_rest(int store, uint64_t agent, uint64_t max);

/* Where a log begins, and where its last line ends. 0, 0: there is none. */
int ofs_audit_disk_bounds(int store, uint64_t agent, uint64_t *ret_start, uint64_t *ret_end);

/* Appends the lines that begin in [from, to), as far as they are there and sound. */
int ofs_audit_disk_read(int store, uint64_t agent, uint64_t from, uint64_t to, struct ofs_buf *out);

/* Removes an agent's log. */
int ofs_audit_disk_remove(int store, uint64_t agent);

/* Calls `fn` for each agent that has a log, until it returns nonzero. */
int ofs_audit_disk_each(int store, int (*fn)(void *arg, const char *agent), void *arg);
