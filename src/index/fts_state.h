/* SPDX-License-Identifier: MIT */
/* The search index as its parts share it. */
#pragma once

#include <stdatomic.h>

#include "index/db.h"
#include "index/fts.h"
#include "index/fts_schema.h"

/* All that follows `generation` is guarded by the lock of `db`. */
struct ofs_fts {
	struct ofs_db db; /* closed when it could not be started anew; the next batch tries again */
	_Atomic uint64_t generation; /* written under the lock */
	uint64_t files, documents, alive; /* as the database has them */
	uint64_t merged; /* documents there were when segments were last merged */
	bool merging; /* they are being merged */
	bool changed; /* since the write-ahead log was given back */
};

/* The number of a content that is whole: 1 and *ret, 0, or -errno. Under the lock. */
int ofs_fts_content_find(struct ofs_fts *fts, const uint8_t sha[32], int64_t *ret);

/*
 * Every public call ends in one of these, under the lock and with no statement left to reset: a
 * damaged database is started anew. Returns r. The second also remembers a failure, so that the
 * batch cannot be committed.
 */
int ofs_fts_done(struct ofs_fts *fts, int r);
int ofs_fts_written(struct ofs_fts *fts, int r);
