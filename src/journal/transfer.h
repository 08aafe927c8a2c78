/* SPDX-License-Identifier: MIT */
/*
 * Taking parts of the log out as they lie in its segments, and putting them where another log has
 * the same positions. Every record is verified both ways, so damage never travels.
 */
#pragma once

#include "base/buf.h"
#include "journal/journal.h"

/*
 * Appends the log from `from` on to `ret`: whole records, and the headers of segments between them.
 * It ends at `to` (a position that ofs_journal_durable() or ofs_journal_end() gave), or where some
 * `max` bytes, but one record at least, are together; *ret_to says where, and *ret_segment in which
 * segment the first byte lies (its first LSN). `dirfd` is the log's directory, which may be in use.
 * -ESTALE: the log begins after `from`; -EUCLEAN: there is damage at *ret_to, and `ret` has what
 * comes before; -EIO.
 */
int ofs_journal_export(int dirfd, const uint8_t uuid[16], ofs_lsn from, ofs_lsn to, size_t max,
		       struct ofs_buf *ret, ofs_lsn *ret_to, ofs_lsn *ret_segment);

/*
 * Puts such bytes, which begin at `from` in the segment `segment`, into the directory of a log that
 * nobody has open but to read what lies before `from` (ofs_journal_advance()). Segments are made as they are needed, and nothing is synced. -EUCLEAN: they are
 * not whole records of that log, and what was written is to be thrown away.
 */
int ofs_journal_import(int dirfd, const uint8_t uuid[16], ofs_lsn segment, ofs_lsn from,
		       const void *bytes, size_t len);

/* The same for the data of one record, without the rest of it: what a draft reads. */
int ofs_journal_import_data(int dirfd, const uint8_t uuid[16], ofs_lsn segment,
			    const struct ofs_journal_data *data, const void *bytes);

/* Removes the segments that lie wholly before `lsn`; UINT64_MAX: all. */
int ofs_journal_drop(int dirfd, ofs_lsn lsn);

/* The first LSN of the segment that holds `pos`. -ENOENT: the log begins after it. */
int ofs_journal_segment_of(int dirfd, ofs_lsn pos, ofs_lsn *ret);
