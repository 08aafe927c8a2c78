/* SPDX-License-Identifier: MIT */
/* Begins an epoch of the log, which makes a mount its only writer. */
#pragma once

#include "replica/replica_state.h"

/*
 * Continues from st->at, a place known to be in the log, to its end, and begins an epoch there
 * under a new name. `st` follows the objects on the way, which must be ours. -ESTALE: they are not,
 * since somebody else has taken over; *err names the epoch. -EOPNOTSUPP: what is there is not of
 * this store. -EAGAIN: try later. A new lineage begins at `local_end`, the end of the log on this
 * disk. Each step is saved to `dirfd` before it takes effect.
 */
int ofs_takeover_continue(struct ofs_lineage *l, int dirfd, struct ofs_replica_state *st,
			  ofs_lsn local_end, struct ofs_error *err);

/*
 * Takes over without a local store: begins an epoch after `at`, the end of the log as read, to
 * continue at `lsn`. -EEXIST: the log has grown, so read on. -ENOENT: `manifest`, from which the
 * log was read, is gone, so that the end may have been a hole: start again.
 */
int ofs_takeover_fence(struct ofs_lineage *l, struct ofs_replica_state *st,
		       const struct ofs_log_place *at, ofs_lsn lsn, const char *manifest,
		       struct ofs_error *err);

/*
 * Creates, if it is missing, the object of the epoch that a FENCE after `at` begins. -ESTALE: that
 * FENCE lies in a hole, as the log before some checkpoint was removed.
 */
int ofs_takeover_note_epoch(struct ofs_lineage *l, const struct ofs_log_place *at,
			    const struct ofs_link *fence, struct ofs_error *err);
