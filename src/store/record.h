/* SPDX-License-Identifier: MIT */
/*
 * The journal's records as the store means them, and logging them. A record carries what was
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

/* The flag of ZERO. */
#define OFS_ZERO_GROW 1u /* the file becomes as long as the range reaches */

/*
 * One for all types; what a type does not use is zero. Strings and the value are borrowed from the
 * caller or from the record.
 */
struct ofs_record {
	uint8_t type;
	int64_t time;
	uint64_t ino; /* COPY: what is changed */
	uint64_t dir; /* LEDGER: the day */
	uint64_t newdir; /* RENAME */
	uint64_t from; /* COPY: the inode whose content it is; LEDGER: tokens of pointers */
	uint64_t from_off; /* COPY; LEDGER: results that were offloaded */
	uint64_t len; /* ZERO, COPY; LEDGER: tokens that were read back */
	uint32_t flags; /* RENAME: as renameat2; SETATTR: OFS_SET_*; ZERO: OFS_ZERO_GROW */
	uint32_t mode, uid, gid;
	uint64_t rdev;
	uint64_t size; /* SETATTR; WRITE, ZERO, COPY: the offset; LEDGER: tokens offloaded */
	int64_t atime, mtime;
	const char *name;
	const void *value; /* SETXATTR; EXPIRE: the tombstone */
	uint32_t value_len;
	const char *text; /* RENAME: the new name; CREATE: a symbolic link's target */
};

/* Appends the body. 0 or -errno. */
int ofs_record_encode(const struct ofs_record *r, struct ofs_buf *out);

/*
 * Strings point into `body`, which must outlive `ret`. -EUCLEAN when it is not a record that this
 * version writes.
 */
int ofs_record_decode(uint8_t type, const void *body, size_t len, struct ofs_record *ret);

/* ---- with `lock` held */

/*
 * Applies a record to memory. Live, everything it needs was loaded before the record was appended,
 * so it cannot fail; in replay it loads as it goes.
 */
int ofs_store_apply(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r,
		    const struct ofs_journal_data *data);

/* Something was logged or sealed: tells who waits for that (ofs_store_watch()). */
void ofs_store_tell_news(struct ofs_store *s);

/* Appends a record of this moment and applies it. */
int ofs_store_log(struct ofs_store *s, struct ofs_record *r, const void *data, size_t len);
