/* SPDX-License-Identifier: MIT */
/*
 * Copies parts of the log out of its segments, and into another log at the same positions. Every
 * record is verified in both directions, so damage never spreads.
 */
#pragma once

#include "base/buf.h"
#include "journal/journal.h"

/*
 * Appends the log from `from` on to `ret`: whole records, and the segment headers between them.
 * Stops at `to` (a position that ofs_journal_durable() or ofs_journal_end() returned), or once
 * about `max` bytes, but at least one record, are together. Sets *ret_to to the position where it
 * stopped, and *ret_segment to the first LSN of the segment that holds the first byte. `dirfd` is
 * the directory of the log, which may be in use. -ESTALE: the log begins after `from`; -EUCLEAN:
 * the log is damaged at *ret_to, and `ret` has what precedes it; -EIO.
 */
int ofs_journal_export(int dirfd, const uint8_t uuid[16], ofs_lsn from, ofs_lsn to, size_t max,
		       struct ofs_buf *ret, ofs_lsn *ret_to, ofs_lsn *ret_segment);

/*
 * Writes such bytes, which begin at `from` in the segment `segment`, into the directory of a log.
 * If the log is open, then only to read what lies before `from` (ofs_journal_advance()). Segments
 * are created as needed, and nothing is synced. -EUCLEAN: the bytes are not whole records of that
 * log, and what was written must be discarded.
 */
int ofs_journal_import(int dirfd, const uint8_t uuid[16], ofs_lsn segment, ofs_lsn from,
		       const void *bytes, size_t len);

/* Writes only the data of one record, without its header and body: enough to read a draft. */
int ofs_journal_import_data(int dirfd, const uint8_t uuid[16], ofs_lsn segment,
			    const struct ofs_journal_data *data, const void *bytes);

/* Removes the segments that lie entirely before `lsn`; UINT64_MAX: all. */
int ofs_journal_drop(int dirfd, ofs_lsn lsn);

/* Sets *ret to the first LSN of the segment that holds `pos`. -ENOENT: the log begins after it. */
int ofs_journal_segment_of(int dirfd, ofs_lsn pos, ofs_lsn *ret);
