/* SPDX-License-Identifier: MIT */
#include "journal/window.h"

#include "base/util.h"
#include "io/file.h"

#define WINDOW_STRIDE ((size_t)1 << 20)

void ofs_window_finish(struct ofs_window *w)
{
	ofs_cleanup_free(&w->buf);
	*w = (struct ofs_window)OFS_WINDOW_INIT;
}

static int window_load(struct ofs_window *w, const struct ofs_segment *s, ofs_lsn pos, size_t want)
{
	uint8_t *bigger;
	ssize_t n;

	if (want > w->cap) {
		bigger = realloc(w->buf, want);
		if (!bigger)
			return -ENOMEM;
		w->buf = bigger;
		w->cap = want;
	}
	w->len = 0;
	n = ofs_io_pread(s->fd, w->buf, want, pos - s->first);
	if (n < 0)
		return (int)n;
	w->segment = s;
	w->pos = pos;
	w->len = (size_t)n;
	return 0;
}

int ofs_window_bytes(struct ofs_window *w, const struct ofs_segment *s, ofs_lsn pos, size_t len,
		     const uint8_t **ret)
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

int ofs_window_record(struct ofs_window *w, const struct ofs_segment *s, ofs_lsn pos, uint64_t key,
		      struct ofs_wal_record *ret, const uint8_t **ret_body)
{
	const uint8_t *raw;
	int r;

	r = ofs_window_bytes(w, s, pos, OFS_WAL_HEADER, &raw);
	if (r <= 0)
		return r;
	if (!ofs_wal_decode(raw, pos, ret))
		return 0;
	r = ofs_window_bytes(w, s, pos, OFS_WAL_HEADER + (size_t)ret->body_len, &raw);
	if (r <= 0)
		return r;
	*ret_body = raw + OFS_WAL_HEADER;
	return ofs_wal_verify(raw, *ret_body, ret->body_len, pos, key);
}

int ofs_window_check_rest(struct ofs_window *w, const struct ofs_segment *s, uint64_t key,
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
	r = ofs_window_bytes(w, s, rec->lsn, before + rec->data_len, &raw);
	if (r <= 0)
		return r;
	*body = raw + OFS_WAL_HEADER;
	hash = ofs_wal_data_hash(key, raw + before, rec->data_len);
	return ofs_get_le64(raw + before - OFS_WAL_SUM) == rec->data_sum &&
	       ofs_wal_data_sum(key, hash, ofs_wal_data_pos(rec)) == rec->data_sum;
}
