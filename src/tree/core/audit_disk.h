/* SPDX-License-Identifier: MIT */
/*
 * The audit log on disk: STORE/log/, a text of lines, each a JSON object, whose bytes are counted
 * from the first one that was ever written. It is cut into segments, each in a file named after the
 * position of its first byte: the newest is plain, the others are compressed, and the oldest are
 * removed. A file that is not the newest never changes, so whoever may read the directory can read
 * the log without asking its writer.
 */
#pragma once

#include "base/buf.h"

#define OFS_AUDIT_LINE_MAX ((size_t)64 << 10) /* more than any line that is written */
#define OFS_AUDIT_PAGE_MAX (UINT64_C(1) << 20) /* positions that are read at once */

/* The one that writes. */
struct ofs_audit_disk {
	int store; /* the directory */
	int dir; /* of the segments; -1: not made yet */
	int fd; /* the newest segment; -1: there is none */
	uint64_t start; /* its position */
	uint64_t size;
	uint64_t max; /* bytes of all segments */
};

/*
 * For the store at `path`. Cuts off what a crash has left of a line, and compresses what it has
 * left plain. 0 or -errno; then nothing can be appended.
 */
int ofs_audit_disk_open(struct ofs_audit_disk *d, const char *path, uint64_t max);
void ofs_audit_disk_close(struct ofs_audit_disk *d);

/* Appends whole lines: all of them, or none (-errno). */
int ofs_audit_disk_append(struct ofs_audit_disk *d, const void *text, size_t len);

/* Where the log in the directory of a store begins, and where its last line ends. 0, 0: there is none. */
int ofs_audit_disk_bounds(int store, uint64_t *ret_start, uint64_t *ret_end);

/* Appends the lines that begin in [from, to), as far as they are there. */
int ofs_audit_disk_read(int store, uint64_t from, uint64_t to, struct ofs_buf *out);

/*
 * Appends those lines that are JSON objects and tell of what lies below the directory `prefix`, a
 * path from the root ("": all). A path in them becomes relative to that directory; one that leads
 * elsewhere is left out, and with all of them the line.
 */
void ofs_audit_filter(const char *text, size_t len, const char *prefix, struct ofs_buf *out);
