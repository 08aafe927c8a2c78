/* SPDX-License-Identifier: MIT */
/*
 * The files of the log. A segment is named `<first LSN, 16 lower-case hex digits>.wal` and holds
 * the log from that LSN on: the byte with LSN n lies at offset n - first. It begins with a header,
 * which takes up LSNs like any other bytes, so the first record of a segment has the LSN first +
 * 64. A segment ends where the name of the next one says. In the last one zeros may follow the
 * records. All numbers are little-endian.
 *
 *   offset  size
 *        0     8  magic "OFSjrnl\0"
 *        8     4  format version, 1
 *       12     4  flags: 1: it leaps: the LSNs since the last record before it were skipped
 *       16    16  uuid of the store
 *       32     8  first LSN
 *       40     8  first LSN of the segment before, or 0
 *       48     8  durable, as in a record, when the segment was started
 *       56     8  XXH3-64 of the bytes before, seeded with the first LSN
 *
 * Every later version keeps the size of the header, and the magic, version and checksum in their
 * places. Records: wal_record.h.
 */
#pragma once

#include <stdatomic.h>

#include "journal/journal.h"

#define OFS_SEGMENT_FORMAT 1u
#define OFS_SEGMENT_HEADER 64u
#define OFS_SEGMENT_NAME_SIZE 21u /* with the final NUL */

struct ofs_segment {
	ofs_lsn first;
	ofs_lsn prev; /* from the header */
	ofs_lsn durable; /* from the header */
	bool sound; /* the header is intact; otherwise prev and durable are 0 */
	bool leaps; /* from the header: LSNs before this segment were skipped */
	_Atomic ofs_lsn end; /* grows under the append lock while this is the newest segment */
	_Atomic uint32_t records; /* appended since the log was opened; under the append lock */
	ofs_lsn ahead; /* end of the zeros written after `end`, or 0; under the append lock */
	bool scarce; /* there is no space for such zeros; under the append lock */
	int fd;
	atomic_uint refs;
};

/* Sorted by `first`; each entry holds a reference. */
struct ofs_segment_list {
	struct ofs_segment **at;
	size_t n;
	size_t cap;
};

void ofs_segment_name(ofs_lsn first, char ret[OFS_SEGMENT_NAME_SIZE]);

/* False unless `name` is spelled exactly as ofs_segment_name() spells it. */
bool ofs_segment_parse_name(const char *name, ofs_lsn *ret);

/*
 * True if OFS_SEGMENT_HEADER bytes are an intact header of the segment that starts at `first`. Sets
 * *ret_format to its format, which may be unknown.
 */
bool ofs_segment_is_sound(const uint8_t *raw, ofs_lsn first, uint32_t *ret_format);

/*
 * Creates the file with its header and syncs nothing. After an error there is no file, or only part
 * of a header, which ofs_segment_list_load() removes.
 */
int ofs_segment_create(int dirfd, const uint8_t uuid[16], ofs_lsn first, ofs_lsn prev,
		       ofs_lsn durable, bool leaps, struct ofs_segment **ret);

/*
 * Removes the zeros after the end. A failure does no harm, since recovery takes them for a torn
 * tail. The caller holds the append lock, or is the only user of the journal. NULL is allowed.
 */
void ofs_segment_cut_ahead(struct ofs_segment *s);

struct ofs_segment *ofs_segment_ref(struct ofs_segment *s);

/* Closes the file with the last reference. NULL is allowed. */
void ofs_segment_unref(struct ofs_segment *s);

/* A segment without a file and without records. */
struct ofs_segment *ofs_segment_none(ofs_lsn first);

/*
 * Opens every segment in the directory and sorts the list. A damaged header clears `sound`. A
 * segment of another store or an unknown version is -EINVAL. Other files are ignored. What is left
 * of a segment that was never made is removed or, with `read_only`, ignored.
 */
int ofs_segment_list_load(struct ofs_segment_list *l, int dirfd, const uint8_t uuid[16],
			  bool read_only, struct ofs_error *err);
/* Does the same with first LSNs alone: no file is opened, and every end is its first LSN. */
int ofs_segment_list_names(struct ofs_segment_list *l, int dirfd);

void ofs_segment_list_finish(struct ofs_segment_list *l);

/* Takes over the reference. `s` is newer than all others, unless the list is sorted next. */
void ofs_segment_list_append(struct ofs_segment_list *l, struct ofs_segment *s);

/* Sorts the oldest first. */
void ofs_segment_list_sort(struct ofs_segment_list *l);

/* Ends the list at `end`: drops segments and shortens the last one. */
void ofs_segment_list_clip(struct ofs_segment_list *l, ofs_lsn end);

/* The index of the last segment that starts at or before `lsn`, or -1. */
ptrdiff_t ofs_segment_list_find(const struct ofs_segment_list *l, ofs_lsn lsn);
