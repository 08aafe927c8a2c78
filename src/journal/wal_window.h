/* SPDX-License-Identifier: MIT */
/* Reads the records of segments in large strides, for the recovery. */
#pragma once

#include "journal/segment.h"
#include "journal/wal_record.h"

/* A damaged byte is found and put right in records whose body is no longer than that. */
#define OFS_WAL_MENDED_BODY_MAX 4096u
#define OFS_WAL_MENDED_MAX (OFS_WAL_HEADER + OFS_WAL_MENDED_BODY_MAX)

/* Begins as zeros. */
struct ofs_wal_window {
	const struct ofs_segment *segment; /* borrowed; of what the buffer holds a part */
	uint8_t *buf;
	size_t cap;
	ofs_lsn pos; /* of the first byte in the buffer */
	size_t len;
};

void ofs_wal_window_finish(struct ofs_wal_window *w);

/*
 * 1 and the bytes [pos, pos + len) of the log, valid until the next call; 0 when the segment ends
 * before that; or -errno.
 */
int ofs_wal_window_bytes(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
			 size_t len, const uint8_t **ret);

/* 1 and the record at `pos`, its header and body verified; 0 when there is none; or -errno. */
int ofs_wal_window_record(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
			  uint64_t key, struct ofs_wal_record *ret, const uint8_t **ret_body);

/*
 * The same for a record of whose header or body one byte is damaged: every value of every byte is
 * tried, and the checksum tells which it was. What is put right is in `mended`, of
 * OFS_WAL_MENDED_MAX bytes.
 */
int ofs_wal_window_mend(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
			uint64_t key, uint8_t *mended, struct ofs_wal_record *ret);

/*
 * 1 when the rest of that record, data and padding, is there and the data is whole; 0 when not;
 * or -errno. The body may move and is then found at the new *body.
 */
int ofs_wal_window_check_rest(struct ofs_wal_window *w, const struct ofs_segment *s, uint64_t key,
			      const struct ofs_wal_record *rec, const uint8_t **body);
