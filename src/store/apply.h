/* SPDX-License-Identifier: MIT */
/* Logging a change: a record is appended to the journal and applied to memory; `lock` held. */
#ifndef OFS_STORE_APPLY_H
#define OFS_STORE_APPLY_H

#include "journal/journal.h"
#include "store/record.h"

struct ofs_store;
struct ofs_inode;

/*
 * Applies a record to memory. Live, everything it needs was loaded before the record was appended,
 * so it cannot fail; in replay it loads as it goes.
 */
int ofs_store_apply(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r,
		    const struct ofs_journal_data *data);

/* Appends a record and applies it. */
int ofs_store_log(struct ofs_store *s, const struct ofs_record *r, const void *data, size_t len);

#endif
