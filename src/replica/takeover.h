/* SPDX-License-Identifier: MIT */
/* Beginning an epoch of the log: what makes a mount its only writer. */
#pragma once

#include "replica/replica_state.h"

/*
 * Goes on from st->at, which is known to be in the log, to its end, and begins an epoch there under
 * a new name. On the way only what is ours is met, and `st` follows it; else -ESTALE: somebody else
 * has taken over, and `err` says since which epoch. -EOPNOTSUPP: what is there is not of this store.
 * A lineage that this store begins is begun at `local_end`, the end of the log on this disk. Each
 * step is saved to `dirfd` before it matters. -EAGAIN: not now.
 */
int ofs_takeover_continue(struct ofs_lineage *l, int dirfd, struct ofs_replica_state *st,
			  ofs_lsn local_end, struct ofs_error *err);

/*
 * The same for who has no store yet: begins an epoch behind `at`, the end of the log as it was read,
 * at `lsn`. -EEXIST: the log went on meanwhile: it is to be read further. -ENOENT: `manifest`, from
 * which on it was read, is gone, so that the end may have been a hole: all is to be begun again.
 */
int ofs_takeover_fence(struct ofs_lineage *l, struct ofs_replica_state *st,
		       const struct ofs_log_place *at, ofs_lsn lsn, const char *manifest,
		       struct ofs_error *err);

/*
 * Makes the object of the epoch that a FENCE behind `at` begins, if it is not there. -ESTALE: that
 * FENCE lies in a hole, since the log before some checkpoint is garbage and gone.
 */
int ofs_takeover_note_epoch(struct ofs_lineage *l, const struct ofs_log_place *at,
			    const struct ofs_link *fence, struct ofs_error *err);
