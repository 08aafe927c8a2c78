/* SPDX-License-Identifier: MIT */
#include "journal/recover.h"

#include <inttypes.h>

#include "base/log.h"
#include "io/file.h"
#include "journal/wal_window.h"

#define BLANK_STEP ((size_t)64 << 10)
#define SECTOR ((size_t)512) /* a disk writes it whole or not at all */

/* A position in the log. */
struct place {
	size_t at; /* index of its segment */
	ofs_lsn pos; /* 0: none */
};

struct recover {
	struct ofs_recovery *rc;
	struct ofs_wal_window window;
	size_t at; /* index of the segment being replayed */
	ofs_lsn pos; /* the position reached in the log */
	bool torn; /* the log ends at `pos` */
	uint8_t mended[OFS_WAL_MENDED_MAX];

	/* The highest `durable` of all records and headers from the first damage on. */
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

static int recover_tell(struct recover *re, enum ofs_journal_damage_kind kind, ofs_lsn pos,
			ofs_lsn end)
{
	const struct ofs_journal_damage damage = { kind, pos, end };

	return re->rc->reader->damaged ? re->rc->reader->damaged(re->rc->reader->arg, &damage) : 0;
}

/*
 * Searches the rest of a segment, at every aligned position, for the first whole record after `pos`
 * and for the claims of sound records.
 */
static int recover_survey_segment(struct recover *re, struct ofs_wal_window *w, size_t i,
				  ofs_lsn pos, struct place *next)
{
	const struct ofs_segment *s = recover_segment(re, i);
	ofs_lsn at = i == re->at ? pos : s->first;
	struct ofs_wal_record rec;
	const uint8_t *body;
	int r, whole;

	while (at < s->end && !(next->pos && re->claimed_known)) {
		r = whole = ofs_wal_window_record(w, s, at, re->rc->key, &rec, &body);
		if (r > 0 && at > pos && !next->pos)
			whole = ofs_wal_window_check_rest(w, s, re->rc->key, &rec, &body);
		if (r < 0 || whole < 0)
			return recover_failed(re, s, OFS_MIN(r, whole));
		if (r)
			re->claimed = OFS_MAX(re->claimed, rec.durable);
		if (whole && at > pos && !next->pos)
			*next = (struct place){ i, at };
		at += r ? ofs_wal_size(&rec) : OFS_WAL_ALIGN;
	}
	return 0;
}

/*
 * Finds the first whole record after the damage at `pos`, and how far the log was known to be
 * durable. The latter requires a search of everything that follows, but only once: a record between
 * two damaged places cannot claim more than its own position.
 */
static int recover_survey(struct recover *re, ofs_lsn pos, struct place *next)
{
	struct ofs_wal_window w = { 0 };
	const struct ofs_segment *s;
	int r = 0;

	*next = (struct place){ 0 };
	for (size_t i = re->at; r == 0 && (s = recover_segment(re, i)); i++) {
		if (i > re->at)
			re->claimed = OFS_MAX(re->claimed, s->durable);
		r = recover_survey_segment(re, &w, i, pos, next);
	}
	ofs_wal_window_finish(&w);
	re->claimed_known = r == 0;
	return r;
}

/*
 * Returns 1 if the damage between `pos` and the record at `next` may be what a power failure leaves
 * of records that were not synced; 0 if not; or -errno. Data that never reached the disk is missing
 * in whole sectors, which read as zeros or lie after the end of a file.
 */
static int recover_lacks_sectors(struct recover *re, ofs_lsn pos, const struct place *next)
{
	static const uint8_t zeros[SECTOR];
	const uint8_t *raw;
	int r = 0;

	for (size_t i = re->at; i <= next->at; i++) {
		const struct ofs_segment *s = recover_segment(re, i);
		ofs_lsn at = i == re->at ? pos : s->first;
		ofs_lsn end = i == next->at ? next->pos : recover_segment(re, i + 1)->first;

		for (; at < end; at += r) {
			r = (int)OFS_MIN(SECTOR - (at - s->first) % SECTOR, end - at);
			if (at >= s->end || (size_t)r > s->end - at)
				return 1;
			if (ofs_wal_window_bytes(&re->window, s, at, (size_t)r, &raw) <= 0)
				return recover_failed(re, s, -EIO);
			if (memcmp(raw, zeros, (size_t)r) == 0)
				return 1;
		}
	}
	return 0;
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
	return re->rc->reader->record(re->rc->reader->arg, rec->lsn, &record, &data);
}

/*
 * Returns 1 if the damage at `pos` is to be skipped, with the next whole record, if any, in *ret; 0
 * if the log is torn there; or the value that stops the replay.
 */
static int recover_judge(struct recover *re, ofs_lsn pos, struct place *ret)
{
	const struct ofs_segment *last = recover_segment(re, re->rc->segments->n - 1);
	int r = recover_survey(re, pos, ret);

	if (r < 0)
		return r;
	if (re->claimed > pos)
		return 1;
	if (!ret->pos)
		return 0;
	r = recover_lacks_sectors(re, pos, ret);
	if (r <= 0)
		return r < 0 ? r : 1;
	return recover_tell(re, OFS_JOURNAL_CUT, pos, last->end);
}

/* Returns -EUCLEAN if `start` lies inside a record. */
static int recover_check_start(struct recover *re)
{
	const struct ofs_segment *s = recover_segment(re, re->at);
	ofs_lsn pos = s->first + OFS_SEGMENT_HEADER;
	struct ofs_wal_record rec;
	const uint8_t *body;
	int r;

	while (pos < re->rc->start) {
		r = ofs_wal_window_record(&re->window, s, pos, re->rc->key, &rec, &body);
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

/* Handles an unreadable record at `pos`: continues at the next one, or leaves a torn tail. */
static int recover_pass(struct recover *re)
{
	struct place next;
	int r = re->pos == re->rc->start ? recover_check_start(re) : 0;

	if (r == 0 && !re->rc->reader->strict)
		r = recover_judge(re, re->pos, &next);
	re->torn = !r;
	if (r <= 0)
		return r;
	if (!next.pos) {
		re->torn = true;
		return recover_tell(re, OFS_JOURNAL_LOST_END, re->pos, re->claimed);
	}
	r = recover_tell(re, OFS_JOURNAL_LOST, re->pos, next.pos);
	re->at = next.at;
	re->pos = next.pos;
	return r;
}

/* Replays the record at `pos`, whose header and body are known. */
static int recover_replay_record(struct recover *re, const struct ofs_segment *s,
				 const struct ofs_wal_record *rec, const uint8_t *body, bool mended)
{
	const uint8_t *moved = body;
	ofs_lsn end = re->pos + ofs_wal_size(rec);
	struct place next;
	int r = ofs_wal_window_check_rest(&re->window, s, re->rc->key, rec, &moved), whole = r;

	if (r < 0)
		return recover_failed(re, s, r);
	if (!mended)
		body = moved;
	if (!whole) {
		r = re->rc->reader->strict ? 0 : recover_judge(re, re->pos, &next);
		re->torn = !r;
		if (r <= 0)
			return r;
	}
	if (mended || !whole) {
		r = recover_tell(re, whole ? OFS_JOURNAL_MENDED : OFS_JOURNAL_DATA, re->pos, end);
		if (r)
			return r;
	}
	re->rc->durable = OFS_MAX(re->rc->durable, rec->durable);
	re->pos = end;
	if (mended || whole)
		return recover_deliver(re, rec, body);
	/* recover_judge() may have moved the window. */
	r = ofs_wal_window_bytes(&re->window, s, rec->lsn, OFS_WAL_HEADER + (size_t)rec->body_len,
				 &body);
	return r <= 0 ? recover_failed(re, s, r ? r : -EIO)
		      : recover_deliver(re, rec, body + OFS_WAL_HEADER);
}

/* Leaves `pos` after the last record of the segment, or at the torn tail. */
static int recover_replay_segment(struct recover *re)
{
	struct ofs_wal_record rec;
	const uint8_t *body;
	int r = 0;

	while (r == 0 && !re->torn && re->pos < recover_segment(re, re->at)->end) {
		const struct ofs_segment *s = recover_segment(re, re->at);
		const struct ofs_segment *next = recover_segment(re, re->at + 1);
		ofs_lsn room = (next ? next->first : UINT64_MAX) - re->pos;
		bool mended = false;

		r = re->pos == s->first ? 0
					: ofs_wal_window_record(&re->window, s, re->pos,
								re->rc->key, &rec, &body);
		if (r == 0 && re->pos != s->first) {
			mended = true;
			body = re->mended + OFS_WAL_HEADER;
			r = ofs_wal_window_mend(&re->window, s, re->pos, re->rc->key, re->mended,
						&rec);
		}
		if (r < 0)
			return recover_failed(re, s, r);
		if (r && ofs_wal_size(&rec) <= room)
			r = recover_replay_record(re, s, &rec, body, mended);
		else
			r = recover_pass(re);
	}
	return r;
}

/* Moves from the end of one segment into the next. */
static int recover_step(struct recover *re, const struct ofs_segment *next)
{
	const struct ofs_segment *s = recover_segment(re, re->at);
	char name[OFS_SEGMENT_NAME_SIZE], after[OFS_SEGMENT_NAME_SIZE];

	/* The host that leapt may have started an empty segment before, which need not be here. */
	if (next->sound && next->prev != s->first && !re->rc->reader->strict &&
	    !(next->leaps && next->prev <= re->pos)) {
		ofs_segment_name(s->first, name);
		ofs_segment_name(next->first, after);
		return ofs_error_set(re->rc->err, EUCLEAN,
				     "a journal segment between '%s' and '%s' is missing", name,
				     after);
	}
	if (!next->sound || next->prev != s->first ||
	    (re->pos < next->first && !(next->leaps && re->pos == s->end)))
		return recover_pass(re);
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

/* True if nothing was logged from `start` on before the log leapt to its first segment. */
static bool recover_begins_with_leap(struct recover *re, ofs_lsn start)
{
	const struct ofs_segment *first = recover_segment(re, 0);

	return first->sound && first->leaps && first->prev <= start;
}

/* Finds the segment and position at which the replay starts. */
static int recover_begin(struct recover *re)
{
	ofs_lsn start = re->rc->start;
	ptrdiff_t at = ofs_segment_list_find(re->rc->segments, start);
	const struct ofs_segment *s;

	if (at < 0 && recover_begins_with_leap(re, start)) {
		at = 0;
		start = recover_segment(re, 0)->first;
	}
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
				     ", where the replay begins, is not the start of a record",
				     start);
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

/*
 * Returns 1 if the torn tail is only the zeros that a sync writes after the end; 0 if not; or
 * -errno.
 */
static int recover_is_blank(struct recover *re)
{
	const struct ofs_segment *s = recover_segment(re, re->at);
	ofs_lsn pos = re->pos;
	const uint8_t *raw;
	int r = pos > s->first && !recover_segment(re, re->at + 1);

	while (r > 0 && pos < s->end) {
		size_t len = OFS_MIN(s->end - pos, BLANK_STEP);

		r = ofs_wal_window_bytes(&re->window, s, pos, len, &raw);
		/* All bytes are zero if the first is and each equals the one before. */
		if (r > 0 && (raw[0] || memcmp(raw, raw + 1, len - 1) != 0))
			r = 0;
		pos += len;
	}
	return r;
}

/*
 * Ends the log at `pos`. Removes the newest parts first, so that a crash in between leaves a torn
 * tail again.
 */
static int recover_cut(struct recover *re)
{
	struct ofs_segment_list *l = re->rc->segments;
	struct ofs_segment *tail;
	ofs_lsn last = l->at[l->n - 1]->end;
	size_t before = l->n;
	bool blank;
	int r = recover_is_blank(re);

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
		ofs_log(LOG_WARNING,
			"the journal's torn tail was cut off at position %" PRIu64 ": %" PRIu64
			" bytes",
			re->pos, last - re->pos);
	return 0;
}

static int recover_end(struct recover *re)
{
	const struct ofs_segment *last = recover_segment(re, re->at);
	int r = 0;

	re->rc->end = re->pos;
	/* A segment with a damaged header is removed, since a new one is about to take its name. */
	if (re->pos == last->first)
		re->torn = true;
	if (!re->torn)
		return 0;
	if (OFS_MIN(re->claimed, re->pos) > re->rc->durable) {
		re->rc->durable = OFS_MIN(re->claimed, re->pos);
		re->rc->claim_cut = true;
	}
	if (!re->rc->reader->read_only)
		r = recover_cut(re);
	return r;
}

int ofs_journal_recover(struct ofs_recovery *rc)
{
	struct recover re = { .rc = rc };
	int r = recover_begin(&re);

	if (!r)
		r = recover_replay(&re);
	if (!r)
		r = recover_end(&re);
	ofs_wal_window_finish(&re.window);
	return r;
}
