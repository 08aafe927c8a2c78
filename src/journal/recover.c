/* SPDX-License-Identifier: MIT */
#include "journal/recover.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/util.h"
#include "io/file.h"
#include "journal/wal_record.h"

#define WINDOW_STRIDE ((size_t)1 << 20)
#define BLANK_STEP ((size_t)64 << 10)

/* ---- reading a segment in large strides */

struct window {
	const struct ofs_segment *segment; /* borrowed; of what the buffer holds a part */
	uint8_t *buf;
	size_t cap;
	ofs_lsn pos; /* of the first byte in the buffer */
	size_t len;
};

static void window_finish(struct window *w)
{
	ofs_cleanup_free(&w->buf);
}

static int window_load(struct window *w, const struct ofs_segment *s, ofs_lsn pos, size_t want)
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

/*
 * 1 and the bytes [pos, pos + len) of the log, valid until the next call; 0 when the segment ends
 * before that; or -errno.
 */
static int window_bytes(struct window *w, const struct ofs_segment *s, ofs_lsn pos, size_t len,
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

/* 1 and the record at `pos`, its header and body verified; 0 when there is none; or -errno. */
static int window_record(struct window *w, const struct ofs_segment *s, ofs_lsn pos, uint64_t key,
			 struct ofs_wal_record *ret, const uint8_t **ret_body)
{
	const uint8_t *raw;
	int r;

	r = window_bytes(w, s, pos, OFS_WAL_HEADER, &raw);
	if (r <= 0)
		return r;
	if (!ofs_wal_decode(raw, pos, ret))
		return 0;
	r = window_bytes(w, s, pos, OFS_WAL_HEADER + (size_t)ret->body_len, &raw);
	if (r <= 0)
		return r;
	*ret_body = raw + OFS_WAL_HEADER;
	return ofs_wal_verify(raw, *ret_body, ret->body_len, pos, key);
}

/*
 * 1 when the rest of that record, data and padding, is there and the data is whole; 0 when not;
 * or -errno. The body may move and is then found at the new *body.
 */
static int window_check_rest(struct window *w, const struct ofs_segment *s, uint64_t key,
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
	r = window_bytes(w, s, rec->lsn, before + rec->data_len, &raw);
	if (r <= 0)
		return r;
	*body = raw + OFS_WAL_HEADER;
	hash = ofs_wal_data_hash(key, raw + before, rec->data_len);
	return ofs_get_le64(raw + before - OFS_WAL_SUM) == rec->data_sum &&
	       ofs_wal_data_sum(key, hash, ofs_wal_data_pos(rec)) == rec->data_sum;
}

/* ---- recovery */

struct recover {
	struct ofs_recovery *rc;
	struct window window;
	size_t at; /* the segment being replayed */
	ofs_lsn pos; /* where in the log */
	bool torn; /* no sound record at `pos` */

	/* The furthest `durable` that anything from the first damage on claims. */
	ofs_lsn claimed;
	bool claimed_known;
};

static struct ofs_segment *recover_segment(const struct recover *re, size_t i)
{
	return i < re->rc->segments->n ? re->rc->segments->at[i] : NULL;
}

static int recover_failed(struct recover *re, const struct ofs_segment *s, int r)
{
	char name[OFS_SEGMENT_NAME_SIZE];

	ofs_segment_name(s->first, name);
	return ofs_error_set(re->rc->err, -r, "cannot read journal segment '%s': %s", name,
			     strerror(-r));
}

/* The log is damaged at `pos` although it was durable beyond. */
static int recover_damaged(struct recover *re, ofs_lsn pos)
{
	const struct ofs_segment *s = recover_segment(re, re->at + 1);
	char name[OFS_SEGMENT_NAME_SIZE];

	if (!s || s->first > pos)
		s = recover_segment(re, re->at);
	ofs_segment_name(s->first, name);
	return ofs_error_set(re->rc->err, EUCLEAN,
			     "journal segment '%s' is damaged at offset %" PRIu64
			     "; the log was durable up to position %" PRIu64,
			     name, pos - s->first, re->claimed);
}

/* Looks at every aligned position from `pos` on: damage may precede a sound record. */
static int recover_scan(struct recover *re, struct window *w, const struct ofs_segment *s,
			ofs_lsn pos)
{
	struct ofs_wal_record rec;
	const uint8_t *body;
	int r;

	while (pos < s->end) {
		r = window_record(w, s, pos, re->rc->key, &rec, &body);
		if (r < 0)
			return recover_failed(re, s, r);
		if (r)
			re->claimed = OFS_MAX(re->claimed, rec.durable);
		pos += r ? ofs_wal_size(&rec) : OFS_WAL_ALIGN;
	}
	return 0;
}

/*
 * 1 if anything after the damage at `pos` knew the log to be durable beyond it, 0 or -errno. One
 * scan serves all later positions too: a record between two of them cannot claim more than its own
 * position.
 */
static int recover_is_claimed(struct recover *re, ofs_lsn pos)
{
	struct window w = { 0 };
	const struct ofs_segment *s;
	size_t i;
	int r = 0;

	for (i = re->at; !re->claimed_known && !r && (s = recover_segment(re, i)); i++) {
		if (i > re->at)
			re->claimed = OFS_MAX(re->claimed, s->durable);
		r = recover_scan(re, &w, s, i == re->at ? pos : s->first);
	}
	window_finish(&w);
	if (r < 0)
		return r;
	re->claimed_known = true;
	return re->claimed > pos;
}

static int recover_deliver(struct recover *re, const struct ofs_wal_record *rec,
			   const uint8_t *body)
{
	struct ofs_journal_record record = {
		.type = rec->type,
		.body = body,
		.body_len = rec->body_len,
		.data_len = rec->data_len,
	};
	struct ofs_journal_data data = { 0, rec->data_len };

	if (rec->data_len)
		data.pos = ofs_wal_data_pos(rec);
	return re->rc->replay(re->rc->arg, rec->lsn, &record, &data);
}

/* Leaves `pos` after the last record of the segment, or at the torn tail. */
static int recover_replay_segment(struct recover *re)
{
	const struct ofs_segment *s = recover_segment(re, re->at);
	const struct ofs_segment *next = recover_segment(re, re->at + 1);
	ofs_lsn bound = next ? next->first : UINT64_MAX;
	struct ofs_wal_record rec;
	const uint8_t *body;
	int r;

	while (re->pos < s->end) {
		r = window_record(&re->window, s, re->pos, re->rc->key, &rec, &body);
		if (r < 0)
			return recover_failed(re, s, r);
		re->torn = !r || ofs_wal_size(&rec) > bound - re->pos;
		if (re->torn)
			return 0;
		r = window_check_rest(&re->window, s, re->rc->key, &rec, &body);
		if (r < 0)
			return recover_failed(re, s, r);
		if (!r)
			r = recover_is_claimed(re, re->pos);
		if (r < 0)
			return r;
		re->torn = !r;
		if (re->torn)
			return 0;
		re->rc->durable = OFS_MAX(re->rc->durable, rec.durable);
		r = recover_deliver(re, &rec, body);
		if (r)
			return r;
		re->pos += ofs_wal_size(&rec);
	}
	return 0;
}

/* From the end of one segment into the next. */
static int recover_step(struct recover *re, const struct ofs_segment *next)
{
	const struct ofs_segment *s = recover_segment(re, re->at);
	char name[OFS_SEGMENT_NAME_SIZE], after[OFS_SEGMENT_NAME_SIZE];

	if (next->sound && next->prev != s->first) {
		ofs_segment_name(s->first, name);
		ofs_segment_name(next->first, after);
		return ofs_error_set(re->rc->err, EUCLEAN,
				     "a journal segment between '%s' and '%s' is missing", name,
				     after);
	}
	re->torn = !next->sound || re->pos < next->first;
	if (re->torn)
		return 0;
	re->at++;
	re->pos = next->first + OFS_SEGMENT_HEADER;
	re->rc->durable = OFS_MAX(re->rc->durable, next->durable);
	return 0;
}

static int recover_replay(struct recover *re)
{
	const struct ofs_segment *next;
	int r;

	for (;;) {
		r = recover_replay_segment(re);
		next = recover_segment(re, re->at + 1);
		if (r || re->torn || !next)
			return r;
		r = recover_step(re, next);
		if (r || re->torn)
			return r;
	}
}

/* There is no sound record at `start`. -EUCLEAN if that is because it lies inside one. */
static int recover_check_start(struct recover *re)
{
	const struct ofs_segment *s = recover_segment(re, re->at);
	ofs_lsn pos = s->first + OFS_SEGMENT_HEADER;
	struct ofs_wal_record rec;
	const uint8_t *body;
	int r;

	while (pos < re->rc->start) {
		r = window_record(&re->window, s, pos, re->rc->key, &rec, &body);
		if (r < 0)
			return recover_failed(re, s, r);
		if (!r)
			return 0;
		pos += ofs_wal_size(&rec);
	}
	if (pos == re->rc->start || re->rc->start == s->first)
		return 0;
	return ofs_error_set(re->rc->err, EUCLEAN,
			     "the journal has no record at position %" PRIu64
			     ", where the replay begins",
			     re->rc->start);
}

/* Finds the segment and position at which to start. */
static int recover_begin(struct recover *re)
{
	ofs_lsn start = re->rc->start;
	ptrdiff_t at = ofs_segment_list_find(re->rc->segments, start);
	const struct ofs_segment *s;

	if (at < 0)
		return ofs_error_set(re->rc->err, EUCLEAN,
				     "the journal begins at position %" PRIu64
				     ", after position %" PRIu64 ", where the replay begins",
				     recover_segment(re, 0)->first, start);
	re->at = (size_t)at;
	re->pos = start;
	s = recover_segment(re, re->at);
	if (start % OFS_WAL_ALIGN || (start > s->first && start < s->first + OFS_SEGMENT_HEADER))
		return ofs_error_set(re->rc->err, EUCLEAN,
				     "position %" PRIu64
				     ", where the replay begins, is not one of a record",
				     start);
	/* Damage before `start` does not matter, not even to the header. */
	re->torn = start == s->first && !s->sound;
	if (start == s->first && s->sound)
		re->pos += OFS_SEGMENT_HEADER;
	re->rc->durable = s->durable;
	return 0;
}

static int recover_remove_newest(struct recover *re)
{
	struct ofs_segment_list *l = re->rc->segments;
	char name[OFS_SEGMENT_NAME_SIZE];
	int r;

	ofs_segment_name(l->at[l->n - 1]->first, name);
	r = ofs_io_unlink(re->rc->dirfd, name);
	if (r < 0)
		return ofs_error_set(re->rc->err, -r, "cannot remove journal segment '%s': %s",
				     name, strerror(-r));
	ofs_segment_unref(l->at[--l->n]);
	return 0;
}

/* 1 if the torn tail is only the zeros that a sync writes after the end, 0 or -errno. */
static int recover_is_blank(struct recover *re)
{
	const struct ofs_segment *s = recover_segment(re, re->at);
	ofs_lsn pos = re->pos;
	const uint8_t *raw;
	int r = pos > s->first && !recover_segment(re, re->at + 1);

	while (r > 0 && pos < s->end) {
		size_t len = OFS_MIN(s->end - pos, BLANK_STEP);

		r = window_bytes(&re->window, s, pos, len, &raw);
		/* All bytes are zero if the first is and each equals the one before. */
		if (r > 0 && (raw[0] || memcmp(raw, raw + 1, len - 1) != 0))
			r = 0;
		pos += len;
	}
	return r;
}

/*
 * Ends the log at `pos`, newest parts first, so that a crash in between leaves a torn tail again.
 */
static int recover_cut(struct recover *re)
{
	struct ofs_segment_list *l = re->rc->segments;
	struct ofs_segment *tail;
	size_t before = l->n;
	bool blank;
	int r;

	r = recover_is_blank(re);
	if (r < 0)
		return recover_failed(re, recover_segment(re, re->at), r);
	blank = r;
	while (l->n && l->at[l->n - 1]->first >= re->pos) {
		r = recover_remove_newest(re);
		if (r < 0)
			return r;
	}
	r = l->n < before ? ofs_io_sync(re->rc->dirfd) : 0;
	tail = l->n ? l->at[l->n - 1] : NULL;
	if (!r && tail && tail->end > re->pos) {
		r = ofs_io_truncate(tail->fd, re->pos - tail->first);
		if (!r)
			r = ofs_io_sync(tail->fd);
		atomic_store(&tail->end, re->pos);
	}
	if (r < 0)
		return ofs_error_set(re->rc->err, -r, "cannot cut off the journal's torn tail: %s",
				     strerror(-r));
	if (!blank)
		ofs_log(LOG_INFO, "the journal's torn tail was cut off at position %" PRIu64,
			re->pos);
	return 0;
}

static int recover_end(struct recover *re)
{
	int r = 0;

	if (re->torn && re->pos == re->rc->start)
		r = recover_check_start(re);
	if (!r && re->torn) {
		r = recover_is_claimed(re, re->pos);
		if (r > 0)
			r = recover_damaged(re, re->pos);
	}
	if (!r && re->torn && OFS_MIN(re->claimed, re->pos) > re->rc->durable) {
		re->rc->durable = OFS_MIN(re->claimed, re->pos);
		re->rc->claim_cut = true;
	}
	if (!r && re->torn)
		r = recover_cut(re);
	re->rc->end = re->pos;
	return r;
}

int ofs_journal_recover(struct ofs_recovery *rc)
{
	struct recover re = { .rc = rc };
	int r;

	r = recover_begin(&re);
	if (!r && !re.torn)
		r = recover_replay(&re);
	if (!r)
		r = recover_end(&re);
	window_finish(&re.window);
	return r;
}
