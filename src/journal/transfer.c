/* SPDX-License-Identifier: MIT */
#include "journal/transfer.h"

#include <fcntl.h>

#include "io/file.h"
#include "journal/segment.h"
#include "journal/wal_record.h"

/* Enough for any record. */
#define RECORD_MAX \
	(OFS_WAL_HEADER + OFS_JOURNAL_BODY_MAX + OFS_WAL_SUM + OFS_JOURNAL_DATA_MAX + OFS_WAL_ALIGN)

/*
 * Returns the size of the record or segment header at the start of `bytes`, which lie at `pos` of
 * the log; 0 if it is longer than `len`; -EUCLEAN if there is none that is whole.
 */
static ssize_t measure(const uint8_t uuid[16], const uint8_t *bytes, size_t len, ofs_lsn pos,
		       bool *ret_header)
{
	uint64_t key = ofs_wal_key(uuid), size, hash;
	struct ofs_wal_record rec;
	const uint8_t *data, *end = bytes + OFS_WAL_HEADER;
	uint32_t format;

	*ret_header = len >= OFS_SEGMENT_HEADER && ofs_segment_is_sound(bytes, pos, &format);
	if (*ret_header)
		return format == OFS_SEGMENT_FORMAT && memcmp(bytes + 16, uuid, 16) == 0
			       ? (ssize_t)OFS_SEGMENT_HEADER
			       : -EUCLEAN;
	if (len < OFS_WAL_HEADER)
		return 0;
	if (!ofs_wal_decode(bytes, pos, &rec))
		return len < OFS_SEGMENT_HEADER ? 0 : -EUCLEAN;
	size = ofs_wal_size(&rec);
	if (size > len)
		return 0;
	if (!ofs_wal_verify(bytes, bytes + OFS_WAL_HEADER, rec.body_len, pos, key))
		return -EUCLEAN;
	end += rec.body_len;
	if (rec.data_len) {
		data = bytes + (ofs_wal_data_pos(&rec) - pos);
		hash = ofs_wal_data_hash(key, data, rec.data_len);
		if (ofs_wal_data_sum(key, hash, ofs_wal_data_pos(&rec)) != rec.data_sum ||
		    ofs_get_le64(data - OFS_WAL_SUM) != rec.data_sum)
			return -EUCLEAN;
		end = data + rec.data_len;
	}
	while (end < bytes + size)
		if (*end++)
			return -EUCLEAN;
	return (ssize_t)size;
}

/*
 * Appends what fits of the segment `first`, which ends at `end`, from *pos on, and advances *pos.
 */
static int export_segment(int dirfd, const uint8_t uuid[16], ofs_lsn first, ofs_lsn end, size_t max,
			  struct ofs_buf *ret, ofs_lsn *pos)
{
	char name[OFS_SEGMENT_NAME_SIZE];
	size_t start = ret->len, want = OFS_MIN(end - *pos, max + RECORD_MAX), used = 0;
	OFS_CLOSE int fd = -1;
	bool header;
	ssize_t n;

	ofs_segment_name(first, name);
	fd = ofs_io_open(dirfd, name, O_RDONLY, 0);
	if (fd < 0)
		return fd == -ENOENT ? -ESTALE : fd;
	ofs_buf_reserve(ret, want);
	n = ofs_io_pread(fd, ret->data + start, want, *pos - first);
	if (n < 0)
		return (int)n;
	if ((size_t)n < want)
		return -EUCLEAN;
	while (used < want && used < max) {
		n = measure(uuid, ret->data + start + used, want - used, *pos, &header);
		if (n <= 0)
			break;
		used += (size_t)n;
		*pos += (size_t)n;
	}
	ret->len = start + used;
	/* There was room for any record, so one that is cut off reaches beyond `end`. */
	return n < 0 || !used ? -EUCLEAN : 0;
}

int ofs_journal_export(int dirfd, const uint8_t uuid[16], ofs_lsn from, ofs_lsn to, size_t max,
		       struct ofs_buf *ret, ofs_lsn *ret_to, ofs_lsn *ret_segment)
{
	struct ofs_segment_list l = { 0 };
	size_t start = ret->len;
	ofs_lsn pos = from;
	ptrdiff_t at;
	int r = ofs_segment_list_names(&l, dirfd);

	at = ofs_segment_list_find(&l, from);
	if (r == 0 && at < 0)
		r = -ESTALE;
	if (r == 0)
		*ret_segment = l.at[at]->first;
	for (size_t i = (size_t)at; r == 0 && i < l.n && pos < to && ret->len - start < max; i++) {
		ofs_lsn end = i + 1 < l.n ? OFS_MIN(l.at[i + 1]->first, to) : to;

		if (pos < end)
			r = export_segment(dirfd, uuid, l.at[i]->first, end,
					   max - (ret->len - start), ret, &pos);
		if (pos < end)
			break;
	}
	ofs_segment_list_finish(&l);
	*ret_to = pos;
	return r;
}

int ofs_journal_segment_of(int dirfd, ofs_lsn pos, ofs_lsn *ret)
{
	struct ofs_segment_list l = { 0 };
	int r = ofs_segment_list_names(&l, dirfd);
	ptrdiff_t at = ofs_segment_list_find(&l, pos);

	if (r == 0 && at < 0)
		r = -ENOENT;
	if (r == 0)
		*ret = l.at[at]->first;
	ofs_segment_list_finish(&l);
	return r;
}

int ofs_journal_drop(int dirfd, ofs_lsn lsn)
{
	struct ofs_segment_list l = { 0 };
	int r = ofs_segment_list_names(&l, dirfd);

	for (size_t i = 0; i < l.n && r == 0; i++) {
		char name[OFS_SEGMENT_NAME_SIZE];

		if (lsn != UINT64_MAX && (i + 1 == l.n || l.at[i + 1]->first > lsn))
			break;
		ofs_segment_name(l.at[i]->first, name);
		r = ofs_io_unlink(dirfd, name);
	}
	ofs_segment_list_finish(&l);
	return r;
}

/* Opens the segment for writing; creates it if it is missing. */
static int open_segment(int dirfd, const uint8_t uuid[16], ofs_lsn first)
{
	char name[OFS_SEGMENT_NAME_SIZE];
	struct ofs_segment *s;
	int r;

	ofs_segment_name(first, name);
	r = ofs_io_open(dirfd, name, O_WRONLY, 0);
	if (r != -ENOENT)
		return r;
	r = ofs_segment_create(dirfd, uuid, first, 0, first, false, &s);
	if (r < 0)
		return r;
	ofs_segment_unref(s);
	return ofs_io_open(dirfd, name, O_WRONLY, 0);
}

/* Writes bytes of the log that lie in one segment. */
static int put(int dirfd, const uint8_t uuid[16], ofs_lsn segment, ofs_lsn pos, const void *bytes,
	       size_t len)
{
	OFS_CLOSE int fd = len ? open_segment(dirfd, uuid, segment) : -1;

	if (!len)
		return 0;
	if (pos < segment)
		return -EUCLEAN;
	return fd < 0 ? fd : ofs_io_pwrite(fd, bytes, len, pos - segment);
}

int ofs_journal_import(int dirfd, const uint8_t uuid[16], ofs_lsn segment, ofs_lsn from,
		       const void *bytes, size_t len)
{
	size_t at = 0, run = 0; /* [run, at) is verified but not yet written */
	const uint8_t *data = bytes;
	bool header;
	ssize_t n;
	int r = 0;

	while (r == 0 && at < len) {
		n = measure(uuid, data + at, len - at, from + at, &header);
		if (n <= 0)
			return -EUCLEAN;
		if (header && from + at != segment) {
			r = put(dirfd, uuid, segment, from + run, data + run, at - run);
			segment = from + at;
			run = at;
		}
		at += (size_t)n;
	}
	return r < 0 ? r : put(dirfd, uuid, segment, from + run, data + run, at - run);
}

int ofs_journal_import_data(int dirfd, const uint8_t uuid[16], ofs_lsn segment,
			    const struct ofs_journal_data *data, const void *bytes)
{
	uint64_t key = ofs_wal_key(uuid), hash = ofs_wal_data_hash(key, bytes, data->len);
	uint8_t sum[OFS_WAL_SUM];
	int r;

	ofs_put_le64(sum, ofs_wal_data_sum(key, hash, data->pos));
	r = put(dirfd, uuid, segment, data->pos - sizeof(sum), sum, sizeof(sum));
	return r < 0 ? r : put(dirfd, uuid, segment, data->pos, bytes, data->len);
}
