/* SPDX-License-Identifier: MIT */
/*
 * The write-ahead log: one append-only sequence of records in segment files `journal/<first LSN, 16
 * hex digits>.wal`.
 *
 * A record has a type, a small body and, for content, a data part. The caller defines types and
 * bodies. An LSN is a byte position in the endless log, and a record is identified by the LSN of
 * its first byte. Records are 8-byte aligned. LSNs only grow and are never reused.
 *
 * Every function may be called from any thread. Records are ordered by their append calls: a caller
 * that needs an order between two of its records appends both under a lock of its own.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

typedef uint64_t ofs_lsn;

#define OFS_JOURNAL_BODY_MAX (128u << 10)
#define OFS_JOURNAL_DATA_MAX (4u << 20)

#define OFS_JOURNAL_RECORD_MIN 48u /* the least bytes of the log that a record takes */
#define OFS_JOURNAL_SUM 8u /* bytes of the checksum that precedes the data */

/* Where a record's data lies: enough to read it back, verified. */
struct ofs_journal_data {
	ofs_lsn pos; /* of the first data byte; 0: the record has no data */
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
	OFS_JOURNAL_MENDED, /* one byte of a record was damaged and is corrected */
	OFS_JOURNAL_DATA, /* a record has damaged data, which reads as -EIO; it is replayed */
	OFS_JOURNAL_LOST, /* no record can be read here; the replay continues at `end` */
	OFS_JOURNAL_LOST_END, /* the same, but no sound record follows: the log is cut here */
	OFS_JOURNAL_CUT, /* the log is cut here, although sound records follow */
};

/* Damage to the bytes [pos, end) of the log. */
struct ofs_journal_damage {
	enum ofs_journal_damage_kind kind;
	ofs_lsn pos, end;
};

/*
 * How a log is opened, and the callbacks that receive its records. A nonzero return of a callback
 * stops the replay and becomes the result of ofs_journal_open().
 */
struct ofs_journal_reader {
	int (*record)(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
		      const struct ofs_journal_data *data);
	/* Called in order with the records, before anything on disk changes; may be NULL. */
	int (*damaged)(void *arg, const struct ofs_journal_damage *damage);
	void *arg;
	bool read_only; /* nothing is written, and every append is -EROFS */
	/* Ends the log before the first damage, whatever follows. Needs `read_only`. */
	bool strict;
};

struct ofs_journal;

/*
 * Opens the log in the directory `dirfd`, which is borrowed for the life of the journal and must be
 * fit for fsync, and replays every record at or after `start` in order. In an empty directory a new
 * log begins, whose first LSN is `start` rounded up to 8 (at least 8).
 *
 * `start` is 8 for a log that was never opened, or any value that ofs_journal_end() has returned
 * and that was not before `keep` of an ofs_journal_trim(). It may be the end of the log, and the
 * end of a segment, where the next segment's header lies. A `start` that is inside a record or
 * before the oldest segment is -EUCLEAN.
 *
 * An unreadable record that no sound one follows is a torn tail, and is cut off. If sound records
 * follow, it is damage and is reported to the reader: a single damaged byte is corrected, a record
 * of which only the data is damaged is replayed, anything else is skipped. There is one exception:
 * if no record claims that this part was durable, and whole sectors are missing as after a power
 * failure, the log ends there (OFS_JOURNAL_CUT), since later records may depend on the missing
 * ones. A missing segment is -EUCLEAN. Records before `start` are not checked.
 *
 * If the log ends before `start` (power failed after the index was committed, and the newest
 * segment was lost), it continues in a new segment at `start`.
 *
 * `uuid` is that of the store. A segment of another store or format version is refused (-EINVAL).
 */
int ofs_journal_open(int dirfd, const uint8_t uuid[16], ofs_lsn start,
		     const struct ofs_journal_reader *reader, struct ofs_error *err,
		     struct ofs_journal **ret);

/*
 * Copies the log of the directory `dirfd` from position `from` on, unchanged, into files of the
 * same names in `to`, durably. The copy has a hole before `from`.
 */
int ofs_journal_keep(int dirfd, ofs_lsn from, int to);

/* Closes without syncing. NULL is allowed. */
void ofs_journal_close(struct ofs_journal *j);

/* Sets the size of segments, from the next one on: for tests. The default is 64 MiB. */
void ofs_journal_set_segment_size(struct ofs_journal *j, uint64_t bytes);

/*
 * Appends a record, which survives the death of this process once 0 is returned. After an error
 * (ENOSPC, EIO) the log is unchanged: the next record overwrites what was written of this one.
 * -EINVAL: the type is 0 or a part is too long. `ret_lsn` and `ret_data` may be NULL.
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
 * Does the same when no more syncs are expected: leaves no such zeros, unless another thread syncs
 * later records meanwhile.
 */
int ofs_journal_settle(struct ofs_journal *j);

/*
 * The end of the log: every record so far lies before it. The next record begins there or, if it
 * starts a segment, after the segment's header.
 */
ofs_lsn ofs_journal_end(struct ofs_journal *j);

/* The same, except that it precedes the header of a newest segment that has no record yet. */
ofs_lsn ofs_journal_tail(struct ofs_journal *j);

/* Everything before it is known to be synced. A record or a segment's header begins there. */
ofs_lsn ofs_journal_durable(struct ofs_journal *j);

/*
 * Skips the positions from the end of the log up to `lsn`, a multiple of 8: the next record lies in
 * a new segment that begins there. 0 or -errno.
 */
int ofs_journal_leap(struct ofs_journal *j, ofs_lsn lsn);

/* The start of the oldest segment. */
ofs_lsn ofs_journal_begin(struct ofs_journal *j);

/*
 * Reads `len` bytes at `off` of a record's data, after verifying the checksum of all the data.
 * -EIO: the data is damaged or gone; -OFS_EREAD (io/file.h): reading failed. After an error `buf`
 * is undefined. Reading all of the data (`off` 0) goes straight to `buf`; reading a part allocates
 * memory for all of it meanwhile.
 */
int ofs_journal_read(struct ofs_journal *j, const struct ofs_journal_data *data, uint32_t off,
		     void *buf, uint32_t len);

/*
 * Starts a new segment if the newest one holds at least `bytes` of records, so that the old one can
 * be trimmed. 0 or -errno.
 */
int ofs_journal_rotate(struct ofs_journal *j, uint64_t bytes);

/*
 * Takes the segments that lie entirely before `keep` out of the log; the newest one always stays.
 * The caller makes sure that nobody reads their data. ofs_journal_sweep() removes the files.
 */
void ofs_journal_trim(struct ofs_journal *j, ofs_lsn keep);

/*
 * Removes the files of trimmed segments, which may take long. A file that is left over by an error
 * or a crash belongs to the log again at the next start, and is trimmed again. 0 or -errno.
 */
int ofs_journal_sweep(struct ofs_journal *j);

/*
 * Frees the space of the records in [from, to), which no later replay and no reader may need.
 * Segment headers stay. 0 or -errno; may be called again after an error.
 */
int ofs_journal_punch(struct ofs_journal *j, ofs_lsn from, ofs_lsn to);

/* True if ofs_journal_trim() would remove anything. */
bool ofs_journal_can_trim(struct ofs_journal *j, ofs_lsn keep);

/*
 * 0, or why the log is no longer kept: -ESTALE when a segment's file was removed, so that its
 * content is lost with this process; -ENODATA when one was truncated; else the error of the failed
 * sync.
 */
int ofs_journal_fault(struct ofs_journal *j);

/*
 * ---- a log that was opened with `read_only` and `strict`, and that ofs_journal_import() extends.
 * One thread at a time.
 */

/*
 * Hands the records up to `to` to reader->record. Each is verified, and its data can be read. The
 * log then ends after the last record that was accepted. Nothing before its previous end may have
 * changed. 0, the nonzero return of the callback, or -EUCLEAN when the log is not sound up to `to`.
 */
int ofs_journal_advance(struct ofs_journal *j, ofs_lsn to, const struct ofs_journal_reader *reader,
			struct ofs_error *err);

/* Exchanges two logs of the same directory. Only `j` may be in use. */
void ofs_journal_swap(struct ofs_journal *j, struct ofs_journal *other);

/*
 * Bytes that the segments occupy, without those that end at or before `from`. Sets *ret_records
 * (may be NULL) to the number of records appended to them since the log was opened. A segment holds
 * at most 128 Ki records.
 */
uint64_t ofs_journal_size(struct ofs_journal *j, ofs_lsn from, uint64_t *ret_records);

/* The number of segments. */
size_t ofs_journal_segments(struct ofs_journal *j);
