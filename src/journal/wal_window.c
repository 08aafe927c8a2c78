/* SPDX-License-Identifier: MIT */
#include "journal/wal_window.h"

#include "io/file.h"

#define WINDOW_STRIDE ((size_t)1 << 20)

void ofs_wal_window_finish(struct ofs_wal_window *w)
{
	ofs_cleanup_free(&w->buf);
}

static int window_load(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
		       size_t want)
{
	ssize_t n;

	w->buf = ofs_grow(w->buf, &w->cap, want, 1);
	w->len = 0;
	n = ofs_io_pread(s->fd, w->buf, want, pos - s->first);
	if (n < 0)
		return (int)n;
	w->segment = s;
	w->pos = pos;
	w->len = (size_t)n;
	return 0;
}

int ofs_wal_window_bytes(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
			 size_t len, const uint8_t **ret)
{
	ofs_lsn end = s->end;
	int r;

	if (pos >= end || len > end - pos)
		return 0;
	if (w->segment != s || pos < w->pos || pos - w->pos + len > w->len) {
		r = window_load(w, s, pos, OFS_MIN(OFS_MAX(len, WINDOW_STRIDE), end - pos));
		if (r < 0)
			return r;
		if (w->len < len)
			return -EIO;
	}
	*ret = w->buf + (pos - w->pos);
	return 1;
}

int ofs_wal_window_record(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
			  uint64_t key, struct ofs_wal_record *ret, const uint8_t **ret_body)
{
	const uint8_t *raw;
	int r = ofs_wal_window_bytes(w, s, pos, OFS_WAL_HEADER, &raw);

	if (r <= 0)
		return r;
	if (!ofs_wal_decode(raw, pos, ret))
		return 0;
	r = ofs_wal_window_bytes(w, s, pos, OFS_WAL_HEADER + (size_t)ret->body_len, &raw);
	if (r <= 0)
		return r;
	*ret_body = raw + OFS_WAL_HEADER;
	return ofs_wal_verify(raw, *ret_body, ret->body_len, pos, key);
}

/* True if the `len` bytes at `raw` begin with the whole header and body of a record at `pos`. */
static bool window_is_sound(const uint8_t *raw, size_t len, ofs_lsn pos, uint64_t key,
			    struct ofs_wal_record *ret)
{
	return ofs_wal_decode(raw, pos, ret) && OFS_WAL_HEADER + (size_t)ret->body_len <= len &&
	       ofs_wal_verify(raw, raw + OFS_WAL_HEADER, ret->body_len, pos, key);
}

int ofs_wal_window_mend(struct ofs_wal_window *w, const struct ofs_segment *s, ofs_lsn pos,
			uint64_t key, uint8_t *mended, struct ofs_wal_record *ret)
{
	size_t len = OFS_MIN(OFS_WAL_MENDED_MAX, s->end - pos), end = OFS_WAL_HEADER;
	const uint8_t *raw;
	int r = ofs_wal_window_bytes(w, s, pos, len, &raw);

	if (r <= 0 || len < OFS_WAL_HEADER)
		return OFS_MIN(r, 0);
	memcpy(mended, raw, len);
	if (ofs_wal_decode(mended, pos, ret) && OFS_WAL_HEADER + (size_t)ret->body_len <= len)
		end += ret->body_len;
	for (size_t i = 0; i < end; i++) {
		for (unsigned int change = 1; change <= UINT8_MAX; change++) {
			mended[i] = (uint8_t)(raw[i] ^ change);
			if (window_is_sound(mended, len, pos, key, ret))
				return 1;
		}
		mended[i] = raw[i];
	}
	return 0;
}

int ofs_wal_window_check_rest(struct ofs_wal_window *w, const struct ofs_segment *s, uint64_t key,
			      const struct ofs_wal_record *rec, const uint8_t **body)
{
	size_t before = OFS_WAL_HEADER + (size_t)rec->body_len + OFS_WAL_SUM;
	const uint8_t *raw;
	uint64_t hash;
	int r;

	if (ofs_wal_size(rec) > s->end - rec->lsn)
		return 0;
	if (!rec->data_len)
		return 1;
	r = ofs_wal_window_bytes(w, s, rec->lsn, before + rec->data_len, &raw);
	if (r <= 0)
		return r;
	*body = raw + OFS_WAL_HEADER;
	hash = ofs_wal_data_hash(key, raw + before, rec->data_len);
	return ofs_get_le64(raw + before - OFS_WAL_SUM) == rec->data_sum &&
	       ofs_wal_data_sum(key, hash, ofs_wal_data_pos(rec)) == rec->data_sum;
}
