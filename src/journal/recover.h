/* SPDX-License-Identifier: MIT */
/* Finds where the log ends and replays what lies before that. */
#ifndef OFS_JOURNAL_RECOVER_H
#define OFS_JOURNAL_RECOVER_H

#include "journal/journal.h"
#include "journal/segment.h"

struct ofs_recovery {
	int dirfd;
	uint64_t key; /* ofs_wal_key() */
	ofs_lsn start;
	ofs_journal_replay_fn replay;
	void *arg;
	struct ofs_error *err;
	struct ofs_segment_list *segments; /* not empty; loses what is cut off */

	/* Results. */
	ofs_lsn durable; /* the log is known to be synced up to here */
	bool claim_cut; /* what said so went with the torn tail: it is to be said again */
	ofs_lsn end; /* where it goes on, in a new segment unless the last sound one ends there */
};

/*
 * The rules are those of ofs_journal_open(). Nothing on disk is changed before the replay is
 * through; then the torn tail, if there is one, is cut off durably: bytes of it must never come
 * back between newer records.
 */
int ofs_journal_recover(struct ofs_recovery *rc);

#endif
