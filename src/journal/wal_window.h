/* SPDX-License-Identifier: MIT */
/* Reads the records of segments in large strides, for recovery. */
#pragma once

#include "journal/segment.h"
#include "journal/wal_record.h"

/* The longest body of a record in which a damaged byte is found and corrected. */
#define OFS_WAL_MENDED_BODY_MAX 4096u
#define OFS_WAL_MENDED_MAX (OFS_WAL_HEADER + OFS_WAL_MENDED_BODY_MAX)

/* Zero-initialized. */
struct ofs_wal_window {
	const struct ofs_segment *segment; /* whose bytes the buffer holds; borrowed */
	uint8_t *buf;
	size_t cap;
	ofs_lsn pos; /* of the first byte in the buffer */
	size_t len;
};

void ofs_wal_window_finish(struct ofs_wal_window *w);

/*
 * Returns 1 and the bytes [pos, pos + len) of the log, valid until the next call; 0 if the segment
 * ends before that; or -errno.
 */
int ofs_wal_window_bytes(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
			 size_t len, const uint8_t **ret);

/*
 * Returns 1 and the record at `pos`, its header and body verified; 0 if there is none; or -errno.
 */
int ofs_wal_window_record(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
			  uint64_t key, struct ofs_wal_record *ret, const uint8_t **ret_body);

/*
 * The same for a record with one damaged byte in its header or body: tries every value of every
 * byte until the checksum is right. `mended`, of OFS_WAL_MENDED_MAX bytes, receives the corrected
 * bytes.
 */
int ofs_wal_window_mend(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
			uint64_t key, uint8_t *mended, struct ofs_wal_record *ret);

/*
 * Returns 1 if the rest of the record, data and padding, is present and the data is sound; 0 if
 * not; or -errno. The body may move; *body then points to it.
 */
int ofs_wal_window_check_rest(struct ofs_wal_window *w, const struct ofs_segment *s, uint64_t key,
			      const struct ofs_wal_record *rec, const uint8_t **body);
