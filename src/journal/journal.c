/* SPDX-License-Identifier: MIT */
#include "journal/journal.h"

#include "io/file.h"
#include "journal/journal_state.h"
#include "journal/recover.h"
#include "journal/wal_record.h"

#define JOURNAL_SEGMENT_SIZE ((uint64_t)64 << 20)
#define SEGMENT_RECORDS (128u << 10) /* at most; lets segments of small records be trimmed, too */

/* The caller holds the append lock, or is the only user of the journal. */
static int journal_add_segment(struct ofs_journal *j, ofs_lsn first, ofs_lsn prev, bool leaps)
{
	struct ofs_segment *s;
	int r;

	if (j->read_only)
		return -EROFS;
	ofs_segment_cut_ahead(j->newest);
	pthread_rwlock_wrlock(&j->segments_lock);
	r = ofs_segment_create(j->dirfd, j->uuid, first, prev, j->durable, leaps, &s);
	/* Also after a failure: a name that came back would hide the records that follow. */
	j->dir_dirty = true;
	if (!r) {
		ofs_segment_list_append(&j->segments, s);
		j->newest = s;
	}
	pthread_rwlock_unlock(&j->segments_lock);
	return r;
}

static struct ofs_journal *journal_alloc(int dirfd, const uint8_t uuid[16])
{
	struct ofs_journal *j = ofs_alloc(sizeof(*j));

	j->dirfd = dirfd;
	memcpy(j->uuid, uuid, sizeof(j->uuid));
	j->key = ofs_wal_key(uuid);
	atomic_init(&j->segment_size, JOURNAL_SEGMENT_SIZE);
	/* A daemon that died may have created segments without syncing their names. */
	atomic_init(&j->dir_dirty, true);
	pthread_mutex_init(&j->append_lock, NULL);
	pthread_rwlock_init(&j->segments_lock, NULL);
	pthread_mutex_init(&j->sync_lock, NULL);
	pthread_cond_init(&j->sync_done, NULL);
	return j;
}

void ofs_journal_close(struct ofs_journal *j)
{
	int saved = errno;

	if (!j)
		return;
	ofs_segment_cut_ahead(j->newest);
	ofs_segment_list_finish(&j->segments);
	ofs_segment_list_finish(&j->trimmed);
	pthread_cond_destroy(&j->sync_done);
	pthread_mutex_destroy(&j->sync_lock);
	pthread_rwlock_destroy(&j->segments_lock);
	pthread_mutex_destroy(&j->append_lock);
	free(j);
	errno = saved;
}

/*
 * Makes sure that the newest segment can be appended to and ends where recovery said. If the only
 * claim of how far the log is durable was cut off, repeats it in the header of a new segment.
 */
static int journal_resume(struct ofs_journal *j, const struct ofs_recovery *rc,
			  struct ofs_error *err)
{
	struct ofs_segment *newest = j->segments.n ? j->segments.at[j->segments.n - 1] : NULL;
	int r;

	j->newest = newest;
	if (newest && newest->sound && newest->end == rc->end && !rc->claim_cut)
		return 0;
	r = journal_add_segment(j, rc->end, newest ? newest->first : 0, false);
	if (r == 0 && rc->claim_cut) {
		r = ofs_io_datasync(j->newest->fd);
		r = r < 0 ? r : ofs_io_sync(j->dirfd);
	}
	if (r < 0)
		return ofs_error_set(err, -r, "cannot start a journal segment: %s", strerror(-r));
	return 0;
}

/*
 * For a log that is only read. Its newest segment ends where the log does; if no segment does, adds
 * one without a file.
 */
static void journal_rest(struct ofs_journal *j, const struct ofs_recovery *rc, bool strict)
{
	if (strict)
		ofs_segment_list_clip(&j->segments, rc->end);
	if (!j->segments.n || j->segments.at[j->segments.n - 1]->end < rc->end)
		ofs_segment_list_append(&j->segments, ofs_segment_none(rc->end));
	j->newest = j->segments.at[j->segments.n - 1];
	j->durable = j->newest->end;
}

static int journal_load(struct ofs_journal *j, ofs_lsn start,
			const struct ofs_journal_reader *reader, struct ofs_error *err)
{
	struct ofs_recovery rc = {
		.dirfd = j->dirfd,
		.key = j->key,
		.start = start,
		.reader = reader,
		.err = err,
		.segments = &j->segments,
		.end = ofs_align_up(start, OFS_WAL_ALIGN),
	};
	int r;

	j->read_only = reader->read_only;
	r = ofs_segment_list_load(&j->segments, j->dirfd, j->uuid, j->read_only, err);
	if (r < 0)
		return r;
	if (j->segments.n) {
		r = ofs_journal_recover(&rc);
		if (r)
			return r;
		j->durable = rc.durable;
	}
	if (!j->read_only)
		return journal_resume(j, &rc, err);
	journal_rest(j, &rc, reader->strict);
	return 0;
}

int ofs_journal_open(int dirfd, const uint8_t uuid[16], ofs_lsn start,
		     const struct ofs_journal_reader *reader, struct ofs_error *err,
		     struct ofs_journal **ret)
{
	struct ofs_journal *j;
	int r;

	if (start < OFS_WAL_ALIGN || start > INT64_MAX)
		return ofs_error_set(err, EINVAL, "a journal cannot start at position %llu",
				     (unsigned long long)start);
	j = journal_alloc(dirfd, uuid);
	r = journal_load(j, start, reader, err);
	if (r) {
		ofs_journal_close(j);
		return r;
	}
	*ret = j;
	return 0;
}

void ofs_journal_set_segment_size(struct ofs_journal *j, uint64_t bytes)
{
	j->segment_size = bytes;
}

/* Starts a new segment if `size` more bytes do not fit into this one. Under the append lock. */
static int journal_make_room(struct ofs_journal *j, uint64_t size)
{
	struct ofs_segment *s = j->newest;
	uint64_t used = s->end - s->first;

	if (used == OFS_SEGMENT_HEADER ||
	    (used + size <= j->segment_size && s->records < SEGMENT_RECORDS))
		return 0;
	return journal_add_segment(j, s->end, s->first, false);
}

int ofs_journal_rotate(struct ofs_journal *j, uint64_t bytes)
{
	uint64_t used;
	int r = 0;

	OFS_LOCKED(&j->append_lock);
	used = j->newest->end - j->newest->first - OFS_SEGMENT_HEADER;
	if (used && used >= bytes)
		r = j->poisoned ? -EIO
				: journal_add_segment(j, j->newest->end, j->newest->first, false);
	return r;
}

/* Under the append lock. */
static int journal_append_at_end(struct ofs_journal *j, const struct ofs_journal_record *record,
				 struct ofs_wal_record *rec, uint64_t hash)
{
	static const uint8_t zeros[OFS_WAL_ALIGN];
	uint8_t header[OFS_WAL_HEADER], sum[OFS_WAL_SUM];
	uint64_t size = ofs_wal_size(rec), unpadded;
	struct ofs_segment *s;
	struct iovec iov[5];
	int n = 0, r;

	if (j->poisoned)
		return -EIO;
	if (j->read_only)
		return -EROFS;
	r = journal_make_room(j, size);
	if (r < 0)
		return r;
	s = j->newest;
	rec->lsn = s->end;
	rec->durable = j->durable;
	if (rec->data_len)
		rec->data_sum = ofs_wal_data_sum(j->key, hash, ofs_wal_data_pos(rec));
	ofs_wal_encode(rec, record->body, j->key, header);

	iov[n++] = (struct iovec){ header, sizeof(header) };
	iov[n++] = (struct iovec){ (void *)(uintptr_t)record->body, record->body_len };
	unpadded = sizeof(header) + record->body_len;
	if (rec->data_len) {
		ofs_put_le64(sum, rec->data_sum);
		iov[n++] = (struct iovec){ sum, sizeof(sum) };
		iov[n++] = (struct iovec){ (void *)(uintptr_t)record->data, record->data_len };
		unpadded += sizeof(sum) + record->data_len;
	}
	iov[n++] = (struct iovec){ (void *)(uintptr_t)zeros, size - unpadded };

	r = ofs_io_pwritev(s->fd, iov, n, rec->lsn - s->first);
	if (r < 0) {
		/* Frees the space. If that fails, the next record overwrites the bytes. */
		ofs_io_truncate(s->fd, rec->lsn - s->first);
		s->ahead = 0;
		s->scarce = true;
		return r;
	}
	atomic_store(&s->end, rec->lsn + size);
	s->records++;
	return 0;
}

int ofs_journal_append(struct ofs_journal *j, const struct ofs_journal_record *record,
		       ofs_lsn *ret_lsn, struct ofs_journal_data *ret_data)
{
	struct ofs_wal_record rec = {
		.type = record->type,
		.body_len = (uint32_t)record->body_len,
		.data_len = (uint32_t)record->data_len,
	};
	uint64_t hash = 0;
	int r;

	if (!record->type || record->body_len > OFS_JOURNAL_BODY_MAX ||
	    record->data_len > OFS_JOURNAL_DATA_MAX)
		return -EINVAL;
	/* Computes the expensive part of the checksum before taking the lock. */
	if (rec.data_len)
		hash = ofs_wal_data_hash(j->key, record->data, record->data_len);
	pthread_mutex_lock(&j->append_lock);
	r = journal_append_at_end(j, record, &rec, hash);
	pthread_mutex_unlock(&j->append_lock);
	if (r < 0)
		return r;
	if (ret_lsn)
		*ret_lsn = rec.lsn;
	if (ret_data)
		*ret_data = (struct ofs_journal_data){ rec.data_len ? ofs_wal_data_pos(&rec) : 0,
						       rec.data_len };
	return 0;
}

ofs_lsn ofs_journal_end(struct ofs_journal *j)
{
	ofs_lsn end;

	pthread_rwlock_rdlock(&j->segments_lock);
	end = j->newest->end;
	pthread_rwlock_unlock(&j->segments_lock);
	return end;
}

ofs_lsn ofs_journal_tail(struct ofs_journal *j)
{
	ofs_lsn first, end;

	pthread_rwlock_rdlock(&j->segments_lock);
	first = j->newest->first;
	end = j->newest->end;
	pthread_rwlock_unlock(&j->segments_lock);
	return end == first + OFS_SEGMENT_HEADER ? first : end;
}

int ofs_journal_leap(struct ofs_journal *j, ofs_lsn lsn)
{
	OFS_LOCKED(&j->append_lock);

	return lsn % OFS_WAL_ALIGN || lsn < j->newest->end
		       ? -EINVAL
		       : journal_add_segment(j, lsn, j->newest->first, true);
}

ofs_lsn ofs_journal_begin(struct ofs_journal *j)
{
	ofs_lsn begin;

	pthread_rwlock_rdlock(&j->segments_lock);
	begin = j->segments.at[0]->first;
	pthread_rwlock_unlock(&j->segments_lock);
	return begin;
}

/* The first segment that ends after `pos`, referenced, or NULL. */
static struct ofs_segment *journal_find(struct ofs_journal *j, ofs_lsn pos)
{
	struct ofs_segment *s = NULL;
	size_t at;

	pthread_rwlock_rdlock(&j->segments_lock);
	at = OFS_BISECT(i, j->segments.n, j->segments.at[i]->end <= pos);
	if (at < j->segments.n)
		s = ofs_segment_ref(j->segments.at[at]);
	pthread_rwlock_unlock(&j->segments_lock);
	return s;
}

/* The segment that holds all of this data, referenced, or NULL. */
static struct ofs_segment *journal_find_data(struct ofs_journal *j,
					     const struct ofs_journal_data *data)
{
	struct ofs_segment *s = journal_find(j, data->pos);

	if (s && data->pos >= s->first + OFS_WAL_SUM && data->len <= s->end - data->pos)
		return s;
	ofs_segment_unref(s);
	return NULL;
}

/* True if the file ends before the data does. */
static bool journal_is_cut(const struct ofs_segment *s, const struct ofs_journal_data *data)
{
	uint64_t size;

	return ofs_io_size(s->fd, &size, NULL) == 0 && size < data->pos + data->len - s->first;
}

static int journal_read_whole(struct ofs_journal *j, const struct ofs_segment *s,
			      const struct ofs_journal_data *data, void *buf)
{
	uint8_t sum[OFS_WAL_SUM];
	struct iovec iov[2] = { { sum, sizeof(sum) }, { buf, data->len } };
	uint64_t hash;
	int r = ofs_io_preadv_exact(s->fd, iov, 2, data->pos - sizeof(sum) - s->first);

	if (r < 0)
		return journal_is_cut(s, data) ? -EIO : -OFS_EREAD;
	hash = ofs_wal_data_hash(j->key, buf, data->len);
	return ofs_wal_data_sum(j->key, hash, data->pos) == ofs_get_le64(sum) ? 0 : -EIO;
}

int ofs_journal_read(struct ofs_journal *j, const struct ofs_journal_data *data, uint32_t off,
		     void *buf, uint32_t len)
{
	OFS_FREE uint8_t *whole = NULL;
	struct ofs_segment *s;
	int r;

	if (off > data->len || len > data->len - off)
		return -EINVAL;
	if (!len)
		return 0;
	s = data->len <= OFS_JOURNAL_DATA_MAX ? journal_find_data(j, data) : NULL;
	if (!s)
		return -EIO;
	if (len == data->len) {
		r = journal_read_whole(j, s, data, buf);
	} else {
		whole = malloc(data->len);
		r = whole ? journal_read_whole(j, s, data, whole) : -ENOMEM;
		if (!r)
			memcpy(buf, whole + off, len);
	}
	ofs_segment_unref(s);
	return r;
}

void ofs_journal_trim(struct ofs_journal *j, ofs_lsn keep)
{
	struct ofs_segment_list *l = &j->segments;
	size_t n = 0;

	pthread_rwlock_wrlock(&j->segments_lock);
	while (n + 1 < l->n && l->at[n]->end <= keep)
		ofs_segment_list_append(&j->trimmed, l->at[n++]);
	l->n -= n;
	memmove(l->at, l->at + n, l->n * sizeof(*l->at));
	pthread_rwlock_unlock(&j->segments_lock);
}

/* The oldest trimmed segment, whose reference passes to the caller, or NULL. */
static struct ofs_segment *journal_take_trimmed(struct ofs_journal *j)
{
	struct ofs_segment *s = NULL;

	pthread_rwlock_wrlock(&j->segments_lock);
	if (j->trimmed.n) {
		s = j->trimmed.at[0];
		memmove(j->trimmed.at, j->trimmed.at + 1, --j->trimmed.n * sizeof(*j->trimmed.at));
	}
	pthread_rwlock_unlock(&j->segments_lock);
	return s;
}

int ofs_journal_sweep(struct ofs_journal *j)
{
	char name[OFS_SEGMENT_NAME_SIZE];
	struct ofs_segment *s;
	int r = 0;

	while (r == 0 && (s = journal_take_trimmed(j))) {
		ofs_segment_name(s->first, name);
		r = ofs_io_unlink(j->dirfd, name);
		ofs_segment_unref(s);
	}
	return r;
}

int ofs_journal_punch(struct ofs_journal *j, ofs_lsn from, ofs_lsn to)
{
	int r = 0;

	/* The caller needs the space. */
	pthread_mutex_lock(&j->append_lock);
	ofs_segment_cut_ahead(j->newest);
	j->newest->scarce = true;
	pthread_mutex_unlock(&j->append_lock);
	from = OFS_MAX(from, ofs_journal_begin(j));
	while (r == 0 && from < to) {
		struct ofs_segment *s = journal_find(j, from);
		ofs_lsn end, start;

		if (!s)
			return 0;
		end = OFS_MIN(to, s->end);
		start = OFS_MAX(from, s->first + OFS_SEGMENT_HEADER);
		if (start < end)
			r = ofs_io_punch(s->fd, start - s->first, end - start);
		from = end;
		ofs_segment_unref(s);
	}
	return r;
}

bool ofs_journal_can_trim(struct ofs_journal *j, ofs_lsn keep)
{
	bool can;

	pthread_rwlock_rdlock(&j->segments_lock);
	can = j->segments.n > 1 && j->segments.at[0]->end <= keep;
	pthread_rwlock_unlock(&j->segments_lock);
	return can;
}

int ofs_journal_fault(struct ofs_journal *j)
{
	int r = j->poisoned;

	pthread_rwlock_rdlock(&j->segments_lock);
	for (size_t i = 0; i < j->segments.n; i++) {
		struct ofs_segment *s = j->segments.at[i];
		int kept = ofs_io_is_kept(s->fd, s->end - s->first);

		r = kept < 0 ? kept : r;
	}
	pthread_rwlock_unlock(&j->segments_lock);
	return r;
}

uint64_t ofs_journal_size(struct ofs_journal *j, ofs_lsn from, uint64_t *ret_records)
{
	uint64_t size = 0, records = 0;

	pthread_rwlock_rdlock(&j->segments_lock);
	for (size_t i = 0; i < j->segments.n; i++) {
		if (j->segments.at[i]->end <= from)
			continue;
		size += j->segments.at[i]->end - j->segments.at[i]->first;
		records += j->segments.at[i]->records;
	}
	pthread_rwlock_unlock(&j->segments_lock);
	if (ret_records)
		*ret_records = records;
	return size;
}

size_t ofs_journal_segments(struct ofs_journal *j)
{
	size_t n;

	pthread_rwlock_rdlock(&j->segments_lock);
	n = j->segments.n;
	pthread_rwlock_unlock(&j->segments_lock);
	return n;
}
