/* SPDX-License-Identifier: MIT */
/*
 * The records of the journal as the store defines them, and logging them. A record carries what was
 * decided (numbers, times, names), so that applying it again to the same state gives the same
 * result.
 */
#pragma once

#include "base/buf.h"
#include "journal/journal.h"

struct ofs_store;

/* On disk: never renumber. */
enum ofs_record_type {
	OFS_RECORD_CREATE = 1,
	OFS_RECORD_LINK = 2,
	OFS_RECORD_UNLINK = 3,
	OFS_RECORD_RENAME = 4,
	OFS_RECORD_WRITE = 5,
	OFS_RECORD_SETATTR = 6,
	OFS_RECORD_SETXATTR = 7,
	OFS_RECORD_REMOVEXATTR = 8,
	OFS_RECORD_ZERO = 9,
	OFS_RECORD_COPY = 10,
	OFS_RECORD_EXPIRE = 11,
	OFS_RECORD_LEDGER = 12,
	OFS_RECORD_LAST = OFS_RECORD_LEDGER,
};

/* Flag of ZERO. */
#define OFS_ZERO_GROW 1u /* the file grows to the end of the range */

/*
 * One struct for all types; members that a type does not use are zero. Strings and the value are
 * borrowed: from the caller, or from the body that was decoded.
 */
struct ofs_record {
	uint8_t type;
	int64_t time;
	uint64_t ino; /* COPY: the target */
	uint64_t dir; /* LEDGER: the day */
	uint64_t newdir; /* RENAME */
	uint64_t from; /* COPY: the source; LEDGER: tokens of pointers */
	uint64_t from_off; /* COPY; LEDGER: offloaded results */
	uint64_t len; /* ZERO, COPY; LEDGER: tokens read back */
	uint32_t flags; /* RENAME: as renameat2; SETATTR: OFS_SET_*; ZERO: OFS_ZERO_GROW */
	uint32_t mode, uid, gid;
	uint64_t rdev;
	uint64_t size; /* SETATTR; WRITE, ZERO, COPY: the offset; LEDGER: tokens offloaded */
	int64_t atime, mtime;
	const char *name;
	const void *value; /* SETXATTR; EXPIRE: the tombstone */
	uint32_t value_len;
	const char *text; /* RENAME: the new name; CREATE: the target of a symbolic link */
};

/* Appends the body to `out`. 0; -EINVAL: unknown type; -ENAMETOOLONG. */
int ofs_record_encode(const struct ofs_record *r, struct ofs_buf *out);

/*
 * Strings point into `body`, which must outlive *ret. -EUCLEAN: not a record that this version
 * writes.
 */
int ofs_record_decode(uint8_t type, const void *body, size_t len, struct ofs_record *ret);

/* ---- with `lock` held */

/*
 * Applies a record to memory; `data` says where the data of a WRITE lies. Live, everything it needs
 * was loaded before the record was appended, so it cannot fail; in replay it loads what it needs.
 */
int ofs_store_apply(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r,
		    const struct ofs_journal_data *data);

/* Tells whoever waits (ofs_store_watch()) that something was logged or sealed. */
void ofs_store_tell_news(struct ofs_store *s);

/*
 * Stamps a record with the time, appends it and applies it. 0 or -errno: -EROFS for a store that is
 * only read, -EIO for a broken one.
 */
int ofs_store_log(struct ofs_store *s, struct ofs_record *r, const void *data, size_t len);
