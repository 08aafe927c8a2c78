/* SPDX-License-Identifier: MIT */
#include "store/replication.h"

#include "io/file.h"
#include "journal/transfer.h"
#include "pack/frame.h"
#include "pack/frame_buffer.h"
#include "store/cycle.h"
#include "store/record.h"
#include "store/store_state.h"

const uint8_t *ofs_store_uuid(const struct ofs_store *s)
{
	return s->uuid;
}

void ofs_store_set_objects(struct ofs_store *s, ofs_object_get_fn get, void *arg)
{
	s->away.get = get;
	s->away.arg = arg;
	ofs_packset_expect_away(s->packs);
}

void ofs_store_set_room(struct ofs_store *s, void (*room)(void *arg))
{
	s->away.room = room;
}

void ofs_store_bound_packs(struct ofs_store *s, uint64_t max, void (*crowded)(void *arg), void *arg)
{
	s->crowded = crowded;
	s->crowded_arg = arg;
	s->packs_max = max;
}

int ofs_store_forget_objects(struct ofs_store *s)
{
	int r;

	OFS_LOCKED(&s->cycle);
	r = ofs_packset_sync_all(s->packs);
	if (r == 0)
		r = ofs_index_begin(s->index);
	return r < 0 ? r : ofs_index_end(s->index, ofs_index_delete_objects(s->index));
}

/* ---- the log */

int ofs_store_export_log(struct ofs_store *s, ofs_lsn from, ofs_lsn limit, size_t max,
			 struct ofs_buf *ret, ofs_lsn *ret_to, ofs_lsn *ret_segment)
{
	int r;

	*ret_to = from;
	if (!ofs_store_is_whole(s))
		return -EIO;
	if (OFS_MIN(ofs_journal_end(s->journal), limit) <= from)
		return 0;
	r = ofs_journal_sync(s->journal);
	if (r < 0)
		return r;
	return ofs_journal_export(s->journal_fd, s->uuid, from,
				  OFS_MIN(ofs_journal_durable(s->journal), limit), max, ret, ret_to,
				  ret_segment);
}

struct changed {
	int (*fn)(void *arg, uint64_t ino);
	void *arg;
};

static int note_changed(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
			const struct ofs_journal_data *data)
{
	struct changed *c = arg;
	struct ofs_record r;
	int e = ofs_record_decode(record->type, record->body, record->body_len, &r);

	return e < 0 ? e : r.ino ? c->fn(c->arg, r.ino) : 0;
}

static int note_gap(void *arg, const struct ofs_journal_damage *found)
{
	return found->kind >= OFS_JOURNAL_LOST ? -EUCLEAN : 0;
}

int ofs_store_list_changed(struct ofs_store *s, ofs_lsn from, int (*fn)(void *arg, uint64_t ino),
			   void *arg)
{
	struct changed c = { fn, arg };
	const struct ofs_journal_reader reader = {
		.record = note_changed, .damaged = note_gap, .arg = &c, .read_only = true
	};
	struct ofs_journal *j = NULL;
	struct ofs_error ignored;
	int r = ofs_journal_open(s->journal_fd, s->uuid, from, &reader, &ignored, &j);

	ofs_journal_close(j);
	return r;
}

ofs_lsn ofs_store_log_end(struct ofs_store *s)
{
	return ofs_journal_end(s->journal);
}

ofs_lsn ofs_store_log_tail(struct ofs_store *s)
{
	return ofs_journal_tail(s->journal);
}

void ofs_store_watch(struct ofs_store *s, void (*fn)(void *arg), void *arg)
{
	OFS_LOCKED(&s->lock);

	s->news = fn;
	s->news_arg = arg;
}

void ofs_store_hold_log(struct ofs_store *s, ofs_lsn lsn, uint64_t max)
{
	OFS_LOCKED(&s->lock);

	s->log_held = lsn ? lsn : UINT64_MAX;
	s->log_held_max = max;
}

void ofs_store_set_sync_hook(struct ofs_store *s, int (*wait)(void *arg, ofs_lsn lsn), void *arg)
{
	OFS_LOCKED(&s->lock);

	s->sync_arg = arg;
	s->sync_hook = wait;
}

void ofs_store_depose(struct ofs_store *s, const char *why)
{
	s->deposed = true;
	ofs_store_break(s, why);
}

#define INO_LEAP (UINT64_C(1) << 24)

int ofs_store_leap(struct ofs_store *s, ofs_lsn lsn)
{
	int r;

	OFS_LOCKED(&s->cycle);
	r = ofs_journal_sync(s->journal);
	if (r == 0)
		r = ofs_journal_leap(s->journal, lsn);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	s->next_ino += INO_LEAP;
	pthread_mutex_unlock(&s->lock);
	return ofs_store_checkpoint(s, NULL);
}

/* ---- snapshots */

struct spans {
	struct ofs_journal_data *at;
	size_t n, cap;
};

static int note_span(void *arg, const struct ofs_index_draft *d)
{
	struct spans *l = arg;

	if (d->data_pos > OFS_INDEX_LOST_POS)
		*ofs_append(l->at, l->n, l->cap) =
			(struct ofs_journal_data){ d->data_pos, d->data_len };
	return 0;
}

static int span_compare(const void *a, const void *b)
{
	const struct ofs_journal_data *x = a, *y = b;

	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

static int copy_span(struct ofs_store *s, struct ofs_snapshot *snap,
		     const struct ofs_journal_data *d)
{
	OFS_FREE uint8_t *bytes = malloc(OFS_MAX(d->len, 1u));
	ofs_lsn segment;
	int r = bytes ? ofs_journal_read(s->journal, d, 0, bytes, d->len) : -ENOMEM;

	/* Damaged data cannot be copied: the copy will lack it as well. */
	if (r < 0)
		return r == -EIO ? 0 : r;
	r = ofs_journal_segment_of(s->journal_fd, d->pos, &segment);
	return r < 0 ? r : snap->draft(snap->arg, segment, d, bytes);
}

/* Copies the data of each record that a draft in the index reads, once. */
static int copy_drafts(struct ofs_store *s, struct ofs_snapshot *snap)
{
	struct spans l = { 0 };
	ofs_lsn end = UINT64_MAX;
	int r = ofs_index_list_drafts(s->index, note_span, &l);

	if (l.n)
		qsort(l.at, l.n, sizeof(*l.at), span_compare);
	if (r == 0 && snap->has_log)
		end = snap->has_log(snap->arg, l.at, l.n);
	for (size_t i = 0; i < l.n && r == 0 && l.at[i].pos < end; i++)
		if (!i || l.at[i].pos != l.at[i - 1].pos)
			r = copy_span(s, snap, &l.at[i]);
	free(l.at);
	return r;
}

#define FRAMES_AT_ONCE 4096 /* for whose ids the index stays locked */

static int list_passed(struct ofs_store *s, struct ofs_snapshot *snap)
{
	struct ofs_index_frame f = { .id = 0 };
	int r;

	while ((r = ofs_index_next_frame(s->index, f.id, &f)) == 0) {
		uint64_t last = f.id + FRAMES_AT_ONCE - 1;

		r = ofs_index_list_passed(s->index, f.id, last, snap->frame, snap->arg);
		if (r)
			return r;
		f.id = last;
	}
	return r == -ENOENT ? 0 : r;
}

static int take_snapshot(struct ofs_store *s, struct ofs_snapshot *snap)
{
	int r = ofs_store_is_whole(s) ? 0 : -EIO;

	if (r == 0 && ofs_store_is_dirty(s))
		r = ofs_store_checkpoint(s, NULL);
	if (r == 0)
		r = ofs_index_get_meta(s->index, &snap->meta);
	if (r == 0)
		r = ofs_index_copy_pages(s->index, snap->changed, snap->page_run, snap->arg,
					 &snap->pages);
	if (r == 0)
		r = copy_drafts(s, snap);
	if (r == 0 && snap->passed)
		r = list_passed(s, snap);
	return r ? r : ofs_index_list_unsent(s->index, snap->frame, snap->arg);
}

int ofs_store_begin_snapshot(struct ofs_store *s, struct ofs_snapshot *snap)
{
	int r;

	pthread_mutex_lock(&s->cycle);
	r = take_snapshot(s, snap);
	if (r == 0)
		s->pins++;
	pthread_mutex_unlock(&s->cycle);
	ofs_store_tell(s);
	return r;
}

void ofs_store_end_snapshot(struct ofs_store *s, bool arrived)
{
	if (arrived)
		ofs_index_pages_copied(s->index);
	OFS_LOCKED(&s->cycle);
	s->pins--;
}

int ofs_store_list_unsent(struct ofs_store *s,
			  int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg)
{
	struct ofs_index_meta meta;
	int r;

	OFS_LOCKED(&s->cycle);
	r = ofs_index_get_meta(s->index, &meta);
	return r < 0 || meta.unused_from ? r : ofs_index_list_unsent(s->index, fn, arg);
}

int ofs_store_copy_frame(struct ofs_store *s, const struct ofs_index_frame *f, struct ofs_buf *ret)
{
	struct ofs_frame_loc loc = { f->pack, f->off, f->stored, f->raw };
	OFS_FREE uint8_t *bytes = NULL;
	struct ofs_frame_info info;
	uint8_t *content;
	size_t len;
	int r = ofs_packset_copy(s->packs, &loc, &bytes, &len);

	if (r == -EIO)
		r = -OFS_EREAD;
	if (r == 0)
		r = ofs_frame_decode(bytes, len, f->pack, f->off, &info, &content);
	if (r < 0 && ofs_index_has_frame(s->index, f->pack, f->off) == 0)
		return -ENOENT;
	/* A pack that is missing or another store's does not come back. */
	if (r < 0)
		return r == -ENOENT || r == -EINVAL ? -EIO : r;
	ofs_frame_buffer_put(content, info.raw);
	if (info.stored != f->stored || len != f->stored)
		return -EIO;
	ofs_buf_append(ret, bytes, len);
	return 0;
}

/* 1: the frame is missing or damaged here, and no object has it. */
static int bring_frame(struct ofs_store *s, const struct ofs_index_frame *f,
		       struct ofs_index_object *ret)
{
	struct ofs_frame_loc loc = { f->pack, f->off, f->stored, f->raw };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf buf = OFS_BUF_INIT;
	struct ofs_index_extent e;
	int r;

	if (ofs_store_copy_frame(s, f, &buf) == 0)
		return 0;
	r = ofs_away_find(s, f->pack, f->off, &e, ret);
	if (r < 0)
		return r == -ENOENT ? 1 : r;
	r = ofs_away_bring(s, &loc);
	/* Bringing it has checked only its head. */
	return r == 0 && ofs_store_copy_frame(s, f, &buf) < 0 ? -EIO : r;
}

int ofs_store_bring_all(struct ofs_store *s,
			void (*progress)(void *arg, uint64_t done, uint64_t total),
			void (*problem)(void *arg, const struct ofs_index_frame *f,
					const struct ofs_index_object *object, int error),
			void *arg)
{
	struct ofs_index_frame f = { 0 };
	struct ofs_index_object object = { 0 };
	uint64_t done = 0, total, unused;
	int r = ofs_index_totals(s->index, 0, &total, &unused);

	while (r >= 0 && (r = ofs_index_next_frame(s->index, f.id, &f)) == 0) {
		if (!f.live)
			continue;
		r = bring_frame(s, &f, &object);
		if (r && r != -ENOMEM && problem) {
			problem(arg, &f, r < 0 ? &object : NULL, r < 0 ? -r : EIO);
			r = 0;
		}
		done += f.raw;
		progress(arg, done, total);
	}
	return r == -ENOENT ? 0 : r;
}

int ofs_store_put_object(struct ofs_store *s, const struct ofs_index_object *object,
			 const struct ofs_index_extent *extents, size_t n)
{
	int r;

	if (s->follow) {
		ofs_away_add(s, object, extents, n);
		return 0;
	}
	OFS_LOCKED(&s->cycle);
	r = ofs_index_begin(s->index);
	if (r < 0)
		return r;
	return ofs_index_end(s->index, ofs_index_put_object(s->index, object, extents, n));
}

int ofs_store_list_objects(struct ofs_store *s,
			   int (*fn)(void *arg, const struct ofs_index_object *o), void *arg)
{
	int r;

	pthread_mutex_lock(&s->cycle);
	r = ofs_index_begin(s->index);
	if (r == 0)
		r = ofs_index_end(s->index, ofs_index_delete_dead_objects(s->index));
	pthread_mutex_unlock(&s->cycle);
	return r < 0 ? r : ofs_index_list_objects(s->index, fn, arg);
}
