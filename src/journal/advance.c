/* SPDX-License-Identifier: MIT */
/* A log that is only read while somebody else extends it. */
#include <inttypes.h>

#include "journal/journal_state.h"
#include "journal/recover.h"
#include "journal/wal_record.h"

struct advance {
	struct ofs_journal *journal;
	const struct ofs_journal_reader *reader;
	struct ofs_segment_list found; /* the segments that are in the directory now */
};

/* Ends the log at `end`, in the newest segment that begins before it. */
static void advance_to(struct advance *a, ofs_lsn end)
{
	struct ofs_journal *j = a->journal;
	struct ofs_segment_list *l = &j->segments;

	OFS_LOCKED(&j->append_lock);
	pthread_rwlock_wrlock(&j->segments_lock);
	/* A segment without a file has held the place of the ones that follow. */
	if (j->newest->fd < 0 && end > j->newest->first && a->found.n)
		ofs_segment_unref(l->at[--l->n]);
	for (size_t i = 0; i < a->found.n && a->found.at[i]->first < end; i++)
		if (!l->n || a->found.at[i]->first > l->at[l->n - 1]->first)
			ofs_segment_list_append(l, ofs_segment_ref(a->found.at[i]));
	j->newest = l->at[l->n - 1];
	atomic_store(&j->newest->end, end);
	j->durable = end;
	pthread_rwlock_unlock(&j->segments_lock);
}

/* Extends the log first, so that the record's data can be read as soon as the record is known. */
static int advance_record(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
			  const struct ofs_journal_data *data)
{
	const struct ofs_wal_record size = { .body_len = (uint32_t)record->body_len,
					     .data_len = data->len };
	struct advance *a = arg;
	int r;

	advance_to(a, lsn + ofs_wal_size(&size));
	r = a->reader->record(a->reader->arg, lsn, record, data);
	if (r)
		advance_to(a, lsn);
	return r;
}

static int advance(struct advance *a, struct ofs_recovery *rc, ofs_lsn to)
{
	struct ofs_journal *j = a->journal;
	int r = ofs_segment_list_load(rc->segments, j->dirfd, j->uuid, true, rc->err);

	/* A list of its own, since advance_to() changes ends that the replay still needs. */
	if (r == 0)
		r = ofs_segment_list_load(&a->found, j->dirfd, j->uuid, true, rc->err);
	if (r < 0)
		return r;
	ofs_segment_list_clip(rc->segments, to);
	rc->end = rc->start;
	r = rc->segments->n ? ofs_journal_recover(rc) : 0;
	if (r == 0 && rc->end < to)
		r = ofs_error_set(rc->err, EUCLEAN,
				  "the log cannot be read at position %" PRIu64
				  ", although it should end at %" PRIu64,
				  rc->end, to);
	if (r == 0)
		advance_to(a, to);
	return r;
}

int ofs_journal_advance(struct ofs_journal *j, ofs_lsn to, const struct ofs_journal_reader *reader,
			struct ofs_error *err)
{
	struct advance a = { .journal = j, .reader = reader };
	const struct ofs_journal_reader strict = {
		.record = advance_record, .arg = &a, .read_only = true, .strict = true
	};
	struct ofs_segment_list segments = { 0 };
	struct ofs_recovery rc = {
		.dirfd = j->dirfd,
		.key = j->key,
		.start = ofs_journal_end(j),
		.reader = &strict,
		.err = err,
		.segments = &segments,
	};
	int r = to > rc.start ? advance(&a, &rc, to) : 0;

	ofs_segment_list_finish(&segments);
	ofs_segment_list_finish(&a.found);
	return r;
}

void ofs_journal_swap(struct ofs_journal *j, struct ofs_journal *other)
{
	struct ofs_segment_list segments = other->segments;
	struct ofs_segment *newest = other->newest;
	ofs_lsn durable = other->durable;

	OFS_LOCKED(&j->append_lock);
	pthread_rwlock_wrlock(&j->segments_lock);
	other->segments = j->segments;
	other->newest = j->newest;
	other->durable = j->durable;
	j->segments = segments;
	j->newest = newest;
	j->durable = durable;
	pthread_rwlock_unlock(&j->segments_lock);
}
