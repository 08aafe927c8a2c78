/* SPDX-License-Identifier: MIT */
/*
 * Rows of the ledger that have changed since the last checkpoint. A row has the whole sums rather
 * than what was added, which shows whether memory or index is newer, and lets nothing count twice.
 */
#pragma once

#include "store/record.h"
#include "store/store.h"

struct ofs_ledger_row {
	int64_t id; /* the key of the row in the index */
	uint64_t epoch; /* of its last change */
	struct ofs_ledger_entry entry; /* its `who` points to the member below */
	char who[];
};

/* Allocates a row with a copy of the entry. */
struct ofs_ledger_row *ofs_ledger_make_row(int64_t id, const struct ofs_ledger_entry *e);

/* ---- with `lock` held */

/*
 * Gets the row of that day and name from memory or the index. Returns 0, 1 if it had to be made,
 * -ENOENT if it may not be, or another -errno.
 */
int ofs_ledger_load(struct ofs_store *s, int64_t day, const char *who, bool may_make,
		    struct ofs_ledger_row **ret);

/* Adds the record's numbers to its row. */
void ofs_ledger_apply(struct ofs_store *s, struct ofs_ledger_row *row, const struct ofs_record *r);

/* Returns copies of all rows in an allocated array; the caller frees both. */
struct ofs_ledger_row **ofs_ledger_take(struct ofs_store *s, size_t *ret_n);

/* Forgets a row that has not changed since `epoch`, which the index has. */
void ofs_ledger_forget(struct ofs_store *s, int64_t id, uint64_t epoch);

void ofs_ledger_finish(struct ofs_store *s);
