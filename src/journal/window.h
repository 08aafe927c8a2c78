/* SPDX-License-Identifier: MIT */
/* Reads a segment's records in large strides. */
#ifndef OFS_JOURNAL_WINDOW_H
#define OFS_JOURNAL_WINDOW_H

#include "journal/record.h"
#include "journal/segment.h"

struct ofs_window {
	const struct ofs_segment *segment; /* borrowed; of what the buffer holds a part */
	uint8_t *buf;
	size_t cap;
	ofs_lsn pos; /* of the first byte in the buffer */
	size_t len;
};

#define OFS_WINDOW_INIT             \
	{                           \
		NULL, NULL, 0, 0, 0 \
	}

void ofs_window_finish(struct ofs_window *w);

/*
 * 1 and the bytes [pos, pos + len) of the log, valid until the next call; 0 when the segment ends
 * before that; or -errno.
 */
int ofs_window_bytes(struct ofs_window *w, const struct ofs_segment *s, ofs_lsn pos, size_t len,
		     const uint8_t **ret);

/* 1 and the record at `pos`, its header and body verified; 0 when there is none; or -errno. */
int ofs_window_record(struct ofs_window *w, const struct ofs_segment *s, ofs_lsn pos, uint64_t key,
		      struct ofs_wal_record *ret, const uint8_t **ret_body);

/*
 * 1 when the rest of that record, data and padding, is there and the data is whole; 0 when not;
 * or -errno. The body may move and is then found at the new *body.
 */
int ofs_window_check_rest(struct ofs_window *w, const struct ofs_segment *s, uint64_t key,
			  const struct ofs_wal_record *rec, const uint8_t **body);

#endif
