/* SPDX-License-Identifier: MIT */
/*
 * The write-ahead log: one append-only sequence of records in segment files
 * `journal/<first LSN, 16 hex digits>.wal`.
 *
 * A record has a type, a small body and, for content, a data part. The caller defines the types and
 * bodies. An LSN is a byte position in the endless log; a record is named by the
 * LSN of its first byte and records are 8-byte aligned, so LSNs only grow and are never used
 * twice.
 *
 * Every function may be called from any thread. Record order is the order of the append calls: a
 * caller that needs order between two of its records calls under its own lock.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

typedef uint64_t ofs_lsn;

#define OFS_JOURNAL_BODY_MAX (128u << 10)
#define OFS_JOURNAL_DATA_MAX (4u << 20)

#define OFS_JOURNAL_RECORD_MIN 48u /* bytes of the log that a record takes at least */
#define OFS_JOURNAL_SUM 8u /* bytes of checksum in front of the data */

/* Where a record's data lies; enough to read it back, verified. */
struct ofs_journal_data {
	ofs_lsn pos; /* of the first data byte; 0: the record has none */
	uint32_t len;
};

struct ofs_journal_record {
	uint8_t type; /* 1 to 255 */
	const void *body;
	size_t body_len; /* at most OFS_JOURNAL_BODY_MAX */
	const void *data; /* NULL during replay: read it through ofs_journal_read() */
	size_t data_len; /* at most OFS_JOURNAL_DATA_MAX */
};

enum ofs_journal_damage_kind {
	OFS_JOURNAL_MENDED, /* one byte of a record was damaged; it is replayed as it was */
	OFS_JOURNAL_DATA, /* the data of a record is damaged, and reading it gives -EIO */
	OFS_JOURNAL_LOST, /* no record can be read here; the replay goes on at `end` */
	OFS_JOURNAL_CUT, /* the same, and the replay ends, though later records are sound */
};

/* The bytes [pos, end) of the log are damaged. */
struct ofs_journal_damage {
	enum ofs_journal_damage_kind kind;
	ofs_lsn pos, end;
};

/*
 * How a log is opened, and who is told what is in it. A nonzero return of a function stops the
 * replay and becomes the result of ofs_journal_open().
 */
struct ofs_journal_reader {
	int (*record)(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
		      const struct ofs_journal_data *data);
	/* In order with the records, before anything on disk is changed; may be NULL. */
	int (*damaged)(void *arg, const struct ofs_journal_damage *damage);
	void *arg;
	bool read_only; /* nothing is written, and every append is -EROFS */
	/* The log ends before what is damaged, whatever follows; with `read_only`. */
	bool strict;
};

struct ofs_journal;

/*
 * Opens the log in the directory `dirfd` (borrowed for the life of the journal, and fit for
 * fsync) and replays every record at or after `start` in order. An empty directory is a new log
 * whose first LSN is `start` rounded up to 8 (at least 8).
 *
 * `start` is 8 for a log that was never opened, or any value that ofs_journal_end() has returned
 * and that was not before `keep` of an ofs_journal_trim(); also the end of the whole log, and the
 * end of a segment, where the next segment's header lies. A `start` inside a record is -EUCLEAN,
 * and so is one before the oldest segment.
 *
 * A record that cannot be read ends the log when no sound one follows: that torn tail is cut off.
 * When sound ones follow, it is damage, of which the reader is told: one damaged byte is put right,
 * damaged data alone is replayed as it is, and of what else cannot be read the replay goes on
 * behind. But where nothing claims that it was durable, and whole sectors are missing, as after a
 * power failure, the log ends there all the same, since what follows may depend on what is missing
 * (OFS_JOURNAL_CUT). A missing segment is -EUCLEAN. What lies before `start` is not looked at.
 *
 * When the log ends before `start` (power failed after the index was committed but the log's newest
 * segment was lost), it continues in a new segment at `start`.
 *
 * `uuid` is the store's; a segment of another store, or of another format version, is refused
 * (-EINVAL).
 */
int ofs_journal_open(int dirfd, const uint8_t uuid[16], ofs_lsn start,
		     const struct ofs_journal_reader *reader, struct ofs_error *err,
		     struct ofs_journal **ret);

/*
 * Copies the log of the directory `dirfd` from position `from` on, as it stands, into files of the
 * same names in `to`, durably; what precedes `from` is a hole there.
 */
int ofs_journal_keep(int dirfd, ofs_lsn from, int to);

/* Closes without syncing. NULL is allowed. */
void ofs_journal_close(struct ofs_journal *j);

/* Smaller segments, for tests; takes effect with the next segment. Default 64 MiB. */
void ofs_journal_set_segment_size(struct ofs_journal *j, uint64_t bytes);

/*
 * Appends a record; when it returns 0 the record survives the death of this process. On an error
 * (ENOSPC, EIO) the log is unchanged: the next record overwrites what was written of this one.
 * -EINVAL: a type of 0 or a part that is too long. `ret_lsn` and `ret_data` may be NULL.
 */
int ofs_journal_append(struct ofs_journal *j, const struct ofs_journal_record *record,
		       ofs_lsn *ret_lsn, struct ofs_journal_data *ret_data);

/*
 * Makes everything appended before the call durable. Calls that overlap share one fdatasync. After
 * a failed sync every later append and sync fails with -EIO, since nobody knows what the kernel has
 * dropped.
 *
 * May write zeros after the end of the log, so that later syncs do not change the size of the file.
 */
int ofs_journal_sync(struct ofs_journal *j);

/*
 * The same when no more syncs are expected: leaves no such zeros, unless another thread syncs later
 * records meanwhile.
 */
int ofs_journal_settle(struct ofs_journal *j);

/*
 * The end of the log: every record so far lies before it, the next one at it or, if that one starts
 * a segment, after the segment's header.
 */
ofs_lsn ofs_journal_end(struct ofs_journal *j);

/* The end of the last record, or of the log where that has none: no header lies behind it. */
ofs_lsn ofs_journal_tail(struct ofs_journal *j);

/* All before it is known to be synced; records begin there, or the header of a segment. */
ofs_lsn ofs_journal_durable(struct ofs_journal *j);

/*
 * Leaves the positions from the end of the log up to `lsn` (a multiple of 8) out: the next record
 * lies in a new segment that begins there. 0 or -errno.
 */
int ofs_journal_leap(struct ofs_journal *j, ofs_lsn lsn);

/* The start of the oldest segment. */
ofs_lsn ofs_journal_begin(struct ofs_journal *j);

/*
 * Reads `len` bytes at `off` of a record's data, after checking the whole of the data against its
 * checksum. -EIO when it is damaged or gone, -OFS_EREAD (io/file.h) when reading it failed; `buf`
 * is then undefined. A whole read (`off` 0, `len` all of it) goes straight to `buf`; a part costs
 * memory for the whole meanwhile.
 */
int ofs_journal_read(struct ofs_journal *j, const struct ofs_journal_data *data, uint32_t off,
		     void *buf, uint32_t len);

/*
 * Starts a new segment if the newest one holds at least `bytes` of records, so that it can be
 * trimmed. 0 or -errno.
 */
int ofs_journal_rotate(struct ofs_journal *j, uint64_t bytes);

/*
 * Takes the segments that lie wholly before `keep` out of the log; the newest one always stays. The
 * caller makes sure that nobody reads their data. ofs_journal_sweep() removes the files.
 */
void ofs_journal_trim(struct ofs_journal *j, ofs_lsn keep);

/*
 * Removes the files of segments that were trimmed, which may take long. One that is left over, by
 * an error or a crash, belongs to the log again at the next start and is trimmed again.
 */
int ofs_journal_sweep(struct ofs_journal *j);

/*
 * Gives the room of the records in [from, to) back, which must not be needed by any later replay,
 * nor read any more: segments' headers stay. 0 or -errno; what failed may be tried again.
 */
int ofs_journal_punch(struct ofs_journal *j, ofs_lsn from, ofs_lsn to);

/* True if ofs_journal_trim() would remove anything. */
bool ofs_journal_can_trim(struct ofs_journal *j, ofs_lsn keep);

/*
 * 0, or why nothing more is kept: -ESTALE when a segment's file was removed, so that what it holds
 * ends with this process; -ENODATA when one was cut short; else the error of the sync that failed.
 */
int ofs_journal_fault(struct ofs_journal *j);

/*
 * ---- a log that was opened with `read_only` and `strict`, and grows by ofs_journal_import(). One
 * thread at a time.
 */

/*
 * Hands the records up to `to` to reader->record, each verified and with data that can be read; the
 * log ends behind the last one that it took. Nothing that lies before the end may have changed. 0,
 * what that function returned, or -EUCLEAN when the log is not sound up to `to`.
 */
int ofs_journal_advance(struct ofs_journal *j, ofs_lsn to, const struct ofs_journal_reader *reader,
			struct ofs_error *err);

/* `j` becomes what `other` is, of the same directory, and the reverse. Only `j` may be in use. */
void ofs_journal_swap(struct ofs_journal *j, struct ofs_journal *other);

/*
 * Bytes that the segments occupy, but for those that end at `from` or before. *ret_records (may be
 * NULL): how many records were appended to them since the log was opened; one segment holds no more
 * than 128 Ki.
 */
uint64_t ofs_journal_size(struct ofs_journal *j, ofs_lsn from, uint64_t *ret_records);

/* How many segments there are. */
size_t ofs_journal_segments(struct ofs_journal *j);
