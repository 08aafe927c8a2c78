/* SPDX-License-Identifier: MIT */
/* Finds the end of the log and replays what lies before it. */
#pragma once

#include "journal/journal.h"
#include "journal/segment.h"

struct ofs_recovery {
	int dirfd;
	uint64_t key; /* ofs_wal_key() */
	ofs_lsn start;
	const struct ofs_journal_reader *reader;
	struct ofs_error *err;
	struct ofs_segment_list *segments; /* not empty; loses the segments that are cut off */

	/* Results. */
	ofs_lsn durable; /* the log is known to be synced up to here */
	bool claim_cut; /* the furthest claim was in the torn tail, and must be written again */
	ofs_lsn end; /* where to append: in a new segment, unless the last sound one ends there */
};

/*
 * Follows the rules of ofs_journal_open(). Nothing on disk changes before the replay is complete.
 * Then a torn tail is cut off durably, because its bytes must never reappear between newer records.
 * With `read_only` it stays. 0, -errno, or the nonzero return of a callback.
 */
int ofs_journal_recover(struct ofs_recovery *rc);
