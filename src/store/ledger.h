/* SPDX-License-Identifier: MIT */
/*
 * The rows of the ledger that changed since the last checkpoint. A row has the whole sums, not what
 * was added: which of memory and index is newer can be seen, and nothing counts twice.
 */
#pragma once

#include "store/record.h"
#include "store/store.h"

struct ofs_ledger_row {
	int64_t id; /* the key of the row in the index */
	uint64_t epoch; /* of its last change */
	struct ofs_ledger_entry entry; /* `who` is owned, and lies behind */
	char who[];
};

/* Allocated: a row, with a copy of the entry. */
struct ofs_ledger_row *ofs_ledger_make_row(int64_t id, const struct ofs_ledger_entry *e);

/* ---- with `lock` held */

/* The row of that day and name, as it is in memory or in the index, or a new one. 0 or -errno. */
int ofs_ledger_load(struct ofs_store *s, int64_t day, const char *who, struct ofs_ledger_row **ret);

/* Adds the record's numbers to its row. */
void ofs_ledger_apply(struct ofs_store *s, struct ofs_ledger_row *row, const struct ofs_record *r);

/* Copies of all rows, which the caller frees, in allocated memory. */
struct ofs_ledger_row **ofs_ledger_take(struct ofs_store *s, size_t *ret_n);

/* Forgets a row that has not changed after `epoch`: it is in the index. */
void ofs_ledger_forget(struct ofs_store *s, int64_t id, uint64_t epoch);

void ofs_ledger_finish(struct ofs_store *s);
